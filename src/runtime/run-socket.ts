/**
 * The run's own socket: whoever connects there is that run, because nobody else can. Messages of any dialect go in, and each is answered with
 * one line of JSON; so do calls of the door's methods (`door-wire.ts`). It lives in the run's own folder and ends with it.
 */
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createDetector, type Found } from '../protocol/index.ts';
import { answerCall, createSplitter } from './door-wire.ts';
import type { Door, Routed } from './doors.ts';

export interface RunSocket {
  readonly path: string;
  close(): Promise<void>;
}

export interface RunSocketOptions {
  /** A message of any dialect; what is answered to it. */
  take(found: Found): Promise<Routed>;
  readonly door: Door;
  /** Something came in: whoever speaks is alive. */
  onSign(): void;
}

/** So many at once; one run needs few. */
const MOST_CONNECTIONS = 16;
/** So many questions of one connection may wait for their answer; it is not read on before. */
const MOST_WAITING = 64;

export async function openRunSocket(folder: string, options: RunSocketOptions): Promise<RunSocket> {
  const path = join(folder, 's');
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    serve(socket, options);
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

function serve(socket: Socket, { take, door, onSign }: RunSocketOptions): void {
  const detector = createDetector();
  let waiting = 0;
  let hasSaid = false;
  /** Messages are answered in their order; a call may take its time, and has its number. */
  let last: Promise<unknown> = Promise.resolve();
  const calls = new Set<Promise<unknown>>();

  const write = (answer: object): void => {
    if (!socket.destroyed) socket.write(`${JSON.stringify(answer)}\n`);
  };
  const work = (done: Promise<unknown>): Promise<unknown> => {
    if (++waiting >= MOST_WAITING) socket.pause();
    return done.finally(() => {
      if (--waiting < MOST_WAITING) socket.resume();
    });
  };
  const messages = (found: readonly Found[]): void => {
    for (const message of found) {
      hasSaid = true;
      const one = last.then(async () => write(await take(message)));
      // A store that fails: the connection ends without an answer, which is no acknowledgement.
      last = work(one).catch(() => socket.destroy());
    }
  };
  const splitter = createSplitter({
    text: (text) => messages(detector.feed(text)),
    call(line) {
      hasSaid = true;
      const one = work(answerCall(door, line).then(write)).finally(() => calls.delete(one));
      calls.add(one);
    },
    tooLong: () => socket.destroy(),
  });

  socket.on('data', (chunk) => {
    onSign();
    splitter.feed(chunk);
  });
  socket.on('end', () => {
    splitter.end();
    const rest = detector.end();
    // The end of a connection that has been of use is no message.
    messages(hasSaid ? rest.filter(({ dialect }) => dialect !== 'unstructured') : rest);
    void Promise.allSettled([last, ...calls]).then(() => socket.end());
  });
  // A peer that goes away in the middle is no error of ours.
  socket.on('error', () => socket.destroy());
}
