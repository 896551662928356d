/** The long answers of a store, as something that can be asked for again from where it stopped. */
import type { EventQuery, NodeFilter, Store, StoredRecord, TaskFilter, WholeNode } from '../../core/store.ts';
import type { Task } from '../../core/task.ts';
import { compareTaskIds } from '../../core/task.ts';

export type StreamQuery =
  | { readonly of: 'tasks'; readonly filter: TaskFilter; readonly after: string | null }
  | { readonly of: 'nodes'; readonly filter: NodeFilter }
  | { readonly of: 'events'; readonly query: Omit<EventQuery, 'follow'>; readonly follow: boolean };

export const doesFollow = (query: StreamQuery): boolean => query.of === 'events' && query.follow;

/** What to ask the next owner for, once this item has been seen. */
export function movedOn(query: StreamQuery, item: unknown): StreamQuery {
  switch (query.of) {
    case 'tasks':
      return { ...query, after: (item as Task).id };
    case 'nodes':
      return { ...query, filter: { ...query.filter, after: (item as WholeNode).id } };
    case 'events':
      return { ...query, query: { ...query.query, after: (item as StoredRecord).seq } };
  }
}

/** Asks the store itself. */
export function startStream(store: Store, query: StreamQuery, stop: AbortSignal): AsyncIterable<unknown> {
  switch (query.of) {
    case 'tasks':
      return tasksAfter(store.tasks(query.filter), query.after);
    case 'nodes':
      return store.nodes(query.filter);
    case 'events':
      return store.eventsAfter({ ...query.query, ...(query.follow ? { follow: stop } : {}) });
  }
}

async function* tasksAfter(tasks: AsyncIterable<Task>, after: string | null): AsyncIterable<Task> {
  for await (const task of tasks) if (after === null || compareTaskIds(task.id, after) > 0) yield task;
}
