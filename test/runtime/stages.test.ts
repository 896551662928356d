/** Who a stage is, what may be loaded, and messages of the output dialect that come from nobody's run: together or not at all. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { configOf } from '../../src/core/config.ts';
import type { WholeNode } from '../../src/core/store.ts';
import type { Task } from '../../src/core/task.ts';
import { detect } from '../../src/protocol/detect.ts';
import { openDoor } from '../../src/runtime/door.ts';
import { gapsOf } from '../../src/runtime/loading.ts';
import { recover } from '../../src/runtime/recovery.ts';
import { createGraphEar } from '../../src/runtime/said-graph.ts';
import { stageBody } from '../../src/runtime/stage-words.ts';
import { stageOf } from '../../src/runtime/stages.ts';
import { judgeClaims } from '../../src/runtime/taking.ts';
import { as, NOBODY, ofRun, USER } from './messages.ts';
import { claude, fakeCli } from './small-agents.ts';
import { makeWorld, sh, taskOf, type World } from './world.ts';

const document = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../fixtures/documents', name), 'utf8');

const CONFIG = {
  defaults: { sandbox: 'off' },
  agents: {
    dev: { kind: 'command', command: ['true'], roles: ['EXECUTOR'] },
    qa: { kind: 'command', command: ['true'], roles: ['tester'] },
  },
  teams: { web: ['dev', 'qa'] },
  stages: {
    'implementation-triad': { role: 'EXECUTOR' },
    'test-engineer': 'qa',
    boss: 'user',
    a: 'b',
    b: 'a',
    empty: {},
    web: { team: 'web' },
  },
};

describe('who a stage is', () => {
  const config = configOf(CONFIG);
  test.each([
    ['implementation-triad', { kind: 'routed', routing: { agent: null, role: 'EXECUTOR', team: null } }],
    ['test-engineer', { kind: 'routed', routing: { agent: 'qa' } }],
    ['dev', { kind: 'routed', routing: { agent: 'dev' } }],
    ['DEV', { kind: 'routed', routing: { agent: 'dev' } }],
    ['web', { kind: 'routed', routing: { agent: null, role: null, team: 'web' } }],
    ['codex', { kind: 'routed', routing: { agent: 'codex' } }],
    ['tester', { kind: 'routed', routing: { role: 'tester' } }],
    ['user', { kind: 'user' }],
    ['boss', { kind: 'user' }],
    ['a', { kind: 'unknown', refusal: { code: 'E_CYCLE' } }],
    ['empty', { kind: 'unknown', refusal: { code: 'E_AGENT_NOT_FOUND' } }],
    ['toString', { kind: 'unknown', refusal: { code: 'E_AGENT_NOT_FOUND' } }],
  ])('%s', (stage, expected) => expect(stageOf(config, stage)).toMatchObject(expected));
});

const NODE = {
  id: 'a_1',
  type: 'Findings',
  session: 'default',
  createdBy: 'emma',
  domain: null,
  confidence: 0.95,
  ready: true,
  stale: null,
  approval: null,
  document: { data: { summary: 's' } },
} as const;

test('every gap is told; a yes of a person stands for confidence', () => {
  const config = configOf({});
  const bad = { ...NODE, confidence: 0.5, ready: false, stale: { at: 0, because: 'its source is', from: null } };
  expect(gapsOf(bad, { required: ['summary', 'x', 'toString'], config })).toEqual([
    'data.x is required and is not there',
    'data.toString is required and is not there',
    'expected a confidence of at least 0.85, got 0.5',
    'expected handoff.ready_for_next true, got false',
    'it is stale: its source is',
  ]);
  expect(gapsOf({ ...NODE, confidence: 0.5, approval: 'approved' }, { required: [], config })).toEqual([]);
});

test('a stage is told no more than fits, whatever stands in the node, and what it is told is no message', () => {
  const fields = { summary: 'short', log: '```\n[GRAPH_UPDATE]\n'.repeat(5_000), more: 'x'.repeat(50_000) };
  const body = stageBody({
    title: 't',
    stage: 'dev',
    node: { ...NODE, document: { data: fields } },
    from: 'emma',
    required: ['summary'],
    optional: [],
    fields,
    criteria: ['It works'],
    output: null,
  });
  expect(body.length).toBeLessThanOrEqual(20_000);
  expect(body).toContain('summary: short');
  expect(body).toMatch(/Shortened here: .*more \(\d+ of 5\d{4} characters\).*baton graph load a_1/);
  const plain = stageBody({
    title: 't',
    stage: 'dev',
    node: NODE,
    from: 'emma',
    required: ['summary'],
    optional: [],
    fields: { summary: 's' },
    criteria: [],
    output: null,
  });
  // How a person is asked is no secret of the protocol's readers.
  expect(plain).toContain('`approval_required: true`');
  // An agent that repeats what it was told has said nothing by that.
  expect(detect(plain).map(({ dialect }) => dialect)).toEqual(['unstructured']);
});

const TOLD = { title: 't', stage: 'dev', node: NODE, from: 'emma', required: [], optional: [], criteria: [] };
const bodyWith = (fields: Readonly<Record<string, unknown>>, handoff: object = {}, criteria: string[] = []): string =>
  stageBody({
    ...TOLD,
    node: { ...NODE, document: { data: fields } },
    fields,
    criteria,
    output: {
      _meta: { output_type: 'analysis', created_by: 'emma', confidence: 1 },
      _handoff: { next_stage: 'dev', graph_node: 'a_1', required_fields: [], ...handoff },
    },
  });

test('a stage is told no more than fits, whatever stands beside the node', () => {
  const ids = (n: number, name = 'node'): string[] => Array.from({ length: n }, (_, i) => `${name}_${i}`);
  const lists = Object.fromEntries(ids(500, 'list').map((name) => [name, ids(100)]));
  const criteria = ids(100).map((id) => `${id} ${'x'.repeat(490)}`);
  let deep: unknown = 1;
  for (let i = 0; i < 300; i++) deep = [[deep], i];
  const many = Object.fromEntries(ids(20_000, 'field').map((name) => [name, 1]));
  const all = bodyWith(
    { summary: 's', ...many, acceptance_criteria: criteria },
    { detail_nodes: lists, inline_data: deep },
    criteria,
  );
  expect(all.length).toBeLessThanOrEqual(20_000);
  expect(all).toContain('summary: s\n');
  expect(all).toMatch(/\d{5} more fields were asked for/);
  expect(all).toMatch(/9\d more are not told here; all of it: .*baton graph load a_1/);
  expect(all).toMatch(/Shortened here \(3000 of \d+ characters\); all of it is in inputs\/output.yaml/);
  expect(all.match(/node_\d+[,\n]/g)?.length).toBeLessThanOrEqual(50);
  expect(all).toContain('- list_0: node_0, node_1,');
  expect(all).toContain('- 490 more lists');
  expect(bodyWith({ log: '`'.repeat(50_000) }).length).toBeLessThanOrEqual(20_000);
});

test('what has to be true in the end is told once', () => {
  const body = bodyWith({ summary: 's', acceptance_criteria: ['It works'], success_criteria: 'It lasts' }, {}, [
    'It works',
    'It lasts',
  ]);
  expect(body.match(/It works|It lasts/g)).toEqual(['It works', 'It lasts']);
  expect(body).not.toContain('baton graph load');
  // What is no sentence is told as it stands.
  expect(bodyWith({ acceptance_criteria: [{ given: 'a user' }] })).toContain('- given: a user');
});

test('a report has at most 200 blocks', () => {
  const ear = createGraphEar();
  for (let i = 0; i <= 200; i++) {
    const text = nodeText(`n_${i}`);
    for (const found of detect(text)) ear.take(found);
  }
  expect(ear.said.updates).toHaveLength(200);
  expect(ear.said.broken).toEqual([expect.stringContaining('at most 200 blocks')]);
});

const nodeText = (id: string, more: object = {}, confidence = 0.95): string =>
  [
    '[GRAPH_UPDATE]',
    'type: add_node',
    `node_id: ${id}`,
    'node_type: Findings',
    `metadata: { created_by: emma, confidence: ${confidence} }`,
    'data: { summary: "what it is" }',
    'handoff: { ready_for_next: true }',
    ...Object.entries(more).map(([key, value]) => `${key}: ${JSON.stringify(value)}`),
    '[/GRAPH_UPDATE]',
    '',
  ].join('\n');

const outputText = (node: string, stage: string, more: object = {}, type = 'analysis'): string =>
  [
    'OUTPUT:',
    `  _meta: { output_type: ${type}, created_by: emma, confidence: 0.95 }`,
    `  _handoff: ${JSON.stringify({ next_stage: stage, graph_node: node, required_fields: ['summary'], ...more })}`,
    '',
  ].join('\n');

const nodes = async (world: World): Promise<string[]> => {
  const all: string[] = [];
  for await (const { id } of world.store.nodes()) all.push(id);
  return all;
};
const tasks = async (world: World): Promise<Task[]> => {
  const all: Task[] = [];
  for await (const task of world.store.tasks()) all.push(task);
  return all;
};
/** The events of the record in which nodes were written. */
const recorded = async (world: World): Promise<string[]> => {
  for await (const { events } of world.store.eventsAfter({ after: 0 })) {
    const types = events.map(({ type }) => type);
    if (types.includes('node.added')) return types;
  }
  return [];
};

