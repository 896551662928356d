/** How tasks are looked up and shown to whoever asks, by command line or by HTTP: one task by any of its names, and all that is known of it. */
import { BatonError } from '../core/errors.ts';
import type { Question } from '../core/question.ts';
import { standing, waitsOf } from '../core/standing.ts';
import type { KnownTasks, Store } from '../core/store.ts';
import { isFinal, type Task } from '../core/task.ts';
import { type EventJson, eventsOf, type RunJson, runsOf, type TaskJson, taskJson } from '../core/task-json.ts';
import { type Why, why } from '../core/why.ts';
import { openQuestions } from './open-questions.ts';

/** By id, or by external id: of the session, or of the only one that has it. */
export async function findTask(store: KnownTasks, id: string, session?: string): Promise<Task> {
  const task = await store.find(id, session);
  if (task !== undefined) return task;
  const sessions = session === undefined ? await sessionsWith(store, id) : [];
  if (sessions.length < 2) throw new BatonError('E_NOT_FOUND', `there is no task ${id}`, 'see: baton task list');
  throw new BatonError(
    'E_NOT_FOUND',
    `there is no single task ${id}: the sessions ${sessions.join(', ')} have one each`,
    'say which with --session, or name it by its own id',
  );
}

async function sessionsWith(store: KnownTasks, externalId: string): Promise<string[]> {
  const sessions: string[] = [];
  for await (const task of store.tasks()) if (task.externalId === externalId) sessions.push(task.session);
  return sessions;
}

/** Shows tasks as T, with what each waits for. It remembers what it has seen, so that a long list asks for each task at most once. */
export function createTaskView(store: Store, now = Date.now()): (task: Task) => Promise<TaskJson> {
  const seen = new Map<string, Task | undefined>();
  let writers: Promise<readonly Task[]> | null = null;
  let questions: Promise<readonly Question[]> | null = null;
  const load = async (ids: Iterable<string>): Promise<void> => {
    for (const id of ids) if (!seen.has(id)) seen.set(id, await store.find(id));
  };
  return async (task) => {
    seen.set(task.id, task);
    await load([...task.dependsOn, ...(task.cause?.task === undefined ? [] : [task.cause.task])]);
    const blockedBy = task.dependsOn.filter((id) => seen.get(id)?.status !== 'done');
    if (isFinal(task.status)) return taskJson(task, blockedBy, []);
    const writes = task.status === 'ready' && task.writes.length > 0;
    if (writes) {
      for (let { parentId } = task; parentId !== null; parentId = seen.get(parentId)?.parentId ?? null)
        await load([parentId]);
      writers ??= all(store.tasks({ status: ['in-progress'] }));
    }
    if (isWaiting(task)) questions ??= openQuestions(store);
    const place = standing(task, {
      find: (id) => seen.get(id),
      now,
      writers: writes ? ((await writers) ?? []) : [],
      questions: isWaiting(task) ? ((await questions) ?? []).filter((asked) => asked.task === task.id) : [],
    });
    return taskJson(task, blockedBy, waitsOf(place));
  };
}

async function all(tasks: AsyncIterable<Task>): Promise<Task[]> {
  const list: Task[] = [];
  for await (const task of tasks) list.push(task);
  return list;
}

/** A task with `runs`, `events` and `body`. */
export interface ShownTask extends TaskJson {
  readonly runs: readonly RunJson[];
  readonly events: readonly EventJson[];
  readonly body: string | null;
}

export async function shownTask(store: Store, task: Task): Promise<ShownTask> {
  const history = await store.history(task.id);
  return {
    ...(await createTaskView(store)(task)),
    runs: runsOf(history, task.id),
    events: history.flatMap((record) => eventsOf(record, task.id)),
    body: await store.text(task.id, 'body'),
  };
}

/** Why a task is as it is, and what it waits for. */
export async function whyTask(store: Store, task: Task, now: number): Promise<Why> {
  const others = new Map<string, Task | undefined>();
  for (const other of [...task.dependsOn, ...(task.cause?.task === undefined ? [] : [task.cause.task])]) {
    others.set(other, await store.find(other));
  }
  const running: Task[] = [];
  if (task.status === 'ready' && task.writes.length > 0) {
    for await (const other of store.tasks({ status: ['in-progress'] })) running.push(other);
    for (let { parentId } = task; parentId !== null; parentId = others.get(parentId)?.parentId ?? null) {
      others.set(parentId, await store.find(parentId));
    }
  }
  const questions = isWaiting(task) ? (await openQuestions(store)).filter((asked) => asked.task === task.id) : [];
  return why(task, await store.history(task.id), (other) => others.get(other), now, running, questions);
}

const isWaiting = ({ status }: Task): boolean => status === 'review' || status === 'blocked';
