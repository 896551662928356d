/** The five dialects, and what finds and converts them. Bundles for a browser: no Node, no clock, no randomness. */
import * as aof from './aof/index.ts';
import * as aop1 from './aop1/index.ts';
import * as aop2 from './aop2/index.ts';
import * as command from './command/index.ts';
import * as output from './output/index.ts';

export {
  type Conversion,
  type ConvertContext,
  type Converted,
  convert,
  lastReport,
} from './convert.ts';
export { createDetector, type DetectOptions, type Detector, detect, type Found } from './detect.ts';
export { DIALECTS, type Dialect, TARGETS, type Target } from './dialects.ts';
export type { CountTokens, Message } from './message.ts';
export { agentPrompt, type PromptOptions, taskTypeOfTask } from './prompt.ts';
export { jsonSchema, schemaNames } from './schemas.ts';
export { aof, aop1, aop2, command, output };
