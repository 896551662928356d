/** `baton graph` as a user calls it: the document's own blocks there and back, bad input, templates and pictures. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fixture } from './baton.ts';
import {
  add,
  BUG,
  block,
  bug,
  CONFIG,
  dir,
  expectWithin,
  FIX,
  from,
  graph,
  type Json,
  list,
  type N,
  show,
  valueIn,
} from './graph-world.ts';
import { batonHere } from './here.ts';

describe('there and back', () => {
  test('the bug brief of the document', async () => {
    const added = await graph(['add', fixture('output-bug-node.yaml'), '--json']);
    expect([added.exit, added.err]).toEqual([0, '']);
    const { type: _, ...written } = valueIn(bug, 0);
    expectWithin(written, await show(BUG));
    expect(added.json()).toEqual(await show(BUG));
    expect((await show(BUG))['data']).toEqual(written['data']);
    expect((await show(BUG)).lineage).toMatchObject({ created_from_nodes: [], consumed_by_nodes: [] });
    expect(await list()).toEqual([BUG]);
    expect((await graph(['show', BUG])).out).toContain('Login form returns 500 error');
  });

  test('the uncertainty of the document is asked about, and its envelope with it', async () => {
    const added = await graph(['add', fixture('output-uncertainty.yaml')]);
    expect(added.exit).toBe(0);
    expect(added.err).toMatch(/ask-1: Is dark mode P0 or P1/);
    const id = 'uncertainty_darkmode_priority_20251028_103000';
    const written = valueIn(readFileSync(fixture('output-uncertainty.yaml'), 'utf8'), 0);
    expect((await show(id)).data).toEqual(written['data']);
    expect((await show(id)).handoff['ready_for_next']).toBe(false);
    expect((await show(id)).metadata['created_at']).toMatch(/^\d{4}-/);
    const loaded = await graph(['load', id]);
    expect([loaded.exit, loaded.err]).toEqual([3, expect.stringMatching(/0\.85, got 0\.75.*ready_for_next.*ask-1/)]);
  });

  test('the design summary of the document, with its references, handed on to its stage', async () => {
    const [adr, spec, id] = [
      'adr_store_20251028_110000',
      'specification_api_20251028_113000',
      'design_summary_20251028_120000',
    ];
    const text = `${block(adr)}${block(spec, 'Specification')}
[GRAPH_UPDATE]
type: add_node
node_id: ${id}
node_type: DesignSummary

metadata:
  created_by: "design-bridge"
  confidence: 0.95

data:
  key_decisions: ["One store"]
  architecture_overview: "One store, many agents"
  critical_components: ["The store"]
  interfaces: ["GET /tasks"]
  constraints: ["Node 20"]
  implementation_guidance: "Begin with the store"

handoff:
  ready_for_next: true
  next_stage: "implementation-triad"
  required_fields: ["key_decisions", "architecture_overview", "implementation_guidance"]
  optional_fields: ["critical_components", "interfaces"]

lineage:
  created_from_nodes: [${adr}, ${spec}]  # ← References all source nodes
  consumed_by_nodes: []

# Optional: Include direct references to detailed nodes
_references:
  detailed_adrs: [${adr}]
  detailed_specifications: [${spec}]
[/GRAPH_UPDATE]

OUTPUT:
  _meta:
    output_type: "specification"
    created_by: "design-bridge"
    confidence: 0.95
  _handoff:
    next_stage: "implementation-triad"
    graph_node: "${id}"  # ← Compressed summary
    required_fields: ["key_decisions", "architecture_overview"]

    # Optional: Provide references to detailed nodes if needed
    detail_nodes:
      adrs: [${adr}]
      specifications: [${spec}]
`;
    const added = await add(text, '--json');
    expect(added.exit).toBe(0);
    expect((JSON.parse(added.out) as N[]).map(({ node_id: each }) => each)).toEqual([adr, spec, id]);
    const { type: _, ...written } = valueIn(text, 2);
    expectWithin(written, await show(id));
    expect((await show(id))['_references']).toEqual(written['_references']);
    expect((await show(adr)).lineage['consumed_by_nodes']).toEqual([id]);
    const tasks = JSON.parse((await batonHere(['task', 'list', '--json'], '', dir)).out) as Json[];
    expect(tasks).toMatchObject([
      { agent: 'emma', status: 'ready', title: expect.stringMatching(/^implementation-triad/) },
    ]);
    expect(added.err).toContain(tasks[0]?.['id']);
  });

  test('the HITL gate of the document, and its approval', async () => {
    const id = 'adrs_summary_20251028_120000';
    expect(
      (await add(block(id).replace('\ndata: {', '\ndata: { key_decisions: [a], implementation_plan: b,'))).exit,
    ).toBe(0);
    const asked = await graph(['add', fixture('output-approval-gate.yaml')]);
    expect([asked.exit, asked.err]).toEqual([
      0,
      expect.stringMatching(/ask-1: Do you approve this architecture design\?/),
    ]);
    expect((await graph(['load', id])).exit).toBe(3);
    expect((await graph(['add', fixture('output-approved.yaml')])).exit).toBe(0);
    expect((await show(id))['approval']).toBe('approved');
    expect((await graph(['load', id])).exit).toBe(0);
  });

  test('without markers: YAML, JSON, an array of both kinds of change', async () => {
    const yaml = block(BUG, 'BugBrief').split('\n').slice(1, -2).join('\n');
    expect((await add(yaml.replace('type: add_node\n', ''))).exit).toBe(0);
    const node = {
      node_id: FIX,
      node_type: 'Implementation',
      metadata: { created_by: 'dev', confidence: 0.92 },
      data: { summary: 'x\n[/GRAPH_UPDATE]\n' },
    };
    const edge = { type: 'add_edge', source: BUG, target: FIX, relation: 'explains' };
    expect((await add(JSON.stringify([{ ...node, lineage: { created_from_node: BUG } }, edge]))).exit).toBe(0);
    expect((await show(FIX)).data).toEqual(node.data);
    expect((await show(BUG)).lineage['consumed_by_nodes']).toEqual([FIX]);
    expect((await graph(['show', BUG])).out).toMatch(/→ implementation_bug_fix_20251028_140000 {2}explains/);
  });

  test('an update changes what it says and nothing else, and what was made from it is stale', async () => {
    await add(`${bug}${block(FIX, 'Implementation', from(BUG))}`);
    expect(await list('--stale')).toEqual([]);
    const updated = await add(`type: update_node\nnode_id: ${BUG}\ndata: { priority: LOW }\n`);
    expect([updated.exit, updated.out]).toEqual([0, expect.stringMatching(`^updated ${BUG} `)]);
    expect((await show(BUG)).data).toMatchObject({ priority: 'LOW', complexity_estimate: 'SIMPLE' });
    expect(await list('--stale')).toEqual([FIX]);
    expect((await graph(['list', '--stale'])).out).toMatch(/stale/);
    expect((await graph(['load', FIX])).err).toMatch(/stale/);
  });

  test('warnings are told, and a type of the project is a registered one', async () => {
    const added = await add(
      'node_id: note_one_20251028_103045\nnode_type: ReleaseNote\nmetadata: { created_by: me, confidence: 1 }\ndata: { version: "1" }\n',
    );
    expect(added.exit).toBe(0);
    expect(added.err).toMatch(/data\/highlights: ReleaseNote nodes should have highlights E_FIELD_MISSING/);
    expect(added.err).not.toMatch(/E_UNREGISTERED_TYPE/);
    expect(
      (
        await add(
          'node_id: x_y_20251028_103045\nnode_type: Strange\nmetadata: { created_by: me, confidence: 1 }\ndata: {}\n',
        )
      ).err,
    ).toMatch(/E_UNREGISTERED_TYPE[\s\S]*E_EVIDENCE_MISSING/);
  });
});

describe('bad input: one sentence, and nothing is added', () => {
  // One folder for all of them: none of them leaves anything.
  let shared: string;
  beforeAll(async () => {
    shared = realpathSync(mkdtempSync(join(tmpdir(), 'baton graph ')));
    mkdirSync(join(shared, '.baton'));
    writeFileSync(join(shared, '.baton/config.yaml'), CONFIG);
    expect((await batonHere(['graph', 'add', '-'], bug, shared)).exit).toBe(0);
  });
  afterAll(() => rmSync(shared, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));

  const node = (more: string): string =>
    `node_id: a_b_20251028_103045\nnode_type: ADR\nmetadata: { created_by: a, confidence: 0.95 }\ndata: { title: x }\n${more}`;
  test.each([
    ['unclosed', '[GRAPH_UPDATE]\ntype: add_node\nnode_id: a\n', 1, 'E_PARSE_FAILURE', /\[\/GRAPH_UPDATE\]/],
    ['empty', '[GRAPH_UPDATE]\n\n[/GRAPH_UPDATE]\n', 1, 'E_PARSE_FAILURE', /empty block/],
    ['nothing', '', 1, 'E_PARSE_FAILURE', /got nothing/],
    ['words', 'hello there', 1, 'E_PARSE_FAILURE', /words that are neither/],
    ['broken YAML', 'a: [b', 1, 'E_PARSE_FAILURE', /line 1/],
    ['no node', '{"a":1}', 1, 'E_SCHEMA_VALIDATION', /add_node/],
    [
      'more blocks than a report may have',
      JSON.stringify(
        Array.from({ length: 300 }, (_, i) => ({
          node_id: `n${i}`,
          node_type: 'ADR',
          metadata: { created_by: 'a', confidence: 1 },
          data: {},
        })),
      ),
      1,
      'E_CONTEXT_OVERFLOW',
      /at most 200 blocks.*got 300/,
    ],
    ['a list of numbers', '[1]', 1, 'E_PARSE_FAILURE', /got 1/],
    ['its own source', node('lineage: { created_from_node: a_b_20251028_103045 }'), 3, 'E_CYCLE', /itself/],
    ['a circle', `${block('a', 'ADR', from('b'))}${block('b', 'ADR', from('a'))}`, 3, 'E_CYCLE', /a → b → a|b → a → b/],
    ['made from nothing', node('lineage: { created_from_node: gone }'), 4, 'E_NOT_FOUND', /gone/],
    ['an edge to nothing', `type: add_edge\nsource: ${BUG}\ntarget: nowhere\n`, 4, 'E_NOT_FOUND', /nowhere/],
    [
      'a circle of edges',
      `${block('c', 'ADR', from(BUG))}[GRAPH_UPDATE]\ntype: add_edge\nsource: c\ntarget: ${BUG}\n[/GRAPH_UPDATE]`,
      3,
      'E_CYCLE',
      /c → /,
    ],
    [
      'confidence "high"',
      node('').replace('0.95', 'high'),
      1,
      'E_SCHEMA_VALIDATION',
      /\/metadata\/confidence: expected a number, got "high"/,
    ],
    ['an update of nothing', 'type: update_node\nnode_id: missing\n', 4, 'E_NOT_FOUND', /missing/],
    ['one that is there', bug, 3, 'E_DUPLICATE', /already/],
    [
      'one good, one bad',
      `${block('good')}${block('bad').replace('0.95', '7')}`,
      1,
      'E_SCHEMA_VALIDATION',
      /2 of 2 \("bad"\)/,
    ],
    ['one good, one refused', `${block('good')}${bug}`, 3, 'E_DUPLICATE', /already/],
    [
      'an unknown stage',
      `${block('good')}OUTPUT:\n  _meta: { output_type: brief, created_by: a, confidence: 0.95 }\n  _handoff: { next_stage: nobody, graph_node: good, required_fields: [] }\n`,
      4,
      'E_AGENT_NOT_FOUND',
      /nobody/,
    ],
    [
      'a gap',
      `${block('good')}OUTPUT:\n  _meta: { output_type: brief, created_by: a, confidence: 0.95 }\n  _handoff: { next_stage: implementation-triad, graph_node: good, required_fields: [plan] }\n`,
      3,
      'E_NOT_LOADABLE',
      /plan/,
    ],
  ])('%s', async (_, text, exit, code, sentence) => {
    const ran = await batonHere(['graph', 'add', '-', '--json'], text, shared);
    const { error } = JSON.parse(ran.err) as { error: { code: string; message: string } };
    expect([ran.exit, ran.out, error.code]).toEqual([exit, '', code]);
    expect(error.message).toMatch(sentence);
    expect(error.message).not.toContain('\n');
  });

  test('and nothing of all that was kept', async () => {
    const nodes = JSON.parse((await batonHere(['graph', 'list', '--json'], '', shared)).out) as N[];
    expect(nodes.map(({ node_id: id }) => id)).toEqual([BUG]);
  });

  test.each([
    [
      'in a block',
      '[GRAPH_UPDATE]\ntype: add_node\nnode_id: a\nnode_type: ADR\nmetadata: {created_by: a, confidence: 1}\ndata:\n  title: "',
      '"\n[/GRAPH_UPDATE]\n',
    ],
    ['without markers', '{"node_id":"a","data":{"title":"', '"}}'],
  ])('100 MB in one node, %s: the limit is named, soon', async (_, head, tail) => {
    const text = `${head}${'x'.repeat(100 * 1024 * 1024)}${tail}`;
    const ran = await add(text);
    expect([ran.exit, ran.err]).toEqual([1, expect.stringMatching(/1048576 characters.*E_CONTEXT_OVERFLOW/)]);
    expect((await graph(['list'])).exit).not.toBe(0);
  });
});

describe('templates', () => {
  test('filled in, they can be added; left as they are, they cannot', async () => {
    const template = (await graph(['new', 'bugbrief'])).out;
    expect(template).toMatch(/^# A BugBrief\. [\s\S]*node_id: bug_<topic>_\d{8}_\d{6} /);
    expect(await add(template)).toMatchObject({ exit: 1 });
    const added = await add(template.replaceAll(/<[^<>\n]+>/g, 'word'));
    expect([added.exit, added.out]).toEqual([
      0,
      expect.stringMatching(/^added bug_word_[\s\S]*goes to implementation-triad/),
    ]);
    expect(added.err).toMatch(/^TASK-\S+ is the task of the next stage\n$/);
  });

  test('the list, a project’s own types, and the nearest to one that is not there', async () => {
    expect((await graph(['new', '--json'])).json()).toEqual(
      expect.arrayContaining(['BugBrief', 'Report', 'ReleaseNote']),
    );
    expect((await graph(['new', 'ReleaseNote'])).out).toMatch(/version: "<version>"\n {2}highlights:/);
    expect(await graph(['new', 'BugBreif'])).toMatchObject({
      exit: 4,
      err: expect.stringMatching(/nearest known one is BugBrief/),
    });
  });
});

describe('export', () => {
  beforeEach(async () => {
    await add(
      `${bug}${block(FIX, 'Implementation', from(BUG)).replace('summary: s', 'summary: \'say "hi"] --> x\'')}${block('other_x_20251028_160000')}`,
    );
  });

  test('JSON', async () => {
    const { nodes, edges } = (await graph(['export', '--as', 'json'])).json() as { nodes: N[]; edges: Json[] };
    expect(nodes.map(({ node_id: id }) => id)).toEqual([BUG, FIX, 'other_x_20251028_160000']);
    expect(nodes[0]).toEqual(await show(BUG));
    expect(edges).toEqual([{ from: BUG, to: FIX, relation: null }]);
    const some = (await graph(['export', '--as', 'json', '--type', 'ADR'])).json() as { nodes: N[]; edges: Json[] };
    expect([some.nodes.length, some.edges]).toEqual([1, []]);
  });

  test('pictures, of all or of a lineage', async () => {
    const mermaid = (await graph(['export', '--as', 'mermaid'])).out;
    expect(mermaid).toMatch(/^flowchart LR\n {2}n1\["BugBrief/);
    expect(mermaid).toContain('say #34;hi#34;#93; #45;#45;#62; x');
    expect(mermaid).toContain('  n1 --> n2\n');
    expect((await graph(['export', FIX, '--as', 'mermaid'])).out).not.toContain('other_x');
    expect((await graph(['export', '--as', 'dot'])).out).toMatch(/^digraph baton \{[\s\S]*say \\"hi\\"[\s\S]*\}\n$/);
    expect((await graph(['export', 'nothing', '--as', 'dot'])).exit).toBe(4);
    expect((await graph(['export', '--as', 'png'])).exit).toBe(2);
    expect((await graph(['export', '--as', 'mermaid', '--json'])).json()).toEqual({ mermaid });
  });
});

test('every command has help worth reading', async () => {
  for (const name of ['add', 'list', 'show', 'load', 'lineage', 'bridge', 'new', 'export']) {
    const { exit, out } = await graph([name, '--help']);
    expect([exit, /Examples?:/.test(out), out.includes('--json')]).toEqual([0, true, true]);
  }
});
