/** `baton graph` as a user calls it: the document's own blocks there and back, bad input, loading, lineage, the bridge, templates and pictures. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { countTokens } from '../../src/cli/tokens.ts';
import { detect } from '../../src/protocol/detect.ts';
import { readYaml } from '../../src/protocol/text/yaml.ts';
import { fixture, MAIN, type Ran } from './baton.ts';
import { batonHere } from './here.ts';

type Json = Record<string, unknown>;
type N = { node_id: string; metadata: Json; data: Json; handoff: Json; lineage: Json } & Json;

let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton graph ')));
  mkdirSync(join(dir, '.baton'));
  writeFileSync(join(dir, '.baton/config.yaml'), CONFIG);
});
afterEach(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));

const CONFIG = `agents:
  emma: { kind: command, command: ["./emma.sh"] }
defaults: { sandbox: "off" }
stages: { implementation-triad: { agent: emma }, test-engineer: emma }
node_types: { ReleaseNote: [version, highlights] }
`;

const graph = (args: readonly string[], input = ''): Promise<Ran> => batonHere(['graph', ...args], input, dir);
const add = (text: string, ...options: string[]): Promise<Ran> => graph(['add', '-', ...options], text);
const show = async (id: string): Promise<N> => (await graph(['show', id, '--json'])).json() as N;
const list = async (...options: string[]): Promise<string[]> =>
  (JSON.parse((await graph(['list', '--json', ...options])).out) as N[]).map(({ node_id: id }) => id);

const BUG = 'bug_login_500_20251028_103045';
const FIX = 'implementation_bug_fix_20251028_140000';
const bug = readFileSync(fixture('output-bug-node.yaml'), 'utf8');

/** A node as a block; `more` are lines of YAML. */
const block = (id: string, type = 'ADR', more = ''): string => `[GRAPH_UPDATE]
type: add_node
node_id: ${id}
node_type: ${type}
metadata: { created_by: architect, confidence: 0.95, created_at: "2025-10-28T10:30:45Z", domain: software-development, output_type: analysis }
data: { title: ${id}, context: c, decision: d, rationale: r, summary: s, code_changes: [], files_modified: [] }
handoff: { ready_for_next: true }
${more || 'lineage: {}'}
[/GRAPH_UPDATE]
`;
const from = (...ids: string[]): string => `lineage: { created_from_nodes: [${ids.join(', ')}] }`;

/** What a text says in one of its messages. */
const valueIn = (text: string, index: number): Json => (detect(text)[index]?.value ?? {}) as Json;

/** Holds all that was written, key by key; null counts as not written. */
function expectWithin(written: unknown, kept: unknown, path = ''): void {
  if (written === null) return;
  if (typeof written !== 'object' || Array.isArray(written)) expect([path, kept]).toEqual([path, written]);
  else
    for (const [key, value] of Object.entries(written as Json))
      expectWithin(value, (kept as Json)?.[key], `${path}/${key}`);
}

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
    expect(added.err).toMatch(/data\/highlights: a ReleaseNote should have highlights E_FIELD_MISSING/);
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
    const began = Date.now();
    const ran = await add(`${head}${'x'.repeat(100 * 1024 * 1024)}${tail}`);
    expect([ran.exit, ran.err]).toEqual([1, expect.stringMatching(/1048576 characters.*E_CONTEXT_OVERFLOW/)]);
    expect(Date.now() - began).toBeLessThan(20_000);
    expect((await graph(['list'])).exit).not.toBe(0);
  });
});

