/** Every field that a message of Baton's dialects may have, by its path, read from the JSON Schema that `baton schema` prints. */
import { AOF_TYPES } from '../../src/protocol/aof/schema.ts';
import { jsonSchema } from '../../src/protocol/schemas.ts';

type Schema = Readonly<Record<string, unknown>>;

/** The messages whose fields have to have an effect. */
export const MESSAGES = ['TASK', 'RESPONSE', 'EVENT', 'OUTPUT', 'GRAPH_UPDATE', ...AOF_TYPES] as const;

export type MessageName = (typeof MESSAGES)[number];

/** `task.inputs[].path` and the like, each once, in the order of the schema. `extensions` is one field, whatever it holds. */
export function fieldsOf(name: MessageName): string[] {
  const root = jsonSchema(name);
  if (root === null) throw new Error(`there is no schema ${name}`);
  const found = new Set<string>();
  const walk = (schema: Schema, path: string): void => {
    const reference = schema['$ref'];
    if (typeof reference === 'string') return walk(resolve(root, reference), path);
    for (const key of ['anyOf', 'oneOf', 'allOf'])
      for (const each of (schema[key] as Schema[] | undefined) ?? []) walk(each, path);
    if (schema['items'] !== undefined) walk(schema['items'] as Schema, `${path}[]`);
    for (const [key, each] of Object.entries((schema['properties'] as Record<string, Schema> | undefined) ?? {})) {
      const own = path === '' ? key : `${path}.${key}`;
      found.add(own);
      if (key !== 'extensions') walk(each, own);
    }
  };
  walk(root, '');
  return [...found];
}

function resolve(root: Schema, reference: string): Schema {
  const parts = reference.replace(/^#\/?/, '').split('/').filter(Boolean);
  return parts.reduce<Schema>((schema, part) => schema[part] as Schema, root);
}