describe('by message', () => {
  test('one text is one report, and its stage has a task at once', async () => {
    const world = await makeWorld({ config: CONFIG });
    const text = `${nodeText('a_1')}\n${nodeText('b_1', { lineage: { created_from_node: 'a_1' } })}\n${outputText('b_1', 'test-engineer')}`;
    const answers = await world.host.router.take(text, as('emma'));
    const [task] = await tasks(world);
    expect(answers.map(({ result, events }) => [result, ...events])).toEqual([
      ['accepted', 'protocol.message.received'],
      ['accepted', 'protocol.message.received'],
      ['accepted', ...(await recorded(world)), 'protocol.message.received'],
    ]);
    expect(await recorded(world)).toEqual(['node.added', 'node.added', 'task.created', 'stage.handed']);
    expect(answers.at(-1)).toMatchObject({ task: task?.id, reason: `handed on to test-engineer as ${task?.id}` });
    expect(task).toMatchObject({
      status: 'ready',
      routing: { agent: 'qa' },
      dependsOn: [],
      metadata: { handedFrom: null, node: 'b_1', hops: 1 },
    });
    expect(await nodes(world)).toEqual(['a_1', 'b_1']);
  });

  test.each([
    ['one that is cut off', '[GRAPH_UPDATE]\ntype: add_node\n', 'E_PARSE_FAILURE'],
    ['one without a confidence', nodeText('b_1').replace(', confidence: 0.95', ''), 'E_SCHEMA_VALIDATION'],
    ['a source that is not there', nodeText('b_1', { lineage: { created_from_node: 'x_1' } }), 'E_NOT_FOUND'],
    ['a stage that nobody is', outputText('a_1', 'nowhere'), 'E_AGENT_NOT_FOUND'],
  ])('%s, and nothing of the text is taken', async (_, block, code) => {
    const world = await makeWorld({ config: CONFIG });
    const answers = await world.host.router.take(`${nodeText('a_1')}\n${block}`, USER);
    expect(answers.map(({ result }) => result)).toEqual(['rejected', 'rejected']);
    expect(answers[1]).toMatchObject({ code, events: ['protocol.message.rejected'] });
    expect(answers[0]?.reason).toMatch(/^nothing of this report was taken/);
    expect(await nodes(world)).toEqual([]);
  });

  test('of somebody that nobody can name nothing is taken', async () => {
    const world = await makeWorld({ config: CONFIG });
    const [answer] = await world.host.router.take(nodeText('a_1'), NOBODY);
    expect(answer).toMatchObject({ result: 'rejected', code: 'E_PERMISSION_DENIED' });
    expect(await nodes(world)).toEqual([]);
  });

  test('a node alone, and then its envelope', async () => {
    const world = await makeWorld({ config: CONFIG });
    expect((await world.host.router.take(nodeText('a_1'), USER))[0]).toMatchObject({ result: 'accepted' });
    expect((await world.host.router.take(outputText('a_1', 'dev'), USER))[0]).toMatchObject({ result: 'accepted' });
    expect(await tasks(world)).toHaveLength(1);
  });

  test('only a person approves', async () => {
    const world = await makeWorld({
      config: { ...CONFIG, stages: { ...CONFIG.stages, 'implementation-triad': 'dev' } },
    });
    judgeClaims(world.host);
    const { router, store } = world.host;
    const gate = document('output-approval-gate.yaml');
    const node = nodeText('adrs_summary_20251028_120000').replace(
      '\ndata: {',
      '\ndata: { key_decisions: [x], implementation_plan: y,',
    );
    const [, asked] = await router.take(`${node}\n${gate}`, as('solution-architect'));
    expect(asked).toMatchObject({ result: 'accepted', reason: "waits for a person's answer: ask-1" });
    const yes = document('output-approved.yaml');
    for (const sender of [as('emma'), NOBODY]) {
      expect((await router.take(yes, sender))[0]).toMatchObject({ result: 'rejected', code: 'E_PERMISSION_DENIED' });
    }
    expect((await store.question('ask-1'))?.answer).toBeNull();
    const [approved] = await router.take(yes, USER);
    expect(approved).toMatchObject({ result: 'accepted', reason: 'ask-1 is answered: approved' });
    expect((await store.question('ask-1'))?.answer).toMatchObject({ status: 'approved', by: 'user' });
    expect(await tasks(world)).toMatchObject([{ id: approved?.task, metadata: { stage: 'implementation-triad' } }]);
    expect((await router.take(yes, USER))[0]).toMatchObject({ result: 'rejected', code: 'E_ANSWERED' });
  });

  test('an uncertainty that was answered is handed on like any result; one that was refused is not', async () => {
    const world = await makeWorld({ config: CONFIG });
    judgeClaims(world.host);
    const { router, store } = world.host;
    const asks = (id: string): string =>
      nodeText(id, {}, 0.7)
        .replace('Findings', 'Uncertainty')
        .replace('{ summary: "what it is" }', `{ uncertainty_source: x, question: "which ${id}?", context: c }`)
        .replace('ready_for_next: true', 'ready_for_next: false');
    await router.take(asks('u_1'), USER);
    await router.take(asks('u_2'), USER);
    const by = { kind: 'person', name: 'user' } as const;
    await store.send({ message: { type: 'question.answer', id: 'ask-1', status: 'answered', text: 'this' }, by });
    await store.send({ message: { type: 'question.answer', id: 'ask-2', status: 'rejected' }, by });
    const on = (id: string): string => outputText(id, 'dev', { required_fields: ['question'] });
    expect(await router.take(on('u_1'), USER)).toMatchObject([{ result: 'accepted' }]);
    expect(await tasks(world)).toMatchObject([{ metadata: { stage: 'dev', node: 'u_1' } }]);
    expect(await router.take(on('u_2'), USER)).toMatchObject([
      { result: 'rejected', code: 'E_NOT_LOADABLE', reason: expect.stringContaining('a person said rejected') },
    ]);
  });

  test('a run is told at once that a text of its blocks is not taken', async () => {
    const world = await makeWorld({ config: CONFIG });
    const { run } = await held(world);
    const answers = await world.host.router.take(
      `${nodeText('a_1')}\n[GRAPH_UPDATE]\n[/GRAPH_UPDATE]\n`,
      ofRun(run, 'dev'),
    );
    expect(answers.map(({ result }) => result)).toEqual(['rejected', 'rejected']);
    expect(await nodes(world)).toEqual([]);
  });

  test('of a run that nobody watches over it acts at once', async () => {
    const world = await makeWorld({ config: CONFIG });
    const { run, task } = await held(world);
    const answers = await world.host.router.take(`${nodeText('a_1')}\n${outputText('a_1', 'qa')}`, ofRun(run, 'dev'));
    expect(answers.map(({ result }) => result)).toEqual(['accepted', 'accepted']);
    expect(await world.store.node('a_1')).toMatchObject({ task: task.id, session: task.session });
    expect((await tasks(world)).map(({ dependsOn, status }) => [dependsOn, status])).toEqual([
      [[], 'review'],
      [[task.id], 'ready'],
    ]);
  });
});

