/** What each session comes to: its tasks by status, its runs and what they cost. Kept along the journal, for all sessions at once. */
import type { StoredRecord } from './store.ts';
import { DEFAULT_SESSION, isFinal, type Spent, type TaskStatus } from './task.ts';

/** A task that a rollback has undone is done no more. */
type CountedAs = TaskStatus | 'undone';

/** What a session comes to, as of now. */
interface SessionTotals {
  readonly tasks: Readonly<Partial<Record<CountedAs, number>>>;
  readonly runs: number;
  readonly retries: number;
  readonly cost: Spent;
}

interface Counts {
  readonly tasks: Partial<Record<CountedAs, number>>;
  runs: number;
  retries: number;
  cost: Spent;
}

interface Counted {
  readonly session: string;
  readonly status: TaskStatus;
  readonly cost: Spent;
  readonly runs: number;
}

const NOTHING: Spent = { usd: 0, tokensInput: 0, tokensOutput: 0 };

export function createTotals(): { take(record: StoredRecord): void; of(session: string): SessionTotals } {
  const sessions = new Map<string, Counts>();
  /** Only those that may still change; the others are in the counts. */
  const tasks = new Map<string, Counted>();

  const countsOf = (session: string): Counts => {
    let counts = sessions.get(session);
    if (counts === undefined) {
      counts = { tasks: {}, runs: 0, retries: 0, cost: NOTHING };
      sessions.set(session, counts);
    }
    return counts;
  };
  const count = (counts: Counts, status: CountedAs, more: number): void => {
    counts.tasks[status] = (counts.tasks[status] ?? 0) + more;
  };

  return {
    take({ changes, events, session }) {
      for (const { task, set } of changes) {
        const before = tasks.get(task);
        if (before === undefined && set.id === undefined) continue;
        const after: Counted = {
          session: before?.session ?? set.session ?? DEFAULT_SESSION,
          status: set.status ?? before?.status ?? 'ready',
          cost: set.cost ?? before?.cost ?? NOTHING,
          runs: set.runs ?? before?.runs ?? 0,
        };
        const counts = countsOf(after.session);
        if (before !== undefined) count(counts, before.status, -1);
        count(counts, after.status, 1);
        const begun = after.runs - (before?.runs ?? 0);
        counts.runs += begun;
        counts.retries += begun > 0 && after.runs > 1 ? begun : 0;
        counts.cost = difference(counts.cost, after.cost, before?.cost ?? NOTHING);
        if (isFinal(after.status)) tasks.delete(task);
        else tasks.set(task, after);
      }
      for (const { type } of events) {
        if (type !== 'task.stale') continue;
        count(countsOf(session), 'done', -1);
        count(countsOf(session), 'undone', 1);
      }
    },
    of(session) {
      const { tasks: byStatus, runs, retries, cost } = countsOf(session);
      const present = Object.entries(byStatus).filter(([, number]) => number > 0);
      return { tasks: Object.fromEntries(present), runs, retries, cost };
    },
  };
}

const difference = (all: Spent, after: Spent, before: Spent): Spent => ({
  usd: all.usd + after.usd - before.usd,
  tokensInput: all.tokensInput + after.tokensInput - before.tokensInput,
  tokensOutput: all.tokensOutput + after.tokensOutput - before.tokensOutput,
  ...(all.unknown === true || after.unknown === true ? { unknown: true } : {}),
});