describe('finding and loading', () => {
  beforeEach(async () => {
    await add(`${bug}${block(FIX, 'Implementation', `${from(BUG)}`)}`);
  });

  test('by type, domain, stage, text and session', async () => {
    expect(await list()).toEqual([BUG, FIX]);
    expect(await list('--type', 'BugBrief')).toEqual([BUG]);
    expect(await list('--type', 'BugBrief', '--type', 'Implementation')).toEqual([BUG, FIX]);
    expect(await list('--domain', 'software-development')).toEqual([BUG, FIX]);
    expect(await list('--domain', 'research')).toEqual([]);
    expect(await list('--stage', 'implementation-triad')).toEqual([BUG]);
    expect(await list('--text', 'nullpointerEXCEPTION')).toEqual([BUG]);
    expect(await list('--session', 'default')).toEqual([BUG, FIX]);
    expect(await list('--session', 'another')).toEqual([]);
    expect((await graph(['list', '--type', 'Nope'])).out).toBe('no node is such\n');
  });

  test('into a session, where it builds upon nothing of another', async () => {
    expect((await add(block('adr_x_20251028_100000'), '--session', 'far')).exit).toBe(0);
    expect((await show('adr_x_20251028_100000'))['session']).toBe('far');
    const upon = block('adr_y_20251028_100000', 'ADR', from('adr_x_20251028_100000'));
    const refused = await add(upon, '--session', 'near');
    expect([refused.exit, refused.err]).toEqual([3, expect.stringMatching(/session near.*of the session far/)]);
    expect((await add(upon, '--session', 'far')).exit).toBe(0);
    expect(await list('--session', 'far')).toEqual(['adr_x_20251028_100000', 'adr_y_20251028_100000']);
  });

  test('just what is required, and every gap', async () => {
    const loaded = await graph(['load', BUG, '--require', 'summary,acceptance_criteria']);
    expect(loaded.exit).toBe(0);
    const read = readYaml(loaded.out);
    expect(read.ok && Object.keys(read.value as Json)).toEqual(['summary', 'acceptance_criteria']);
    expect((await graph(['load', BUG, '--json'])).json()).toEqual(await show(BUG));
    const refused = await graph(['load', BUG, '--require', 'plan,summary,budget', '--json']);
    expect(refused.exit).toBe(3);
    expect(refused.err).toMatch(/E_NOT_LOADABLE.*data\.plan.*data\.budget/);
    expect((await graph(['load', 'nothing'])).exit).toBe(4);
    expect((await graph(['load', BUG, '--require', 'a,,b'])).exit).toBe(2);
  });

  test('who uses it is written down, as the person who says so', async () => {
    await add(block('review_fix_20251028_150000', 'Review'));
    expect((await graph(['load', FIX, '--as', 'review_fix_20251028_150000'])).exit).toBe(0);
    expect((await show(FIX)).lineage['consumed_by_nodes']).toEqual(['review_fix_20251028_150000']);
    const task = (await batonHere(['task', 'add', '--title', 'use it', '--json'], '', dir)).json()['id'] as string;
    expect((await graph(['load', BUG, '--as', task])).exit).toBe(0);
    const events = (await batonHere(['events', '--json'], '', dir)).out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Json);
    expect(events.filter(({ type }) => type === 'node.loaded')).toMatchObject([
      { by: 'user as review_fix_20251028_150000' },
      { by: `user as ${task}`, task },
    ]);
    expect((await graph(['load', BUG, '--as', 'nobody'])).exit).toBe(4);
    expect((await graph(['load', BUG, '--as', BUG])).exit).toBe(3);
  });
});

