/** The life of a task: its statuses and its ids (DECISIONS §2). */

export const TASK_STATUSES = [
  'backlog',
  'ready',
  'in-progress',
  'blocked',
  'review',
  'done',
  'cancelled',
  'deadletter',
] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

export const TASK_PRIORITIES = ['critical', 'high', 'normal', 'low'] as const;
export type TaskPriority = (typeof TASK_PRIORITIES)[number];

/** `TASK-YYYY-MM-DD-NNN`; the 1000th task of a day gets four digits, and so on. */
export const TASK_ID = /^TASK-\d{4}-\d{2}-\d{2}-(?:\d{3}|[1-9]\d{3,})$/;

export const isTaskId = (id: string): boolean => TASK_ID.test(id);
