import { describe, expect, test } from 'vitest';
import { checkGuardRails } from '../../../src/protocol/aop2/decode.ts';
import type { ResponseMessage } from '../../../src/protocol/aop2/schema.ts';
import { isLater } from '../../../src/protocol/aop2/version.ts';
import { example, exampleJson } from '../../helpers/documents.ts';
import { codes, only } from '../../helpers/found.ts';

type Json = Record<string, unknown>;

/** The example with one place changed; a path's last key set to undefined is left out. */
function changed(name: string, ...changes: [path: string, value: unknown][]): string {
  const root = exampleJson(name);
  for (const [path, value] of changes) {
    const keys = path.split('/').slice(1);
    const last = keys.pop() ?? '';
    const at = keys.reduce<Json>((node, key) => node[key] as Json, root);
    at[last] = value;
  }
  return JSON.stringify(root);
}

describe('the examples of the contract', () => {
  test.each([
    ['aop2-task-minimal.json', 'TASK'],
    ['aop2-task-full.json', 'TASK'],
    ['aop2-response.json', 'RESPONSE'],
    ['aop2-event-heartbeat.json', 'EVENT'],
    ['aop2-event-progress.json', 'EVENT'],
    ['aop2-event-rollback.json', 'EVENT'],
    ['aop2-event-priority.json', 'EVENT'],
  ])('%s is valid, without a flaw, and kept as written', (name, kind) => {
    const found = only(example(name));
    expect([found.dialect, found.kind, found.valid, found.problems]).toEqual(['aop2', kind, true, []]);
    expect(found.value).toEqual(exampleJson(name));
  });
});

describe('a problem names its place, what was expected and what came', () => {
  test.each([
    ['an enum in lower case', '/task/category', 'analysis', /^expected one of ANALYSIS .*, got "analysis"$/],
    ['a number in quotes', '/execution_policy/timeout_seconds', '30', /^expected a number, got "30"$/],
    ['a name that is empty', '/target/model', '', /^expected a text that is not empty, got ""$/],
    ['a missing field', '/task/objective', undefined, /^expected a string, got nothing$/],
    ['a number that is no integer', '/task/attempt', 1.5, /^expected an integer, got 1.5$/],
    ['a time that is none', '/session/created_at', 'yesterday', /^expected a time like .*, got "yesterday"$/],
    ['an unknown field', '/task/mood', 'good', /^unknown field "mood"$/],
    ['a key without x_', '/task/environment/extensions', { image: 1 }, null],
  ])('%s', (_, path, value, message) => {
    const { problems, valid } = only(changed('aop2-task-full.json', [path, value]));
    expect(valid).toBe(false);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ severity: 'error', code: 'E_SCHEMA_VALIDATION' });
    if (message === null)
      expect(problems[0]).toMatchObject({ path: `${path}/image`, message: expect.stringContaining('x_') });
    else expect(problems[0]).toMatchObject({ path, message: expect.stringMatching(message) });
  });

  test('a RESPONSE that fails is malformed', () => {
    expect(codes(only(changed('aop2-response.json', ['/task_status/state', 'DONE'])))).toEqual([
      'error E_MALFORMED_RESPONSE /task_status/state',
    ]);
    expect(codes(only(changed('aop2-response.json', ['/timing/extensions', { a: 1 }])))).toEqual([
      'error E_MALFORMED_RESPONSE /timing/extensions/a',
    ]);
  });
});

describe('extensions', () => {
  test('are taken by every object, at any depth', () => {
    const root = exampleJson('aop2-task-full.json');
    const extend = (node: unknown): unknown => {
      if (Array.isArray(node)) return node.map(extend);
      if (node === null || typeof node !== 'object') return node;
      const entries = Object.entries(node).map(([key, child]) => [key, key === 'extensions' ? child : extend(child)]);
      return { ...Object.fromEntries(entries), extensions: { x_any: { deep: [1] } } };
    };
    expect(only(JSON.stringify(extend(root))).problems).toEqual([]);
  });

  test('keep __proto__ out', () => {
    const text = example('aop2-task-minimal.json').replace(
      '"task": {',
      '"task": {"extensions": {"__proto__": {"admin": true}},',
    );
    expect(codes(only(text))).toEqual(['error E_SCHEMA_VALIDATION /task/extensions/__proto__']);
    expect(({} as Json)['admin']).toBeUndefined();
  });

  test('what stands in an extension is free', () => {
    const text = example('aop2-task-minimal.json').replace(
      '"task": {',
      '"task": {"extensions": {"x_a": {"extensions": {"__proto__": 1}}},',
    );
    expect(only(text).problems).toEqual([]);
  });

  test('__proto__ is an unknown field like any other', () => {
    const text = example('aop2-task-minimal.json').replace('"task": {', '"__proto__": {"a": 1}, "task": {');
    expect(codes(only(text))).toEqual(['error E_SCHEMA_VALIDATION /__proto__']);
  });
});