test('lineage both ways, to the run, the cost and the files behind a node', async () => {
  await add(bug);
  const id = 'implementation_fix_20251028_140000';
  writeFileSync(
    join(dir, 'emma.sh'),
    `#!/bin/sh
cat > /dev/null
echo fixed > fix.txt
cat <<'END'
${block(id, 'Implementation', from(BUG))}
AOF/1 {"protocol":"aof"}
[AOP:START] 2026-01-01T00:00:00Z
[AOP:TASK] fix
[AOP:SUMMARY]
Fixed.
[AOP:DETAILS_FILE] none
[AOP:STATUS] success
[AOP:END] 2026-01-01T00:00:01Z
END
`.replace('AOF/1 {"protocol":"aof"}\n', ''),
  );
  chmodSync(join(dir, 'emma.sh'), 0o755);
  const task = {
    aop_version: '2.0.2-C',
    schema_version: '2.0.2',
    protocol_family: 'AOP',
    message_type: 'TASK',
    session: { session_id: 's', created_at: '2026-01-01T00:00:00Z', orchestrator: 'test', origin: 'CLI' },
    target: { agent_name: 'emma', role: 'EXECUTOR', provider: 'OTHER', model: 'none' },
    task: {
      task_id: 'fix',
      objective: 'Fix it',
      category: 'CODE_GENERATION',
      complexity: 'LOW',
      environment: { workspace_root: dir },
      expected_outputs: [{ path: 'fix.txt' }],
    },
  };
  // A node of another session is none of an agent's: the brief is one of its own.
  const refused = await batonHere(['run', '-'], JSON.stringify(task), dir);
  expect(refused.exit).not.toBe(0);
  rmSync(join(dir, 'fix.txt'), { force: true });
  const ran = await batonHere(
    ['run', '-'],
    JSON.stringify({ ...task, session: { ...task.session, session_id: 'default' } }),
    dir,
  );
  expect([ran.exit, ran.err]).toEqual([0, expect.anything()]);
  await add(block('test_results_fix_20251028_150000', 'TestResults', from(id)));
  const { nodes, edges } = (await graph(['lineage', id, '--json'])).json() as { nodes: N[]; edges: Json[] };
  expect(nodes.map(({ node_id: each }) => each).sort()).toEqual([BUG, id, 'test_results_fix_20251028_150000'].sort());
  expect(edges).toEqual(
    expect.arrayContaining([
      { from: BUG, to: id, relation: null },
      { from: id, to: 'test_results_fix_20251028_150000', relation: null },
    ]),
  );
  const mine = nodes.find(({ node_id: each }) => each === id);
  expect(mine?.['behind']).toMatchObject({
    run: mine?.['run'],
    agent: 'emma',
    files: [{ path: 'fix.txt', status: 'CREATED' }],
  });
  const { out } = await graph(['lineage', id]);
  expect(out).toMatch(
    /^implementation_fix_20251028_140000\n {2}Implementation 0\.95 by architect\n[\s\S]*TASK-[\d-]+-r1 by emma[\s\S]*files: fix\.txt \(created\)/,
  );
  expect(out).toMatch(/Comes from\n {2}└─ bug_login_500[\s\S]*Led to\n {2}└─ test_results_fix/);
  expect((await graph(['lineage', id, '--up'])).out).not.toMatch(/Led to/);
  expect(
    ((await graph(['lineage', BUG, '--hops', '1', '--json'])).json()['nodes'] as N[]).map((each) => each.node_id),
  ).toEqual([BUG, id]);
  expect((await graph(['lineage', 'nothing'])).exit).toBe(4);
  expect((await graph(['lineage', BUG, '--hops', 'x'])).exit).toBe(2);
});

