/** What owner and client say to each other: JSON lines, a hello first, then numbered requests and replies in any order. */
import { BatonError, isErrorCode, messageOf } from '../../core/errors.ts';
import type { Ask, LineageQuery, QuestionFilter, Store } from '../../core/store.ts';
import type { StreamQuery } from './streams.ts';

/** Raised when a line changes its meaning. Both sides must have the same. */
export const WIRE_VERSION = 1;

/** In bytes, with all that is around the message. */
export const LONGEST_LINE = 64 * 1024 * 1024;

/** Both sides begin with it, the owner first, as soon as its store is open. */
export interface Hello {
  readonly baton: 'store';
  readonly version: number;
  readonly key: string;
  readonly pid: number;
}

export type Request =
  | { readonly n: number; readonly method: string; readonly args: readonly unknown[] }
  /** Opens a stream and asks for its first page. Its number is the stream's. */
  | { readonly n: number; readonly stream: StreamQuery }
  /** Asks for the next page. Nothing is read or sent that was not asked for. */
  | { readonly n: number; readonly next: true }
  | { readonly n: number; readonly stop: true };

interface WireError {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
}

export type Reply =
  | { readonly n: number; readonly ok?: unknown }
  | { readonly n: number; readonly page: readonly unknown[]; readonly end: boolean }
  /** Without a number where the request had none that could be read. */
  | { readonly n: number | null; readonly error: WireError };

type Call = (store: Store, args: readonly unknown[]) => Promise<unknown>;

/** What can be asked for in one request and one reply. */
export const CALLS = {
  send: (store, [ask]) => store.send(ask as Ask),
  alive: (store, [run]) => store.alive(run as string),
  find: (store, [id, session]) => store.find(id as string, session as string | undefined),
  text: (store, [id, name]) => store.text(id as string, name as string),
  node: (store, [id]) => store.node(id as string),
  lineage: (store, [id, query]) => store.lineage(id as string, query as LineageQuery | undefined),
  edges: (store, [id]) => store.edges(id as string | undefined),
  question: (store, [id]) => store.question(id as string),
  session: (store, [id]) => store.session(id as string),
  sessions: (store) => store.sessions(),
  questions: (store, [filter]) => store.questions(filter as QuestionFilter | undefined),
  history: (store, [id]) => store.history(id as string),
  lastRecord: (store) => store.lastRecord(),
  verify: (store, [session]) => store.verify(session as string | undefined),
  examine: (store) => store.examine(),
  settled: (store, [task]) => store.settled(task as string | undefined),
} as const satisfies Record<string, Call>;

export type CallName = keyof typeof CALLS;

export const isCallName = (name: unknown): name is CallName => typeof name === 'string' && Object.hasOwn(CALLS, name);

/** Whoever answers: the store itself, or its owner at the other end of a socket. */
export interface Peer {
  readonly role: 'owner' | 'client';
  call(name: CallName, args: readonly unknown[]): Promise<unknown>;
  stream(query: StreamQuery, stop: AbortSignal): AsyncIterable<unknown>;
  close(): Promise<void>;
}

/** The connection ended before the answer came. It never reaches a caller: the question is asked again. */
export const GONE = new Error('the owner of the data folder went away');

/** Arguments left out at the end stay left out: in JSON they would become null. */
export function trimArgs(args: readonly unknown[]): readonly unknown[] {
  let length = args.length;
  while (length > 0 && args[length - 1] === undefined) length -= 1;
  return args.slice(0, length);
}

export const toWireError = (cause: unknown): WireError =>
  cause instanceof BatonError
    ? { code: cause.code, message: cause.message, hint: cause.hint }
    : { code: 'E_UNKNOWN', message: messageOf(cause), hint: null };

export const fromWireError = ({ code, message, hint }: WireError): BatonError =>
  new BatonError(isErrorCode(code) ? code : 'E_UNKNOWN', message, hint);

/** Refuses what the other side would refuse to read. */
export function checkedLine(line: string, what: string): string {
  // A character has at most three bytes for each of its UTF-16 units, so short lines are not counted.
  if (line.length * 3 > LONGEST_LINE) {
    const bytes = Buffer.byteLength(line);
    if (bytes > LONGEST_LINE) {
      const message = `expected ${what} of at most ${LONGEST_LINE} bytes, got ${bytes}`;
      throw new BatonError('E_CONTEXT_OVERFLOW', message, 'keep large contents in files and name them');
    }
  }
  return line;
}
