/** What became of a task's checkpoints, from its records: what a run that goes on after another one need not do again. */
import type { StoredRecord } from './store.ts';

const CHECKPOINT_STATUSES = ['PENDING', 'PASS', 'FAIL', 'SKIP', 'RECOVERED'] as const;
type CheckpointStatus = (typeof CHECKPOINT_STATUSES)[number];

export interface CheckpointState {
  readonly status: CheckpointStatus;
  readonly phase: string | null;
  /** Why it failed; empty where it did not. */
  readonly finding: string;
  /** False for one that named nothing to look at. */
  readonly looked: boolean;
}

/** The latest word on each checkpoint, by its id, in the order in which they were first reached. Give it the records of one task. */
export function checkpointsOf(records: readonly StoredRecord[]): Map<string, CheckpointState> {
  const latest = new Map<string, CheckpointState>();
  for (const { events } of records) {
    for (const { type, detail } of events) {
      if (type !== 'run.checkpoint') continue;
      const { checkpoint, phase, status, notes, looked } = detail ?? {};
      if (typeof checkpoint !== 'string' || !isStatus(status)) continue;
      latest.set(checkpoint, {
        status,
        phase: typeof phase === 'string' ? phase : null,
        finding: typeof notes === 'string' && looked !== false ? notes : '',
        looked: looked !== false,
      });
    }
  }
  return latest;
}

const isStatus = (value: unknown): value is CheckpointStatus => CHECKPOINT_STATUSES.some((status) => status === value);
