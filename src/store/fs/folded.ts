/** What is known after folding the journal: the state, and where in the journal its facts stand. */
import { createState, type State } from '../../core/state.ts';
import { placeOf } from './place.ts';
import { genesis, type Line, type StoredFacts } from './record.ts';

/** Where a task's records are: the last that touched it, and the last that has its body. */
export interface Places {
  readonly last: number;
  readonly body: number;
}

export interface Folded {
  readonly state: State;
  readonly places: Map<string, Places>;
  /** The hash of each session's last record. */
  readonly heads: Map<string, string>;
  /** The number of the last record. */
  seq: number;
  /** The journal's last file, and how much of it is good; null before the first record. */
  day: string | null;
  size: number;
}

export const emptyFold = (): Folded => ({
  state: createState(),
  places: new Map(),
  heads: new Map(),
  seq: 0,
  day: null,
  size: 0,
});

export const headOf = (folded: Folded, session: string): string => folded.heads.get(session) ?? genesis(session);

/** The tasks that a record touches, with whether it brings a body. */
export function* touched(facts: StoredFacts): Generator<readonly [id: string, hasBody: boolean]> {
  const seen = new Set<string>();
  for (const { task, texts } of facts.changes) {
    seen.add(task);
    yield [task, texts !== undefined && Object.hasOwn(texts, 'body')];
  }
  for (const { task } of facts.events) {
    if (task === undefined || seen.has(task)) continue;
    seen.add(task);
    yield [task, false];
  }
}

/** Notes where a record stands. An event may speak of a task that is not there; that leaves no trace. */
export function notePlaces(folded: Folded, facts: StoredFacts, place: number): void {
  for (const [id, hasBody] of touched(facts)) {
    if (folded.state.task(id) === undefined) continue;
    const before = folded.places.get(id);
    folded.places.set(id, { last: place, body: hasBody ? place : (before?.body ?? 0) });
  }
}

/** Takes in a record read from the journal. */
export function fold(folded: Folded, line: Line, day: string, start: number, end: number): void {
  folded.state.apply(line as unknown as Parameters<State['apply']>[0]);
  notePlaces(folded, line, placeOf(day, start));
  folded.heads.set(line.session, line.hash);
  folded.seq = line.seq;
  folded.day = day;
  folded.size = end;
}
