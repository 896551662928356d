/** What becomes of a task whose attempt failed: another attempt after a while, or the deadletter. */
import { isErrorCode } from '../errors.ts';
import type { RetryPolicy } from '../task.ts';

/** Trying again would fail again, until a person does something (DECISIONS §2). */
const PERMANENT = new Set(['E_AGENT_NOT_FOUND', 'E_MODEL_UNAVAILABLE', 'E_CREDENTIALS', 'E_PERMISSION_DENIED']);

export const isPermanent = (code: string): boolean => isErrorCode(code) && PERMANENT.has(code);

/** How long to wait after the n-th attempt, in milliseconds; the last value of the list repeats, an empty list waits not at all. */
export function backoffMs(policy: RetryPolicy, attempts: number): number {
  const { backoffSeconds } = policy;
  return (backoffSeconds[Math.min(attempts, backoffSeconds.length) - 1] ?? 0) * 1000;
}

export const mayRetry = (policy: RetryPolicy, attempts: number): boolean => attempts <= policy.maxRetries;
