/** What tasks have handed on by the knowledge graph: the stages after them, and after those. */
import type { Store } from '../core/store.ts';
import type { Task } from '../core/task.ts';

/** The tasks themselves first; of the stages not those that were called off, for another was made in their place. */
export async function withHandedOn(store: Store, tasks: readonly Task[]): Promise<Task[]> {
  const after = new Map<unknown, Task[]>();
  for (const session of new Set(tasks.map((task) => task.session))) {
    for await (const task of store.tasks({ session })) {
      const from = task.metadata['handedFrom'];
      if (typeof from === 'string' && task.status !== 'cancelled') after.set(from, [...(after.get(from) ?? []), task]);
    }
  }
  const found = new Map(tasks.map((task) => [task.id, task]));
  // A map goes on with what is put in while it is walked.
  for (const id of found.keys())
    for (const next of after.get(id) ?? []) if (!found.has(next.id)) found.set(next.id, next);
  return [...found.values()];
}
