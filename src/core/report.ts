/**
 * What an agent claims when it stops, whatever dialect it said it in.
 *
 * A Report holds what at least one dialect can say. Each dialect has `toReport` and `fromReport`; what a dialect has no words for
 * is lost on the way, and `losses` names it. Null is known-absent, an empty list is "none".
 */

export const OUTCOMES = ['done', 'partial', 'needs_review', 'blocked', 'failed'] as const;
export type Outcome = (typeof OUTCOMES)[number];

interface ReportAgent {
  readonly name: string;
  readonly provider: string | null;
  readonly model: string | null;
}

export interface Artifact {
  readonly path: string;
  readonly type: string | null;
  readonly hash: string | null;
  readonly status: 'CREATED' | 'UPDATED' | 'DELETED' | 'UNCHANGED' | null;
  readonly sizeBytes: number | null;
}

export interface TestCounts {
  readonly total: number;
  readonly passed: number;
  readonly failed: number;
}

interface CheckpointClaim {
  readonly id: string;
  readonly status: 'PENDING' | 'PASS' | 'FAIL' | 'SKIP' | 'RECOVERED' | null;
  readonly notes: string | null;
}

interface Cost {
  readonly usd: number | null;
  readonly tokensInput: number | null;
  readonly tokensOutput: number | null;
}

export interface Report {
  readonly outcome: Outcome;
  /** What was done and found, for the parent. */
  readonly summary: string;
  /** The task in a few words, as the agent understood it. */
  readonly task: string | null;
  readonly sessionId: string | null;
  readonly taskId: string | null;
  readonly agent: ReportAgent | null;
  readonly startedAt: string | null;
  readonly completedAt: string | null;
  readonly detailsFile: string | null;
  readonly handoffFile: string | null;
  readonly actions: readonly string[];
  readonly artifacts: readonly Artifact[];
  readonly checkpoints: readonly CheckpointClaim[];
  readonly tests: TestCounts | null;
  readonly blockers: readonly string[];
  readonly notes: string | null;
  readonly warnings: readonly string[];
  readonly errors: readonly string[];
  readonly metrics: Readonly<Record<string, string>>;
  readonly cost: Cost | null;
  /** How sure the agent is, 0 to 1. */
  readonly confidence: number | null;
  /** The knowledge-graph node that holds the result. */
  readonly graphNode: string | null;
  readonly nextStage: string | null;
}

/** A report that says nothing but how it ended; the decoders start from it. */
export const emptyReport = (outcome: Outcome, summary: string): Report => ({
  outcome,
  summary,
  task: null,
  sessionId: null,
  taskId: null,
  agent: null,
  startedAt: null,
  completedAt: null,
  detailsFile: null,
  handoffFile: null,
  actions: [],
  artifacts: [],
  checkpoints: [],
  tests: null,
  blockers: [],
  notes: null,
  warnings: [],
  errors: [],
  metrics: {},
  cost: null,
  confidence: null,
  graphNode: null,
  nextStage: null,
});

/** A report in a few words: its summary or else its notes, and what it is blocked by where that is not said there. */
export function wordsOf({ outcome, summary, notes, blockers }: Report): string {
  const said = summary.trim() || (notes ?? '').trim();
  const isStuck = outcome === 'blocked' || outcome === 'failed';
  const open = isStuck ? blockers.filter((blocker) => blocker.trim() !== '' && !said.includes(blocker)) : [];
  if (open.length === 0) return said;
  return said === '' ? open.join('; ') : `${said} Blocked by: ${open.join('; ')}`;
}

export type ReportField = keyof Report;

/** What did not survive being written: the fields in which the report that is read back differs from the one that was meant. */
export const losses = (meant: Report, readBack: Report): ReportField[] =>
  (Object.keys(meant) as ReportField[]).filter((field) => !same(meant[field], readBack[field]));

/** Equal as JSON values; the order of keys does not matter. */
function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every(
      (key) => Object.hasOwn(b, key) && same((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
    )
  );
}
