/**
 * `/mcp`: MCP over streamable HTTP. Each request is whole in itself, so that nothing is kept for a client that never comes back: no session, no
 * stream of its own; a call that takes long answers on its own stream.
 */
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { Sender } from '../../runtime/doors.ts';
import { createMcpServer, lookAt } from '../mcp/index.ts';
import { MOST_BODY } from './body.ts';
import { type Api, type Call, mayReach, senderOf } from './call.ts';
import { json } from './problems.ts';

/** Whoever's token it is, it is a program that speaks: never a person, as with `baton mcp`. */
const PROGRAM: Sender = { channel: 'mcp', run: null, agent: 'mcp', actor: { kind: 'agent', name: 'mcp' } };

export async function mcp({ host, doorFor }: Api, { request, caller }: Call): Promise<Response> {
  if (request.method !== 'POST') {
    const error = { code: -32_000, message: 'Method not allowed: this server keeps no sessions; send a POST' };
    return json({ jsonrpc: '2.0', error, id: null }, 405, { allow: 'POST' });
  }
  const look = lookAt(host.store, host.dir, (task) => mayReach(caller, task));
  const server = createMcpServer(doorFor(caller.kind === 'run' ? senderOf(caller, 'mcp') : PROGRAM), {
    look,
    inRun: caller.kind === 'run',
  });
  // Left out, it is a transport without sessions.
  const transport = new WebStandardStreamableHTTPServerTransport({ maxRequestBodySize: MOST_BODY });
  // The SDK's own types are at odds under exactOptionalPropertyTypes: `onclose` may be undefined in one and not in the other.
  await server.connect(transport as Parameters<typeof server.connect>[0]);
  // It ends with its client, whoever goes first.
  request.signal.addEventListener('abort', () => void server.close(), { once: true });
  return transport.handleRequest(request);
}
