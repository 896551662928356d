/** Waiting for tasks without asking again and again: until one of them has ended or taken another status. */
import type { Store } from '../core/store.ts';
import type { Task, TaskStatus } from '../core/task.ts';

/** A tool call that takes longer is given up by many a client. */
const LONGEST_MS = 55_000;
const USUAL_MS = 30_000;

/** Nothing more happens to these by itself. */
const ENDED: readonly TaskStatus[] = ['done', 'cancelled', 'deadletter', 'review', 'blocked'];

export async function waitForTasks(
  store: Store,
  tasks: readonly Task[],
  timeoutMs = USUAL_MS,
): Promise<readonly Task[]> {
  const now = (): Promise<Task[]> => Promise.all(tasks.map(async (task) => (await store.find(task.id)) ?? task));
  const ids = new Set(tasks.map(({ id }) => id));
  // What is written from here on is seen below, whatever is found in between.
  const after = await store.lastRecord();
  const first = await now();
  const before = new Map(tasks.map(({ id, status }) => [id, status]));
  if (first.some(({ id, status }) => ENDED.includes(status) || before.get(id) !== status)) return first;
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), Math.max(0, Math.min(timeoutMs, LONGEST_MS)));
  try {
    for await (const { changes } of store.eventsAfter({ after, follow: stop.signal })) {
      if (changes.some(({ task, set }) => ids.has(task) && set.status !== undefined)) break;
    }
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
  return now();
}
