/**
 * What the sessions spend while their runs are under way: config's limit holds for all runs of a session together, not for each. The store knows
 * what a run has used when it has ended; until then it is known here, for the runs of this process.
 */
import type { Store } from '../core/store.ts';

export interface Purses {
  /** What a run has used so far, all together. */
  tell(session: string, run: string, usd: number): void;
  /** Dollars that runs of a session have ever told here. */
  told(session: string): number;
  /** What a run has told; nothing where it has not, or was forgotten. */
  ofRun(run: string): number;
  /** The store knows by now what it used. */
  forget(run: string): void;
}

export function createPurses(): Purses {
  const sessions = new Map<string, number>();
  const runs = new Map<string, number>();
  const told = (session: string): number => sessions.get(session) ?? 0;
  const ofRun = (run: string): number => runs.get(run) ?? 0;
  return {
    tell(session, run, usd) {
      sessions.set(session, told(session) + usd - ofRun(run));
      runs.set(run, usd);
    },
    told,
    ofRun,
    forget: (run) => void runs.delete(run),
  };
}

/** What is left of a session's limit, and how much may have been told here when that is used up. */
export interface SessionLimit {
  readonly most: number;
  readonly spent: number;
  readonly until: number;
}

export async function sessionLimit(store: Store, purses: Purses, session: string, most: number): Promise<SessionLimit> {
  const told = purses.told(session);
  let spent = 0;
  for await (const { cost, run } of store.tasks({ session })) {
    spent += cost.usd + (run?.status === 'running' ? purses.ofRun(run.id) : 0);
  }
  return { most, spent, until: told + most - spent };
}
