/** What is known after folding the journal: the state, and where in the journal its facts stand. */
import { createGraph, type Graph } from '../../core/graph.ts';
import { createState, type State } from '../../core/state.ts';
import { placeOf } from './place.ts';
import { changesGraph, genesis, type Line, type StoredFacts } from './record.ts';

/** Where a task's records are: the last that touched it, and the last that has its body. */
export interface Places {
  readonly last: number;
  readonly body: number;
}

/** Just behind a record: its number, and where the next one begins. */
export interface Mark {
  readonly seq: number;
  readonly day: string | null;
  readonly size: number;
}

/** How far the graph is in its own file. */
export interface GraphMarks {
  /** The last record that the file has: 0 where there is none, null where nobody knows. */
  base: number | null;
  /** The first change of the graph that the file does not have is behind this; null where it has all of them. */
  from: Mark | null;
  /** The same for a file that is being written. */
  next: Mark | null;
  /** Whether one is. */
  isTaken: boolean;
}

export interface Folded {
  readonly state: State;
  readonly places: Map<string, Places>;
  /** The last record that has a document of a node; empty until the graph is read. */
  nodePlaces: Map<string, number>;
  readonly graph: GraphMarks;
  /** Asked when somebody needs the graph for the first time. */
  readGraph: () => Graph;
  /** The hash of each session's last record. */
  readonly heads: Map<string, string>;
  /** The number of the last record, and its hash where this process has met it. */
  seq: number;
  hash: string | null;
  /** The journal's last file, and how much of it is good; null before the first record. */
  day: string | null;
  size: number;
}

export function emptyFold(): Folded {
  const folded: Folded = {
    state: createState(() => folded.readGraph()),
    places: new Map(),
    nodePlaces: new Map(),
    graph: { base: 0, from: null, next: null, isTaken: false },
    readGraph: createGraph,
    heads: new Map(),
    seq: 0,
    hash: null,
    day: null,
    size: 0,
  };
  return folded;
}

export const headOf = (folded: Folded, session: string): string => folded.heads.get(session) ?? genesis(session);

type Touched = readonly [id: string, hasBody: boolean];
const NONE: readonly never[] = [];

/** The tasks that a record touches, with whether it brings a body. */
export function touched({ changes, events }: Pick<StoredFacts, 'changes' | 'events'>): readonly Touched[] {
  // Records of the graph alone touch none; there are many of them.
  if (changes.length === 0 && events.every(({ task }) => task === undefined)) return NONE;
  const found: Touched[] = [];
  const seen = new Set<string>();
  for (const { task, texts } of changes) {
    seen.add(task);
    found.push([task, texts !== undefined && Object.hasOwn(texts, 'body')]);
  }
  for (const { task } of events) {
    if (task === undefined || seen.has(task)) continue;
    seen.add(task);
    found.push([task, false]);
  }
  return found;
}

/** The nodes that a record brings documents of. */
export function documented({ graph = NONE }: Pick<StoredFacts, 'graph'>): readonly string[] {
  const ids: string[] = [];
  for (const change of graph) {
    if (change.kind === 'node' && change.document !== null && !ids.includes(change.node)) ids.push(change.node);
  }
  return ids;
}

/** Notes that a record follows here, which may change the graph. */
export function noteGraph({ graph }: Folded, facts: StoredFacts, before: Mark): void {
  if (!changesGraph(facts)) return;
  graph.from ??= before;
  graph.next ??= before;
}

/** Notes where a record stands. An event may speak of a task that is not there; that leaves no trace. */
export function notePlaces(folded: Folded, facts: StoredFacts, place: number): void {
  for (const [id, hasBody] of touched(facts)) {
    if (folded.state.task(id) === undefined) continue;
    const before = folded.places.get(id);
    folded.places.set(id, { last: place, body: hasBody ? place : (before?.body ?? 0) });
  }
  // Where the graph has not been read, the places of nodes come with it.
  if (facts.graph === undefined || !folded.state.hasGraph) return;
  for (const id of documented(facts)) folded.nodePlaces.set(id, place);
}

/** Takes in a record read from the journal. */
export function fold(folded: Folded, line: Line, day: string, start: number, end: number): void {
  noteGraph(folded, line, { seq: line.seq - 1, day, size: start });
  folded.state.apply(line as unknown as Parameters<State['apply']>[0]);
  notePlaces(folded, line, placeOf(day, start));
  folded.heads.set(line.session, line.hash);
  folded.seq = line.seq;
  folded.hash = line.hash;
  folded.day = day;
  folded.size = end;
}
