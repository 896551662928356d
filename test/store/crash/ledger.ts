/** What was asked of a store and what it said: the promises that a crash must not break. */
import type { Answer, Ask } from '../../../src/core/store.ts';

export type Mark =
  | { readonly mark: 'asked'; readonly ask: Ask; readonly now: number }
  | { readonly mark: 'answered'; readonly request: string; readonly answer: Answer }
  /** The disk failed; the request is said not to have been kept. */
  | { readonly mark: 'failed'; readonly request: string }
  /** A reader was told. */
  | { readonly mark: 'seen'; readonly tasks: readonly Shown[] };

/** A task, a node or a question. */
interface Shown {
  readonly id: string;
}

export interface Ledger {
  readonly asked: Map<string, Ask>;
  readonly answered: Map<string, Answer>;
  /** Said not to have been kept, and whether anything has been answered since that was asked since. */
  readonly failed: Map<string, { isGone: boolean }>;
  /** Requests asked since each failure: an answer to one of them shows that the store went on without what failed. */
  readonly since: Map<string, Set<string>>;
  /** Every task, node and question as somebody was shown it. */
  readonly shown: Map<string, Shown>;
  now: number;
}

export const emptyLedger = (now: number): Ledger => ({
  asked: new Map(),
  answered: new Map(),
  failed: new Map(),
  since: new Map(),
  shown: new Map(),
  now,
});

export const copyLedger = (ledger: Ledger): Ledger => ({
  asked: new Map(ledger.asked),
  answered: new Map(ledger.answered),
  failed: new Map([...ledger.failed].map(([request, { isGone }]) => [request, { isGone }])),
  since: new Map([...ledger.since].map(([request, set]) => [request, new Set(set)])),
  shown: new Map(ledger.shown),
  now: ledger.now,
});

export function enter(ledger: Ledger, mark: Mark): void {
  switch (mark.mark) {
    case 'asked': {
      const request = requestOf(mark.ask);
      ledger.asked.set(request, mark.ask);
      ledger.now = Math.max(ledger.now, mark.now);
      for (const set of ledger.since.values()) set.add(request);
      // Asked once more, it may be there again.
      ledger.failed.delete(request);
      ledger.since.delete(request);
      return;
    }
    case 'answered':
      ledger.answered.set(mark.request, mark.answer);
      if (mark.answer.kind !== 'refused') {
        const { tasks, nodes = [], questions = [] } = mark.answer;
        show(ledger, [...tasks, ...nodes, ...questions]);
      }
      for (const [request, set] of ledger.since) {
        const failed = ledger.failed.get(request);
        if (failed !== undefined && set.has(mark.request)) failed.isGone = true;
      }
      return;
    case 'failed':
      ledger.failed.set(mark.request, { isGone: false });
      ledger.since.set(mark.request, new Set());
      return;
    case 'seen':
      return show(ledger, mark.tasks);
  }
}

/** A crash before anybody saw the store go on without what failed: it may be there or not. */
export function crashed(ledger: Ledger): void {
  for (const [request, { isGone }] of ledger.failed) {
    if (isGone) continue;
    ledger.failed.delete(request);
    ledger.since.delete(request);
  }
}

const show = (ledger: Ledger, tasks: readonly Shown[]): void => {
  for (const task of tasks) ledger.shown.set(canonical(task), task);
};

export function requestOf({ request }: Ask): string {
  if (request === undefined) throw new Error('every question of the tests has a request id');
  return request;
}

/** One text for equal values, whatever the order of their fields. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined);
  fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`;
}
