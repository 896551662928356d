/** Sessions as they are listed: when they began, how their tasks stand, what they remember, what they ask. */
import type { SessionJson } from '../core/session.ts';
import type { Store } from '../core/store.ts';
import type { Task, TaskStatus } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
import { waitingFor } from '../runtime/people-inbox.ts';

export interface SessionOverview {
  readonly id: string;
  /** The first thing that was said in it, or its first task. */
  readonly startedAt: string;
  readonly endedAt: string | null;
  /** How many there are of each status that there is. */
  readonly tasks: Readonly<Partial<Record<TaskStatus, number>>>;
  readonly keys: number;
  readonly locks: number;
  readonly checkpoints: number;
  /** What waits for a person. */
  readonly questions: number;
}

/** A session whole, as whoever may see all of it sees it. */
interface SessionDetails extends SessionOverview {
  readonly state: Readonly<Record<string, { readonly value: string; readonly persistent: boolean }>>;
  readonly variables: Readonly<Record<string, string>>;
  readonly held: Readonly<Record<string, { readonly owner: string; readonly until: string }>>;
  readonly signals: Readonly<Record<string, string>>;
  readonly channels: Readonly<Record<string, readonly string[]>>;
  readonly made: readonly { readonly id: string; readonly name: string; readonly kind: string; readonly at: string }[];
}

/** All sessions, the oldest first. */
export async function sessionsOf(store: Store, now: number): Promise<SessionOverview[]> {
  const tasks = new Map<string, Work>();
  for await (const task of store.tasks()) count(tasks, task);
  return overviews(await store.sessions(), tasks, await questionsOf(store), now);
}

/** The tasks of a session: when the first was made, and how they stand. */
interface Work {
  began: number;
  readonly counts: Partial<Record<TaskStatus, number>>;
}

function count(all: Map<string, Work>, { session, status, createdAt }: Task): void {
  const work = all.get(session) ?? { began: createdAt, counts: {} };
  work.began = Math.min(work.began, createdAt);
  work.counts[status] = (work.counts[status] ?? 0) + 1;
  all.set(session, work);
}

/** Null where nothing was ever said in it and no task is of it. */
export async function sessionDetails(store: Store, id: string, now: number): Promise<SessionDetails | null> {
  const tasks = new Map<string, Work>();
  for await (const task of store.tasks({ session: id })) count(tasks, task);
  const json = await store.session(id);
  const [overview] = overviews(json === undefined ? [] : [json], tasks, await questionsOf(store, id), now);
  if (overview === undefined) return null;
  const { state = {}, variables = {}, locks = {}, signals = {}, subscribers = {}, checkpoints = {} } = json ?? {};
  const held = Object.entries(locks).filter(([, { until }]) => until > now);
  return {
    ...overview,
    state: mapped(state, ({ value, persistent }) => ({ value, persistent })),
    variables,
    held: mapped(Object.fromEntries(held), ({ owner, until }) => ({ owner, until: isoTime(until) })),
    signals: mapped(signals, ({ value }) => value),
    channels: subscribers,
    made: Object.entries(checkpoints).map(([key, { name, kind, at }]) => ({ id: key, name, kind, at: isoTime(at) })),
  };
}

async function questionsOf(store: Store, session?: string): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const item of await waitingFor(store, session)) counts.set(item.session, (counts.get(item.session) ?? 0) + 1);
  return counts;
}

function overviews(
  jsons: readonly SessionJson[],
  tasks: ReadonlyMap<string, Work>,
  questions: ReadonlyMap<string, number>,
  now: number,
): SessionOverview[] {
  const byId = new Map(jsons.map((json) => [json.id, json]));
  return [...new Set([...byId.keys(), ...tasks.keys()])]
    .map((id) => ({ id, ...overviewOf(byId.get(id), tasks.get(id), now), questions: questions.get(id) ?? 0 }))
    .sort((a, b) => (a.startedAt < b.startedAt ? -1 : a.startedAt > b.startedAt ? 1 : a.id < b.id ? -1 : 1));
}

function overviewOf(
  json: SessionJson | undefined,
  work: Work | undefined,
  now: number,
): Omit<SessionOverview, 'id' | 'questions'> {
  const { facts = {}, state = {}, locks = {}, checkpoints = {} } = json ?? {};
  const told = [facts['startedAt'] as number | undefined, work?.began].filter((time) => time !== undefined);
  const ended = facts['endedAt'] as number | undefined;
  return {
    startedAt: isoTime(told.length === 0 ? (ended ?? 0) : Math.min(...told)),
    endedAt: ended === undefined ? null : isoTime(ended),
    tasks: work?.counts ?? {},
    keys: Object.keys(state).length,
    locks: Object.values(locks).filter(({ until }) => until > now).length,
    checkpoints: Object.keys(checkpoints).length,
  };
}

const mapped = <A, B>(of: Readonly<Record<string, A>>, to: (value: A) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(of).map(([key, value]) => [key, to(value)]));
