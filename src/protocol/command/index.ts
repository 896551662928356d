export { type Command, LIMIT_WORDS, type Limit, type LimitWord, MAX_LIMIT } from './command.ts';
export {
  commandName,
  type DecodeOptions,
  decodeCommand,
  isKnownCommand,
  type ReadCommand,
  readCommand,
} from './decode.ts';
export { withDefaults } from './defaults.ts';
export { type Encoded, encodeCommand, writeCommand } from './encode.ts';
export {
  CATEGORIES,
  type Category,
  type CommandForm,
  type CommandSpec,
  type Param,
  type Reply,
  usage,
} from './form.ts';
export { helpReply, type ProjectCommand } from './help.ts';
export { type Budget, budgetFor, limitFor, type Situation, smartLimit } from './limits.ts';
export { type BulletOptions, bullets, errorReply, fitText, flow } from './reply.ts';
export { CommandValue } from './schema.ts';
export {
  CHECKPOINT_TYPES,
  COMMANDS,
  type CommandName,
  EXPORT_FILTERS,
  effectOf,
  formOf,
  IMPORT_MODES,
  isBuiltIn,
  STATE_KEYS,
  STATE_VALUE_TOKENS,
} from './table.ts';
export { exceedsTokens } from './tokens.ts';
export {
  readDeclaration,
  readVariables,
  type Substituted,
  substitute,
  VARIABLE_TOKENS,
  type Variables,
} from './variables.ts';
export {
  COMPATIBILITY,
  type Compatibility,
  checkVersion,
  FEATURES,
  type Feature,
  featureLines,
  PROTOCOL_VERSION,
  supports,
  VERSION_REPLY,
} from './version.ts';