describe('versions', () => {
  test.each(['2.0.0', '2.0.1-M', '2.0.1-E', '2.0.2-C', '2.1.0'])('%s is read', (version) => {
    expect(only(changed('aop2-task-minimal.json', ['/aop_version', version])).valid).toBe(true);
  });

  test.each(['1.0.0', '3.0.0', '20.1', '2'])('%s is not ours', (version) => {
    expect(only(changed('aop2-task-minimal.json', ['/aop_version', version])).dialect).toBe('unstructured');
  });

  test('an unknown field is forgiven to a later 2.x, with a warning, and to nobody else', () => {
    const at = (version: string): string[] =>
      codes(only(changed('aop2-task-minimal.json', ['/aop_version', version], ['/task/mood', 'good'])));
    expect(at('2.0.10')).toEqual(['warning E_FIELD_UNKNOWN /task/mood']);
    expect(at('2.0.0')).toEqual(['error E_SCHEMA_VALIDATION /task/mood']);
  });

  test('a later version does not make wrong values right, nor task_status allowed', () => {
    const found = only(
      changed('aop2-task-minimal.json', ['/aop_version', '2.1.0'], ['/task/category', 'x'], ['/task_status', {}]),
    );
    expect(codes(found)).toEqual([
      'error E_SCHEMA_VALIDATION /task/category',
      'error E_SCHEMA_VALIDATION /task_status',
    ]);
  });

  test('what is forgiven to a later version hides no error, however much of it there is', () => {
    const artifacts = [...Array.from({ length: 150 }, () => ({ path: 'a', mood: 1 })), {}];
    const found = only(
      changed('aop2-event-rollback.json', ['/aop_version', '2.9.0'], ['/artifacts_rolled_back', artifacts]),
    );
    expect(found.valid).toBe(false);
    expect(codes(found)[0]).toBe('error E_SCHEMA_VALIDATION /artifacts_rolled_back/150/path');
    expect(found.problems).toHaveLength(101);
  });

  test('of unknown fields the first hundred are listed', () => {
    const many = Array.from({ length: 5000 }, (_, i): [string, unknown] => [`/mood${i}`, 1]);
    expect(only(changed('aop2-event-heartbeat.json', ...many)).problems).toHaveLength(100);
    expect(only(changed('aop2-event-heartbeat.json', ...many, ['/aop_version', '2.9.0'])).problems).toHaveLength(100);
  });

  test('later means a greater number, not a greater letter', () => {
    expect(['2.0.3', '2.1', '2.0.10-A'].map(isLater)).toEqual([true, true, true]);
    expect(['2.0.2', '2.0.2-Z', '2.0.1-M', '2.x', '2.0.2.9'].map(isLater)).toEqual([false, false, false, false, false]);
  });
});

describe('limits', () => {
  const list = (length: number, item: unknown): unknown[] => Array.from({ length }, () => item);

  test.each([
    ['101 inputs', '/task/inputs', list(101, { path: 'a' }), 'error E_CONTEXT_OVERFLOW /task/inputs'],
    [
      '51 outputs',
      '/task/expected_outputs',
      list(51, { path: 'a' }),
      'error E_CONTEXT_OVERFLOW /task/expected_outputs',
    ],
    ['11 phases', '/phases', list(11, { phase_id: 'P' }), 'warning E_PAYLOAD_SIZE_WARNING /phases'],
    [
      '21 checkpoints',
      '/phases',
      [{ phase_id: 'P', checkpoints: list(21, { checkpoint_id: 'C' }) }],
      'warning E_PAYLOAD_SIZE_WARNING /phases/0/checkpoints',
    ],
    ['an objective of 40,001', '/task/objective', 'x'.repeat(40_001), 'warning E_PAYLOAD_SIZE_WARNING /task/objective'],
  ])('%s', (_, path, value, problem) => {
    expect(codes(only(changed('aop2-task-minimal.json', [path, value])))).toEqual([problem]);
  });

  test('a RESPONSE may have 512,000 bytes', () => {
    const size = Buffer.byteLength(changed('aop2-response.json', ['/extensions', { x_pad: '' }]));
    const padded = (bytes: number): string =>
      changed('aop2-response.json', ['/extensions', { x_pad: 'x'.repeat(bytes - size) }]);
    expect(only(padded(512_000)).problems).toEqual([]);
    expect(codes(only(padded(512_001)))).toEqual(['error E_CONTEXT_OVERFLOW ']);
  });

  test('bytes are bytes of UTF-8 as received, not characters', () => {
    const size = Buffer.byteLength(changed('aop2-task-minimal.json', ['/extensions', { x_pad: '' }]));
    const padded = (bytes: number): string =>
      changed('aop2-task-minimal.json', ['/extensions', { x_pad: 'é'.repeat((bytes - size) / 2) }]);
    const limit = (204_800 - size) % 2 === 0 ? 204_800 : 204_799;
    expect(only(padded(limit)).problems).toEqual([]);
    expect(codes(only(padded(limit + 2)))).toEqual(['error E_CONTEXT_OVERFLOW ']);
  });
});

