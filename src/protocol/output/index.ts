export { decodeGraphUpdate, decodeOutput } from './decode.ts';
export { nodeId } from '../../core/node.ts';
export { encodeGraphUpdate, encodeOutput } from './encode.ts';
export { checkLoad, type LoadRules, REFUSE_BELOW } from './load.ts';
export { isPascalCase, NODE_TYPES, requiredFields } from './registry.ts';
export { ESCALATE_BELOW, fromReport, toReport, type Written } from './report.ts';
export { type AddNode, GraphUpdate, OUTPUT_TYPES, Output } from './schema.ts';
