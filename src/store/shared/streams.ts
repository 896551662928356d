/** The long answers of a store, as something that can be asked for again from where it stopped. */
import type { EventQuery, Store, StoredRecord, TaskFilter } from '../../core/store.ts';
import type { Task } from '../../core/task.ts';
import { compareTaskIds } from '../../core/task.ts';

export type StreamQuery =
  | { readonly of: 'tasks'; readonly filter: TaskFilter; readonly after: string | null }
  | { readonly of: 'events'; readonly query: Omit<EventQuery, 'follow'>; readonly follow: boolean };

export const doesFollow = (query: StreamQuery): boolean => query.of === 'events' && query.follow;

/** What to ask the next owner for, once this item has been seen. */
export const movedOn = (query: StreamQuery, item: unknown): StreamQuery =>
  query.of === 'tasks'
    ? { ...query, after: (item as Task).id }
    : { ...query, query: { ...query.query, after: (item as StoredRecord).seq } };

/** Asks the store itself. */
export function startStream(store: Store, query: StreamQuery, stop: AbortSignal): AsyncIterable<unknown> {
  if (query.of === 'tasks') return tasksAfter(store.tasks(query.filter), query.after);
  return store.eventsAfter({ ...query.query, ...(query.follow ? { follow: stop } : {}) });
}

async function* tasksAfter(tasks: AsyncIterable<Task>, after: string | null): AsyncIterable<Task> {
  for await (const task of tasks) if (after === null || compareTaskIds(task.id, after) > 0) yield task;
}
