/** Tells a run that it is no longer wanted: its task was cancelled, moved by hand, or given to another run. One look at the journal serves all runs. */
import type { Store, StoredRecord } from '../core/store.ts';
import { pause } from '../process/waiting.ts';

export interface RunWatch {
  /** `onGone` is told once, with the task's new status. Returns how to stop listening. */
  add(task: string, run: string, onGone: (status: string) => void): () => void;
  /** Told of every record, as it is written. */
  onRecord(listener: (record: StoredRecord) => void): () => void;
  /** Until all that is written by now has been told. */
  caughtUp(): Promise<void>;
  close(): Promise<void>;
}

export async function watchRuns(store: Store): Promise<RunWatch> {
  const stop = new AbortController();
  const runs = new Map<string, { readonly run: string; readonly onGone: (status: string) => void }>();
  const listeners = new Set<(record: StoredRecord) => void>();
  const after = await store.lastRecord();
  let seen = after;
  let isOver = false;

  const follow = async (): Promise<void> => {
    for await (const record of store.eventsAfter({ after, follow: stop.signal })) {
      for (const { task, set } of record.changes) {
        const watched = runs.get(task);
        if (watched === undefined) continue;
        const isOther = set.run !== undefined && set.run?.id !== watched.run;
        const hasLeft = set.status !== undefined && set.status !== 'in-progress';
        // How a run ends by itself is its own supervisor's doing, and told by it.
        const isTaken = set.run?.status === 'cancelled' || set.run?.status === 'expired';
        if (isOther || (hasLeft && isTaken)) {
          runs.delete(task);
          watched.onGone(set.status ?? 'in-progress');
        }
      }
      seen = record.seq;
      for (const listener of listeners) listener(record);
    }
  };
  const following = follow().finally(() => {
    isOver = true;
  });
  // Reported by `close`; until then the runs go on without it.
  following.catch(() => {});

  return {
    add(task, run, onGone) {
      runs.set(task, { run, onGone });
      return () => {
        if (runs.get(task)?.run === run) runs.delete(task);
      };
    },
    onRecord(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async caughtUp() {
      const last = await store.lastRecord();
      while (seen < last && !isOver) await pause(5);
    },
    async close() {
      stop.abort();
      await following;
    },
  };
}
