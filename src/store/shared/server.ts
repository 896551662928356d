/** The owner's end of the socket: takes in connections, holds them until the store is open, and lets go of them in good order. */
import { chmodSync, rmSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import type { Connection } from './connection.ts';
import { serveConnection } from './connection.ts';
import type { Place } from './place.ts';
import type { Peer } from './wire.ts';

interface RequestServer {
  /** Begins to answer, those first who came while the store was being opened. */
  open(owner: Peer): void;
  /** Takes no more requests and waits for those under way. Who is connected stays so. */
  drain(): Promise<void>;
  stopListening(): void;
  /** Lets everybody go, who then look for the next owner. */
  disconnect(): void;
}

/** How long a client that does not read may take to fetch its last replies. It would ask the next owner for them. */
const LAST_WORDS_MS = 1000;

/** Only for the holder of the lock: a socket that is there already is left over from an owner that is gone. */
export async function listen(place: Place): Promise<RequestServer> {
  const sockets = new Set<Socket>();
  const connections = new Set<Connection>();
  let owner: Peer | null = null;
  let isDraining = false;

  const attach = (socket: Socket, opened: Peer): void => {
    const connection = serveConnection(socket, opened, place.key);
    connections.add(connection);
    socket.on('close', () => connections.delete(connection));
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy()); // the client is gone; it knows best why
    if (owner !== null && !isDraining) attach(socket, owner);
  });
  await bind(server, place.socket);

  return {
    open(opened) {
      owner = opened;
      for (const socket of sockets) attach(socket, opened);
    },
    async drain() {
      isDraining = true;
      await Promise.all([...connections].map((connection) => connection.drain()));
    },
    stopListening: () => void server.close(),
    disconnect() {
      for (const socket of sockets) {
        socket.destroySoon();
        setTimeout(() => socket.destroy(), LAST_WORDS_MS).unref();
      }
    },
  };
}

function bind(server: Server, path: string): Promise<void> {
  const isFile = process.platform !== 'win32';
  if (isFile) rmSync(path, { force: true });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path, exclusive: true }, () => {
      server.off('error', reject);
      server.on('error', () => {}); // one connection could not be taken in (no file handles left); its client tries again
      if (isFile) chmodSync(path, 0o600);
      resolve();
    });
  });
}
