/** A world whose API listens on a real port; unless it is to be real, the router and the doors are made up and remember what they were asked. */
import { afterEach } from 'vitest';
import { openDoor } from '../../src/runtime/door.ts';
import type { Door, Routed, Router, Sender } from '../../src/runtime/doors.ts';
import {
  type ApiOptions,
  createApi,
  createTokens,
  type Listening,
  listen,
  type Tokens,
} from '../../src/server/http/index.ts';
import { PATIENCE_MS } from '../helpers/until.ts';
import { makeWorld, type World, type WorldOptions } from '../runtime/world.ts';

export const PERSON = 'person-token-of-the-test-0123456789abcdefghi';

export interface ApiWorld extends World {
  readonly listening: Listening;
  readonly tokens: Tokens;
  /** What the router was given. */
  readonly taken: { readonly text: string; readonly sender: Sender }[];
  /** What doors were asked, by whom. */
  readonly asked: { readonly what: string; readonly ask: unknown; readonly sender: Sender }[];
  call(path: string, options?: CallOptions): Promise<Response>;
  /** The status, and the JSON of the answer. */
  json(path: string, options?: CallOptions): Promise<{ readonly status: number; readonly body: Json }>;
  stop(): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
export type Json = any;

export type Body = NonNullable<RequestInit['body']>;

export interface CallOptions {
  readonly method?: string;
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Body | object;
  readonly signal?: AbortSignal;
}

export interface ApiWorldOptions extends WorldOptions {
  readonly heartbeatMs?: number;
  readonly stallMs?: number;
  readonly routed?: readonly Routed[];
  readonly peerOf?: ApiOptions['peerOf'];
  /** With the router and the doors as they are. */
  readonly real?: boolean;
}

const AGENTS = {
  agents: { emma: { kind: 'command', command: ['true'] }, bob: { kind: 'command', command: ['true'] } },
};

const open: ApiWorld[] = [];
/** Before the world itself goes. */
afterEach(async () => {
  for (const world of open.splice(0)) await world.stop();
});

export async function makeApiWorld(options: ApiWorldOptions = {}): Promise<ApiWorld> {
  const world = await makeWorld({ config: AGENTS, ...options });
  const tokens = createTokens(PERSON);
  const taken: ApiWorld['taken'] = [];
  const asked: ApiWorld['asked'] = [];
  const router: Router = {
    async take(text, sender) {
      taken.push({ text: typeof text === 'string' ? text : new TextDecoder().decode(text), sender });
      return options.routed ?? [{ result: 'accepted', reason: null, task: null, events: [] }];
    },
    message: () => Promise.reject(new Error('not asked for here')),
  };
  const doorFor = (sender: Sender): Door =>
    new Proxy({} as Door, {
      get: (_, what) => async (ask: unknown) => {
        asked.push({ what: String(what), ask, sender });
        return what === 'list' ? [] : { id: 'TASK-2026-01-01-001', asked: what };
      },
    });
  const { store, config, router: realRouter, now, workspace } = world.host;
  const parts = { store, config, router: realRouter, now, workspace };
  const realDoor = (sender: Sender, request?: string): Door =>
    openDoor({ ...parts, doLine: world.host.doLine, sender, ...(request === undefined ? {} : { request }) });
  const stopping = new AbortController();
  const { heartbeatMs, stallMs, peerOf } = options;
  const api = createApi({
    host: world.host,
    router: options.real === true ? world.host.router : router,
    doorFor: options.real === true ? realDoor : doorFor,
    tokens,
    bound: '127.0.0.1',
    stopping: stopping.signal,
    ...(heartbeatMs === undefined ? {} : { heartbeatMs }),
    ...(stallMs === undefined ? {} : { stallMs }),
    ...(peerOf === undefined ? {} : { peerOf }),
  });
  const listening = await listen({ host: '127.0.0.1', port: 0, fetch: api.fetch });
  const call = (path: string, { method, token = PERSON, headers = {}, body, signal }: CallOptions = {}) => {
    const isObject = typeof body === 'object' && !(body instanceof Uint8Array) && !(body instanceof ReadableStream);
    return fetch(`${listening.url}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(isObject ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isObject ? JSON.stringify(body) : (body as Body) }),
      ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
      ...(signal === undefined ? {} : { signal }),
    } as RequestInit);
  };
  let stopped: Promise<void> | null = null;
  const made: ApiWorld = {
    ...world,
    listening,
    tokens,
    taken,
    asked,
    call,
    async json(path, given) {
      const response = await call(path, given);
      return { status: response.status, body: JSON.parse(await response.text()) };
    },
    stop() {
      stopping.abort();
      stopped ??= listening.close();
      return stopped;
    },
  };
  open.push(made);
  return made;
}

export interface Sse {
  /** What came so far. */
  readonly events: Json[];
  readonly ids: string[];
  readonly comments: string[];
  /** Until it fits, or the deadline is over. */
  until(fits: () => boolean): Promise<void>;
  close(): Promise<void>;
  readonly ended: Promise<void>;
}

/** Reads server-sent events as a browser does. */
export async function listenTo(world: ApiWorld, path: string, options: CallOptions = {}): Promise<Sse> {
  const stop = new AbortController();
  const response = await world.call(path, { ...options, signal: stop.signal });
  if (response.status !== 200) throw new Error(`expected a stream, got ${response.status}: ${await response.text()}`);
  const events: Json[] = [];
  const ids: string[] = [];
  const comments: string[] = [];
  let wake = (): void => {};
  const read = async (): Promise<void> => {
    let held = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      held += decoder.decode(chunk, { stream: true });
      const frames = held.split('\n\n');
      held = frames.pop() ?? '';
      for (const frame of frames) {
        for (const line of frame.split('\n')) {
          if (line.startsWith('id: ')) ids.push(line.slice(4));
          else if (line.startsWith('data: ')) events.push(JSON.parse(line.slice(6)));
          else if (line.startsWith(':')) comments.push(line);
        }
      }
      wake();
    }
  };
  // The test itself ends it; what else goes wrong shows in what did not come.
  const ended = read().catch(() => {});
  return {
    events,
    ids,
    comments,
    ended,
    async until(fits) {
      const deadline = Date.now() + PATIENCE_MS;
      while (!fits()) {
        if (Date.now() > deadline) throw new Error(`it did not come: ${JSON.stringify(events.slice(-3))}`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 50);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
    async close() {
      stop.abort();
      await ended;
    },
  };
}
