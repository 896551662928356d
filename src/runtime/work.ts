/** What the parts of a run hand to each other: what it is given, and what came of it. */
import { BatonError, messageOf } from '../core/errors.ts';
import { emptyReport, type Report } from '../core/report.ts';
import type { Run, Task } from '../core/task.ts';
import type { Facts } from './facts.ts';
import type { Host } from './host.ts';
import { lastWords } from './last-words.ts';
import type { LiveRun } from './live.ts';
import type { Prepared } from './prepare.ts';
import type { RunFacts } from './results.ts';
import type { SaidGraph } from './said-graph.ts';

export interface Supervision {
  readonly host: Host;
  readonly task: Task;
  readonly run: Run;
  readonly facts: Facts;
  readonly live: LiveRun;
  readonly prepared: Prepared;
  readonly startedAt: number;
  /** Says that Baton itself has to go. */
  readonly leaving: AbortSignal | undefined;
  /** What its agent has to know of where it works. */
  readonly note?: string | null;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
}

export const failureOf = (cause: unknown): Failure =>
  cause instanceof BatonError
    ? { code: cause.code, message: cause.message }
    : { code: 'E_UNKNOWN', message: messageOf(cause) };

/** Of the store itself: nothing can be written down any more, whatever run it is. */
export const isStoreFailure = (cause: unknown): boolean =>
  cause instanceof BatonError && cause.code.startsWith('E_STORE');

/** What came of the work, before the store has been told. */
export interface Work {
  readonly told: Omit<
    RunFacts,
    'message' | 'task' | 'run' | 'startedAt' | 'endedAt' | 'folder' | 'progress' | 'isAborted'
  >;
  /** What is said to the store: the run's report, or its failure. */
  readonly verdict: 'reported' | 'failed' | 'aborted' | 'taken' | 'leaving';
  /** How often a phase was done again within the run: each time counts as a retry. */
  readonly repeats: number;
  /** What it said of the knowledge graph. */
  readonly graph: SaidGraph;
  /** What its agent printed, in characters. */
  readonly chars: number;
}

/** A run without a report: its exit code is the report, and a good one asks for a look. */
export const silentReport = (lastText: string): Report => emptyReport('needs_review', lastWords(lastText, 500));

/** How long a run may be silent before it is stale. */
export const LEASE_MS = 60_000;
