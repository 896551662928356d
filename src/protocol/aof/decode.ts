/** AOF/1, read: text or an object already parsed → one Message. Nothing in here throws, whatever comes. */
import type * as z from 'zod';
import type { ErrorCode } from '../../core/errors.ts';
import { isFields } from '../../core/fields.ts';
import { error } from '../../core/problem.ts';
import { type Message, message } from '../message.ts';
import { exceedsBytes, stripControls } from '../text/clean.ts';
import { MAX_DEPTH, tooDeep } from '../text/depth.ts';
import { quote } from '../text/quote.ts';
import { toProblems, type Validate, validator } from '../text/validate.ts';
import { agreement } from './agreement.ts';
import { AnyEnvelope, AOF_TYPES, type AofEnvelope, type AofType, ENVELOPES, isAofType, LIMITS } from './schema.ts';
import { unknownFields } from './unknown-fields.ts';

/** What stands before the envelope where a message is sent as text (the document's message detection, step 3). */
export const AOF_PREFIX = 'AOF/1 ';

const PREFIXED = new RegExp(`^\\s*${AOF_PREFIX}`);

/** The JSON text of one message: the bare envelope, or what follows `AOF/1 `; the prefix itself may still be there. */
export function decodeAof(text: string): Message {
  const json = withoutPrefix(text);
  if (exceedsBytes(json, LIMITS.messageBytes)) {
    return broken('E_CONTEXT_OVERFLOW', `expected at most ${LIMITS.messageBytes} bytes, got more`);
  }
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    return broken('E_PARSE_FAILURE', `expected one JSON object, got text that is not JSON (${reason(cause)})`);
  }
  return isFields(value)
    ? decodeAofValue(value)
    : broken('E_PARSE_FAILURE', `expected one JSON object, got ${quote(value)}`);
}

/** An object that says `protocol: "aof"`. It cannot be measured here: who parsed it has seen how long it was. */
export function decodeAofValue(value: Record<string, unknown>): Message {
  const kind = typeof value['type'] === 'string' ? value['type'] : null;
  if (tooDeep(value)) {
    const sentence = `expected at most ${MAX_DEPTH} levels of nesting, got more`;
    return message('aof', kind, null, [error('E_SCHEMA_VALIDATION', '', sentence)]);
  }
  if (kind === null || !isAofType(kind))
    return message('aof', kind, value, [...unknownType(kind), ...ofAnyType(value)]);
  return message('aof', kind, value, [
    ...toProblems(VALIDATORS[kind](value), value, 'E_SCHEMA_VALIDATION'),
    ...agreement(kind, value),
    ...unknownFields(ENVELOPES[kind], value),
  ]);
}

/** The typed view of a valid message; null of any other. */
export const asEnvelope = (decoded: Message): AofEnvelope | null =>
  decoded.dialect === 'aof' && decoded.valid ? (decoded.value as AofEnvelope) : null;

const VALIDATORS = Object.fromEntries(
  Object.entries(ENVELOPES).map(([type, schema]) => [type, validator(schema as z.ZodType)]),
) as Record<AofType, Validate>;

const anyEnvelope = validator(AnyEnvelope);

const ofAnyType = (value: unknown) => [
  ...toProblems(anyEnvelope(value), value, 'E_SCHEMA_VALIDATION'),
  ...unknownFields(AnyEnvelope, value),
];

const unknownType = (type: string | null) =>
  type === null
    ? [] // missing, or no text: the schema says so
    : [error('E_UNKNOWN_TYPE', '/type', `expected one of ${AOF_TYPES.join(' ')}, got ${quote(type)}`)];

const broken = (code: ErrorCode, sentence: string): Message => message('aof', null, null, [error(code, '', sentence)]);

/** `\s` takes a byte order mark too; JSON.parse takes none. */
function withoutPrefix(text: string): string {
  const prefix = PREFIXED.exec(text);
  if (prefix) return text.slice(prefix[0].length);
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

const reason = (cause: unknown): string =>
  stripControls(cause instanceof Error ? cause.message : 'unreadable').replace(/\s+/g, ' ');
