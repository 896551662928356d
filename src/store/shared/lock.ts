/** The lock on a data folder. It survives no crash: the system takes it back with the process, or its file names a process that is gone. */
import { createServer } from 'node:net';
import type { Lock } from './lock-file.ts';
import { takeLockFile } from './lock-file.ts';
import type { Place } from './place.ts';

export type LockKind = 'abstract' | 'file';

/** Abstract sockets are there on Linux only. All the processes of one folder must use the same kind. */
export const lockKind = (): LockKind => (process.platform === 'linux' ? 'abstract' : 'file');

/** Null where another process has it. Never waits. */
export const takeLock = (place: Place, kind: LockKind): Promise<Lock | null> =>
  kind === 'abstract' ? bindName(place.lockName) : takeLockFile(place.lockFile, place.socket);

function bindName(name: string): Promise<Lock | null> {
  return new Promise((resolve, reject) => {
    // The name is all there is to it: who connects here has come to the wrong door.
    const server = createServer((socket) => socket.destroy());
    server.on('error', (cause: NodeJS.ErrnoException) => (cause.code === 'EADDRINUSE' ? resolve(null) : reject(cause)));
    // Exclusive: in a cluster, a worker would otherwise be given the socket that another one has bound.
    server.listen({ path: name, exclusive: true }, () => {
      server.unref();
      resolve({ release: () => void server.close() });
    });
  });
}
