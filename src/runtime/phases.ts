/** The phases of a TASK in their order, and what of them is still to do. Pure. */
import { checkpointsOf } from '../core/checkpoints.ts';
import { isFields } from '../core/fields.ts';
import type { Event } from '../core/laws/decision.ts';
import type { StoredRecord } from '../core/store.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';

export type Phase = NonNullable<TaskMessage['phases']>[number];
export type Checkpoint = NonNullable<Phase['checkpoints']>[number];

/** By `phase_order`; those without one keep their place behind those with one before them. */
export function phasesInOrder(message: TaskMessage): Phase[] {
  const phases = message.phases ?? [];
  return phases
    .map((phase, i) => ({ phase, order: phase.phase_order ?? i + 1, i }))
    .sort((a, b) => a.order - b.order || a.i - b.i)
    .map(({ phase }) => phase);
}

/** What earlier runs of the task have passed, since the last time its work was taken back. */
export interface Passed {
  readonly phases: ReadonlySet<string>;
  readonly checkpoints: ReadonlySet<string>;
  /** The checkpoints of phases that passed, by their id, as they ended: a failure that was forgiven is still one. */
  readonly ended: ReadonlyMap<string, EndedCheckpoint>;
}

interface EndedCheckpoint {
  readonly status: string;
  readonly finding: string;
  readonly looked: boolean;
}

const DONE = new Set(['PASS', 'RECOVERED', 'SKIP']);

/** The files are what they were before the task: they were put back, or a run has started without the work of those before it. */
function isFresh({ type, detail }: Event): boolean {
  if (type === 'rollback.initiated') return true;
  const earlier = detail?.['earlier'];
  return type === 'run.workspace' && !(isFields(earlier) && earlier['carried'] === true);
}

/** The records since the files were last what they were before the task. */
export const sinceFresh = (records: readonly StoredRecord[]): readonly StoredRecord[] =>
  records.slice(records.findLastIndex(({ events }) => events.some(isFresh)) + 1);

export function passedBefore(records: readonly StoredRecord[]): Passed {
  const since = sinceFresh(records);
  const phases = new Set<string>();
  for (const { events } of since) {
    for (const { type, detail } of events) {
      const phase = detail?.['phase'];
      if (type !== 'run.phase' || typeof phase !== 'string') continue;
      if (detail?.['state'] === 'passed') phases.add(phase);
      if (detail?.['state'] === 'failed') phases.delete(phase);
    }
  }
  const latest = [...checkpointsOf(since)];
  const checkpoints = latest.filter(([, { status }]) => DONE.has(status)).map(([id]) => id);
  const ended = latest.filter(([, { status, phase }]) => DONE.has(status) || phases.has(phase ?? ''));
  return { phases, checkpoints: new Set(checkpoints), ended: new Map(ended) };
}

/**
 * How often a phase was begun since the task began its attempts anew, by runs that counted as attempts. A person who has the task tried again
 * sets its attempts back; a run that ended with Baton itself is no attempt.
 */
export function startsOf(records: readonly StoredRecord[], task: string, phase: string): number {
  const isAnew = ({ changes }: StoredRecord): boolean =>
    changes.some(({ task: of, set }) => of === task && set.attempts === 0);
  const events = records.slice(records.findLastIndex(isAnew) + 1).flatMap((record) => record.events);
  const stopped = new Set(events.filter(({ type }) => type === 'run.stopped').map(({ run }) => run));
  return events.filter(
    ({ type, run, detail }) =>
      type === 'run.phase' && detail?.['phase'] === phase && detail['state'] === 'started' && !stopped.has(run),
  ).length;
}

/** The phases that are left; where all have passed and the task runs again, the last one is done again. */
export function phasesLeft(phases: readonly Phase[], passed: Passed): Phase[] {
  const first = phases.findIndex(({ phase_id }) => !passed.phases.has(phase_id));
  return first < 0 ? phases.slice(-1) : phases.slice(first);
}
