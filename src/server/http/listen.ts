/** Listens for HTTP: who is slow with his request is cut off, and the end is in order. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { BatonError } from '../../core/errors.ts';
import { problem } from './problems.ts';

export interface Listening {
  /** Where runs and people on this machine find it. */
  readonly url: string;
  readonly port: number;
  /** How many are open now. */
  connections(): Promise<number>;
  /** Takes no new connection; what is open goes on. */
  stopTaking(): void;
  /** Lets what is under way be answered for a moment, and ends. */
  close(): Promise<void>;
}

interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Asked once it is known where we listen. */
  readonly fetch: Parameters<typeof getRequestListener>[0];
}

const HEADERS_MS = 10_000;
const REQUEST_MS = 60_000;
/** Longer than the longest poll. */
const SILENCE_MS = 120_000;
const GRACE_MS = 2_000;
const SWEEP_MS = 20;
const MOST_CONNECTIONS = 10_000;

export async function listen({ host, port, fetch }: ListenOptions): Promise<Listening> {
  const listener = getRequestListener(fetch, {
    overrideGlobalObjects: false,
    // A request whose address cannot be read.
    errorHandler: () => problem({ code: 'E_PARSE_FAILURE', message: 'expected a readable HTTP request', hint: null }),
  });
  const server = createServer(
    {
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: 5_000,
      connectionsCheckingInterval: 2_000,
      maxHeaderSize: 16_384,
    },
    (incoming, outgoing) => void listener(incoming, outgoing),
  );
  server.timeout = SILENCE_MS;
  server.maxConnections = MOST_CONNECTIONS;
  await opened(server, host, port);
  const { port: taken } = server.address() as AddressInfo;
  let closed: Promise<void> | null = null;
  const stopTaking = (): void => {
    closed ??= new Promise((resolve) => server.close(() => resolve()));
  };
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return {
    url: `http://${name.includes(':') ? `[${name}]` : name}:${taken}`,
    port: taken,
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((cause, count) => (cause ? reject(cause) : resolve(count))),
      ),
    stopTaking,
    async close() {
      stopTaking();
      // A connection whose last answer has ended would be kept for the next request.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const cutOff = setTimeout(() => server.closeAllConnections(), GRACE_MS);
      await closed;
      clearInterval(sweep);
      clearTimeout(cutOff);
    },
  };
}

async function opened(server: Server, host: string, port: number): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, backlog: 1024 }, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new BatonError(
        'E_USAGE',
        `expected a free port, but ${port} of ${host} is in use`,
        'another: --port N; any that is free: --port 0',
      );
    if (code === 'EACCES') throw new BatonError('E_PERMISSION_DENIED', `the port ${port} of ${host} may not be used`);
    throw new BatonError('E_USAGE', `expected an address of this machine to listen on, got ${host}: ${message}`);
  }
}
