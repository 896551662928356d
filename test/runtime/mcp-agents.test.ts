/**
 * The real programs report with Baton's own tools: claude and codex with a scripted model call `baton mcp` over the socket of their run, in
 * the sandbox and without one, and without any server.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { probeSandbox } from '../../src/process/sandbox.ts';
import { findMain } from '../../src/runtime/own-tools.ts';
import { found } from '../agents/kit.ts';
import { type MockModel, startMockModel } from '../real/mock-model.mjs';
import { makeWorld, type TaskParts, taskOf, type World } from './world.ts';

type Kind = 'claude' | 'codex';
const KINDS = ['claude', 'codex'] as const;
const MODELS = { claude: 'claude-sonnet-4-5', codex: 'gpt-5.5' } as const;
const REAL = join(import.meta.dirname, '../real/node_modules/.bin');

const probed = await probeSandbox();
const missing = [
  ...KINDS.filter((kind) => found(kind) === null),
  ...(probed.ok ? [] : [`a sandbox (${probed.reason})`]),
  ...(findMain() === null ? ['a build (npm run build)'] : []),
];
const isReady = missing.length === 0;
if (!isReady) {
  console.warn(
    `\n!!! NOT TESTED, for there is no ${missing.join(' and no ')}: npm ci in test/real installs the programs\n`,
  );
  test.runIf(process.env['BATON_REAL'] === 'require')('the real programs, the sandbox and a build are here', () => {
    expect(missing).toEqual([]);
  });
}

const models: MockModel[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const model of models.splice(0)) await model.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

type Step = Readonly<Record<string, unknown>>;
type Action = Readonly<Record<string, unknown>>;

const provider = (url: string): string =>
  `model_providers.mock={name="mock",base_url="${url}/v1",env_key="MOCK_API_KEY",wire_api="responses",` +
  'request_max_retries=1,stream_max_retries=1,stream_idle_timeout_ms=20000}';

interface Stage extends World {
  /** What the model was asked, whole. */
  bodies(): string;
  task(kind: Kind, script: string, parts?: Partial<TaskParts>): ReturnType<typeof taskOf>;
}

async function stage(scripts: Readonly<Record<string, readonly Step[]>>, sandbox: 'auto' | 'off'): Promise<Stage> {
  const bodies = realpathSync(mkdtempSync(join(tmpdir(), 'baton-bodies-')));
  folders.push(bodies);
  const model = await startMockModel({
    scripts: Object.fromEntries(Object.entries(scripts).map(([name, steps]) => [name, { steps }])),
    bodies,
  });
  models.push(model);
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-world-')));
  // codex refuses a HOME below TMPDIR, so they lie side by side.
  mkdirSync(join(root, 'tmp'));
  const world = await makeWorld({
    root,
    git: true,
    config: {
      agents: {
        claude: { kind: 'claude' },
        codex: { kind: 'codex', args: ['-c', 'model_provider="mock"', '-c', provider(model.url)] },
      },
      defaults: { sandbox },
    },
    environment: {
      PATH: `${REAL}:${process.env['PATH']}`,
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: 'x',
      MOCK_API_KEY: 'x',
      TMPDIR: join(root, 'tmp'),
    },
  });
  return {
    ...world,
    bodies: () =>
      readdirSync(bodies)
        .map((file) => readFileSync(join(bodies, file), 'utf8'))
        .join('\n'),
    task: (kind, script, parts = {}) =>
      taskOf(world, {
        agent: kind,
        provider: kind === 'claude' ? 'CLAUDE' : 'CODEX',
        model: MODELS[kind],
        objective: `Do what has to be done. [[mock:${script}]]`,
        ...parts,
      }),
  };
}

const mcp = (tool: string, input: object): Action => ({ do: 'mcp', server: 'baton', tool, input });
const WRITE: Step = { tools: [{ do: 'write', path: 'hello.txt', content: 'hello\n' }] };
const BYE: Step = { text: 'That is it.' };
const CHECKED = {
  expected_outputs: [
    { path: 'hello.txt', validation: { command: 'grep -q hello hello.txt', expects: 'EXIT_CODE_0' as const } },
  ],
};
const COMPLETE = mcp('aof_task_complete', { outcome: 'done', summary: '- It is made, says the tool.' });

describe.skipIf(!isReady).each(KINDS)('%s', (kind) => {
  describe.each(['auto', 'off'] as const)('sandbox: %s', (sandbox) => {
    test('completes its task with a tool call', async () => {
      const world = await stage({ work: [WRITE, { tools: [COMPLETE] }, BYE] }, sandbox);
      const ran = await world.run(world.task(kind, 'work', { task: CHECKED }));
      expect(ran.task.status).toBe('done');
      expect(ran.last.response.task_status).toMatchObject({ state: 'COMPLETED', final_signal: 'SUCCESS' });
      expect(ran.last.block).toContain('It is made, says the tool.');
      expect(ran.told('run.enforced')[0]?.['sandbox']).toBe(sandbox === 'auto' ? 'bubblewrap' : 'none');
      expect(world.bodies()).toContain('report with the tool baton_report');
      expect(world.alive()).toEqual([]);
    });

    test('reports with a tool call; what it claims falsely is found out', async () => {
      const world = await stage(
        { lie: [{ tools: [mcp('baton_report', { status: 'success', summary: '- All is well.' })] }, BYE] },
        sandbox,
      );
      const ran = await world.run(world.task(kind, 'lie', { task: CHECKED }));
      expect(ran.task.status).toBe('review');
      expect(ran.last.block).toContain('All is well.');
      expect(ran.last.block).toContain('[AOP:STATUS] failure');
    });
  });

  test('a task that may not write still reports', async () => {
    const world = await stage({ look: [{ tools: [mcp('baton_context', {})] }, { tools: [COMPLETE] }, BYE] }, 'off');
    const ran = await world.run(world.task(kind, 'look', { task: { access: { filesystem: { write_paths: [] } } } }));
    expect(ran.last.block).toContain('It is made, says the tool.');
    expect(ran.task.status).toBe('done');
    expect(existsSync(world.path('hello.txt'))).toBe(false);
  });

  test('another task is not its own to end', async () => {
    const world = await stage({ idle: [BYE] }, 'auto');
    const [other] = await world.add(world.task(kind, 'idle'));
    const id = other?.id as string;
    await world.store.send({
      message: { type: 'task.move', id, to: 'blocked' },
      by: { kind: 'person', name: 'test' },
    });
    const steal = mcp('aof_task_complete', { taskId: id, outcome: 'done' });
    await fetch(`${models[0]?.url}/__mock/scripts`, {
      method: 'PUT',
      body: JSON.stringify({ steal: { steps: [{ tools: [steal] }, { text: 'I got {{tool_result}}' }] } }),
    });
    const ran = await world.run(world.task(kind, 'steal'));
    expect(ran.task.status).toBe('review');
    expect(ran.log('out.log')).toMatch(/I got .*E_PERMISSION_DENIED: /);
    expect((await world.store.find(id))?.status).toBe('blocked');
  });
});