/** A task that dev has, without a supervisor. */
async function held(world: World): Promise<{ task: Task; run: string }> {
  const [task] = await world.add(taskOf(world, { agent: 'dev' }));
  const answer = await world.store.send({
    message: { type: 'task.claim', id: task?.id as string, claimer: { agent: 'dev' }, leaseMs: 60_000 },
    by: { kind: 'runtime', name: 'baton' },
  });
  if (answer.kind === 'refused') throw new Error(answer.refusal.message);
  const claimed = answer.tasks[0] as Task;
  return { task: claimed, run: claimed.run?.id as string };
}

describe('baton_load', () => {
  test('of a node with many fields no more than fits is given, and how many there are', async () => {
    const world = await makeWorld({ config: CONFIG });
    const fields = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`field_${i}`, `value ${i}`]));
    await world.store.send({
      message: {
        type: 'graph.apply',
        updates: [addOf('a_1', {}, { ...fields, wanted: 'this one' })],
        escalate: { below: 0, domains: {} },
      },
      by: { kind: 'person', name: 'user' },
    });
    const door = openDoor({ ...world.host, sender: USER });
    const given = await door.load({ node: 'a_1', require: ['wanted'] });
    expect(JSON.stringify(given).length).toBeLessThanOrEqual(20_000);
    expect(given.data).toMatchObject({ wanted: 'this one', field_0: 'value 0' });
    expect(given.shortened.at(-1)).toMatch(/^and \d{4} more fields$/);
    const wide = addOf('b_1', {}, fields);
    const text = JSON.stringify({ ...JSON.parse('document' in wide ? wide.document : ''), ...fields });
    await world.store.send({
      message: {
        type: 'graph.apply',
        updates: [{ ...wide, document: text } as Update],
        escalate: { below: 0, domains: {} },
      },
      by: { kind: 'person', name: 'user' },
    });
    const other = await door.load({ node: 'b_1' });
    expect(JSON.stringify(other).length).toBeLessThanOrEqual(20_000);
    expect(other).toMatchObject({ node_id: 'b_1', session: 'default', run: null });
  });

  test('a run loads what may be built upon, and that is written down', async () => {
    const world = await makeWorld({ config: CONFIG });
    const { run, task } = await held(world);
    const { router } = world.host;
    const door = openDoor({ ...world.host, sender: ofRun(run, 'dev') });
    await world.store.send({
      message: {
        type: 'graph.apply',
        updates: [addOf('a_1'), addOf('low_1', { confidence: 0.5 })],
        escalate: { below: 0, domains: {} },
        session: task.session,
      },
      by: { kind: 'person', name: 'user' },
    });
    await router.take(nodeText('other_1'), USER);
    expect(await door.load({ node: 'a_1', require: ['summary'] })).toMatchObject({
      node_id: 'a_1',
      data: { summary: 'what it is' },
      shortened: [],
    });
    await expect(door.load({ node: 'a_1', require: ['files'] })).rejects.toMatchObject({ code: 'E_NOT_LOADABLE' });
    await expect(door.load({ node: 'low_1' })).rejects.toMatchObject({ code: 'E_NOT_LOADABLE' });
    await expect(door.load({ node: 'none_1' })).rejects.toMatchObject({ code: 'E_NOT_FOUND' });
    expect(await door.load({ node: 'other_1' })).toMatchObject({ node_id: 'other_1', session: 'default' });
    const person = openDoor({ ...world.host, sender: USER });
    expect(await person.load({ node: 'other_1' })).toMatchObject({ node_id: 'other_1' });
    await expect(openDoor({ ...world.host, sender: NOBODY }).load({ node: 'a_1' })).rejects.toMatchObject({
      code: 'E_PERMISSION_DENIED',
    });
    // What it writes next has used it.
    await router.take(nodeText('b_1'), ofRun(run, 'dev'));
    expect(await world.store.node('b_1')).toMatchObject({ uses: ['a_1', 'other_1'] });
  });

  test('a long node is shortened, and that is said', async () => {
    const world = await makeWorld({ config: CONFIG });
    const data = { summary: 'short', log: '"\n'.repeat(30_000), list: Array.from({ length: 9_000 }, (_, i) => i) };
    await world.store.send({
      message: { type: 'graph.apply', updates: [addOf('a_1', {}, data)], escalate: { below: 0, domains: {} } },
      by: { kind: 'person', name: 'user' },
    });
    const loaded = await openDoor({ ...world.host, sender: USER }).load({ node: 'a_1' });
    expect(JSON.stringify(loaded).length).toBeLessThanOrEqual(20_000);
    expect(loaded.shortened).toEqual(expect.arrayContaining(['log', 'list']));
    expect(loaded.data).toMatchObject({ summary: 'short' });
  });
});

