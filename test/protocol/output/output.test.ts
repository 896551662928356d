import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nodeId } from '../../../src/core/node.ts';
import { detect } from '../../../src/protocol/detect.ts';
import { encodeGraphUpdate, encodeOutput } from '../../../src/protocol/output/encode.ts';
import { checkLoad } from '../../../src/protocol/output/load.ts';
import { toReport } from '../../../src/protocol/output/report.ts';
import type { AddNode, GraphUpdate, Output } from '../../../src/protocol/output/schema.ts';
import { anyText } from '../../helpers/arbitrary.ts';
import { example } from '../../helpers/documents.ts';
import { codes, only } from '../../helpers/found.ts';

const node = (parts: Record<string, unknown> = {}): GraphUpdate =>
  ({ ...(only(example('output-bug-node.yaml')).value as AddNode), ...parts }) as GraphUpdate;
const problemsOf = (parts: Record<string, unknown>): string[] => codes(only(encodeGraphUpdate(node(parts))));

describe('the blocks of the document', () => {
  test.each([
    'output-bug-brief.yaml',
    'output-bug-node.yaml',
    'output-approval-gate.yaml',
    'output-approved.yaml',
    'output-uncertainty.yaml',
  ])('%s is valid and survives being written and read again', (name) => {
    const found = detect(example(name));
    expect(found.every((m) => m.valid)).toBe(true);
    const written = found.map((m) =>
      m.kind === 'OUTPUT' ? encodeOutput(m.value as Output) : encodeGraphUpdate(m.value as GraphUpdate),
    );
    expect(detect(written.join('\n')).map((m) => m.value)).toEqual(found.map((m) => m.value));
  });
});

test('whatever data a node holds, decode(encode(x)) = x', () => {
  const data = fc.dictionary(
    anyText,
    fc.oneof(
      anyText,
      fc.jsonValue({ maxDepth: 4 }).map((v) => JSON.parse(JSON.stringify(v)) as unknown),
    ),
  );
  fc.assert(
    fc.property(data, (value) => {
      const update = node({ data: JSON.parse(JSON.stringify(value)) });
      expect(only(encodeGraphUpdate(update)).value).toEqual(update);
    }),
    { numRuns: 500 },
  );
});

describe('required of a node', () => {
  test.each([
    [
      'a node_id of other characters',
      { node_id: 'a/b' },
      ['error E_SCHEMA_VALIDATION /node_id', 'warning E_FIELD_FORM /node_id'],
    ],
    [
      'a node_id that is a folder',
      { node_id: '..' },
      ['error E_SCHEMA_VALIDATION /node_id', 'warning E_FIELD_FORM /node_id'],
    ],
    ['a node_id of another form', { node_id: 'login.v2' }, ['warning E_FIELD_FORM /node_id']],
    ['the T form and a collision’s number', { node_id: 'bug_login_20251028T103045_2' }, []],
    [
      'a type that is not registered',
      { node_type: 'Widget', data: { a: 1 } },
      ['warning E_UNREGISTERED_TYPE /node_type'],
    ],
    ['a type not in PascalCase', { node_type: 'bug_brief' }, ['warning E_FIELD_FORM /node_type']],
    [
      'no metadata',
      { metadata: undefined },
      [
        'error E_SCHEMA_VALIDATION /metadata',
        'warning E_FIELD_MISSING /metadata/created_at',
        'warning E_FIELD_MISSING /metadata/domain',
        'warning E_FIELD_MISSING /metadata/output_type',
      ],
    ],
    [
      'an unknown output_type',
      { metadata: { created_by: 'a', confidence: 1, created_at: 't', domain: 'd', output_type: 'poem' } },
      ['error E_SCHEMA_VALIDATION /metadata/output_type'],
    ],
    ['data that is a list', { data: [1] }, ['error E_SCHEMA_VALIDATION /data']],
    [
      'neither data nor source',
      { node_type: 'Widget', data: {} },
      ['warning E_UNREGISTERED_TYPE /node_type', 'warning E_EVIDENCE_MISSING /data'],
    ],
    [
      'a source in place of data',
      { node_type: 'Widget', data: {}, lineage: { created_from_nodes: ['a'] } },
      ['warning E_UNREGISTERED_TYPE /node_type'],
    ],
    [
      'fields of the registry missing',
      { data: { summary: 's', reproduction_steps: [], expected_behavior: 'e', actual_behavior: 'a' } },
      ['warning E_FIELD_MISSING /data/acceptance_criteria'],
    ],
    [
      'an update with nothing but its id',
      {
        type: 'update_node',
        node_type: undefined,
        metadata: undefined,
        data: undefined,
        handoff: undefined,
        lineage: undefined,
      },
      [],
    ],
    [
      'an update with a wrong confidence',
      { type: 'update_node', metadata: { confidence: 2 } },
      ['error E_SCHEMA_VALIDATION /metadata/confidence'],
    ],
  ])('%s', (_, parts, expected) => {
    expect(problemsOf(parts)).toEqual(expected);
  });

  test('a key without a value is as good as none, where it is not required', () => {
    expect(problemsOf({ lineage: null, handoff: null })).toEqual([
      'warning E_FIELD_MISSING /handoff/ready_for_next',
      'warning E_FIELD_MISSING /lineage',
    ]);
    expect(problemsOf({ data: null })).toEqual(['error E_SCHEMA_VALIDATION /data']);
  });

  test.each([
    ['a second document', 'type: update_node\nnode_id: a\n---\nnode_id: b'],
    ['something behind the end', 'type: update_node\nnode_id: a\n...\nrubbish: ['],
    ['a key that is a list', 'type: update_node\nnode_id: a\n? [a]\n: 1'],
    ['a key that is a mapping', 'type: update_node\nnode_id: a\ndata: {{a: 1}: 2}'],
  ])('%s is an error', (_, yaml) => {
    expect(codes(only(`[GRAPH_UPDATE]\n${yaml}\n[/GRAPH_UPDATE]`))).toEqual(['error E_PARSE_FAILURE ']);
  });

  test('a tag stands for nothing', () => {
    const found = only(
      '[GRAPH_UPDATE]\ntype: update_node\nnode_id: bug_a_20251028_103045\ndata: {a: !!set {x, y}, b: !!binary aGk=}\n[/GRAPH_UPDATE]',
    );
    expect(found.value).toMatchObject({ data: { a: { x: null, y: null }, b: 'aGk=' } });
  });

  test('a key that stands twice is an error', () => {
    expect(codes(only('[GRAPH_UPDATE]\ntype: update_node\nnode_id: a\nnode_id: b\n[/GRAPH_UPDATE]'))).toEqual([
      'error E_PARSE_FAILURE ',
    ]);
  });
});

