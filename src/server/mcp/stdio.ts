/** Serves one client on this process's standard input and output, of which the latter is the protocol's alone. */
import type { Readable, Writable } from 'node:stream';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import { inOneSentence, withoutBadParams } from './bad-requests.ts';

/** A message of 10 MB, and what it grows by when it is written as a text of JSON. What is longer ends the connection. */
const MOST_BYTES = 32 * 1024 * 1024;
/** What was asked before the input ended is still answered, if it does not take longer. */
const LAST_ANSWERS_MS = 5000;

export interface StdioOptions {
  /** Told what goes wrong beside the answers. */
  warn(text: string): void;
  /** Ends it from outside. */
  readonly signal?: AbortSignal;
  /** In place of this process's own. */
  readonly input?: Readable;
  readonly output?: Writable;
}

/** Resolves when the client has gone, or it was told to end. */
export async function serveStdio(
  server: McpServer,
  { warn, signal, input = process.stdin, output = process.stdout }: StdioOptions,
): Promise<void> {
  const asked = withoutBadParams((message) => void transport.send(message), MOST_BYTES);
  const transport = new StdioServerTransport(asked, output, { maxBufferSize: MOST_BYTES });
  const open = new Set<RequestId>();
  let idle = (): void => {};
  transport.onmessage = (message: JSONRPCMessage) => {
    if ('method' in message && 'id' in message) open.add(message.id);
  };
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    await send(inOneSentence(message));
    if ('id' in message && !('method' in message) && message.id !== undefined) open.delete(message.id);
    if (open.size === 0) idle();
  };
  const closed = new Promise<void>((resolve) => {
    transport.onclose = resolve;
  });
  transport.onerror = (cause) => warn(`baton mcp: ${cause.message.slice(0, 300)}`);
  await server.connect(transport);
  input.once('error', (cause) => asked.destroy(cause));
  input.pipe(asked);
  const ended = new Promise<void>((resolve) => {
    asked.once('end', resolve);
    asked.once('close', resolve);
  });
  const told = new Promise<void>((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
  const answered = ended.then(
    () =>
      new Promise<void>((resolve) => {
        idle = resolve;
        if (open.size === 0) resolve();
        setTimeout(resolve, LAST_ANSWERS_MS).unref();
      }),
  );
  await Promise.race([answered, closed, told]);
  await server.close();
  input.unpipe(asked);
  input.pause();
}