describe('within a run it is the run that speaks', () => {
  const cli = `${process.execPath} ${MAIN} graph`;
  const said = (name: string): string => readFileSync(join(dir, `${name}.out`), 'utf8');
  const mine = 'implementation_fix_20251028_140000';

  /** Runs an agent that calls these commands, and keeps what each of them says. */
  async function run(calls: Readonly<Record<string, string>>): Promise<Ran> {
    await add(bug);
    writeFileSync(join(dir, 'node.txt'), block(mine, 'Implementation', from(BUG)));
    writeFileSync(join(dir, 'yes.txt'), block('approval_bug_20251028_140000', 'Approval'));
    const lines = Object.entries(calls).map(
      ([name, command]) => `${command} > ${name}.out 2>&1; echo $? >> ${name}.out`,
    );
    const report = "printf '[AOP:SUMMARY] Fixed.\\n[AOP:DETAILS_FILE] none\\n[AOP:STATUS] success\\n'";
    writeFileSync(join(dir, 'emma.sh'), ['#!/bin/sh', 'cat > /dev/null', ...lines, report, ''].join('\n'));
    chmodSync(join(dir, 'emma.sh'), 0o755);
    return await batonHere(['run', 'fix it', '--agent', 'emma', '--session', 'default'], '', dir);
  }

  test('for its own task and session, and never as somebody else', async () => {
    const ran = await run({
      load: `${cli} load ${BUG} --require summary`,
      gap: `${cli} load ${BUG} --require plan`,
      bare: `env -u BATON_SOCKET ${cli} load ${BUG} --require summary`,
      as: `${cli} load ${BUG} --as TASK-2020-01-01-001`,
      bridge: `env -u BATON_SOCKET ${cli} bridge --type BugBrief --session other`,
      add: `${cli} add node.txt`,
    });
    expect(said('load')).toBe('summary: Login form returns 500 error with valid credentials\n0\n');
    expect(said('bare')).toBe(said('load'));
    expect(said('gap')).toMatch(/data\.plan[\s\S]*\n3\n$/);
    expect(said('as')).toMatch(/--as is for people[\s\S]*\n3\n$/);
    expect(said('bridge')).toMatch(/E_PERMISSION_DENIED[\s\S]*\n3\n$/);
    expect(said('add')).toMatch(/kept implementation_fix_20251028_140000[\s\S]*\n0\n$/);
    expect([ran.exit, await list('--type', 'Implementation')]).toEqual([0, [mine]]);
    expect((await show(BUG)).lineage['consumed_by_nodes']).toEqual([mine]);
  });

  test('it sees what is of its session, and nothing of another', async () => {
    const secret = 'adr_secret_20251028_100000';
    const doubtful = block('adr_doubtful_20251028_100000').replace('confidence: 0.95', 'confidence: 0.8');
    expect((await add(`${block(secret)}${doubtful}`, '--session', 'far')).exit).toBe(0);
    const inbox = cli.replace(/graph$/, 'inbox');
    const seen = {
      list: `${cli} list`,
      lineage: `${cli} lineage ${BUG} --json`,
      show: `${cli} show ${BUG}`,
      json: `${cli} export --as json`,
      dot: `${cli} export --as dot`,
      inbox: `${inbox} --json`,
    };
    const refused = {
      far: `${cli} list --session far`,
      secret: `${cli} show ${secret}`,
      from: `${cli} lineage ${secret}`,
      one: `${cli} export ${secret} --as json`,
      all: `${cli} export --as json --session far`,
      asked: `${inbox} --session far`,
      bare: `env -u BATON_SOCKET -u BATON_RUN_MARK ${cli} show ${secret}`,
    };
    expect((await run({ ...seen, ...refused })).exit).toBe(0);
    for (const name of Object.keys(seen)) {
      expect(said(name), name).toMatch(/\n0\n$/);
      expect(said(name), name).not.toMatch(/secret|doubtful/);
      if (name !== 'inbox') expect(said(name), name).toContain(BUG);
    }
    expect(said('inbox')).toBe('[]\n0\n');
    for (const name of Object.keys(refused))
      expect(said(name), name).toMatch(/^[^\n]*E_PERMISSION_DENIED[\s\S]*\n3\n$/);
    // A person sees all of it.
    expect(await list()).toEqual(expect.arrayContaining([secret, BUG]));
    expect((await batonHere(['inbox', '--json'], '', dir)).json()).toHaveLength(1);
  });

  test.each(['', 'env -u BATON_SOCKET '])(
    'a summary is the run’s, and counts when that has ended well (%s)',
    async (how) => {
      const summed = { one: `${how}${cli} bridge --type BugBrief --json`, two: `${how}${cli} bridge --type BugBrief` };
      const ran = await run({ ...summed, none: `${cli} list --type DesignSummary --json` });
      expect(said('one')).toMatch(/the graph takes it when this run has ended well\n0\n$/);
      expect(said('two')).toMatch(/^OUTPUT:[\s\S]*the graph takes it when this run has ended well\n0\n$/);
      expect(said('none')).toBe('[]\n0\n');
      expect(ran.exit).toBe(0);
      const made = await Promise.all((await list('--type', 'DesignSummary')).map(show));
      expect(made).toMatchObject(
        Array.from({ length: 2 }, () => ({
          task: expect.stringMatching(/^TASK-/),
          run: expect.stringMatching(/-r1$/),
        })),
      );

      writeFileSync(join(dir, 'emma.sh'), `#!/bin/sh\n${summed.one} > one.out\nexit 3\n`);
      expect((await batonHere(['run', 'fail', '--agent', 'emma', '--session', 'default'], '', dir)).exit).not.toBe(0);
      expect(said('one')).toContain('DesignSummary');
      expect(await list('--type', 'DesignSummary')).toHaveLength(2);
    },
  );

  test('a person’s word is not its to say, and then nothing of it is taken', async () => {
    const ran = await run({
      add: `${cli} add node.txt`,
      yes: `env -u BATON_SOCKET ${cli} add yes.txt`,
    });
    expect(said('yes')).toMatch(/kept approval_bug_20251028_140000[\s\S]*\n0\n$/);
    expect([ran.exit, await list()]).toEqual([3, [BUG]]);
    expect(ran.err).toMatch(/would be a person's or Baton's own word/);
  });
});

