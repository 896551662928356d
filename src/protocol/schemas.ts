/** The JSON Schema (2020-12) of every message type, made from the zod schemas that validate it. */
import * as z from 'zod';
import { AOF_SCHEMAS } from './aof/schema.ts';
import { Aop1Value, DetailsFile } from './aop1/schema.ts';
import { EventMessage, ResponseMessage, TaskMessage } from './aop2/schema.ts';
import { CommandValue } from './command/schema.ts';
import { GraphUpdate, Output } from './output/schema.ts';

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  TASK: TaskMessage,
  RESPONSE: ResponseMessage,
  EVENT: EventMessage,
  report: Aop1Value,
  details: DetailsFile,
  OUTPUT: Output,
  GRAPH_UPDATE: GraphUpdate,
  command: CommandValue,
  ...AOF_SCHEMAS,
};

export const schemaNames = (): string[] => Object.keys(SCHEMAS);

/** Null where there is no such message type. */
export function jsonSchema(name: string): Record<string, unknown> | null {
  const schema = Object.hasOwn(SCHEMAS, name) ? SCHEMAS[name] : undefined;
  return schema
    ? { title: name, ...z.toJSONSchema(schema, { target: 'draft-2020-12', unrepresentable: 'any' }) }
    : null;
}
