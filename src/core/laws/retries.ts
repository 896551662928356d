/** What becomes of a task whose attempt failed: another model at once, another attempt after a while, or the end. */
import { hasTrait } from '../errors.ts';
import type { Alternative, Cause, Fallback, FallbackTrigger, RetryPolicy, Task } from '../task.ts';

export const isPermanent = (code: string): boolean => hasTrait(code, 'permanent');

/** Whether the same model may be tried once more after this. */
export const isRetried = (code: string): boolean => !isPermanent(code) && !hasTrait(code, 'costly');

export const isCritical = (code: string): boolean => hasTrait(code, 'critical');

/** How long to wait after the n-th attempt, in milliseconds; the last value of the list repeats, an empty list waits not at all. */
export function backoffMs(policy: RetryPolicy, attempts: number): number {
  const { backoffSeconds } = policy;
  return (backoffSeconds[Math.min(attempts, backoffSeconds.length) - 1] ?? 0) * 1000;
}

export const mayRetry = (policy: RetryPolicy, attempts: number): boolean => attempts <= policy.maxRetries;

/** The attempts that count against the retries: the first with another model is not one of them. */
export const countedAttempts = ({ attempts, fallback }: Task): number => attempts - (fallback?.used.length ?? 0);

export type NextStep =
  | { readonly kind: 'fallback'; readonly to: Alternative; readonly fallback: Fallback }
  | { readonly kind: 'retry'; readonly waitMs: number }
  /** Nothing is left to be tried, or nothing is to be tried. */
  | { readonly kind: 'stop'; readonly cause: Cause };

/**
 * After a failed attempt; the task is as it was during it.
 * @param repeats how often a phase was done again within the attempt: RETRY and `max_retries` share one number of tries and do not multiply
 */
export function nextStep(task: Task, cause: Cause, repeats = 0): NextStep {
  const { retry, fallback } = task;
  const { code } = cause;
  if (retry.stopOnCritical === true && isCritical(code)) return { kind: 'stop', cause };
  const counted = countedAttempts(task) + repeats;
  const isLeft = isRetried(code) && mayRetry(retry, counted);
  const used = fallback?.used ?? [];
  const alternatives = retry.alternatives ?? [];
  const next = alternatives.findIndex(({ trigger }, i) => !used.includes(i) && MATCHES[trigger](code, isLeft));
  const to = alternatives[next];
  const causes = [...(fallback?.causes ?? []), cause];
  if (to !== undefined) {
    const { provider, model } = to;
    return { kind: 'fallback', to, fallback: { provider, model, used: [...used, next], causes } };
  }
  if (isLeft) return { kind: 'retry', waitMs: backoffMs(retry, counted) };
  return { kind: 'stop', cause: used.length === 0 ? cause : exhausted(alternatives, used, causes) };
}

const MATCHES: Readonly<Record<FallbackTrigger, (code: string, isRetryLeft: boolean) => boolean>> = {
  FIRST_ERROR: () => true,
  TIMEOUT: (code) => code === 'E_TIMEOUT',
  COST_LIMIT_EXCEEDED: (code) => code === 'E_COST_LIMIT_EXCEEDED',
  CRITICAL_ERROR: isCritical,
  ALL_ERRORS: (_code, isRetryLeft) => !isRetryLeft,
};

/** Each model with what it failed of at last, in the order in which they were tried. */
function exhausted(alternatives: readonly Alternative[], used: readonly number[], causes: readonly Cause[]): Cause {
  const told = causes.map(({ code, message }, i) => {
    const model = i === 0 ? 'the first model' : alternatives[used[i - 1] as number]?.model;
    return `${model}: ${code}, ${message}`;
  });
  return { code: 'E_ALL_MODELS_EXHAUSTED', message: `all ${told.length} models failed; ${told.join('; ')}` };
}
