/** An agent whose report is missing or not right is asked for it once, in the conversation that it has; what comes of that never makes its run worse. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { NO_REPORT } from '../../src/runtime/repair.ts';
import { found } from '../agents/kit.ts';
import { type MockModel, startMockModel } from '../real/mock-model.mjs';
import { claude, fakeCli, responseText } from './small-agents.ts';
import { makeWorld, type Ran, reportText, sh, type TaskParts, taskOf, type World } from './world.ts';

const REAL = join(import.meta.dirname, '../real/node_modules/.bin');
const models: MockModel[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const model of models.splice(0)) await model.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const USES = { input: 10, output: 5 };
const repairs = (ran: Ran): readonly object[] => ran.told('run.repair');

/** What a claude of ours says when it is called for the first time, and what it says when it is asked once more. */
async function twice(first: readonly string[], then: readonly string[], config: object = {}): Promise<World> {
  const world = await makeWorld({
    config: { defaults: { sandbox: 'off' }, agents: { c: { kind: 'claude' } }, ...config },
  });
  fakeCli(
    world,
    'claude',
    'case "$*" in',
    `*--resume*)\n${then.join('\n')}\n;;`,
    `*)\n${[claude.begin, ...first].join('\n')}\n;;`,
    'esac',
  );
  return world;
}
const calls = (world: World): string[] =>
  readFileSync(join(world.home, 'calls.txt'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('claude '));
const run = (world: World, parts: Partial<TaskParts> = {}): Promise<Ran> =>
  world.run(taskOf(world, { agent: 'c', provider: 'CLAUDE', model: 'opus-x', ...parts }));

const silent = [claude.says('I made it.'), claude.ends('I made it.', USES)];
const reports = [claude.says(reportText()), claude.ends(reportText(), USES)];

test('a report that is missing is asked for once, and counts', async () => {
  const world = await twice(silent, reports);
  const ran = await run(world);
  expect(ran.task.status).toBe('done');
  expect(repairs(ran)).toEqual([{ asked: NO_REPORT, ok: true }]);
  expect(calls(world).map((line) => line.includes('--resume 00000000-0000-4000-8000-000000000001'))).toEqual([
    false,
    true,
  ]);
  expect(ran.last.block).toContain('- It is made.');
  expect(ran.last.block).not.toContain('made by baton');
  // Both turns are paid for.
  expect(ran.task.cost).toMatchObject({ tokensInput: 20, tokensOutput: 10 });
});

test('whatever it answers, it is not asked again', async () => {
  const world = await twice(silent, [claude.says('Did I not?'), claude.ends('Did I not?', USES)]);
  const ran = await run(world);
  expect(ran.task.status).toBe('review');
  expect(repairs(ran)).toEqual([{ asked: NO_REPORT, ok: false }]);
  expect(calls(world)).toHaveLength(2);
  expect(ran.last.block).toContain('made by baton');
  // What it said of its work, not its answer to us.
  expect(ran.last.block).toContain('I made it.');
});

test.each([
  ['a block that is not valid', reportText().replace('success', 'splendid'), /^aop1/],
  ['a RESPONSE that is broken', responseText({ task_status: { state: 'SPLENDID' } }), /^aop2 RESPONSE/],
])('%s is told, with what is wrong', async (_, said, reason) => {
  const world = await twice([claude.says(said), claude.ends(said, USES)], reports);
  const ran = await run(world, { task: { task_id: 'T-1' } });
  expect(ran.task.status).toBe('done');
  expect(repairs(ran)).toEqual([{ asked: expect.stringMatching(reason), ok: true }]);
});

test('what the guard rails ask for can be put right', async () => {
  const poor = responseText({ task_status: { state: 'COMPLETED' } });
  const world = await twice([claude.says(poor), claude.ends(poor, USES)], reports);
  const ran = await run(world, { task: { task_id: 'T-1' }, rails: { require_final_signal: true } });
  expect(ran.told('run.failed')).toEqual([]);
  expect(repairs(ran)).toMatchObject([{ ok: true }]);
});

test.each([
  ['config says no', { reports: { repair: false } }],
  ['there is no time left', {}],
])('nothing is asked where %s', async (_, config) => {
  const world = await twice(silent, reports, config);
  const ran = await run(world, 'reports' in config ? {} : { policy: { timeout_seconds: 9 } });
  expect(ran.task.status).toBe('review');
  expect(repairs(ran)).toEqual([]);
  expect(calls(world)).toHaveLength(1);
});

test('a program that keeps no conversation is not asked', async () => {
  const world = await makeWorld({
    config: { defaults: { sandbox: 'off' }, agents: { c: sh('echo x >> calls; true') } },
  });
  const ran = await world.run(taskOf(world, { agent: 'c' }));
  expect([ran.task.status, world.read('calls'), repairs(ran)]).toEqual(['review', 'x\n', []]);
});

test('an agent that dies of being asked has not failed', async () => {
  const world = await twice(silent, ['exit 3']);
  const ran = await run(world);
  expect(ran.task).toMatchObject({ status: 'review', attempts: 1 });
  expect(repairs(ran)).toEqual([{ asked: NO_REPORT, ok: false, why: expect.any(String) }]);
});

test('a budget that is used up by the answer ends the answer alone', async () => {
  const big = { input: 5000, output: 1 };
  const world = await twice(silent, [claude.uses('m', big), 'sleep 30', ...reports]);
  const ran = await run(world, { task: { budgets: { max_tokens: 1000 } } });
  expect(ran.task).toMatchObject({ status: 'review' });
  expect(ran.told('run.failed')).toEqual([]);
  expect(repairs(ran)).toMatchObject([{ ok: false }]);
  expect(world.alive()).toEqual([]);
});

test('what others find is asked for too, and looked at again', async () => {
  const world = await twice([claude.says(reportText('success', '- Nothing.')), claude.ends('', USES)], reports);
  world.host.repairs.push(async (heard) =>
    heard?.report.summary.includes('It is made') === true ? [] : ['the next stage needs the field x'],
  );
  const ran = await run(world);
  expect(ran.task.status).toBe('done');
  expect(repairs(ran)).toEqual([{ asked: 'the next stage needs the field x', ok: true }]);
  expect(ran.last.block).toContain('- It is made.');
});

/** An ACP agent that reports when it is asked to, and has kept what was said where it can load it. */
const ACP = `
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'initialize') {
    return say({ id, result: { protocolVersion: 1, agentCapabilities: { loadSession: process.argv.includes('loads') } } });
  }
  require('node:fs').appendFileSync(process.env.HOME + '/acp.txt', method + '\\n');
  if (method === 'session/new') return say({ id, result: { sessionId: 'one' } });
  if (method === 'session/prompt') {
    const isAsked = params.prompt[0].text.includes('Do no more work');
    const content = { type: 'text', text: isAsked ? ${JSON.stringify(reportText())} : 'I made it.' };
    const update = { sessionUpdate: 'agent_message_chunk', content };
    say({ method: 'session/update', params: { sessionId: params.sessionId, update } });
    return say({ id, result: { stopReason: 'end_turn' } });
  }
  say({ id, result: {} });
});
`;

test.each([
  ['loads', 'done', ['session/new', 'session/prompt', 'session/load', 'session/prompt']],
  // In a new conversation it would report what it knows nothing of.
  ['forgets', 'review', ['session/new', 'session/prompt']],
])('an agent by ACP that %s is asked only where it remembers', async (how, status, asked) => {
  const world = await makeWorld({
    config: {
      defaults: { sandbox: 'off' },
      agents: { c: { kind: 'acp', command: [process.execPath, '-e', ACP, '--', how], env: ['HOME'] } },
    },
  });
  const ran = await world.run(taskOf(world, { agent: 'c' }));
  expect(ran.task.status).toBe(status);
  expect(repairs(ran)).toMatchObject([{ asked: NO_REPORT, ok: status === 'done' }]);
  const seen = readFileSync(join(world.home, 'acp.txt'), 'utf8').trim().split('\n');
  expect(seen.filter((method) => !/set_/.test(method))).toEqual(asked);
});

test('a phase that has not passed is not talked about', async () => {
  const world = await twice(silent, reports);
  const ran = await run(world, {
    phases: [
      {
        phase_id: 'p',
        phase_order: 1,
        checkpoints: [{ checkpoint_id: 'c', validation: { command: 'false', expects: 'EXIT_CODE_0' } }],
      },
    ],
  });
  expect(repairs(ran)).toEqual([]);
  expect(calls(world)).toHaveLength(1);
});

const isReal = found('claude') !== null && found('codex') !== null;
describe.skipIf(!isReal).each([
  ['claude', 'claude-sonnet-4-5'],
  ['codex', 'gpt-5.5'],
] as const)('%s itself', (kind, name) => {
  const provider = (url: string): string =>
    `model_providers.mock={name="mock",base_url="${url}/v1",env_key="MOCK_API_KEY",wire_api="responses",` +
    'request_max_retries=1,stream_max_retries=1,stream_idle_timeout_ms=20000}';

  /** The first prompt names its script; the one that asks for the report gets what `answer` says. */
  async function ask(answer: string): Promise<{ ran: Ran; bodies: readonly string[] }> {
    const bodies = realpathSync(mkdtempSync(join(tmpdir(), 'baton-bodies-')));
    folders.push(bodies);
    const silence = { text: 'QUINCE is written.', tools: [{ do: 'write', path: 'q.txt', content: 'q\n' }] };
    const model = await startMockModel({
      scripts: { silent: { steps: [silence, { text: 'That was all.' }] }, mend: { steps: [{ text: answer }] } },
      bodies,
    });
    models.push(model);
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-world-')));
    mkdirSync(join(root, 'tmp'));
    const url = `${model.url}/s/mend`;
    const world = await makeWorld({
      root,
      config: {
        agents: {
          claude: { kind: 'claude' },
          codex: { kind: 'codex', args: ['-c', 'model_provider="mock"', '-c', provider(url)] },
        },
      },
      environment: {
        PATH: `${REAL}:${process.env['PATH']}`,
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'x',
        MOCK_API_KEY: 'x',
        TMPDIR: join(root, 'tmp'),
      },
    });
    const task = taskOf(world, {
      agent: kind,
      provider: kind === 'claude' ? 'CLAUDE' : 'CODEX',
      model: name,
      objective: 'Write it. [[mock:silent]]',
    });
    const ran = await world.run(task);
    return { ran, bodies: readdirSync(bodies).map((file) => readFileSync(join(bodies, file), 'utf8')) };
  }

  test('is asked in its own conversation, and its report counts', async () => {
    const { ran, bodies } = await ask(reportText());
    expect(ran.task.status).toBe('done');
    expect(repairs(ran)).toEqual([{ asked: NO_REPORT, ok: true }]);
    expect(ran.told('run.conversation')).toHaveLength(1);
    const last = bodies.at(-1) ?? '';
    expect(last).toContain('QUINCE is written.');
    expect(last).toContain('Do no more work');
    expect(ran.last.block).toContain('- It is made.');
    // Two calls for the work and one for the report.
    expect(ran.task.cost).toMatchObject({ tokensInput: 3000, tokensOutput: 150 });
  });

  test('is asked once', async () => {
    const { ran } = await ask('I have nothing to add.');
    expect(ran.task.status).toBe('review');
    expect(repairs(ran)).toEqual([{ asked: NO_REPORT, ok: false }]);
    expect(ran.task.cost).toMatchObject({ tokensInput: 3000, tokensOutput: 150 });
  });
});
