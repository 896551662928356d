/**
 * What the sessions spend while their runs are under way: config's limit holds for all runs of a session together, not for each. The journal
 * says what a run has used when it has ended, however it ended; until then it is known here, for the runs of this process.
 */
import type { Store, StoredRecord } from '../core/store.ts';
import type { Used } from './meter.ts';

export interface Purses {
  /** What a run has used so far, all together. */
  tell(session: string, run: string, usd: number): void;
  /** Dollars that runs of a session have ever told here. */
  told(session: string): number;
  /** The runs of a session that have told something, each with its dollars. */
  of(session: string): ReadonlyMap<string, number>;
}

export function createPurses(): Purses {
  const sessions = new Map<string, Map<string, number>>();
  const of = (session: string): ReadonlyMap<string, number> => sessions.get(session) ?? new Map();
  return {
    tell(session, run, usd) {
      const runs = sessions.get(session) ?? new Map<string, number>();
      sessions.set(session, runs.set(run, usd));
    },
    told: (session) => [...of(session).values()].reduce((sum, usd) => sum + usd, 0),
    of,
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
  const used = new Map<string, number>();
  for await (const { events } of store.eventsAfter({ after: 0, session })) {
    for (const { type, run, detail } of events) {
      const usd = detail?.['usd'];
      if (type === 'run.usage' && run !== undefined && typeof usd === 'number') used.set(run, usd);
    }
  }
  // Of one that is under way the journal is behind.
  for (const [run, usd] of purses.of(session)) used.set(run, Math.max(used.get(run) ?? 0, usd));
  const spent = [...used.values()].reduce((sum, usd) => sum + usd, 0);
  return { most, spent, until: told + most - spent };
}

/** What the runs of a task have used by their last word on it. With `isNew`, only of those that came after the last record that it is true of. */
export function usedBy(
  history: readonly StoredRecord[],
  isNew: (record: StoredRecord) => boolean = () => false,
): ReadonlyMap<string, Used> {
  const used = new Map<string, Used>();
  for (const record of history) {
    for (const { type, run, detail } of record.events) {
      if (type !== 'run.usage' || run === undefined) continue;
      const number = (name: string): number => (typeof detail?.[name] === 'number' ? detail[name] : 0);
      used.set(run, {
        usd: typeof detail?.['usd'] === 'number' ? detail['usd'] : null,
        tokensInput: number('tokensInput'),
        tokensOutput: number('tokensOutput'),
        estimated: detail?.['estimated'] === true,
        ...(detail?.['claimed'] === true ? { claimed: true } : {}),
      });
    }
    if (isNew(record)) used.clear();
  }
  return used;
}
