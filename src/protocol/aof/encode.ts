/** AOF/1, written in the three forms in which it is found: the object, its JSON on one line, and text that starts `AOF/1 `. */
import { AOF_PREFIX } from './decode.ts';
import type { AofEnvelope } from './schema.ts';

/** `line` is the bare envelope as one line of JSON, `text` the same after `AOF/1 `. */
export type AofForm = 'line' | 'text';

/** The order of the document's example; other fields follow. */
const ORDER = [
  'protocol',
  'version',
  'type',
  'taskId',
  'parentTaskId',
  'fromAgent',
  'toAgent',
  'sentAt',
  'messageId',
  'payload',
];

export const encodeAof = (envelope: AofEnvelope, form: AofForm = 'line'): string =>
  `${form === 'text' ? AOF_PREFIX : ''}${JSON.stringify(encodeAofObject(envelope))}`;

export const encodeAofObject = (envelope: AofEnvelope): Record<string, unknown> => inOrder(envelope, ORDER);

/** Known fields first and in order, the others as they stand. `fromEntries` defines, so a field called `__proto__` stays one. */
export function inOrder(fields: Readonly<Record<string, unknown>>, order: readonly string[]): Record<string, unknown> {
  const known = order.filter((key) => Object.hasOwn(fields, key));
  const others = Object.keys(fields).filter((key) => !order.includes(key));
  return Object.fromEntries(
    [...known, ...others].map((key) => [key, fields[key]] as const).filter(([, v]) => v !== undefined),
  );
}
