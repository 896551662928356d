/** Why a task is as it is, from recorded facts, and what has to happen next. */
import type { Event } from './laws/decision.ts';
import type { Question } from './question.ts';
import { standing, type Wait, waitsOf } from './standing.ts';
import type { StoredRecord } from './store.ts';
import type { Task } from './task.ts';
import { isoTime } from './time.ts';

interface Fact {
  readonly event: string;
  readonly at: string;
  readonly by: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface Why {
  readonly id: string;
  readonly status: Task['status'];
  /** What Baton's own checks said of the latest run; null until it was judged. */
  readonly verdict: Task['verdict'];
  /** Oldest first. */
  readonly because: readonly Fact[];
  readonly waitsFor: readonly Wait[];
}

type Find = (id: string) => Task | undefined;

/**
 * `writers`: the tasks in progress, or at least those of them that say what they write. `questions`: what this task asked and nobody has
 * answered.
 */
export const why = (
  task: Task,
  history: readonly StoredRecord[],
  find: Find,
  now: number,
  writers: Iterable<Task> = [],
  questions: readonly Question[] = [],
): Why => ({
  id: task.id,
  status: task.status,
  verdict: task.verdict,
  because: because(task, history),
  waitsFor: waitsOf(standing(task, { find, now, writers, questions })),
});

/** What is told whenever it happened: how it began, and every attempt that failed or was turned away. */
const isToldAlways = ({ type }: Event): boolean =>
  type === 'task.created' ||
  type === 'run.failed' ||
  type === 'run.expired' ||
  type === 'run.stopped' ||
  type === 'run.damaged' ||
  type === 'task.stale' ||
  type === 'question.opened' ||
  type === 'question.answered' ||
  /\.(?:refused|rejected|unreadable)$/.test(type);

/** What may be the reason for a move or for what came of it, and is told from the last move on. */
const REASONS = [
  'task.transitioned',
  'task.fallback',
  'run.reported',
  'run.resumed',
  'run.judged',
  'task.retried',
  'task.escalated',
];
/** The fields of an edit that change what a task waits for. */
const BEARING = ['dependsOn', 'routing', 'reviewRequired'];

const isReason = ({ type, detail }: Event): boolean =>
  REASONS.includes(type) || (type === 'task.edited' && BEARING.some((field) => detail?.[field] !== undefined));

function because(task: Task, history: readonly StoredRecord[]): Fact[] {
  const last = lastTransition(task, history);
  return history.flatMap((record) => {
    const told = record.events.filter((event) => {
      if (event.task === task.id) return isToldAlways(event) || (record.seq >= last && isReason(event));
      // The failure of another task, where that is what stopped this one.
      return record.seq === last && event.task === task.cause?.task && event.type === 'task.transitioned';
    });
    return told.map((event) => factOf(record, event, task.id));
  });
}

const factOf = ({ at, by }: StoredRecord, { type, task, run, detail }: Event, of: string): Fact => ({
  event: type,
  at: isoTime(at),
  by: by.name,
  detail: {
    ...(task === undefined || task === of ? {} : { task }),
    ...(run === undefined ? {} : { run }),
    ...detail,
  },
});

/** The number of the record in which the task took the status it has; 0 where it has never had another. */
const lastTransition = (task: Task, history: readonly StoredRecord[]): number =>
  history.findLast(({ events }) => events.some((event) => event.task === task.id && event.type === 'task.transitioned'))
    ?.seq ?? 0;
