/** The tasks that `baton run` was given, as they are now: kept from the records that pass by, so that looking for the next one asks the store nothing. */
import { TASK_PRIORITIES, type Task } from '../core/task.ts';
import type { Host } from './host.ts';

export interface Candidates {
  /** Those that could be claimed now, the most urgent first; of equal ones in the order in which they were given. */
  ready(now: number): Promise<readonly Task[]>;
  close(): void;
}

/** @param ids those that count; there may be more of them later */
export function watchCandidates(host: Host, ids: () => readonly string[]): Candidates {
  const known = new Map<string, Task>();
  // Before anything is looked up: what changes meanwhile is told, and saying it twice does no harm.
  const close = host.watch.onRecord(({ changes }) => {
    for (const { task, set } of changes) {
      const before = known.get(task);
      if (before !== undefined) known.set(task, { ...before, ...set });
    }
  });

  /** Each is asked for once, with what it waits for. */
  const load = async (id: string): Promise<void> => {
    if (known.has(id)) return;
    const task = await host.store.find(id);
    if (task === undefined) return;
    known.set(id, task);
    for (const other of task.dependsOn) await load(other);
  };

  const isOpen = (task: Task): boolean => task.dependsOn.every((id) => known.get(id)?.status === 'done');
  const rank = ({ priority }: Task): number => TASK_PRIORITIES.indexOf(priority);
  return {
    async ready(now) {
      for (const id of ids()) await load(id);
      return ids()
        .flatMap((id) => known.get(id) ?? [])
        .filter((task) => task.status === 'ready' && task.availableAt <= now && isOpen(task))
        .sort((a, b) => rank(a) - rank(b));
    },
    close,
  };
}
