/**
 * What waits for a person, in one list: questions that agents asked, work to be looked at, failures that nobody mends. Not to be taken for
 * `inbox.ts`, the folder for messages. Nothing here answers anything, and no time that passes does.
 */
import type { Option, Question } from '../core/question.ts';
import { standing, waitsForMerge } from '../core/standing.ts';
import type { Store } from '../core/store.ts';
import { isFinal, type Task, type TaskStatus } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
import { openQuestions } from './open-questions.ts';

export type InboxKind = 'approval' | 'uncertainty' | 'review' | 'failure';

/** The fields that scripts rely on first. */
export interface InboxItem {
  /** `ask-1`, or the id of the task that waits. */
  readonly id: string;
  readonly kind: InboxKind;
  readonly question: string;
  readonly options: readonly Option[];
  readonly since: string;
  /** The tasks that cannot go on until it is answered: the one that asks, and those that wait for it. */
  readonly blocks: readonly string[];
  readonly task: string | null;
  readonly node: string | null;
  /** Why it is asked; null where nobody said. */
  readonly reason: string | null;
  readonly session: string;
  /** The stage that goes on when it is approved. */
  readonly nextStage: string | null;
}

/** So many are named at most. */
const MOST_BLOCKED = 50;

/** All that waits for a person, the oldest first. */
export async function waitingFor(store: Store, session?: string): Promise<InboxItem[]> {
  const questions = await openQuestions(store, session);
  const asking = new Set(questions.map(({ task }) => task));
  const waiting: Task[] = [];
  const dependents = new Map<string, Task[]>();
  for await (const task of store.tasks({ status: OPEN })) {
    for (const id of task.dependsOn) dependents.set(id, [...(dependents.get(id) ?? []), task]);
    const isAsked = (session === undefined || task.session === session) && !asking.has(task.id);
    if (isAsked && (await asksPerson(store, task))) waiting.push(task);
  }
  const items: InboxItem[] = [];
  for (const question of questions) {
    const task = question.task === null ? undefined : await store.find(question.task);
    items.push(itemOfQuestion(question, task === undefined ? [] : blockedBy(task, dependents)));
  }
  for (const task of waiting) items.push(itemOfTask(task, blockedBy(task, dependents)));
  return items.sort((a, b) => compare(a.since, b.since) || compare(a.id, b.id));
}

const OPEN: readonly TaskStatus[] = ['backlog', 'ready', 'in-progress', 'blocked', 'review', 'deadletter'];

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const ASKING: readonly TaskStatus[] = ['review', 'blocked', 'deadletter'];

/** Whether a task by itself is a question to a person: only a person can move it on from where it is. */
export async function asksPerson(store: Pick<Store, 'find'>, task: Task): Promise<boolean> {
  if (!ASKING.includes(task.status)) return false;
  const failed = task.cause?.task === undefined ? undefined : await store.find(task.cause.task);
  const find = (id: string): Task | undefined => (id === failed?.id ? failed : undefined);
  return standing(task, { find, now: 0 }).kind === 'asks';
}

/** The task, if it waits at all, and all that wait for it, near ones first. */
function blockedBy(task: Task, dependents: ReadonlyMap<string, readonly Task[]>): string[] {
  const found = new Set<string>(isFinal(task.status) ? [] : [task.id]);
  // What is done keeps nobody waiting.
  const open = task.status === 'done' ? [] : [task.id];
  for (let id = open.shift(); id !== undefined && found.size < MOST_BLOCKED; id = open.shift()) {
    for (const next of dependents.get(id) ?? []) {
      if (found.has(next.id) || found.size >= MOST_BLOCKED) continue;
      found.add(next.id);
      open.push(next.id);
    }
  }
  return [...found];
}

export const itemOfQuestion = (question: Question, blocks: readonly string[] = []): InboxItem => ({
  id: question.id,
  kind: question.kind,
  question: question.question,
  options: question.options,
  since: isoTime(question.since),
  blocks,
  task: question.task,
  node: question.about,
  reason: question.reason,
  session: question.session,
  nextStage: question.nextStage,
});

const RETRY: Option = { option: 'retry', impact: 'it is tried once more, with all its attempts' };

export function itemOfTask(task: Task, blocks: readonly string[] = []): InboxItem {
  const { id, title, status, cause, summary, run } = task;
  const told = {
    since: isoTime(task.lastTransitionAt),
    blocks,
    task: id,
    node: null,
    session: task.session,
    nextStage: null,
  };
  const reason = cause === null ? null : `${cause.message} (${cause.code})`;
  if (status === 'deadletter') {
    const question = `${id} failed: ${cause?.message ?? 'nobody said why'}; try again?`;
    return { id, kind: 'failure', question, options: [RETRY], ...told, reason };
  }
  if (status === 'blocked') {
    const question = `${id} cannot go on: ${cause?.message ?? 'nobody said why'}`;
    return { id, kind: 'uncertainty', question, options: [], ...told, reason };
  }
  const question =
    cause === null
      ? `Is ${id} done? ${summary ?? title}`
      : waitsForMerge(task)
        ? `${id} is not merged into ${task.workspace?.branch ?? 'its branch'}: ${cause.message}; merge it now?`
        : cause.code === 'E_UNVERIFIED'
          ? `Is ${id} done? ${cause.message}`
          : `${id} does not hold what it claims: ${cause.message}; is it done all the same?`;
  const said =
    run === null || run.outcome === 'done'
      ? 'a review was asked for'
      : run.silent === true
        ? 'its agent ended without a report'
        : `its agent says: ${run.outcome}`;
  return { id, kind: 'review', question, options: [], ...told, reason: reason ?? said };
}
