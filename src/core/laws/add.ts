/** Making tasks: one, or several that know each other; all of them or none. */
import {
  checkoutOf,
  DEFAULT_SESSION,
  expandTask,
  isTaskId,
  isUndone,
  partsOfId,
  type Routing,
  TASK_DEFAULTS,
  type Task,
  taskId,
} from '../task.ts';
import { dayOf } from '../time.ts';
import { type Decision, refused } from './decision.ts';
import { findCycle, settle } from './dependencies.ts';
import type { Draft } from './draft.ts';
import type { NewTask } from './messages.ts';
import { namesProblem } from './names.ts';

/** An aop2 delegation may go three deep; config may say otherwise. */
export const MAX_DEPTH = 3;

/** Of an id of one's own choice: the ids after it are counted on from it, and must stay exact. */
const HIGHEST = 999_999_999;

export function add(draft: Draft, news: readonly NewTask[], maxDepth: number = MAX_DEPTH): Decision {
  if (news.length === 0) return refused('E_SCHEMA_VALIDATION', 'expected at least one task to add, got none');
  const ids = giveIds(draft, news);
  if (!Array.isArray(ids)) return ids;
  /** The names by which these tasks know each other. */
  const together = new Map<string, string>();
  for (const [i, item] of news.entries()) {
    if (item.externalId === undefined) continue;
    const name = nameIn(sessionOf(draft, item), item.externalId);
    const held = draft.slice.byExternalId(sessionOf(draft, item), item.externalId);
    // A task that was undone by a rollback gives its name up.
    if (together.has(name) || (held !== undefined && !isUndone(draft.task(held)))) {
      return refused(
        'E_DUPLICATE',
        `the session ${sessionOf(draft, item)} has a task ${item.externalId} already`,
        'an external id is unique in its session',
      );
    }
    together.set(name, ids[i] as string);
  }
  const known = new Set(ids);
  const made: Task[] = [];
  const parents = new Map<string, Task>();
  for (const i of parentsFirst(draft, news, ids, together)) {
    const item = news[i] as NewTask;
    const task = make(draft, item, ids[i] as string, together, known, parents, maxDepth);
    if ('kind' in task) return task;
    parents.set(task.id, task);
    made[i] = task;
  }
  const cycle = findCycle(ids, dependenciesOf(made, draft));
  if (cycle !== null) return closesCycle(cycle);
  for (const [i, task] of made.entries()) draft.create(task, textsOf(news[i] as NewTask, task.id));
  for (const task of made) announce(draft, task);
  // One that depends on what has failed is blocked from its beginning.
  settle(draft, ids);
  return draft.decision((made[0] as Task).session, ids);
}

/** With the id that it has got, where they speak of it. */
function textsOf({ texts, idWord }: NewTask, id: string): NewTask['texts'] {
  if (texts === undefined || idWord === undefined) return texts;
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.replaceAll(idWord, id)]));
}

/** The order in which a parent is made before its children; those whose parents go in a circle come last, and find none. */
function parentsFirst(
  draft: Draft,
  news: readonly NewTask[],
  ids: readonly string[],
  together: ReadonlyMap<string, string>,
): number[] {
  const indices = new Map(ids.map((id, i) => [id, i]));
  const order: number[] = [];
  const seen = new Set<number>();
  for (const start of news.keys()) {
    const chain: number[] = [];
    for (let i: number | undefined = start; i !== undefined && !seen.has(i); ) {
      seen.add(i);
      chain.push(i);
      const item: NewTask = news[i] as NewTask;
      const { parentId } = item;
      const id =
        parentId === undefined ? undefined : (together.get(nameIn(sessionOf(draft, item), parentId)) ?? parentId);
      i = id === undefined ? undefined : indices.get(id);
    }
    order.push(...chain.reverse());
  }
  return order;
}

const dependenciesOf = (made: readonly Task[], draft: Draft): ((id: string) => readonly string[]) => {
  const own = new Map(made.map((task) => [task.id, task.dependsOn]));
  return (id) => own.get(id) ?? draft.task(id)?.dependsOn ?? [];
};

export const closesCycle = (cycle: readonly string[]): Decision =>
  refused('E_CYCLE', `these tasks would wait for each other for ever: ${cycle.join(' → ')}`);

const nameIn = (session: string, externalId: string): string => JSON.stringify([session, externalId]);

/** A child is in its parent's session, whatever it says. */
const sessionOf = (draft: Draft, item: NewTask): string =>
  (item.parentId === undefined ? undefined : findByAnyId(draft, item.parentId, item.session)?.session) ??
  item.session ??
  DEFAULT_SESSION;

function findByAnyId(draft: Draft, id: string, session: string = DEFAULT_SESSION): Task | undefined {
  const known = draft.slice.byExternalId(session, id);
  return draft.task(id) ?? (known === undefined ? undefined : draft.task(known));
}

/** Among those that are made together, else among those that are there. */
const findParent = (
  draft: Draft,
  id: string,
  session: string,
  together: ReadonlyMap<string, string>,
  parents: ReadonlyMap<string, Task>,
): Task | undefined =>
  parents.get(id) ?? parents.get(together.get(nameIn(session, id)) ?? '') ?? findByAnyId(draft, id, session);

