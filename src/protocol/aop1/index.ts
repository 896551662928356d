export { type Block, type BlockReader, createBlockReader } from './blocks.ts';
export { checkSummary, plainLines } from './checklist.ts';
export { type Aop1Report, type AopOutput, decodeAop1, parseAOPOutput, STATUSES, type Status } from './decode.ts';
export { fromReport, toReport, type Written } from './encode.ts';
export { SUMMARY_CHARS, SUMMARY_CHARS_MOST, TASK_CHARS, type TaskType, taskTypeOf } from './limits.ts';
export { type AskFor, aop1Prompt } from './prompt.ts';
export { Aop1Value, DetailsFile, type ReadDetails, readDetails, writeDetails } from './schema.ts';
