/** Whether whoever watches over a run hears it still: what is said to it in another process goes by the journal, where its last word stands. */
import type { Store } from '../core/store.ts';
import type { Task } from '../core/task.ts';

/** By now, or before the message `letter` was written. */
export async function isHeardOut(store: Store, task: Task, letter?: string): Promise<boolean> {
  const of = (await store.history(task.id)).flatMap(({ events }) => events).filter(({ run }) => run === task.run?.id);
  const last = of.findIndex(({ type, detail }) => type === 'run.usage' && detail?.['last'] === true);
  if (last === -1) return false;
  return letter === undefined || of.findIndex(({ detail }) => detail?.['letter'] === letter) > last;
}
