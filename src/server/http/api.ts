/** The HTTP API: every route behind the same guard, and the document that describes them. Another way into the same router and the same laws. */
import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { BatonError } from '../../core/errors.ts';
import type { Connection, Peer } from '../../process/peer.ts';
import type { Door, Router, Sender } from '../../runtime/doors.ts';
import type { Host } from '../../runtime/host.ts';
import type { Api, Call } from './call.ts';
import { createDoubt } from './doubt.ts';
import { eventRoutes } from './events.ts';
import { createFeed, HEARTBEAT_MS } from './feed.ts';
import { createGuard } from './guard.ts';
import { createRequests, healthRoutes } from './health.ts';
import { inboxRoutes } from './inbox.ts';
import { mcp } from './mcp.ts';
import { messageRoutes } from './messages.ts';
import { nodeRoutes } from './nodes.ts';
import { openApi } from './openapi.ts';
import { openclawRoutes } from './openclaw.ts';
import { CUT, isCut, json, problem, problemOf } from './problems.ts';
import { JSON_TYPE, type Route } from './routes.ts';
import { runRoutes } from './runs.ts';
import { ResponseShape } from './schemas.ts';
import { sessionRoutes } from './sessions.ts';
import { taskRoutes } from './tasks.ts';
import type { Caller, Tokens } from './tokens.ts';

export interface ApiOptions {
  readonly host: Host;
  readonly router: Router;
  doorFor(sender: Sender, request?: string): Door;
  readonly tokens: Tokens;
  /** What the server listens on: the name by which it may be called. */
  readonly bound: string;
  /** Who is at the other end of a connection; where it is not given, the token alone counts. */
  readonly peerOf?: (connection: Connection) => Peer;
  /** Ends streams that would go on for ever. */
  readonly stopping?: AbortSignal;
  readonly heartbeatMs?: number;
  readonly stallMs?: number;
}

type HttpApi = Hono<{ Bindings: HttpBindings }>;
type Given = Context<{ Bindings: HttpBindings }>;

/** The document describes itself, so that all there is stands in it. */
const NOBODY: Caller = { kind: 'run', run: '', task: '', agent: '' };

export function createApi(options: ApiOptions): HttpApi {
  const { host, router, tokens, bound, doorFor, stallMs, heartbeatMs = HEARTBEAT_MS } = options;
  const stopping = options.stopping ?? new AbortController().signal;
  const feed = createFeed(host, { heartbeatMs });
  stopping.addEventListener('abort', () => feed.close(), { once: true });
  const api: Api = { host, router, doorFor, feed, stopping, ...(stallMs === undefined ? {} : { stallMs }) };
  const guard = createGuard(tokens, bound);
  const requests = createRequests();

  const document: Route = {
    method: 'get',
    path: '/openapi.json',
    summary: 'this document',
    access: 'anybody',
    answers: { [JSON_TYPE]: ResponseShape },
    handle: () => json(described),
  };
  const routes = [
    ...taskRoutes,
    ...runRoutes,
    ...messageRoutes,
    ...nodeRoutes,
    ...inboxRoutes,
    ...sessionRoutes,
    ...eventRoutes,
    ...openclawRoutes,
    ...healthRoutes(requests),
    document,
  ];
  const described = openApi(routes);

  const surely = createDoubt(host.store, options.peerOf);
  const answer = async (c: Given, access: Route['access'], handle: Route['handle']): Promise<Response> => {
    guard.checkPlace(c.req.raw.headers);
    const told = access === 'anybody' ? NOBODY : guard.caller(c.req.raw.headers);
    const caller = told.kind === 'person' ? await surely(told, c.env?.incoming?.socket) : told;
    if (access === 'person' && caller.kind !== 'person')
      throw new BatonError(
        'E_PERMISSION_DENIED',
        `expected the person's token for ${c.req.method} ${c.req.path}, got a run's`,
      );
    return handle(api, callOf(c, caller));
  };
  const counted = async (c: Given, route: string, work: () => Promise<Response>): Promise<Response> => {
    const response = await work().catch((cause: unknown) =>
      isCut(c.env?.incoming, cause) ? problem(CUT) : problemOf(cause, host.warn),
    );
    requests.count(c.req.method, route, response.status);
    return response;
  };

  const app: HttpApi = new Hono<{ Bindings: HttpBindings }>();
  for (const { method, path, access, handle } of routes) {
    app.on(method.toUpperCase(), path, (c) => counted(c, path, () => answer(c, access, handle)));
  }
  app.all('/mcp', (c) => counted(c, '/mcp', () => answer(c, 'run', mcp)));
  app.all('*', (c) =>
    counted(c, '*', () =>
      answer(c, 'run', (_, { request }) => {
        throw new BatonError('E_NOT_FOUND', `there is no ${request.method} ${c.req.path}`, 'see: /openapi.json');
      }),
    ),
  );
  // What hono itself finds fault with.
  app.onError((cause) => problemOf(cause, host.warn));
  return app;
}

function callOf(c: Given, caller: Caller): Call {
  return {
    request: c.req.raw,
    caller,
    url: new URL(c.req.url),
    param: (name) => c.req.param(name) ?? '',
    outgoing: c.env?.outgoing as Call['outgoing'],
  };
}