type Update = Parameters<World['store']['send']>[0]['message'] extends infer M
  ? M extends { type: 'graph.apply'; updates: readonly (infer U)[] }
    ? U
    : never
  : never;

const addOf = (id: string, more: object = {}, data: object = { summary: 'what it is' }): Update =>
  ({
    kind: 'add-node',
    node: {
      id,
      type: 'Findings',
      createdBy: 'x',
      confidence: 0.95,
      sources: [],
      domain: null,
      outputType: null,
      ready: true,
      nextStage: null,
      topic: null,
      ...more,
    },
    document: JSON.stringify({ type: 'add_node', node_id: id, node_type: 'Findings', data }),
  }) as Update;

test('a gap can be mended in the same conversation, and then nothing is bounced', async () => {
  const world = await makeWorld({
    config: { defaults: { sandbox: 'off' }, agents: { c: { kind: 'claude' }, two: sh('cat >/dev/null') } },
  });
  const gap = `${nodeText('a_1')}\n${outputText('a_1', 'two', { required_fields: ['summary', 'files'] })}`;
  const whole = gap.replace('\ndata: {', '\ndata: { files: [x],');
  const says = (text: string): string => [claude.says(text), claude.ends(text, { input: 1, output: 1 })].join('\n');
  fakeCli(
    world,
    'claude',
    'case "$*" in',
    `*--resume*)\n${says(whole)}\n;;`,
    `*)\n${claude.begin}\n${says(gap)}\n;;`,
    'esac',
  );
  const ran = await world.run(taskOf(world, { agent: 'c', provider: 'CLAUDE', model: 'opus-x' }));
  expect(ran.told('run.repair')).toMatchObject([{ ok: true, asked: expect.stringContaining('data.files') }]);
  expect(ran.task).toMatchObject({ status: 'done', attempts: 1 });
  const node = (await world.store.node('a_1')) as WholeNode;
  expect(node.document['data']).toMatchObject({ files: ['x'] });
});

test('a Baton that died: what its run had said by its socket is written by the next one', async () => {
  const world = await makeWorld({ config: CONFIG });
  const [task] = await world.add(taskOf(world, { agent: 'dev' }));
  const gone = { pid: 2 ** 22 - 1, started: '1' };
  const answer = await world.store.send({
    message: {
      type: 'task.claim',
      id: task?.id as string,
      claimer: { agent: 'dev' },
      leaseMs: 60_000,
      supervisor: gone,
    },
    by: { kind: 'runtime', name: 'baton' },
  });
  const run = (answer.kind === 'refused' ? null : answer.tasks[0]?.run?.id) as string;
  const forget = world.host.runs.add(run, { hear: () => ({ result: 'accepted', reason: null }), end: () => {} });
  await world.host.router.take(`${nodeText('a_1')}\n${outputText('a_1', 'qa')}`, ofRun(run, 'dev'));
  forget();
  expect(await nodes(world)).toEqual([]);
  await recover(world.host);
  expect(await nodes(world)).toEqual(['a_1']);
  expect((await tasks(world)).map(({ status }) => status)).toEqual(['done', 'ready']);
});
