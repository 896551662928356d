export { BatonError, ERRORS, type ErrorCode, type ErrorEntry, type ExitCode, isErrorCode } from './errors.ts';
export { type Access, isWithin, NETWORK_LEVELS, type NetworkLevel, type Policy, pathSegments } from './policy.ts';
export { hasError, type Problem, pointer, type Severity } from './problem.ts';
export { emptyReport, losses, OUTCOMES, type Outcome, type Report, type ReportField } from './report.ts';
export { isTaskId, TASK_ID, TASK_PRIORITIES, TASK_STATUSES, type TaskPriority, type TaskStatus } from './task.ts';
export { VERSION } from './version.ts';
