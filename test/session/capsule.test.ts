/** What a session of one vendor's agent had come to starts a session of another's: claude works, its session is exported, codex goes on from it. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Task } from '../../src/core/task.ts';
import { workOn } from '../../src/runtime/scheduler.ts';
import { found } from '../agents/kit.ts';
import { type MockModel, startMockModel } from '../real/mock-model.mjs';
import { makeWorld, reportText } from '../runtime/world.ts';
import { type Scene, sceneOf } from './scene.ts';

const REAL = join(import.meta.dirname, '../real/node_modules/.bin');
const missing = (['claude', 'codex'] as const).filter((kind) => found(kind) === null);
if (missing.length > 0) {
  console.warn(`\n!!! NOT TESTED, for there is no ${missing.join(' and no ')}: npm ci in test/real installs them\n`);
  test.runIf(process.env['BATON_REAL'] === 'require')('the real programs are here', () => {
    expect(missing).toEqual([]);
  });
}

const models: MockModel[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const model of models.splice(0)) await model.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const provider = (url: string): string =>
  `model_providers.mock={name="mock",base_url="${url}/v1",env_key="MOCK_API_KEY",wire_api="responses",` +
  'request_max_retries=1,stream_max_retries=1,stream_idle_timeout_ms=20000}';

async function stage(): Promise<{ readonly scene: Scene; bodies(): readonly string[] }> {
  const bodies = realpathSync(mkdtempSync(join(tmpdir(), 'baton-bodies-')));
  folders.push(bodies);
  const step = (content: string): object => ({ tools: [{ do: 'write', path: content, content: 'done\n' }] });
  const model = await startMockModel({
    scripts: {
      first: { steps: [step('first.txt'), { text: `Done.\n\n${reportText()}\n` }] },
      second: { steps: [step('second.txt'), { text: `Done.\n\n${reportText()}\n` }] },
    },
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
        claude: { kind: 'claude', model: 'claude-sonnet-4-5' },
        codex: {
          kind: 'codex',
          model: 'gpt-5.5',
          args: ['-c', 'model_provider="mock"', '-c', provider(`${model.url}/s/second`)],
        },
      },
      defaults: { sandbox: 'auto' },
    },
    environment: {
      PATH: `${REAL}:${process.env['PATH']}`,
      ANTHROPIC_BASE_URL: `${model.url}/s/first`,
      ANTHROPIC_API_KEY: 'x',
      MOCK_API_KEY: 'x',
      TMPDIR: join(root, 'tmp'),
    },
  });
  const all = (): readonly string[] => readdirSync(bodies).map((file) => readFileSync(join(bodies, file), 'utf8'));
  return { scene: sceneOf(world), bodies: all };
}

async function work(scene: Scene, reply: string): Promise<Task> {
  const id = reply.replace(/^ack:/, '');
  const leaving = new AbortController().signal;
  await workOn(scene.host, { only: [id], parallel: 1, untilEmpty: true, leaving });
  return (await scene.store.find(id)) as Task;
}

describe.skipIf(missing.length > 0)('two real programs', () => {
  test('codex goes on from what claude had come to', async () => {
    const { scene, bodies } = await stage();
    await scene.say('#STATE:save:architecture:PERSIMMON ports and adapters:persistent', 'ctx_claude');
    await scene.say('#STATE:save:scratch:QUINCE only here', 'ctx_claude');
    const first = await work(scene, await scene.say('#DELEGATE:claude:write the first file', 'ctx_claude'));
    expect([first.status, first.run?.agent, scene.read('first.txt')]).toEqual(['done', 'claude', 'done\n']);
    // The role that claude had sees what was saved.
    expect(bodies().some((body) => body.includes('PERSIMMON'))).toBe(true);
    await scene.say('#DELEGATE:claude:write the second file:P3', 'ctx_claude');
    expect(await scene.say('#CONTEXT:export:./context/final.ctx', 'ctx_claude')).toMatch(/^exported:4 items/);

    const before = bodies().length;
    expect(await scene.say('#CONTEXT:import:./context/final.ctx', 'ctx_codex')).toMatch(
      /imported:2 items[\s\S]*→ here already:1/,
    );
    const second = await work(scene, await scene.say('#DELEGATE:codex:go on with the second file', 'ctx_codex'));
    expect([second.status, second.run?.agent, scene.read('second.txt')]).toEqual(['done', 'codex', 'done\n']);
    const asked = bodies().filter((body) => body.includes('go on with the second file'));
    expect(bodies().length).toBeGreaterThan(before);
    const [prompt = ''] = asked;
    expect(prompt).toContain('architecture: PERSIMMON ports and adapters');
    expect(prompt).toContain('This session goes on from the session ctx_claude');
    expect(prompt).toContain(`${first.id}: - It is made.`);
    expect(prompt).toContain('context/final.ctx');
    expect(prompt).not.toContain('QUINCE');
  });
});
