/** Why a run is stopped from outside. The first reason counts. */
import type { ErrorCode } from '../core/errors.ts';

export interface Stop {
  readonly code: ErrorCode;
  readonly message: string;
  /** What comes of it: the run has failed, its task was taken from it, or Baton itself has to go. */
  readonly kind: 'failed' | 'taken' | 'leaving';
}

export interface Stopper {
  readonly signal: AbortSignal;
  readonly reason: Stop | null;
  stop(reason: Stop): void;
}

export function createStopper(): Stopper {
  const controller = new AbortController();
  let reason: Stop | null = null;
  return {
    signal: controller.signal,
    get reason() {
      return reason;
    },
    stop(why) {
      if (reason !== null) return;
      reason = why;
      controller.abort();
    },
  };
}
