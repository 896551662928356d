/**
 * What a session remembers besides its tasks (shared agent protocol §6, §12, §13): keys, locks, signals, mailboxes, checkpoints. Small tables of
 * plain values; a change names a table, a key and the new value, and null takes it out.
 */
import type { TaskStatus } from './task.ts';

export const LOCK_PRIORITIES = ['P0', 'P1', 'P2', 'P3'] as const;
export type LockPriority = (typeof LOCK_PRIORITIES)[number];

/** A value that was saved. */
export interface Kept {
  readonly value: string;
  /** Goes into an export of what is critical. */
  readonly persistent: boolean;
  readonly by: string;
  readonly at: number;
}

/** Held until its time is over, its run has ended, or its owner gives it back; then it is over, and still known to be a lock. */
export interface Lock {
  readonly owner: string;
  /** Null where its owner is no run. */
  readonly run: string | null;
  readonly priority: LockPriority;
  readonly since: number;
  readonly until: number;
}

/** Somebody who waits for a signal, for a lock to be free, or for a task to be done. They say again and again that they still do. */
export interface Waiter {
  readonly agent: string;
  readonly run: string | null;
  readonly condition: string;
  readonly priority: LockPriority;
  readonly since: number;
  readonly until: number;
  /** Those who would wait for each other for ever: it has to give way. */
  readonly deadlock?: string;
}

/** A lock that is free and kept for who waited longest, for a moment. */
interface Reservation {
  readonly agent: string;
  readonly run: string | null;
  readonly until: number;
}

interface Signal {
  readonly value: string;
  readonly by: string;
  readonly at: number;
}

export interface Letter {
  readonly to: string;
  readonly from: string;
  /** Null for one that was sent to its reader alone. */
  readonly channel: string | null;
  readonly text: string;
  readonly at: number;
  /** So many before it were dropped from a full mailbox, unread; told with it. */
  readonly dropped?: number;
}

interface Dependency {
  readonly by: string;
  readonly agent: string;
  readonly task: string;
  readonly at: number;
}

const CHECKPOINT_KINDS = ['manual', 'auto', 'milestone'] as const;
export type CheckpointKind = (typeof CHECKPOINT_KINDS)[number];

/** Files, state, graph and tasks as they were together. */
export interface Checkpoint {
  readonly kind: CheckpointKind;
  readonly name: string;
  readonly at: number;
  readonly by: string;
  readonly workspace: string;
  /** Null where the workspace is in no repository: then only the rest is bound. */
  readonly git: {
    readonly ref: string;
    readonly commit: string;
    readonly head: string | null;
    readonly branch: string | null;
    readonly files: number;
  } | null;
  readonly state: Readonly<Record<string, Kept>>;
  readonly variables: Readonly<Record<string, string>>;
  /** The session's tasks and their statuses. */
  readonly tasks: Readonly<Record<string, TaskStatus>>;
}

/** The last rollback. */
export interface RolledBack {
  readonly to: string;
  readonly at: number;
  /** Where what was not committed is kept. */
  readonly kept: string | null;
  readonly files: number;
}

/** What a session goes on from. */
export interface Imported {
  readonly file: string;
  /** The session that it was. */
  readonly from: string | null;
  readonly at: number;
  /** What was done there, in short. */
  readonly done: readonly { readonly task: string; readonly summary: string }[];
}

/** Who is at a rollback: no two are at a time. */
export interface Holder {
  readonly token: string;
  /** Its process, by which others see whether it is still there. */
  readonly pid: number;
  readonly started: string | null;
}

/** A rollback on its way. */
export interface RollingBack {
  readonly to: string;
  /** Null where it was left as it is: anybody may complete it. */
  readonly holder: Holder | null;
  /** The ref that what is uncommitted is kept under: the same one where it is begun again. */
  readonly keep: string | null;
  readonly until: number;
}

/** What a session is and has done, one value each. */
interface Facts {
  readonly startedAt: number;
  readonly endedAt: number;
  /** The agent and the task delegated to last. */
  readonly delegated: { readonly agent: string; readonly task: string };
  readonly rolledBack: RolledBack;
  /** A rollback that has begun: nothing of the session is worked on until it is over, or its time is. */
  readonly rollingBack: RollingBack;
  /** The file that the session goes on from. */
  readonly imported: Imported;
  /** How far the last export had come: its time. */
  readonly exported: number;
  /** How far the last one had come that has what is temporary in it too. */
  readonly exportedAll: number;
  /** How voices want to be answered, where it is not as at first. */
  readonly modes: Readonly<Record<string, string>>;
  readonly letters: number;
  readonly waits: number;
  readonly checkpoints: number;
}

interface Tables {
  readonly state: Kept;
  readonly variables: string;
  readonly locks: Lock;
  readonly reserved: Reservation;
  readonly waiters: Waiter;
  readonly signals: Signal;
  readonly subscribers: readonly string[];
  readonly letters: Letter;
  readonly depends: Dependency;
  readonly checkpoints: Checkpoint;
  readonly facts: Facts[keyof Facts];
}

export type TableName = keyof Tables;

/** How many were lost before these letters of one reader. */
export const droppedBefore = (letters: readonly Letter[]): number =>
  letters.reduce((sum, { dropped = 0 }) => sum + dropped, 0);

export const TABLES = [
  'state',
  'variables',
  'locks',
  'reserved',
  'waiters',
  'signals',
  'subscribers',
  'letters',
  'depends',
  'checkpoints',
  'facts',
] as const satisfies readonly TableName[];

/** A session as laws and commands see it. */
export interface Session {
  readonly id: string;
  table<T extends TableName>(name: T): ReadonlyMap<string, Tables[T]>;
  fact<F extends keyof Facts>(name: F): Facts[F] | undefined;
}

/** One value of one table; null takes it out. */
export type Put = readonly [table: TableName, key: string, value: unknown];

export interface SessionChange {
  readonly session: string;
  readonly put: readonly Put[];
}

/** A session as plain data, for a snapshot or a socket. */
export type SessionJson = { readonly id: string } & { readonly [T in TableName]?: Readonly<Record<string, Tables[T]>> };

export interface MutableSession extends Session {
  put(change: Put): void;
  json(): SessionJson;
}

export function createSession(id: string, json?: SessionJson): MutableSession {
  const tables = new Map<TableName, Map<string, unknown>>();
  for (const name of TABLES) {
    const held = json?.[name];
    if (held !== undefined) tables.set(name, new Map(Object.entries(held)));
  }
  const empty: ReadonlyMap<string, unknown> = new Map();
  const table = <T extends TableName>(name: T): ReadonlyMap<string, Tables[T]> =>
    (tables.get(name) ?? empty) as ReadonlyMap<string, Tables[T]>;
  return {
    id,
    table,
    fact: <F extends keyof Facts>(name: F) => table('facts').get(name) as Facts[F] | undefined,
    put([name, key, value]) {
      const held = tables.get(name) ?? new Map<string, unknown>();
      tables.set(name, held);
      if (value === null) held.delete(key);
      else held.set(key, value);
    },
    json() {
      const sections = [...tables].filter(([, held]) => held.size > 0);
      return { id, ...Object.fromEntries(sections.map(([name, held]) => [name, Object.fromEntries(held)])) };
    },
  };
}
