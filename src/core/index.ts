export { type CheckpointState, checkpointsOf } from './checkpoints.ts';
export { BatonError, ERRORS, type ErrorCode, type ErrorEntry, type ExitCode, isErrorCode } from './errors.ts';
export { decide } from './laws/decide.ts';
export type { Change, Decision, Event, Facts, Refusal, Slice } from './laws/decision.ts';
export type { Actor, Claimer, NewTask, TaskMessage } from './laws/messages.ts';
export { type Access, isWithin, NETWORK_LEVELS, type NetworkLevel, type Policy, pathSegments } from './policy.ts';
export { costOf, type Estimate, estimate, type Price, priceOf } from './price.ts';
export { hasError, type Problem, pointer, type Severity } from './problem.ts';
export { redact, redactDeep } from './redact.ts';
export { emptyReport, losses, OUTCOMES, type Outcome, type Report, type ReportField } from './report.ts';
export { createSessionReport, type SessionFinalReport, type SessionReport } from './session-report.ts';
export { createState, type State } from './state.ts';
export {
  type Alternative,
  type Fallback,
  isTaskId,
  type Run,
  TASK_ID,
  TASK_PRIORITIES,
  TASK_STATUSES,
  type Task,
  type TaskPriority,
  type TaskStatus,
} from './task.ts';
export { VERSION } from './version.ts';