describe('events', () => {
  test('an event that is not listed', () => {
    expect(codes(only(changed('aop2-event-heartbeat.json', ['/event', 'TASK_STARTED'])))).toEqual([
      'error E_SCHEMA_VALIDATION /event',
    ]);
  });

  test('a final report is free beyond its ids, but not in its extensions', () => {
    const report = {
      aop_version: '2.0.2-C',
      message_type: 'EVENT',
      event: 'SESSION_FINAL_REPORT',
      session_id: 'S',
      timestamp: '2026-03-01T09:00:00Z',
      totals: { tasks: 3 },
    };
    expect(only(JSON.stringify(report)).problems).toEqual([]);
    expect(codes(only(JSON.stringify({ ...report, extensions: { a: 1 } })))).toEqual([
      'error E_SCHEMA_VALIDATION /extensions/a',
    ]);
  });

  test('VERSION_FALLBACK may lack ids, and its preview is bounded', () => {
    const event = {
      aop_version: '2.0.2-C',
      message_type: 'EVENT',
      event: 'VERSION_FALLBACK',
      timestamp: '2026-03-01T09:00:00Z',
      reason: 'r',
      validation_error: 'v',
      input_preview: 'x'.repeat(200),
    };
    expect(only(JSON.stringify(event)).problems).toEqual([]);
    expect(only(JSON.stringify({ ...event, input_preview: 'x'.repeat(201) })).valid).toBe(false);
  });
});

describe('guard rails', () => {
  const bare = changed(
    'aop2-response.json',
    ['/task_status/final_signal', undefined],
    ['/execution_summary/summary', ' '],
    ['/execution_summary/actions', []],
  );

  test('looked at alone, what they may ask for is a warning', () => {
    const found = only(bare);
    expect(found.valid).toBe(true);
    expect(codes(found)).toEqual([
      'warning E_FIELD_MISSING /task_status/final_signal',
      'warning E_FIELD_MISSING /execution_summary/summary',
      'warning E_FIELD_MISSING /execution_summary/actions',
    ]);
  });

  test('an error elsewhere does not hide it', () => {
    const found = only(
      changed('aop2-response.json', ['/task_status', { state: 'LOST' }], ['/execution_summary', { summary: 5 }]),
    );
    expect(codes(found)).toEqual([
      'error E_MALFORMED_RESPONSE /task_status/state',
      'error E_MALFORMED_RESPONSE /execution_summary/summary',
      'warning E_FIELD_MISSING /task_status/final_signal',
      'warning E_FIELD_MISSING /execution_summary/actions',
    ]);
  });

  test('where its TASK asks for it, an error', () => {
    const response = JSON.parse(bare) as ResponseMessage;
    expect(
      checkGuardRails(response, { finalSignal: true, minimalReport: false }).map(
        (p) => `${p.severity} ${p.code} ${p.path}`,
      ),
    ).toEqual(['error E_MALFORMED_RESPONSE /task_status/final_signal']);
    expect(checkGuardRails(response, { finalSignal: false, minimalReport: false })).toEqual([]);
  });
});

test('the same problems are found however often the schema has been used', () => {
  const text = changed(
    'aop2-task-full.json',
    ['/task/category', 'x'],
    ['/target/extensions', { __proto__: null, a: 1 }],
    ['/mood', 1],
  );
  const first = only(text).problems;
  expect(first).toHaveLength(3);
  for (let i = 0; i < 50; i++) {
    expect(only(example('aop2-task-full.json')).problems).toEqual([]);
    expect(only(text).problems).toEqual(first);
  }
});
