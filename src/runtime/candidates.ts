/** The tasks that `baton run` was given, as they are now: kept from the records that pass by, so that looking for the next one asks the store nothing. */
import { TASK_PRIORITIES, type Task } from '../core/task.ts';
import type { Host } from './host.ts';

export interface Candidates {
  /** Those that could be claimed now, the most urgent first; of equal ones in the order in which they were given. */
  ready(now: number): readonly Task[];
  close(): void;
}

export async function watchCandidates(host: Host, ids: readonly string[]): Promise<Candidates> {
  const known = new Map<string, Task>();
  const load = async (id: string): Promise<Task | undefined> => {
    const task = known.get(id) ?? (await host.store.find(id));
    if (task !== undefined) known.set(id, task);
    return task;
  };
  // Before anything is looked up: what changes meanwhile is told, and saying it twice does no harm.
  const close = host.watch.onRecord(({ changes }) => {
    for (const { task, set } of changes) {
      const before = known.get(task);
      if (before !== undefined) known.set(task, { ...before, ...set });
    }
  });
  const all = new Set(ids);
  for (const id of ids) for (const other of (await load(id))?.dependsOn ?? []) all.add(other);
  for (const id of all) await load(id);

  const isOpen = (task: Task): boolean => task.dependsOn.every((id) => known.get(id)?.status === 'done');
  const rank = ({ priority }: Task): number => TASK_PRIORITIES.indexOf(priority);
  return {
    ready: (now) =>
      ids
        .flatMap((id) => known.get(id) ?? [])
        .filter((task) => task.status === 'ready' && task.availableAt <= now && isOpen(task))
        .sort((a, b) => rank(a) - rank(b)),
    close,
  };
}
