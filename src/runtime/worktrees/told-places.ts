/** The worktrees that the runs of a task had, as the journal tells it. */
import type { StoredRecord } from '../../core/store.ts';

interface ToldPlace {
  readonly run: string;
  /** The top of the user's repository. */
  readonly root: string;
  readonly base: string;
  readonly start: string;
}

/** The worktrees that the runs of a task had, oldest first. */
export function placesIn(history: readonly StoredRecord[], task: string): ToldPlace[] {
  const told: ToldPlace[] = [];
  for (const { events } of history) {
    for (const { type, task: of, run, detail } of events) {
      if (type !== 'run.workspace' || of !== task || run === undefined) continue;
      const { root, base, start } = detail ?? {};
      if (typeof root === 'string' && typeof base === 'string' && typeof start === 'string')
        told.push({ run, root, base, start });
    }
  }
  return told;
}
