/** Opens the store for one command and closes it behind it; and how a person asks something of it. */
import { randomUUID } from 'node:crypto';
import { BatonError } from '../core/errors.ts';
import type { Actor, TaskMessage } from '../core/laws/messages.ts';
import type { Answer, Store } from '../core/store.ts';
import type { Task } from '../core/task.ts';
import { runOfCaller } from '../process/caller.ts';
import { openStore } from '../store/open.ts';
import { dataFolder } from './data-folder.ts';
import type { Globals } from './globals.ts';
import { Refused } from './io.ts';

type Work<T> = (store: Store, dir: string) => Promise<T>;

/** For commands that only read: the data folder has to be there. */
export const reading = <T>(options: Globals, work: Work<T>): Promise<T> => withStore(dataFolder(options), false, work);

/** For commands that write: the data folder is made where there is none. */
export const writing = <T>(options: Globals, work: Work<T>): Promise<T> => withStore(dataFolder(options), true, work);

async function withStore<T>(dir: string, create: boolean, work: Work<T>): Promise<T> {
  const store = await openStore(dir, { create });
  try {
    return await work(store, dir);
  } finally {
    await store.close();
  }
}

/** Whoever sits at the command line: a person, unless the command comes from a run. */
function caller(): Actor {
  const run = runOfCaller();
  return run === null ? { kind: 'person', name: 'user' } : { kind: 'agent', name: `agent of ${run}` };
}

type Done = Extract<Answer, { tasks: unknown }>;

export async function ask(store: Store, message: TaskMessage): Promise<Done> {
  const answer = await store.send({ message, by: caller(), request: randomUUID() });
  if (answer.kind !== 'refused') return answer;
  const { code, message: sentence, hint } = answer.refusal;
  throw new Refused(code, sentence, hint);
}

/** By id, or by external id: of the session, or of the only one that has it. */
export async function findTask(store: Store, id: string, session?: string): Promise<Task> {
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

async function sessionsWith(store: Store, externalId: string): Promise<string[]> {
  const sessions: string[] = [];
  for await (const task of store.tasks()) if (task.externalId === externalId) sessions.push(task.session);
  return sessions;
}

/** Finds what tasks wait for; remembers what it has seen, so that a long list asks for each task at most once. */
export function createBlockedBy(store: Store): (task: Task) => Promise<string[]> {
  const done = new Map<string, boolean>();
  return async (task) => {
    const open: string[] = [];
    for (const id of task.dependsOn) {
      if (!done.has(id)) done.set(id, (await store.find(id))?.status === 'done');
      if (done.get(id) === false) open.push(id);
    }
    done.set(task.id, task.status === 'done');
    return open;
  };
}
