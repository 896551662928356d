/** One client at the owner's end: reads its requests, asks the owner, and never holds more than a bounded number of them. */
import type { Socket } from 'node:net';
import { BatonError } from '../../core/errors.ts';
import { lineReader } from './lines.ts';
import { openStreams } from './open-streams.ts';
import type { StreamQuery } from './streams.ts';
import type { Hello, Peer } from './wire.ts';
import { CALLS, checkedLine, isCallName, LONGEST_LINE, toWireError, WIRE_VERSION } from './wire.ts';

export interface Connection {
  /** Takes no more requests; waits for those under way and ends the streams. */
  drain(): Promise<void>;
}

/** More than these under way, or unread, and the client has to wait. */
const MOST_UNDER_WAY = 1000;
const MOST_UNREAD = 4 * 1024 * 1024;

export function serveConnection(socket: Socket, owner: Peer, key: string): Connection {
  const underWay = new Set<Promise<void>>();
  let isGreeted = false;
  let isDraining = false;

  const say = (line: string): void => {
    if (!socket.destroyed) socket.write(`${line}\n`);
  };
  const sayError = (n: number | null, cause: unknown): void => say(JSON.stringify({ n, error: toWireError(cause) }));
  const streams = openStreams(owner, say, sayError);

  const regulate = (): void => {
    const isFull = underWay.size >= MOST_UNDER_WAY || socket.writableLength > MOST_UNREAD;
    if (isFull) socket.pause();
    else if (socket.isPaused()) socket.resume();
  };

  /** Never fails: what goes wrong is an answer. */
  const call = async (n: number, method: unknown, args: unknown): Promise<void> => {
    try {
      if (!isCallName(method)) throw expected(`one of ${Object.keys(CALLS).join(', ')} as the method`, method);
      if (!Array.isArray(args)) throw expected('a list as the args', args);
      const ok = await owner.call(method, args);
      say(checkedLine(JSON.stringify({ n, ok }), 'a reply'));
    } catch (cause) {
      sayError(n, cause);
    }
  };
  const startCall = (n: number, method: unknown, args: unknown): void => {
    const done = call(n, method, args).finally(() => {
      underWay.delete(done);
      regulate();
    });
    underWay.add(done);
    regulate();
  };

  const request = (value: Record<string, unknown>): void => {
    const { n, method, args, stream } = value;
    if (!isNumber(n)) return sayError(null, expected('a number as the n of a request', n));
    if (method !== undefined) return startCall(n, method, args);
    if (isQuery(stream)) return streams.open(n, stream);
    if (value['stop'] === true) return void streams.stop(n);
    if (value['next'] === true && streams.next(n)) return;
    sayError(n, expected('a method, a stream, or the next or stop of a stream that is open', value));
  };

  const greet = (hello: Partial<Hello>): void => {
    isGreeted = hello.baton === 'store' && hello.version === WIRE_VERSION && hello.key === key;
    if (isGreeted) return;
    const isOther = hello.baton === 'store' && hello.version !== WIRE_VERSION;
    const what = `the hello of version ${WIRE_VERSION} as the first line`;
    sayError(null, expected(what, hello, isOther ? 'E_OWNER_VERSION' : 'E_SCHEMA_VALIDATION'));
    socket.destroySoon();
  };

  const take = (text: string): void => {
    if (isDraining || socket.writableEnded) return;
    const value = readObject(text);
    if (value === null) sayError(null, expected('a JSON object as a line', text));
    else if (isGreeted) request(value);
    else greet(value);
  };
  const tooLong = (): void => sayError(null, expected(`a line of at most ${LONGEST_LINE} bytes`, 'more than that'));

  socket.on('data', lineReader(LONGEST_LINE, { line: take, tooLong }));
  socket.on('drain', regulate);
  socket.on('close', () => void streams.stopAll());
  const hello: Hello = { baton: 'store', version: WIRE_VERSION, key, pid: process.pid };
  say(JSON.stringify(hello));

  return {
    async drain() {
      isDraining = true;
      await Promise.all([...underWay, streams.stopAll()]);
    },
  };
}

const expected = (
  what: string,
  got: unknown,
  code: 'E_OWNER_VERSION' | 'E_SCHEMA_VALIDATION' = 'E_SCHEMA_VALIDATION',
) => new BatonError(code, `expected ${what}, got ${(JSON.stringify(got) ?? 'nothing').slice(0, 200)}`);

const isNumber = (value: unknown): value is number => Number.isSafeInteger(value);

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function readObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null; // the caller says so to who sent it
  }
}

function isQuery(value: unknown): value is StreamQuery {
  if (!isObject(value)) return false;
  const { of, filter, query } = value;
  return of === 'tasks' || of === 'nodes' ? isObject(filter) : of === 'events' && isObject(query);
}
