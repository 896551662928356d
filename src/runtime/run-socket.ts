/**
 * The run's own socket: whoever connects there is that run, because nobody else can. Messages of any dialect go in, and each is answered with
 * one line of JSON. It lives in the run's own folder and ends with it.
 */
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createDetector, type Found } from '../protocol/index.ts';

export interface RunSocket {
  readonly path: string;
  close(): Promise<void>;
}

/** What is answered to a message. */
export interface SocketAnswer {
  readonly result: 'accepted' | 'rejected' | 'unknown' | 'ignored';
  readonly reason: string | null;
}

/** So many at once; one run needs few. */
const MOST_CONNECTIONS = 16;

export async function openRunSocket(folder: string, take: (found: Found) => SocketAnswer): Promise<RunSocket> {
  const path = join(folder, 's');
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    const detector = createDetector();
    const answer = (found: readonly Found[]): void => {
      for (const message of found) socket.write(`${JSON.stringify(take(message))}\n`);
    };
    socket.on('data', (chunk) => answer(detector.feed(chunk)));
    socket.on('end', () => {
      answer(detector.end());
      socket.end();
    });
    // A peer that goes away in the middle is no error of ours.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => open.delete(socket));
  });
  server.maxConnections = MOST_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  return {
    path,
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
