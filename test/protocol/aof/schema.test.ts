import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { AOF_SCHEMAS, AOF_TYPES } from '../../../src/protocol/aof/index.ts';

const jsonSchema = (name: keyof typeof AOF_SCHEMAS): z.core.JSONSchema.BaseSchema => z.toJSONSchema(AOF_SCHEMAS[name]);
const payload = (name: keyof typeof AOF_SCHEMAS) =>
  jsonSchema(name).properties?.['payload'] as z.core.JSONSchema.BaseSchema;

describe('the JSON Schema', () => {
  it('exists of every message type and every file', () => {
    expect(Object.keys(AOF_SCHEMAS)).toEqual([
      ...AOF_TYPES,
      'run.json',
      'run_heartbeat.json',
      'run_result.json',
      'task-file',
    ]);
    for (const name of Object.keys(AOF_SCHEMAS) as (keyof typeof AOF_SCHEMAS)[]) {
      expect(jsonSchema(name)).toMatchObject({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
      });
    }
  });

  it('says what the validator asks for', () => {
    const handoff = jsonSchema('handoff.request');
    expect(handoff.required?.toSorted()).toEqual([
      'fromAgent',
      'payload',
      'protocol',
      'sentAt',
      'taskId',
      'toAgent',
      'type',
      'version',
    ]);
    const list = { type: 'array', items: { type: 'string', maxLength: 256 }, maxItems: 50 };
    expect(payload('handoff.request').required).toEqual(['acceptanceCriteria']);
    expect(payload('handoff.request').properties).toMatchObject({ acceptanceCriteria: list, constraints: list });
    expect(payload('status.update').anyOf).toContainEqual({ required: ['progress'] });
    expect(jsonSchema('completion.report').required).not.toContain('toAgent');
  });

  it('lets other fields be', () => {
    expect(jsonSchema('completion.report').additionalProperties).toEqual({});
  });
});
