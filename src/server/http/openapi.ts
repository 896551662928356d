/** `/openapi.json`: OpenAPI 3.1, made of the routes and of the schemas that validate what they take. */
import * as z from 'zod';
import { VERSION } from '../../core/version.ts';
import type { Route } from './routes.ts';
import { ErrorShape } from './schemas.ts';

type Json = Readonly<Record<string, unknown>>;

export function openApi(routes: readonly Route[]): Json {
  const schemas: Record<string, unknown> = {};
  const schemaOf = (schema: z.ZodType | null, io: 'input' | 'output' = 'output'): unknown =>
    schema === null ? { type: 'string' } : shared(z.toJSONSchema(schema, { unrepresentable: 'any', io }), schemas);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method]: operation(route, schemaOf) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Baton',
      version: VERSION,
      description: 'Hands work between coding agents and never drops it. Errors carry a code of docs/errors.md.',
    },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    paths,
    components: {
      schemas,
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: "the person's token (serve.token), or a run's (BATON_TOKEN)",
        },
      },
    },
  };
}

function operation(route: Route, schemaOf: (schema: z.ZodType | null, io?: 'input' | 'output') => unknown): Json {
  const { path, method, access, query, headers = {}, takes, answers, status = 200, summary } = route;
  const content = (types: Readonly<Record<string, z.ZodType | null>>, io?: 'input'): Json =>
    Object.fromEntries(Object.entries(types).map(([type, schema]) => [type, { schema: schemaOf(schema, io) }]));
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    schema: schemaOf(schema as z.ZodType, 'input'),
  }));
  const inHeaders = Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }));
  const parameters = [...inPath, ...inQuery, ...inHeaders];
  return {
    operationId: `${method}${path.replace(/[/:.]+(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary,
    security: access === 'anybody' ? [] : [{ token: [] }],
    ...(access === 'person' ? { description: "Only with the person's token." } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(takes === undefined ? {} : { requestBody: { content: content(takes, 'input') } }),
    responses: {
      [status]: { description: 'it worked', content: content(answers) },
      default: { description: 'it did not', content: { 'application/json': { schema: schemaOf(ErrorShape) } } },
    },
  };
}

/** Schemas that have a name are written down once and referred to. */
function shared(made: Json, schemas: Record<string, unknown>): unknown {
  const { $schema: _, $defs = {}, ...rest } = made;
  for (const [name, schema] of Object.entries($defs as Record<string, Json>)) {
    const { id: __, ...body } = schema;
    schemas[name] = toComponents(body);
  }
  const { id, ...own } = rest;
  if (typeof id !== 'string') return toComponents(own);
  schemas[id] = toComponents(own);
  return { $ref: `#/components/schemas/${id}` };
}

const toComponents = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/'));
