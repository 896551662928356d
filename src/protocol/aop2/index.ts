export { checkGuardRails, decodeAop2, type GuardRails } from './decode.ts';
export { type Fallback, fallBack } from './fallback.ts';
export { MAX_BYTES } from './limits.ts';
export { effectiveAccess, policyOf } from './policy.ts';
export { type RenderedTask, renderTask, toV1Prompt } from './prompt.ts';
export { fromReport, outcomeOf, reportUnder, toReport, type Written } from './report.ts';
export { EventMessage, ResponseMessage, TaskMessage, VersionFallbackEvent } from './schema.ts';
export { type LiftContext, liftV1, readV1, type V1Prompt } from './v1.ts';
export { AOP_VERSION, isLater, PROTOCOL_FAMILY, SCHEMA_VERSION } from './version.ts';
