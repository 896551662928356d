/** One store for all the processes of a data folder: one of them owns it, the others ask it, and none of them notices which is which. */
import type { Edge } from '../../core/node.ts';
import type { Question } from '../../core/question.ts';
import type { SessionJson } from '../../core/session.ts';
import type { Answer, Check, Lineage, Store, StoredRecord, Verification, WholeNode } from '../../core/store.ts';
import type { Task } from '../../core/task.ts';
import { newId } from '../../process/new-id.ts';
import { anyOf } from '../../process/waiting.ts';
import { closedStore } from './closed.ts';
import { elect } from './election.ts';
import type { LockKind } from './lock.ts';
import { lockKind } from './lock.ts';
import { findPlace } from './place.ts';
import type { StreamQuery } from './streams.ts';
import { doesFollow, movedOn } from './streams.ts';
import type { CallName, Peer } from './wire.ts';
import { GONE } from './wire.ts';

export interface SharedOptions {
  /** The data folder; it exists. */
  readonly dir: string;
  /** Random text that only the folder's user can read. */
  readonly secret: string;
  /** Opens the real store. Called only while this process has the lock, and the store is closed before the lock is given back. */
  readonly openOwner: () => Promise<Store>;
  /** Told at first, and after each hand-over. */
  readonly onRole?: (role: 'owner' | 'client') => void;
  /** Where the sockets are, instead of the user's runtime folder. */
  readonly runtimeDir?: string;
  /** All the processes of one folder must use the same. */
  readonly lock?: LockKind;
  /** How long to wait for an owner that has the lock but does not answer; 30 s where nothing is said. */
  readonly waitMs?: number;
}

const WAIT_MS = 30_000;

export async function openShared(options: SharedOptions): Promise<Store> {
  const place = findPlace(options);
  const stopping = new AbortController();
  const underWay = new Set<Promise<unknown>>();
  let peer: Promise<Peer> | null = null;
  let closing: Promise<void> | null = null;

  const join = (): Promise<Peer> => {
    const joined = elect({
      place,
      lock: options.lock ?? lockKind(),
      openOwner: options.openOwner,
      waitMs: options.waitMs ?? WAIT_MS,
      stop: stopping.signal,
      onGone() {
        if (peer === joined) peer = null;
        // At once, and not when it is needed: somebody has to be the next owner. Its failure is met again by whoever asks.
        if (!stopping.signal.aborted) current().catch(() => {});
      },
    });
    joined.then(
      ({ role }) => options.onRole?.(role),
      () => {
        if (peer === joined) peer = null;
      },
    );
    return joined;
  };
  const current = (): Promise<Peer> => {
    peer ??= join();
    return peer;
  };

  const ask = async (name: CallName, args: readonly unknown[]): Promise<unknown> => {
    for (;;) {
      try {
        return await (await current()).call(name, args);
      } catch (cause) {
        if (cause !== GONE) throw cause;
      }
    }
  };
  const call = <T>(name: CallName, ...args: readonly unknown[]): Promise<T> => {
    if (closing !== null) return Promise.reject(closedStore());
    const answer = ask(name, args).finally(() => underWay.delete(answer));
    underWay.add(answer);
    return answer as Promise<T>;
  };

  async function* stream<T>(query: StreamQuery, follow?: AbortSignal): AsyncGenerator<T> {
    if (closing !== null) throw closedStore();
    const { signal: stop, letGo } = anyOf(follow ? [stopping.signal, follow] : [stopping.signal]);
    let at = query;
    try {
      while (!stop.aborted) {
        try {
          const found = await unlessStopped(current(), stop);
          if (found === null) break;
          for await (const item of found.stream(at, stop)) {
            if (stop.aborted) break;
            at = movedOn(at, item);
            yield item as T;
          }
          if (!stop.aborted) return;
        } catch (cause) {
          if (cause !== GONE) throw cause;
        }
      }
    } finally {
      letGo();
    }
    // A list that was cut short must not look like a whole one.
    if (!doesFollow(query)) throw closedStore();
  }

  const close = async (): Promise<void> => {
    await Promise.allSettled(underWay);
    stopping.abort();
    const last = await peer?.catch(() => null); // who waited for it has been told
    await last?.close();
  };

  await current();
  return {
    // Without an id, a question asked again after a hand-over could act twice.
    send: (message) => call<Answer>('send', { ...message, request: message.request ?? newId() }),
    alive: (run) => call<boolean>('alive', run),
    find: (id, session) => call<Task | undefined>('find', id, session),
    tasks: (filter = {}) => stream<Task>({ of: 'tasks', filter, after: null }),
    text: (id, name) => call<string | null>('text', id, name),
    node: (id) => call<WholeNode | undefined>('node', id),
    nodes: (filter = {}) => stream<WholeNode>({ of: 'nodes', filter }),
    lineage: (id, query) => call<Lineage | undefined>('lineage', id, query),
    edges: (id) => call<readonly Edge[]>('edges', id),
    question: (id) => call<Question | undefined>('question', id),
    questions: (filter) => call<readonly Question[]>('questions', filter),
    session: (id) => call<SessionJson | undefined>('session', id),
    sessions: () => call<readonly SessionJson[]>('sessions'),
    history: (id) => call<readonly StoredRecord[]>('history', id),
    eventsAfter: ({ follow, ...query }) =>
      stream<StoredRecord>({ of: 'events', query, follow: follow !== undefined }, follow),
    lastRecord: () => call<number>('lastRecord'),
    verify: (session) => call<Verification>('verify', session),
    examine: () => call<readonly Check[]>('examine'),
    settled: (task) => call<void>('settled', task),
    close() {
      closing ??= close();
      return closing;
    },
  };
}

function unlessStopped<T>(promise: Promise<T>, stop: AbortSignal): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const stopped = (): void => resolve(null);
    stop.addEventListener('abort', stopped);
    promise.then(resolve, reject).finally(() => stop.removeEventListener('abort', stopped));
  });
}
