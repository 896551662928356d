import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TASK_PRIORITIES, TASK_STATUSES } from '../../../src/core/index.ts';
import { readTaskFile, type TaskFile, type TaskFrontmatter, writeTaskFile } from '../../../src/protocol/aof/index.ts';
import { anyText, NOW, TASK } from './samples.ts';

const read = (text: string): TaskFile => {
  const result = readTaskFile(text);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.task;
};

const whole: TaskFrontmatter = {
  id: TASK,
  title: 'Fix: the "login" page',
  status: 'in-progress',
  priority: 'high',
  routing: { agent: 'emma', role: 'EXECUTOR', team: 'backend', tags: ['a', 'b'] },
  dependsOn: ['TASK-2026-02-07-001', 'TASK-001'],
  parentId: 'TASK-2026-02-07-001',
  session: 's-1',
  lease: { runId: 'r-1', agent: 'emma', acquiredAt: NOW, expiresAt: NOW },
  createdAt: NOW,
  updatedAt: NOW,
  lastTransitionAt: NOW,
  createdBy: 'user',
  metadata: { delegationDepth: 1, reviewRequired: true, nested: { list: [1, 'two', null] } },
};

describe('a task file', () => {
  it('is real YAML between two --- lines, then the body', () => {
    const text = `---\nid: ${TASK}\ntitle: "a: b" # why not\nrouting:\n  tags: [x, 'y z']\ndependsOn:\n  - TASK-001\n---\n# Body\n`;
    expect(read(text)).toEqual({
      frontmatter: { id: TASK, title: 'a: b', routing: { tags: ['x', 'y z'] }, dependsOn: ['TASK-001'] },
      body: '# Body\n',
    });
  });

  it('is written in the order of the document, unknown fields last, and read back as it was', () => {
    const { id, title, ...rest } = whole;
    const text = writeTaskFile({ frontmatter: { zeta: [1], ...rest, alpha: { x: 1 }, title, id }, body: 'b' });
    const keys = [...text.matchAll(/^(\w+):/gm)].map((m) => m[1]);
    expect(keys).toEqual([...Object.keys(whole), 'zeta', 'alpha']);
    expect(read(text)).toEqual({ frontmatter: { ...whole, zeta: [1], alpha: { x: 1 } }, body: 'b' });
  });

  it('keeps fields that nobody knows, with a warning', () => {
    const result = readTaskFile('---\nsla: 5\nrouting: { workflow: x }\nmetadata: { any: thing }\n---\n');
    expect(result).toMatchObject({ ok: true, task: { frontmatter: { sla: 5, routing: { workflow: 'x' } } } });
    expect(result.problems.map((p) => [p.severity, p.code, p.path])).toEqual([
      ['warning', 'E_FIELD_UNKNOWN', '/sla'],
      ['warning', 'E_FIELD_UNKNOWN', '/routing/workflow'],
    ]);
  });

  it.each([
    '',
    'no newline',
    '\n\nblank first\n',
    'a\r\nb\r\n',
    '---\n',
    'a\n---\nb: c\n---\n',
    '\ufeffbom',
    ' \t',
    '\0',
  ])('keeps its body byte for byte: %j', (body) => {
    expect(read(writeTaskFile({ frontmatter: whole, body })).body).toBe(body);
    expect(read(writeTaskFile({ frontmatter: {}, body })).body).toBe(body);
    expect(read(`---\r\nid: ${TASK}\r\n---\r\n${body}`)).toEqual({ frontmatter: { id: TASK }, body });
  });

  it('may end with its frontmatter', () => {
    expect(read(`---\nid: ${TASK}\n---`)).toEqual({ frontmatter: { id: TASK }, body: '' });
  });

  it('that a person dropped needs no frontmatter, or leaves its fields empty', () => {
    expect(read('\ufeffFix the login page\n---\nplease')).toEqual({
      frontmatter: {},
      body: 'Fix the login page\n---\nplease',
    });
    expect(read('')).toEqual({ frontmatter: {}, body: '' });
    expect(read('---\n---\nFix it')).toEqual({ frontmatter: {}, body: 'Fix it' });
    expect(read('---\nparentId:\nrouting:\n---\n').frontmatter).toEqual({ parentId: null, routing: null });
  });

  it.each([
    ['id', 'TASK-1'],
    ['title', '[a, list]'],
    ['status', 'sleeping'],
    ['priority', 'urgent'],
    ['createdAt', 'yesterday'],
    ['metadata', 'text'],
  ])('with a wrong %s is refused with its place', (field, value) => {
    const result = readTaskFile(`---\n${field}: ${value}\n---\n`);
    expect(result).toMatchObject({ ok: false, problems: [{ code: 'E_SCHEMA_VALIDATION', path: `/${field}` }] });
  });

  it.each([
    ['that is never closed', '---\nid: x\nbody'],
    ['that is a list', '---\n- a\n---\n'],
    ['that is a text', '---\njust words\n---\n'],
    ['that is no YAML', '---\na: [b\n---\n'],
    ['that says a thing twice', '---\ntitle: a\ntitle: b\n---\n'],
  ])('with a frontmatter %s is refused, not thrown', (_, text) => {
    expect(readTaskFile(text)).toMatchObject({ ok: false, problems: [{ code: 'E_PARSE_FAILURE', path: '' }] });
  });
});

