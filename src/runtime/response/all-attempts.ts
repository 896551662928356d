/** What all attempts of a task have used and when the first began: a RESPONSE is about its task, not about the last attempt only. */
import type { StoredRecord } from '../../core/store.ts';
import type { Used } from '../meter.ts';
import { usedBy } from '../purse.ts';

/** The runs of a task before the one that the RESPONSE is made after. */
export interface EarlierAttempts {
  readonly startedAt: number;
  /** Without those that were only stopped with the Baton that watched over them. */
  readonly count: number;
  readonly used: readonly Used[];
  /** What they were expected to cost; null where no price was known. */
  readonly estimatedUsd: number | null;
}

/** Null where the run is the first one. */
export function earlierAttempts(history: readonly StoredRecord[], task: string, run: string): EarlierAttempts | null {
  const events = history.flatMap(({ at, events: all }) =>
    all.flatMap((event) => (event.task === task ? [{ ...event, at }] : [])),
  );
  const begun = events.filter(({ type }) => type === 'run.started');
  const until = begun.findIndex((event) => event.run === run);
  const before = until < 0 ? begun : begun.slice(0, until);
  const [first] = before;
  if (first === undefined) return null;
  const runs = new Set(before.flatMap((event) => event.run ?? []));
  const stopped = events.filter((event) => event.type === 'run.stopped' && runs.has(event.run ?? ''));
  const used = [...usedBy(history)].filter(([id]) => runs.has(id));
  const estimates = new Map(
    used.flatMap(([id, { usd, estimated, claimed }]) =>
      estimated && claimed === true && usd !== null ? [[id, usd]] : [],
    ),
  );
  for (const { type, run: id = '', detail } of events) {
    const usd = detail?.['usd'];
    if (type === 'run.estimate' && runs.has(id) && typeof usd === 'number') estimates.set(id, usd);
  }
  return {
    startedAt: first.at,
    count: runs.size - stopped.length,
    used: used.map(([, each]) => each),
    estimatedUsd: estimates.size === 0 ? null : [...estimates.values()].reduce((sum, usd) => sum + usd, 0),
  };
}

interface Together {
  /** Null where the dollars of an attempt are unknown, or of none are known. */
  readonly usd: number | null;
  /** The sum of those that are known. */
  readonly knownUsd: number;
  readonly tokensInput: number;
  readonly tokensOutput: number;
}

/** Tokens without dollars: their cost is unknown. */
const isUnknown = ({ usd, tokensInput, tokensOutput }: Pick<Used, 'usd' | 'tokensInput' | 'tokensOutput'>): boolean =>
  usd === null && tokensInput + tokensOutput > 0;

export function together(attempts: readonly Used[]): Together {
  const sum = (of: (used: Used) => number): number => attempts.reduce((all, used) => all + of(used), 0);
  const knownUsd = sum(({ usd }) => usd ?? 0);
  return {
    usd: attempts.some(isUnknown) || attempts.every(({ usd }) => usd === null) ? null : knownUsd,
    knownUsd,
    tokensInput: sum(({ tokensInput }) => tokensInput),
    tokensOutput: sum(({ tokensOutput }) => tokensOutput),
  };
}
