/** Practical payload limits (contract §4). SOFT ones warn and never reject; HARD ones reject before anything is written or run. */
import { error, type Problem, warning } from '../../core/problem.ts';
import { charCount, exceedsBytes } from '../text/clean.ts';

const KB = 1024;
export const MAX_BYTES = { TASK: 200 * KB, RESPONSE: 500 * KB } as const;

const SOFT = {
  objective: 40_000,
  phases: 10,
  checkpoints: 20,
  actions: 200,
} as const;

/** The size of a whole envelope, in bytes of UTF-8 as it was received. */
export function checkSize(kind: 'TASK' | 'RESPONSE', received: string): Problem[] {
  const limit = MAX_BYTES[kind];
  if (!exceedsBytes(received, limit)) return [];
  return [error('E_CONTEXT_OVERFLOW', '', `expected a ${kind} of at most ${limit} bytes, got a longer one`)];
}

export function checkSoftLimits(value: Record<string, unknown>): Problem[] {
  const problems: Problem[] = [];
  const over = (path: string, size: number, limit: number, unit: string): void => {
    if (size <= limit) return;
    problems.push(warning('E_PAYLOAD_SIZE_WARNING', path, `expected at most ${limit} ${unit}, got ${size}`));
  };
  over('/task/objective', length(field(value['task'], 'objective')), SOFT.objective, 'characters');
  over('/phases', items(value['phases']).length, SOFT.phases, 'phases');
  for (const [i, phase] of items(value['phases']).entries()) {
    over(`/phases/${i}/checkpoints`, items(field(phase, 'checkpoints')).length, SOFT.checkpoints, 'checkpoints');
  }
  const actions = items(field(value['execution_summary'], 'actions'));
  over('/execution_summary/actions', actions.length, SOFT.actions, 'actions');
  return problems;
}

const field = (value: unknown, key: string): unknown =>
  value !== null && typeof value === 'object' && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
const items = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const length = (value: unknown): number => (typeof value === 'string' ? charCount(value) : 0);