/** What YAML would read as something else, break over, or drop. */
const HOSTILE = [
  ...['yes', 'No', 'on', 'OFF', 'y', 'true', 'False', 'null', 'Null', '~', '', ' ', '\t'],
  ...['1', '-1', '1e3', '0x1', '0o7', '1_000', '.5', '.inf', '-.INF', '.nan', '12:30:00', '2026-01-01', NOW],
  ...['- x', '-', '--- ', '...', '? a', 'a: b', 'a:', ': a', '#', 'a #b', '# c', '=', '<<', '%YAML 1.2', '@x', '`x`'],
  ...['[a', 'a]', '{a', 'a}', 'a, b', '&x', '*x', '!x', '!!str x', '|', '>', "'a", '"a', 'a"', "a'", '\\', '\\n'],
  ...[
    ' lead',
    'trail ',
    'a\nb',
    'a\r\nb',
    '\n',
    'a\tb',
    'two  spaces',
    '\0',
    '\x1b[31m',
    '\x7f',
    '\x85',
    '\u2028',
    '\u2029',
  ],
  ...['\ufeff', 'a\ufeff', '\ufffe', '\uffff', '\ud800', 'a\udc00', '😀', 'Grüße, 世界', '__proto__', 'constructor'],
  ...['['.repeat(300), '{'.repeat(300), '-'.repeat(300), '- '.repeat(300), '? '.repeat(300), 'long '.repeat(5000)],
];

describe('a text that YAML would take for something else', () => {
  it.each(HOSTILE)('is read back as it was: %j', (text) => {
    const inner = { [text]: text, list: [text, [text]], map: { [text]: text } };
    const filled = text === '' ? 'x' : text;
    const frontmatter: TaskFrontmatter = {
      title: filled,
      routing: { agent: filled, tags: [filled] },
      dependsOn: [filled],
      createdBy: text,
      metadata: { ...inner, again: inner },
      [`${text}-unknown`]: inner,
    };
    expect(read(writeTaskFile({ frontmatter, body: text }))).toEqual({ frontmatter, body: text });
  });

  it('is kept as a key of any length', () => {
    const metadata = { ['k'.repeat(1100)]: 1, ['ü '.repeat(1100)]: { ['k'.repeat(1100)]: ['v'], b: 2 } };
    expect(read(writeTaskFile({ frontmatter: { metadata }, body: '' })).frontmatter).toEqual({ metadata });
  });

  it('leaves numbers, empty things and nothing what they are', () => {
    const metadata = {
      a: [],
      b: {},
      c: [{}],
      d: null,
      e: -0,
      f: 1e21,
      g: 1e-7,
      h: Number.NaN,
      i: [-Infinity],
      j: false,
    };
    expect(read(writeTaskFile({ frontmatter: { metadata, none: {} }, body: '' })).frontmatter).toEqual({
      metadata,
      none: {},
    });
    expect(writeTaskFile({ frontmatter: { title: undefined, metadata: { a: undefined } }, body: '' })).toBe(
      '---\nmetadata: {}\n---\n',
    );
  });
});

it('is written to be read by people', () => {
  expect(writeTaskFile({ frontmatter: { ...whole, externalId: 'TASK-001' }, body: 'Please.\n' })).toBe(`---
id: ${TASK}
externalId: TASK-001
title: "Fix: the \\"login\\" page"
status: in-progress
priority: high
routing:
  agent: emma
  role: EXECUTOR
  team: backend
  tags: [a, b]
dependsOn: [TASK-2026-02-07-001, TASK-001]
parentId: TASK-2026-02-07-001
session: s-1
lease:
  runId: r-1
  agent: emma
  acquiredAt: ${NOW}
  expiresAt: ${NOW}
createdAt: ${NOW}
updatedAt: ${NOW}
lastTransitionAt: ${NOW}
createdBy: user
metadata:
  delegationDepth: 1
  reviewRequired: true
  nested: { list: [1, two, null] }
---
Please.
`);
});

/** Long texts of several lines, some of which look like YAML or like the end of it. */
const lines = fc
  .array(
    fc.constantFrom('---', '...', '- a: b', '  x', '', '# c', '\t', 'word '.repeat(20), '---\u2028---', '\r', '%YAML'),
  )
  .map((parts) => parts.join('\n'));
const filled = fc.oneof(anyText, lines, fc.constantFrom(...HOSTILE)).filter((text) => text !== '');
/** As JSON has them: without undefined and negative zero. */
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const frontmatter = fc.record(
  {
    id: fc.constant(TASK),
    title: filled,
    status: fc.constantFrom(...TASK_STATUSES),
    priority: fc.constantFrom(...TASK_PRIORITIES),
    routing: fc.record({ agent: filled, tags: fc.array(filled) }, { requiredKeys: [] }),
    dependsOn: fc.array(filled),
    parentId: fc.option(filled, { nil: null }),
    session: filled,
    lease: fc.constant(null),
    createdAt: fc.constant(NOW),
    createdBy: anyText,
    metadata: fc.dictionary(fc.oneof(anyText, lines, fc.constantFrom(...HOSTILE)), fc.oneof(json, lines, filled)),
    unknownOne: json,
  },
  { requiredKeys: [] },
);

describe('whatever a task file holds', () => {
  it('is read back as it was written', () => {
    const unknown = fc.dictionary(fc.oneof(anyText, lines), fc.oneof(json, lines));
    fc.assert(
      fc.property(unknown, frontmatter, fc.array(anyText), (others, fields, parts) => {
        const task = { frontmatter: { ...others, ...fields } as TaskFrontmatter, body: parts.join('\n') };
        expect(read(writeTaskFile(task))).toEqual(task);
      }),
      { numRuns: 300 },
    );
  });

  it('reading never throws', () => {
    fc.assert(
      fc.property(fc.array(anyText), (parts) => typeof readTaskFile(`---\n${parts.join('\n')}`).ok === 'boolean'),
    );
  });
});
