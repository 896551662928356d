/** The JSON Schema that is printed says what the validator does: checked with a validator that is not ours. */

import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { detect } from '../../src/protocol/detect.ts';
import { jsonSchema, schemaNames } from '../../src/protocol/schemas.ts';
import { exampleJson } from '../helpers/documents.ts';

const ajv = new Ajv2020({ strict: true, allErrors: true, strictTypes: false, strictRequired: false });
addFormats.default(ajv);

test.each(schemaNames())('the schema of %s is a JSON Schema', (name) => {
  expect(ajv.validateSchema(jsonSchema(name) ?? {})).toBe(true);
});

describe.each([
  ['TASK', 'aop2-task-full.json'],
  ['TASK', 'aop2-task-minimal.json'],
  ['RESPONSE', 'aop2-response.json'],
  ['EVENT', 'aop2-event-heartbeat.json'],
  ['EVENT', 'aop2-event-progress.json'],
  ['EVENT', 'aop2-event-rollback.json'],
  ['EVENT', 'aop2-event-priority.json'],
])('%s, from %s', (name, file) => {
  const validate = ajv.compile(jsonSchema(name) ?? {});
  const agree = (value: unknown): void => {
    const [found] = detect(JSON.stringify(value));
    expect([validate(value), JSON.stringify(value)]).toEqual([found?.valid, JSON.stringify(value)]);
  };

  test('takes the example', () => agree(exampleJson(file)));

  test('agrees with the validator on an example of which any one place was changed', () => {
    const junk = fc.constantFrom<unknown>(
      undefined,
      null,
      '',
      'x',
      0,
      -1,
      1.5,
      true,
      [],
      {},
      { a: 1 },
      { x_a: 1 },
      ['x'],
      'COMPLETED',
      '2026-01-01T00:00:00Z',
    );
    fc.assert(
      fc.property(fc.nat(), junk, fc.boolean(), (at, value, add) => {
        const root = exampleJson(file);
        const places = everyPlace(root).filter(
          ([node, key]) => !(node === root && (key === 'aop_version' || key === 'message_type')),
        );
        const [node, key] = places[at % places.length] ?? [root, 'x'];
        if (add) (node as Record<string, unknown>)['added'] = value;
        else (node as Record<string, unknown>)[key] = value;
        agree(JSON.parse(JSON.stringify(root)));
      }),
      { numRuns: 500 },
    );
  });
});

function everyPlace(node: unknown): [object, string][] {
  if (node === null || typeof node !== 'object') return [];
  return Object.entries(node).flatMap(([key, child]): [object, string][] => [[node, key], ...everyPlace(child)]);
}
