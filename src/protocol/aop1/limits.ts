/** How long a report may be: what the document's table says for each type of task. */

export const TASK_CHARS = 50;
export const SUMMARY_CHARS_MOST = 600;
export const BULLETS_MOST = 5;

export const SUMMARY_CHARS = {
  search: 500,
  analysis: 600,
  code: 300,
  test: 400,
  build: 200,
  documentation: 500,
  other: 500,
} as const;

export type TaskType = keyof typeof SUMMARY_CHARS;

const BY_CATEGORY: Readonly<Record<string, TaskType>> = {
  ANALYSIS: 'analysis',
  PLANNING: 'analysis',
  REVIEW: 'analysis',
  DEBUGGING: 'analysis',
  CODE_GENERATION: 'code',
  CODE_REFACTORING: 'code',
  TESTING: 'test',
  DOCUMENTATION: 'documentation',
};

/** The type of an aop2 task: what `extensions.x_task_type` says, else what its category stands for. */
export function taskTypeOf(category: string, saidType?: unknown): TaskType {
  if (typeof saidType === 'string' && Object.hasOwn(SUMMARY_CHARS, saidType)) return saidType as TaskType;
  return Object.hasOwn(BY_CATEGORY, category) ? (BY_CATEGORY[category] ?? 'other') : 'other';
}
