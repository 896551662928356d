/** What came of looking at a run: its claims one by one, what was found, and the verdict on the whole. */
import type { ErrorCode } from '../../core/errors.ts';
import type { Artifact } from '../../core/report.ts';
import type { Verdict } from '../../core/task.ts';

export interface Claim {
  readonly what: string;
  readonly verdict: Verdict;
  readonly detail: string;
}

export interface Finding {
  readonly code: ErrorCode;
  readonly message: string;
}

export interface Evidence {
  readonly claims: readonly Claim[];
  readonly artifacts: readonly Artifact[];
  /** What stands against "done"; empty where nothing does. */
  readonly findings: readonly Finding[];
  /** What a person should know and what does not stand against "done". Absent in what 0.1.0 wrote. */
  readonly warnings?: readonly Finding[];
  /** A checkpoint failed, and its strategy says to go on: the work is done in part. */
  readonly partial?: boolean;
  /** Absent in what 0.1.0 wrote. */
  readonly verdict?: Verdict;
}
