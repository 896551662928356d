export { nodeId } from '../../core/node.ts';
export { decodeGraphUpdate, decodeOutput } from './decode.ts';
export { encodeGraphUpdate, encodeOutput } from './encode.ts';
export { graphUpdateOf, handedOf } from './graph.ts';
export { checkLoad, type LoadRules, REFUSE_BELOW } from './load.ts';
export { isPascalCase, NODE_TYPES, requiredFields } from './registry.ts';
export { ESCALATE_BELOW, fromReport, toReport, type Written } from './report.ts';
export { type AddNode, GraphUpdate, OUTPUT_TYPES, Output } from './schema.ts';