describe('the bridge', () => {
  const adr = (i: number, more: Json = {}): Json => ({
    node_id: `adr_choice${i}_20251028_110000`,
    node_type: 'ADR',
    metadata: { created_by: 'solution-architect', confidence: 0.95, domain: 'software-development' },
    data: {
      title: `Choice ${i}`,
      context: 'We had to choose.',
      decision: `We take way ${i}. ${'It is the best of all ways that we have looked at. '.repeat(5)}`.trim(),
      rationale: 'It is simple. It is known.',
      constraints: ['Node 20'],
    },
    handoff: { ready_for_next: true, required_fields: ['title', 'decision'] },
    ...more,
  });
  const spec = {
    node_id: 'specification_api_20251028_120000',
    node_type: 'Specification',
    metadata: { created_by: 'solution-architect', confidence: 0.92, domain: 'software-development' },
    data: { component_name: 'API', purpose: 'To talk to it.', interfaces: ['GET /tasks'] },
    lineage: { created_from_node: 'adr_choice1_20251028_110000' },
  };
  beforeEach(async () => {
    expect((await add(JSON.stringify([...[1, 2, 3, 4, 5, 6].map((i) => adr(i)), spec]))).exit).toBe(0);
  });
  const bridge = async (...args: string[]): Promise<N & { output: { _meta: Json; _handoff: Json } }> => {
    const ran = await graph(['bridge', '--json', ...args]);
    expect([ran.exit, ran.err.includes('baton:')]).toEqual([0, false]);
    return ran.json() as Awaited<ReturnType<typeof bridge>>;
  };

  test('one summary of ADRs and specifications, as in the document', async () => {
    const made = await bridge('--type', 'ADR', '--type', 'Specification');
    const all = [...[1, 2, 3, 4, 5, 6].map((i) => `adr_choice${i}_20251028_110000`), spec.node_id];
    expect(made.node_id).toMatch(/^design_summary_\d{8}_\d{6}$/);
    expect(made).toMatchObject({
      node_type: 'DesignSummary',
      metadata: { created_by: 'design-bridge', confidence: 0.92 },
    });
    expect(made.data['key_decisions']).toHaveLength(5);
    expect([...(made.lineage['created_from_nodes'] as string[])].sort()).toEqual([...all].sort());
    expect(made['_references']).toMatchObject({ detailed_specifications: [spec.node_id] });
    expect(made.output._handoff).toMatchObject({
      graph_node: made.node_id,
      next_stage: 'implementation-triad',
      detail_nodes: { specifications: [spec.node_id] },
    });
    expect((await show(spec.node_id)).lineage['consumed_by_nodes']).toEqual([made.node_id]);
    const { output: _, ...node } = made;
    expect(await show(made.node_id)).toEqual(node);
    expect(
      (await graph(['load', made.node_id, '--require', 'key_decisions,architecture_overview,implementation_guidance']))
        .exit,
    ).toBe(0);
  });

  test('within the tokens it is given; what is too little names the least', async () => {
    for (const tokens of [2_000, 1_400, 1_100]) {
      const made = await bridge('--type', 'ADR', '--tokens', String(tokens));
      const { node_id, node_type, metadata, data, handoff, lineage, _references } = made;
      const written = { type: 'add_node', node_id, node_type, metadata, data, handoff, lineage, _references };
      expect(countTokens(JSON.stringify(written))).toBeLessThanOrEqual(tokens);
      expect(JSON.stringify(data)).toMatch(/(?:We take way \d.*){6}/);
      for (const decision of made.data['key_decisions'] as Json[]) {
        expect(decision).toMatchObject({
          title: expect.stringMatching(/^Choice \d$/),
          decision: expect.stringMatching(/^We take way \d\..*\.$/),
        });
      }
    }
    const before = await list('--type', 'DesignSummary');
    const refused = await graph(['bridge', '--type', 'ADR', '--tokens', '60', '--json']);
    expect(refused.exit).toBe(3);
    const { error } = JSON.parse(refused.err) as { error: { code: string; message: string } };
    expect(error.code).toBe('E_CONTEXT_OVERFLOW');
    expect(await list('--type', 'DesignSummary')).toEqual(before);
    const least = /at least (\d+)/.exec(error.message)?.[1] ?? '';
    expect((await bridge('--type', 'ADR', '--tokens', least)).data['key_decisions']).toHaveLength(5);
  });

  test('neighbours are named, what is stale is not; two summaries do not feed on each other', async () => {
    const [first, second] = [await bridge('--type', 'ADR'), await bridge('--type', 'ADR')];
    for (const made of [first, second]) {
      expect(made.lineage['created_from_nodes']).toHaveLength(7);
      expect(made.lineage['created_from_nodes']).toContain(spec.node_id);
    }
    expect(second.node_id).not.toBe(first.node_id);
    await add(
      `type: add_edge\nsource: adr_choice2_20251028_110000\ntarget: adr_choice1_20251028_110000\nrelation: supersedes\n`,
    );
    const third = await graph(['bridge', '--type', 'ADR', '--json']);
    expect(third.err).toMatch(
      /adr_choice1_20251028_110000 is left out: it is stale: adr_choice2_20251028_110000 supersedes it/,
    );
    expect((third.json() as N).lineage['created_from_nodes']).not.toContain('adr_choice1_20251028_110000');
    expect((await graph(['bridge', '--type', 'Nope'])).exit).toBe(4);
    expect((await graph(['bridge'])).exit).toBe(2);
    expect((await graph(['bridge', '--type', 'ADR', '--as', 'lower case'])).exit).toBe(2);
  });

  test('as another type, about a topic, to another stage; its envelope hands it on', async () => {
    const made = await bridge(
      '--type',
      'ADR',
      '--as',
      'ValidationSummary',
      '--topic',
      'The Store',
      '--next',
      'test-engineer',
    );
    expect(made.node_id).toMatch(/^validation_summary_the_store_\d{8}_\d{6}$/);
    const fields = ['validation_result', 'priority_score', 'key_findings', 'recommendation', 'required_details'];
    expect(Object.keys(made.data)).toEqual(fields);
    const { out } = await graph(['bridge', '--type', 'ADR', '--next', 'test-engineer']);
    expect(detect(out)).toMatchObject([{ kind: 'OUTPUT', valid: true, problems: [] }]);
    const sent = await batonHere(['send', '-', '--json'], out, dir);
    expect([sent.exit, sent.json()['result']]).toEqual([0, 'accepted']);
    expect(JSON.parse((await batonHere(['task', 'list', '--json'], '', dir)).out)).toMatchObject([
      { agent: 'emma', status: 'ready' },
    ]);
  });

  test('a configured agent writes the prose; one that fails is warned about, and the rest stays', async () => {
    const say = (summary: string): void => {
      const lines = [
        '[AOP:START] 2026-01-01T00:00:00Z',
        '[AOP:TASK] prose',
        '[AOP:SUMMARY]',
        summary,
        '[AOP:DETAILS_FILE] none',
        '[AOP:STATUS] success',
        '[AOP:END] 2026-01-01T00:00:01Z',
      ];
      writeFileSync(join(dir, 'emma.sh'), `#!/bin/sh\ncat > /dev/null\ncat <<'END'\n${lines.join('\n')}\nEND\n`);
      chmodSync(join(dir, 'emma.sh'), 0o755);
    };
    say('One store, many agents. All by reference.\nGuidance: Begin with the store.');
    const made = await bridge('--type', 'ADR', '--agent', 'emma');
    expect(made.data).toMatchObject({
      architecture_overview: 'One store, many agents. All by reference.',
      implementation_guidance: 'Begin with the store.',
    });
    expect(made.metadata['prose_by']).toBe('emma');
    writeFileSync(join(dir, 'emma.sh'), '#!/bin/sh\nexit 3\n');
    writeFileSync(join(dir, '.baton/config.yaml'), `${CONFIG}bridge: { agent: emma }\n`);
    const failed = await graph(['bridge', '--type', 'ADR', '--json', '--topic', 'again']);
    expect(failed.exit).toBe(0);
    expect(failed.err).toMatch(/warning: emma wrote no prose/);
    expect((failed.json() as N).data['architecture_overview']).toMatch(/^A summary of 6 ADR about again\./);
    expect((await graph(['bridge', '--type', 'ADR', '--agent', 'nobody', '--topic', 'more'])).err).toMatch(
      /warning: nobody wrote no prose/,
    );
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
  });
});

test('every command has help worth reading', async () => {
  for (const name of ['add', 'list', 'show', 'load', 'lineage', 'bridge', 'new', 'export']) {
    const { exit, out } = await graph([name, '--help']);
    expect([exit, /Examples?:/.test(out), out.includes('--json')]).toEqual([0, true, true]);
  }
});