test('a comment is a comment without a blank behind its #, too; a command ends the envelope', () => {
  const text = example('output-approval-gate.yaml');
  const [plain] = detect(text);
  for (const comment of ['  #Handoff', '    #NOTE: x', '#Handoff', '#NOTE:x', '# Handoff'])
    expect(only(text.replace('  _handoff:', `${comment}\n  _handoff:`)).value).toEqual(plain?.value);
  const cut = detect(text.replace('  _handoff:', '#STATE:list\n  _handoff:'));
  expect(cut.map((m) => [m.kind, m.valid])).toEqual([
    ['OUTPUT', false],
    ['STATE', true],
  ]);
});

test('brackets and quotes within the texts of an envelope in flow style do not end it', () => {
  const flow = (name: string): string =>
    `OUTPUT: {_meta: {output_type: brief, created_by: ${name}, confidence: 1},\n _handoff: {next_stage: x, graph_node: a, required_fields: []}}\nwords`;
  for (const name of ['a', '"a } b"', "'a ] b'", '"a \\" } b"', "it's", '"a }\n b"'])
    expect(only(flow(name))).toMatchObject({ kind: 'OUTPUT', valid: true });
});

test('brackets and dashes in a text are no nesting', () => {
  for (const text of ['['.repeat(300), '-'.repeat(300), `a\n${'-'.repeat(300)}\nb {{{`, '{"a": '.repeat(100)])
    expect(only(encodeGraphUpdate(node({ data: { summary: text } }))).value).toMatchObject({ data: { summary: text } });
});

test('inline data is for small things', () => {
  const output = only(example('output-bug-brief.yaml')).value as Output;
  const inline = (chars: number): Output => ({
    ...output,
    _handoff: { ...output._handoff, inline_data: 'x'.repeat(chars) },
  });
  expect(only(encodeOutput(inline(2048))).problems).toEqual([]);
  expect(codes(only(encodeOutput(inline(2049))))).toEqual(['error E_CONTEXT_OVERFLOW /_handoff/inline_data']);
});

test('a person’s no is no success', () => {
  const approval = only(example('output-approved.yaml')).value as Output;
  const outcome = (approval_status: 'approved' | 'rejected' | 'changes_requested'): string =>
    toReport({ ...approval, _handoff: { ...approval._handoff, approval_status } }, null).outcome;
  expect([outcome('approved'), outcome('rejected'), outcome('changes_requested')]).toEqual([
    'done',
    'failed',
    'partial',
  ]);
});

test('ids are written as in every example', () => {
  expect(nodeId('BugBrief', 'Login: 500!', '2025-10-28T10:30:45.123Z')).toBe('bugbrief_login_500_20251028_103045');
});

describe('loading follows the checklist', () => {
  const full = node() as AddNode;
  const handoff = { graph_node: full.node_id, required_fields: ['summary'] };
  const gaps = (change: Partial<AddNode>, rules = {}): string[] =>
    checkLoad(handoff, { ...full, ...change } as AddNode, rules).map((p) => `${p.code} ${p.path}`);

  test('nothing missing, no gap', () => expect(gaps({})).toEqual([]));
  test('no node', () => expect(checkLoad(handoff, null).map((p) => p.code)).toEqual(['E_NOT_FOUND']));
  test('no id', () =>
    expect(checkLoad({ ...handoff, graph_node: '' }, full).map((p) => p.path)).toEqual(['/_handoff/graph_node']));
  test('a required field missing, or null', () => {
    expect(gaps({ data: {} })).toEqual(['E_FIELD_MISSING /data/summary']);
    expect(gaps({ data: { summary: null } })).toEqual(['E_FIELD_MISSING /data/summary']);
  });
  test('confidence below the threshold of its domain', () => {
    const metadata = { ...full.metadata, confidence: 0.84 };
    expect(gaps({ metadata })).toEqual(['E_SCHEMA_VALIDATION /metadata/confidence']);
    expect(gaps({ metadata }, { refuseBelow: 0.8 })).toEqual([]);
  });
  test('not ready', () =>
    expect(gaps({ handoff: { ready_for_next: false } })).toEqual(['E_SCHEMA_VALIDATION /handoff/ready_for_next']));
});
