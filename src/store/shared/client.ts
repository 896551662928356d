/** The other end of the socket: asks the owner, many questions at once, and says when it is gone. */
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { BatonError } from '../../core/errors.ts';
import { lineReader } from './lines.ts';
import type { Place } from './place.ts';
import type { StreamQuery } from './streams.ts';
import type { CallName, Hello, Peer, Reply, Request } from './wire.ts';
import { checkedLine, fromWireError, GONE, LONGEST_LINE, trimArgs, WIRE_VERSION } from './wire.ts';

interface ConnectOptions {
  readonly place: Place;
  /** Where to try: the place's own socket, or the one that the owner says it has. */
  readonly path: string;
  /** Gives up when this says so. */
  readonly stop: AbortSignal;
  readonly onGone: () => void;
}

/** A reason in words where nobody answers there. An owner of another version is an error. */
export function connectOwner({ place, path, stop, onGone }: ConnectOptions): Promise<Peer | string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    let take: ((text: string) => void) | null = null;
    let reason = 'it closed the connection';
    const giveUp = (): void => {
      reason = 'it took the connection but did not answer';
      socket.destroy();
    };
    stop.addEventListener('abort', giveUp);
    if (stop.aborted) giveUp();

    const greeted = (text: string): void => {
      const hello = readHello(text);
      if (hello === null || (hello.version === WIRE_VERSION && hello.key !== place.key)) {
        reason = 'another program answered';
        socket.destroy();
        return;
      }
      if (hello.version !== WIRE_VERSION) {
        reject(otherVersion(place.dir, hello));
        socket.destroy();
        return;
      }
      stop.removeEventListener('abort', giveUp);
      const { peer, receive, gone } = peerOn(socket);
      take = receive;
      socket.on('close', () => {
        onGone();
        gone();
      });
      const answer: Hello = { baton: 'store', version: WIRE_VERSION, key: place.key, pid: process.pid };
      socket.write(`${JSON.stringify(answer)}\n`);
      resolve(peer);
    };

    socket.on(
      'data',
      lineReader(LONGEST_LINE, {
        line: (text) => (take ?? greeted)(text),
        tooLong: () => socket.destroy(), // no owner sends such a line
      }),
    );
    socket.on('error', (cause: NodeJS.ErrnoException) => {
      reason = cause.code ?? cause.message;
    });
    socket.on('close', () => {
      stop.removeEventListener('abort', giveUp);
      resolve(reason);
    });
  });
}

function readHello(text: string): Hello | null {
  try {
    const value = JSON.parse(text) as Hello | null;
    return value?.baton === 'store' ? value : null;
  } catch {
    return null; // whoever it is, it is not an owner
  }
}

const otherVersion = (dir: string, hello: Hello): BatonError =>
  new BatonError(
    'E_OWNER_VERSION',
    `the data folder ${dir} is in use by a baton of another version: process ${hello.pid} speaks version ${hello.version} ` +
      `of the store's protocol, this one version ${WIRE_VERSION}`,
    'stop that process, or use the same version of baton for both',
  );

interface Waiting {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (cause: Error) => void;
}

const isFailed = (reply: Reply): reply is Extract<Reply, { error: unknown }> => 'error' in reply;

/** What ends a stream that was told to stop. */
const endOf = (n: number): Reply => ({ n, page: [], end: true });

function peerOn(socket: Socket): { peer: Peer; receive: (text: string) => void; gone: () => void } {
  const waiting = new Map<number, Waiting>();
  let last = 0;
  let isGone = false;

  const write = (request: Request): void => void socket.write(`${checkedLine(JSON.stringify(request), 'a request')}\n`);
  const ask = (request: Request): Promise<Reply> =>
    new Promise((resolve, reject) => {
      if (isGone) throw GONE;
      // A socket that is about to close takes no more. Its end is told to all at once, when a new owner can be looked for.
      if (!socket.destroyed) write(request);
      waiting.set(request.n, { resolve, reject });
    });
  const failAll = (cause: Error): void => {
    const all = [...waiting.values()];
    waiting.clear();
    for (const { reject } of all) reject(cause);
  };
  const settle = (reply: Reply): void => {
    if (reply.n === null) return failAll(isFailed(reply) ? fromWireError(reply.error) : GONE); // a line of ours could not be read, whichever it was
    const found = waiting.get(reply.n);
    waiting.delete(reply.n);
    if (isFailed(reply)) found?.reject(fromWireError(reply.error));
    else found?.resolve(reply);
  };

  async function* stream(query: StreamQuery, stop: AbortSignal): AsyncGenerator<unknown> {
    if (stop.aborted) return;
    last += 1;
    const n = last;
    let isOpen = true;
    const end = (): void => {
      settle(endOf(n));
      if (isOpen && !socket.destroyed) write({ n, stop: true });
      isOpen = false;
    };
    stop.addEventListener('abort', end);
    try {
      let coming: Promise<Reply> | null = ask({ n, stream: query });
      while (coming !== null && !stop.aborted) {
        const reply = (await coming) as Extract<Reply, { page: unknown }>;
        if (reply.end) isOpen = false;
        coming = reply.end ? null : ask({ n, next: true });
        // Awaited in the next round, after this page has been read; until then its failure is not lost.
        coming?.catch(() => {});
        yield* reply.page;
      }
    } finally {
      stop.removeEventListener('abort', end);
      end();
    }
  }

  return {
    receive(text) {
      try {
        settle(JSON.parse(text) as Reply);
      } catch (cause) {
        socket.destroy(cause as Error); // not what an owner says; whoever waits asks the next one
      }
    },
    gone() {
      isGone = true;
      failAll(GONE);
    },
    peer: {
      role: 'client',
      async call(method: CallName, args) {
        last += 1;
        return ((await ask({ n: last, method, args: trimArgs(args) })) as { readonly ok?: unknown }).ok;
      },
      stream,
      async close() {
        socket.destroySoon();
      },
    },
  };
}
