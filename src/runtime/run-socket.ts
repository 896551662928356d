/**
 * The run's own socket: whoever connects there is that run, because nobody else can. Messages of any dialect go in, and each is answered with
 * one line of JSON; so do calls of the door's methods (`door-wire.ts`). It lives in the run's own folder and ends with it.
 */
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createDetector, type Found } from '../protocol/index.ts';
import { answerCall, createSplitter } from './door-wire.ts';
import type { Door, Routed } from './doors.ts';

interface RunSocket {
  readonly path: string;
  close(): Promise<void>;
}

interface RunSocketOptions {
  /** A message of any dialect; what is answered to it. */
  take(found: Found): Promise<Routed>;
  readonly door: Door;
  /** Something came in: whoever speaks is alive. */
  onSign(): void;
  /** An answer, as it goes out. */
  onAnswer?(text: string): void;
}

/** So many at once; one run needs few. */
const MOST_CONNECTIONS = 16;
/** So many questions of one connection may wait for their answer; it is not read on before. */
const MOST_WAITING = 64;
/** So many bytes of answers may wait for a peer that does not read them; it is not read on before. */
const MOST_UNREAD = 1024 * 1024;

/** Who has said all it has to say may still listen, or be gone. Only writing tells: an empty line, which is no answer. */
const STILL_THERE_MS = 1_000;

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

function serve(socket: Socket, { take, door, onSign, onAnswer }: RunSocketOptions): void {
  const detector = createDetector();
  const gone = new AbortController();
  let waiting = 0;
  let hasSaid = false;
  /** Messages are answered in their order; a call may take its time, and has its number. */
  let last: Promise<unknown> = Promise.resolve();
  const calls = new Set<Promise<unknown>>();

  /** Calls that came in one piece with others, until there is room for them. */
  const held: (() => void)[] = [];
  const isFull = (): boolean => waiting >= MOST_WAITING || socket.writableLength > MOST_UNREAD;

  const readOrWait = (): void => {
    while (!isFull()) {
      const next = held.shift();
      if (next === undefined) return void socket.resume();
      next();
    }
    socket.pause();
  };
  const write = (answer: object): void => {
    if (socket.destroyed) return;
    const text = `${JSON.stringify(answer)}\n`;
    socket.write(text);
    onAnswer?.(text);
  };
  const work = (done: Promise<unknown>): Promise<unknown> => {
    waiting++;
    if (isFull()) socket.pause();
    return done.finally(() => {
      waiting--;
      readOrWait();
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
      const start = (): Promise<unknown> => work(answerCall(door, line, gone.signal).then(write));
      const begun = isFull() ? new Promise((resolve) => held.push(() => resolve(start()))) : start();
      const one = begun.finally(() => calls.delete(one));
      calls.add(one);
    },
    tooLong: () => socket.destroy(),
  });

  socket.on('data', (chunk) => {
    onSign();
    splitter.feed(chunk);
  });
  socket.on('drain', readOrWait);
  socket.on('end', () => {
    splitter.end();
    const rest = detector.end();
    // The end of a connection that has been of use is no message.
    messages(hasSaid ? rest.filter(({ dialect }) => dialect !== 'unstructured') : rest);
    const isThere = calls.size === 0 ? undefined : setInterval(() => socket.write('\n'), STILL_THERE_MS);
    void Promise.allSettled([last, ...calls]).then(() => {
      clearInterval(isThere);
      socket.end();
    });
  });
  // Nobody waits for these any more.
  socket.on('close', () => {
    held.splice(0);
    gone.abort();
  });
  // A peer that goes away in the middle is no error of ours.
  socket.on('error', () => socket.destroy());
}
