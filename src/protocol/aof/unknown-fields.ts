/** "Other fields are kept, with a warning": the warnings, read off the schema itself. */
import * as z from 'zod';
import { type PathPart, type Problem, pointer, warning } from '../../core/problem.ts';
import { quote } from '../text/quote.ts';
import { ENVELOPES, isAofType } from './schema.ts';

/** Beyond this the rest is counted, not listed: a message may hold a million keys. */
const MOST = 100;

/** The fields of an envelope that are not of its type, each under its place, as far as they fit into a record. */
export function unknownIn(kind: string, value: unknown): Record<string, unknown> {
  const schema = isAofType(kind) ? ENVELOPES[kind] : null;
  const found: Record<string, unknown> = {};
  let left = MOST_CHARS;
  for (const path of schema === null ? [] : unknownPaths(schema, value, [])) {
    const field = path.reduce((at: unknown, key) => (at as Record<PathPart, unknown>)[key], value);
    left -= JSON.stringify(field)?.length ?? 0;
    if (left < 0) break;
    found[pointer(path)] = field;
  }
  return found;
}

/** So much of them a record holds; a completion.report's are all in its `run_result.json`. */
const MOST_CHARS = 16_384;

export function unknownFields(schema: z.ZodObject, value: unknown): Problem[] {
  const problems: Problem[] = [];
  let more = 0;
  for (const path of unknownPaths(schema, value, [])) {
    if (problems.length === MOST) more++;
    else problems.push(warning('E_FIELD_UNKNOWN', pointer(path), `unknown field ${quote(path.at(-1))}; it is kept`));
  }
  if (more > 0) problems.push(warning('E_FIELD_UNKNOWN', '', `${more} more unknown fields; they are kept`));
  return problems;
}

function* unknownPaths(schema: z.ZodObject, value: unknown, path: readonly PathPart[]): Generator<PathPart[]> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return;
  for (const [key, child] of Object.entries(value)) {
    // `hasOwn`, since a field may be called `constructor` or `__proto__`.
    if (!Object.hasOwn(schema.shape, key)) yield [...path, key];
    else {
      const inner = unwrap(schema.shape[key] as z.ZodType);
      if (isClosedByName(inner)) yield* unknownPaths(inner, child, [...path, key]);
    }
  }
}

function unwrap(schema: z.ZodType): z.ZodType {
  let inner = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable) inner = inner.unwrap() as z.ZodType;
  return inner;
}

/** An object that names no field at all (the payload of an unknown type) knows of none that would be unknown. */
const isClosedByName = (schema: z.ZodType): schema is z.ZodObject =>
  schema instanceof z.ZodObject && Object.keys(schema.shape).length > 0;
