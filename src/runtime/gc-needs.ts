/** Which tasks and runs are needed by what is not over, as the store knows it: what they left on disk may be read again. */
import type { Store } from '../core/store.ts';
import { isFinal, type Task } from '../core/task.ts';
import { openQuestions } from './open-questions.ts';

export interface Needs {
  /** Why, by the id of the task. */
  readonly tasks: ReadonlyMap<string, string>;
  /** The same for a log that something refers to, by the id of the run. */
  readonly runs: ReadonlyMap<string, string>;
}

const TASK_NAMED = /TASK-\d{4}-\d{2}-\d{2}-\d{3,}/g;
/** With the separators of any system, as they stand in JSON. */
const LOG_NAMED = /logs(?:\/|\\{1,2})(TASK-\d{4}-\d{2}-\d{2}-\d{3,}-r\d+)/g;

/** What a task was given in words: a handoff names there what it refers to. */
const GIVEN = ['body', 'inputs/task.json', 'inputs/handoff.json', 'inputs/node.json', 'inputs/output.yaml'];

export async function needsOf(store: Store): Promise<Needs> {
  const tasks = new Map<string, string>();
  const runs = new Map<string, string>();
  const need = (id: unknown, why: string): void => {
    if (typeof id === 'string' && !tasks.has(id)) tasks.set(id, why);
  };
  const referTo = (value: unknown, why: string): void => {
    for (const [, run = ''] of JSON.stringify(value).matchAll(LOG_NAMED)) if (!runs.has(run)) runs.set(run, why);
  };

  const open = new Map<string, Task>();
  for await (const task of store.tasks()) if (!isFinal(task.status)) open.set(task.id, task);
  const sessions = new Set([...open.values()].map(({ session }) => session));
  for await (const task of store.tasks()) {
    const whole = open.get(task.parentId ?? '');
    if (whole !== undefined) need(task.id, `it is a part of ${whole.id}, which is ${whole.status}`);
    if (!sessions.has(task.session)) continue;
    const why = open.has(task.id)
      ? `${task.id}, which is ${task.status}, builds upon it`
      : `${task.id} builds upon it, and the session ${task.session} is not over`;
    for (const id of [...task.dependsOn, task.parentId, task.metadata['handedFrom']]) need(id, why);
  }
  for (const task of open.values()) {
    for (const name of GIVEN) {
      for (const [id] of ((await store.text(task.id, name)) ?? '').matchAll(TASK_NAMED))
        if (id !== task.id) need(id, `${task.id}, which is ${task.status}, names it`);
    }
  }

  const writers = new Map<string, string | null>();
  for await (const { id, task, document } of store.nodes()) {
    writers.set(id, task);
    referTo(document, `the node ${id} refers to it`);
  }
  for (const { id, task, node, about } of await openQuestions(store)) {
    for (const each of [task, writers.get(node), writers.get(about)]) need(each, `${id} is open and asks about it`);
  }
  const loads = (id: string | undefined, node: unknown): void => {
    const task = open.get(id ?? '');
    if (task !== undefined && typeof node === 'string')
      need(writers.get(node), `${task.id}, which is ${task.status}, has loaded its node ${node}`);
  };
  for (const task of open.values()) loads(task.id, task.metadata['node']);
  // Which nodes a task has loaded stands in the journal only.
  for (const session of writers.size === 0 ? [] : sessions) {
    for await (const { events } of store.eventsAfter({ after: 0, session }))
      for (const { type, task, detail } of events) if (type === 'node.loaded') loads(task, detail?.['node']);
  }
  for (const session of await store.sessions()) referTo(session, 'a session remembers a path of it');
  return { tasks, runs };
}
