export { AOF_PREFIX, asEnvelope, decodeAof, decodeAofValue } from './decode.ts';
export { type AofForm, encodeAof, encodeAofObject } from './encode.ts';
export { type Handoff, handoffJson, handoffMarkdown, handoffOf, readableCriteria } from './handoff.ts';
export { fromReport, NO_AGENT, NO_TASK, type ReportContext, toReport, type WrittenReport } from './report.ts';
export {
  checkRunFile,
  type ReadRunFile,
  type RunFile,
  type RunFileName,
  readRunFile,
  writeRunFile,
} from './run-files.ts';
export {
  AOF_SCHEMAS,
  AOF_TYPES,
  type AofEnvelope,
  type AofType,
  type CompletionEnvelope,
  type CompletionReport,
  type HandoffRequest,
  type HandoffRequestEnvelope,
  isAofType,
  LIMITS,
  type RunArtifact,
  type RunHeartbeat,
  type RunResult,
  type TaskFrontmatter,
} from './schema.ts';
export { type ReadTaskFile, readTaskFile, type TaskFile, writeTaskFile } from './task-file.ts';
export { appendWorkLog } from './work-log.ts';
