/** The JSON Schema (2020-12) of every message type, made from the zod schemas that validate it. */
import * as z from 'zod';
import { PARTS } from './parts.ts';

const SCHEMAS: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  Object.values(PARTS).flatMap(({ schemas }) => Object.entries(schemas)),
);

export const schemaNames = (): string[] => Object.keys(SCHEMAS);

/** Null where there is no such message type. */
export function jsonSchema(name: string): Record<string, unknown> | null {
  const schema = Object.hasOwn(SCHEMAS, name) ? SCHEMAS[name] : undefined;
  return schema
    ? { title: name, ...z.toJSONSchema(schema, { target: 'draft-2020-12', unrepresentable: 'any' }) }
    : null;
}
