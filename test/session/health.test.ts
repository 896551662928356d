/** How a session is (§15), from what was handed to its agents, its state, its log and its beginning; and when to begin anew. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { EMMA, emma, REPORT_DONE } from '../runtime/small-agents.ts';
import { taskOf } from '../runtime/world.ts';
import { makeScene, type Scene } from './scene.ts';
import { SESSION } from './talk.ts';

let now = Date.now();
const setting = (tokens = 100_000): Promise<Scene> =>
  makeScene({ config: { ...EMMA, limits: { session_tokens: tokens } }, now: () => now });
/** What a run was handed, as the journal says it. */
async function handed({ store }: Scene, agent: string, tokens: number): Promise<void> {
  await store.send({
    message: {
      type: 'note',
      event: 'run.context',
      session: SESSION,
      detail: { agent, tokens, prompt: tokens, tool: 0 },
    },
    by: { kind: 'runtime', name: 'baton' },
  });
}

describe('#HEALTH:session', () => {
  test('is what the document shows', async () => {
    const scene = await setting();
    for (let i = 0; i < 12; i++) await scene.say(`#STATE:save:k${i}:v`);
    for (const line of ['#NO', '#STATE', '#VERSION', '#VERSION']) await scene.say(line);
    await handed(scene, 'emma', 45_000);
    await handed(scene, 'otto', 20_000);
    now = Date.now() + (2 * 60 + 15) * 60_000 + 500;
    expect((await scene.say('#HEALTH:session')).split('\n')).toEqual([
      '• Context: 45k/100k tokens (45%)',
      '• State: 12/20 keys (60%)',
      '• Errors: 2 in last 10 commands',
      '• Uptime: 2h 15m',
      '• Status: healthy',
    ]);
  });

  test('of a session that has not begun', async () => {
    const scene = await setting();
    expect(await scene.say('#HEALTH:session')).toBe(
      '• Context: 0/100k tokens (0%)\n• State: 0/20 keys (0%)\n• Errors: 0 in last 10 commands\n• Uptime: 0m\n• Status: healthy',
    );
  });

  test('warns when it is time for a new one, and says why', async () => {
    const scene = await setting();
    for (let i = 0; i < 20; i++) await scene.say(`#STATE:save:k${i}:v`);
    for (let i = 0; i < 5; i++) await scene.say('#NO');
    await handed(scene, 'emma', 82_000);
    const said = await scene.say('#HEALTH:session');
    expect(said).toContain('• Status: warning');
    expect(said).toMatch(/Advice: context over 80%.*\n.*Advice: state keys exhausted.*\n.*Advice: error rate high/);
  });

  test('counts what a real run was handed', async () => {
    const scene = await setting();
    emma(scene, 'cat > /dev/null', REPORT_DONE);
    await scene.run(taskOf(scene, { agent: 'emma', session: { session_id: SESSION } }));
    const said = await scene.say('#HEALTH:context');
    expect(said).toMatch(/^→ [1-9]\d*\/100k tokens \(\d+%\)$/);
    expect(await scene.say('#HEALTH:context', 'another')).toBe('→ 0/100k tokens (0%)');
  });
});

describe('#HEALTH:context', () => {
  test('exports what is critical when it is full, once', async () => {
    const scene = await setting();
    await scene.say('#STATE:save:design:hexagonal:persistent');
    await scene.say('#STATE:save:scratch:gone');
    await handed(scene, 'emma', 75_000);
    expect(await scene.say('#HEALTH:context')).toBe('→ 75k/100k tokens (75%)\n→ checkpoint soon');
    await handed(scene, 'emma', 17_000);
    const lines = (await scene.say('#HEALTH:context')).split('\n');
    expect(lines.slice(0, 3)).toEqual([
      '→ 92k/100k tokens (92%)',
      '→ auto-exporting...',
      '→ exported:2 critical items',
    ]);
    const file = (lines[3] ?? '').replace('→ file:', '');
    expect(existsSync(file)).toBe(true);
    const text = readFileSync(file, 'utf8');
    expect([text.includes('hexagonal'), text.includes('scratch')]).toEqual([true, false]);
    expect(await scene.say('#HEALTH:context')).toContain(`→ auto-exported:${file}`);
    // Its agent's next conversation is told of it.
    await scene.host.sums.ready();
    await scene.host.watch.caughtUp();
    expect(scene.host.sums.exported(SESSION, 'emma')).toBe(file);
  });
});
