/** Every entry of every list is reached from page to page, whatever the limit; and what a run says of its own task. */
import { afterEach, describe, expect, test } from 'vitest';
import { countTokens } from '../../src/cli/tokens.ts';
import { makeScene, type Scene } from './scene.ts';

const open: Scene[] = [];
afterEach(async () => {
  for (const scene of open.splice(0)) await scene.close();
});
const COMMAND = { kind: 'command', command: ['true'] };
async function setting(): Promise<Scene> {
  const scene = await makeScene({ git: true, config: { agents: { emma: COMMAND, bob: COMMAND } } });
  open.push(scene);
  return scene;
}

/** The entries of all pages, by following the command that each page ends with. */
async function allOf(at: Scene, line: string): Promise<string[]> {
  const entries: string[] = [];
  for (let next: string | undefined = line; next !== undefined; ) {
    const lines = (await at.say(next)).split('\n').map((one) => one.replace(/^• /, ''));
    const more = /^\+\d+ more → (#.+)$/.exec(lines.at(-1) ?? '');
    expect(lines.at(-1)).not.toMatch(/^\+\d+ more$/);
    entries.push(...(more === null ? lines : lines.slice(0, -1)));
    next = more?.[1];
    expect(entries.length).toBeLessThan(500);
  }
  return entries;
}

describe('lists', () => {
  test.each(['', ':detailed', ':brief', ':limit=40', ':limit=100'])('%s is paged to its end', async (size) => {
    const at = await setting();
    const keys = Array.from({ length: 20 }, (_, i) => `k${i}`);
    for (const key of keys) await at.say(`#STATE:save:${key}:v`);
    expect(await allOf(at, `#STATE:list${size}`)).toEqual(keys);
    const features = await allOf(at, `#VERSION:features${size}`);
    expect(features).toHaveLength(13);
    expect(new Set(features).size).toBe(13);
    for (let i = 0; i < 9; i++) await at.say(`#DELEGATE:emma:t${i}`);
    for (const topic of ['progress', 'tasks']) expect(await allOf(at, `#REPORT:emma:${topic}${size}`)).toHaveLength(9);
    expect(await allOf(at, '#NEXT')).toHaveLength(9);
  });

  test('checkpoints, the oldest too', async () => {
    const at = await setting();
    for (let i = 1; i <= 7; i++) await at.say(`#CHECKPOINT:create:manual:c${i}`);
    const ids = (await allOf(at, '#CHECKPOINT:list')).map((one) => one.slice(0, 6));
    expect(ids).toEqual([7, 6, 5, 4, 3, 2, 1].map((i) => `cp_00${i}`));
  });

  test('a larger limit shows more entries, and no limit is exceeded', async () => {
    const at = await setting();
    for (let i = 0; i < 20; i++) await at.say(`#STATE:save:k${i}:v`);
    const shown = async (size: string): Promise<number> => (await at.say(`#STATE:list${size}`)).split('\n').length - 1;
    expect(await shown('')).toBe(4);
    expect(await shown(':detailed')).toBeGreaterThan(4);
    expect(await shown(':limit=60')).toBeGreaterThan(await shown(':limit=30'));
    for (const limit of [3, 12, 25, 60, 100])
      expect(countTokens(await at.say(`#STATE:list:limit=${limit}`))).toBeLessThanOrEqual(limit);
    expect(await at.say('#STATE:list:from=21')).toBe('#ERROR:E002:expected from=1 to from=20');
  });
});

test('a run says that its own task needs another; it counts when the task starts again', async () => {
  const at = await setting();
  const first = /TASK-\S+/.exec(await at.say('#DELEGATE:emma:build the api'))?.[0] ?? '';
  const mine = await at.claimed('bob');
  const said = await at.as({ ...mine, actor: { kind: 'agent', name: 'bob' } }, '#DEPENDS:emma:build the api');
  expect(said).toBe(`ack:${mine.task.id} waits for ${first} when it starts again; now: #WAIT:${first}`);
  expect((await at.store.find(mine.task.id))?.dependsOn).toEqual([first]);
});

test.each(['<one sentence on what to do>', '{{TASK}}', '[TASK DESCRIPTION]'])('%s is no task', async (template) => {
  const at = await setting();
  expect(await at.say(`#DELEGATE:emma:${template}`)).toMatch(/^#ERROR:E002:/);
  expect(await at.tasks()).toEqual([]);
});
