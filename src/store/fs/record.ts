/**
 * A record of the journal: one line of JSON that ends with its hash. The hash is taken over the hash of the session's record before and the
 * line without its own, so whoever changes, removes or inserts a record breaks the chain of its session at that place.
 */
import { hash } from 'node:crypto';
import type { Change, Facts, GraphChange } from '../../core/laws/decision.ts';
import type { StoredRecord } from '../../core/store.ts';
import { sparseTask, type Task } from '../../core/task.ts';
import { isoTime, parseTime } from '../../core/time.ts';

/** A text too long for a record, by name. */
export interface TextRef {
  readonly sha256: string;
  readonly bytes: number;
}

export type StoredText = string | TextRef;

/** A change as it stands in the journal. */
export interface StoredChange extends Omit<Change, 'texts'> {
  readonly texts?: Readonly<Record<string, StoredText>>;
}

type NodeChange = Extract<GraphChange, { kind: 'node' }>;

/** A change of the graph as it stands in the journal. */
export type StoredGraphChange =
  | (Omit<NodeChange, 'document'> & {
      readonly document: { readonly isNew: boolean; readonly text: StoredText } | null;
    })
  | Exclude<GraphChange, { kind: 'node' }>;

/** What only the journal knows of a record. */
export interface Line extends Omit<StoredRecord, 'changes' | 'graph'> {
  readonly changes: readonly StoredChange[];
  readonly graph?: readonly StoredGraphChange[];
  /** Where the record before is that touched the same task, or brought a document of the same node (`node:<id>`). */
  readonly back: Readonly<Record<string, number>>;
  /** In the first record of what was written at once: how many there are. */
  readonly batch: number | null;
  readonly hash: string;
}

export interface StoredFacts extends Omit<Facts, 'changes' | 'graph'> {
  readonly changes: readonly StoredChange[];
  readonly graph?: readonly StoredGraphChange[];
}

/** Whether a record changes the graph itself. Questions are not of it: they are always in memory. */
export const changesGraph = ({ graph }: Pick<StoredFacts, 'graph'>): boolean =>
  graph?.some(({ kind }) => kind !== 'question') === true;

/** A line without this changes no graph, and need not be parsed to know. */
export const GRAPH_FIELD = ',"graph":[';

/** How every line begins. */
export const startOfLine = (seq: number): string => `{"seq":${seq},`;

const HASH_FIELD = /,"hash":"([0-9a-f]{64})"\}$/;
export const HASH_LENGTH = 64;
const FIELD_LENGTH = ',"hash":""}'.length + HASH_LENGTH;

/** What the first record of a session is chained to. */
export const genesis = (session: string): string => hash('sha256', `baton session ${session}`, 'hex');

export interface Encoded {
  readonly text: string;
  readonly hash: string;
}

export function encodeLine(
  facts: StoredFacts,
  seq: number,
  back: Readonly<Record<string, number>>,
  batch: number | null,
  head: string,
): Encoded {
  const body = JSON.stringify({
    seq,
    at: isoTime(facts.at),
    session: facts.session,
    by: facts.by,
    request: facts.request,
    about: facts.about,
    events: facts.events,
    changes: facts.changes.map(compact),
    graph: facts.graph,
    sessions: facts.sessions,
    back,
    batch: batch ?? undefined,
  });
  const sum = hash('sha256', head + body, 'hex');
  return { text: `${body.slice(0, -1)},"hash":"${sum}"}\n`, hash: sum };
}

/** A new task is written without what it has by default. */
const compact = (change: StoredChange): StoredChange =>
  change.set.id === undefined ? change : { ...change, set: sparseTask(change.set as Task) };

/** Whether a line ends as one does. */
export const isEnded = (text: string): boolean => HASH_FIELD.test(text.slice(-FIELD_LENGTH));

/** The record of a line without its line end; null where it is not one. Whether it is chained is another question. */
export function decodeLine(text: string): Line | null {
  if (!isEnded(text)) return null;
  try {
    const { at, batch, back, ...rest } = JSON.parse(text) as Omit<Line, 'at'> & { at: string };
    return { ...rest, at: parseTime(at), back: back ?? {}, batch: batch ?? null };
  } catch {
    return null;
  }
}

/** The hash of a line stands so many bytes before its end, line end included. */
export const HASH_TAIL = '"}\n'.length + HASH_LENGTH;

/** Whether a line is what was written after the record with the hash `head`. */
export function isChained(text: string, line: Line, head: string): boolean {
  return hash('sha256', `${head}${text.slice(0, -FIELD_LENGTH)}}`, 'hex') === line.hash;
}
