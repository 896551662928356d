/** How far a run says that it is, by an EVENT. */
import type { EventMessage } from '../protocol/aop2/schema.ts';

export interface Progress {
  readonly percentage: number | null;
  readonly phase: string | null;
  readonly checkpoint: string | null;
  readonly message: string | null;
  /** How much longer it thinks that it takes. */
  readonly remainingSeconds: number | null;
}

export const NO_PROGRESS: Progress = {
  percentage: null,
  phase: null,
  checkpoint: null,
  message: null,
  remainingSeconds: null,
};

/** Null for an EVENT that is no sign of life. */
export function progressOf(event: EventMessage): Progress | null {
  if (event.event === 'HEARTBEAT') {
    const { progress_percentage: percentage = null, current_phase: phase = null } = event;
    return { ...NO_PROGRESS, percentage, phase, checkpoint: event.current_checkpoint ?? null };
  }
  if (event.event !== 'PROGRESS_UPDATE') return null;
  const { percentage = null, current_phase: phase = null, message = null } = event.progress ?? {};
  const remainingSeconds = event.progress?.estimated_time_remaining_seconds ?? null;
  return { percentage, phase, checkpoint: event.progress?.current_checkpoint ?? null, message, remainingSeconds };
}

/** Whether it says more than that the run lives. */
export const saysProgress = (progress: Progress): boolean => Object.values(progress).some((value) => value !== null);
