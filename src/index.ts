/** Baton's front door for programs. The dialects are in `baton-run/protocol`, the nouns in `baton-run/core`. */
export { VERSION } from './core/version.ts';
export { createDetector, type DetectOptions, type Detector, detect, type Found } from './protocol/detect.ts';
export type { Dialect } from './protocol/dialects.ts';
export type { Message } from './protocol/message.ts';