function giveIds(draft: Draft, news: readonly NewTask[]): string[] | Decision {
  const day = dayOf(draft.now);
  let last = draft.lastNumber(day);
  const taken = new Set<string>();
  for (const { id } of news) {
    if (id === undefined) continue;
    if (!isTaskId(id)) return refused('E_SCHEMA_VALIDATION', `expected an id TASK-YYYY-MM-DD-NNN, got ${id}`);
    if (taken.has(id) || draft.task(id) !== undefined) return refused('E_DUPLICATE', `there is a task ${id} already`);
    taken.add(id);
    const parts = partsOfId(id);
    if (parts.number > HIGHEST) {
      return refused('E_SCHEMA_VALIDATION', `expected an id with a number up to ${HIGHEST}, got ${id}`);
    }
    if (parts.day === day) last = Math.max(last, parts.number);
  }
  return news.map(({ id }) => id ?? taskId(day, ++last));
}

function make(
  draft: Draft,
  item: NewTask,
  id: string,
  together: ReadonlyMap<string, string>,
  known: ReadonlySet<string>,
  parents: ReadonlyMap<string, Task>,
  maxDepth: number,
): Task | Extract<Decision, { kind: 'refused' }> {
  const unnamed = namesProblem(item);
  if (unnamed !== null) return no('E_SCHEMA_VALIDATION', unnamed);
  const session = sessionOf(draft, item);
  const parent = item.parentId === undefined ? undefined : findParent(draft, item.parentId, session, together, parents);
  if (item.parentId !== undefined && parent === undefined) {
    return no('E_NOT_FOUND', `there is no task ${item.parentId} to be the parent of this one`);
  }
  const depth = parent === undefined ? 0 : parent.depth + 1;
  if (depth > maxDepth) {
    return no(
      'E_MAX_DEPTH_EXCEEDED',
      `expected a delegation at most ${maxDepth} deep, got one ${depth} deep, below ${parent?.id}`,
      'delegation.max_depth in config.yaml sets the limit',
    );
  }
  const dependsOn = new Set<string>();
  for (const name of item.dependsOn ?? []) {
    const other =
      (known.has(name) ? name : draft.task(name)?.id) ??
      together.get(nameIn(session, name)) ??
      draft.slice.byExternalId(session, name);
    if (other === undefined) return no('E_NOT_FOUND', `there is no task ${name}, which this one is to depend on`);
    if (other === id) return no('E_CYCLE', `${item.externalId ?? id} cannot depend on itself: ${id} → ${id}`);
    dependsOn.add(other);
  }
  return expandTask({
    id,
    title: item.title,
    status: item.status ?? 'ready',
    createdAt: draft.now,
    createdBy: draft.by.name,
    updatedAt: draft.now,
    lastTransitionAt: draft.now,
    session,
    depth,
    ...(dependsOn.size === 0 ? {} : { dependsOn: [...dependsOn] }),
    ...(item.externalId === undefined ? {} : { externalId: item.externalId }),
    ...(parent === undefined ? {} : { parentId: parent.id }),
    ...(item.priority === undefined ? {} : { priority: item.priority }),
    ...(item.routing === undefined ? {} : { routing: { ...NO_ROUTING, ...item.routing } }),
    ...(item.model === undefined ? {} : { model: item.model }),
    ...placed(draft, item, [...dependsOn]),
    ...(item.retry === undefined ? {} : { retry: item.retry }),
    ...(item.reviewRequired === undefined ? {} : { reviewRequired: item.reviewRequired }),
    ...(item.metadata === undefined ? {} : { metadata: item.metadata }),
  });
}

/** A checkout has one writer: a second task that asks for it gets a worktree of its own, where it is in the way of no other. */
function placed(
  draft: Draft,
  { workspace, writes = [] }: NewTask,
  dependsOn: readonly string[],
): Partial<Pick<Task, 'workspace' | 'writes'>> {
  if (workspace?.isolation === 'checkout') {
    for (const other of draft.slice.writers()) {
      if (other.workspace === null || checkoutOf(other.workspace) !== checkoutOf(workspace)) continue;
      // What it depends on is over before it begins.
      if (dependsOn.includes(other.id)) continue;
      return { workspace: { ...workspace, isolation: 'worktree' } };
    }
  }
  return { ...(workspace === undefined ? {} : { workspace }), ...(writes.length === 0 ? {} : { writes }) };
}

const NO_ROUTING: Routing = TASK_DEFAULTS.routing;

const no = (...args: Parameters<typeof refused>): Extract<Decision, { kind: 'refused' }> =>
  refused(...args) as Extract<Decision, { kind: 'refused' }>;

/** The events of a new task. */
function announce(draft: Draft, task: Task): void {
  const { title, status, priority, parentId, dependsOn, externalId } = task;
  draft.event('task.created', task.id, null, {
    title,
    status,
    priority,
    ...(parentId === null ? {} : { parentId }),
    ...(externalId === null ? {} : { externalId }),
    ...(dependsOn.length === 0 ? {} : { dependsOn }),
  });
  if (parentId !== null) draft.event('delegation.requested', task.id, null, { parentId, depth: task.depth });
}
