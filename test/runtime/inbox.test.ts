/** Files in the inbox that are in the way: none keeps the others waiting, and none is lost. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Host } from '../../src/runtime/host.ts';
import { watchInbox } from '../../src/runtime/inbox.ts';
import { aof } from './messages.ts';
import { EMMA } from './small-agents.ts';
import { makeWorld, taskOf, type World } from './world.ts';

async function inboxOf(world: World): Promise<{ id: string; put: (path: string, text: string) => void; at: string }> {
  const [task] = await world.add(taskOf(world, { agent: 'emma', objective: 'Make it so.' }));
  const at = join(world.dir, 'inbox');
  mkdirSync(at, { recursive: true });
  const put = (path: string, text: string): void => writeFileSync(join(at, path), text);
  return { id: task?.id as string, put, at };
}

/** Until nothing is left in it; a file that has just come is let be for a moment. */
async function look(host: Host, at: string): Promise<void> {
  const inbox = await watchInbox(host);
  const isLeft = (): boolean => readdirSync(at).some((name) => name !== 'done' && name !== 'rejected');
  for (const end = Date.now() + 10_000; isLeft() && Date.now() < end; await sleep(20)) await inbox.look();
  await inbox.close();
}

test('neither a long name nor what a crash has left keeps the others waiting', async () => {
  const world = await makeWorld({ config: EMMA });
  const { id, put, at } = await inboxOf(world);
  const long = 'a'.repeat(250);
  put(`${long}.json`, aof('status.update', id, { notes: 'of a long name' }));
  put(`${long}.txt`, 'hello');
  put('z.json', aof('status.update', id, { notes: 'after it' }));
  // Taken by a Baton that is gone: when it came, and so who sent it, is not known any more.
  mkdirSync(join(at, '.4194303.x'));
  put('.4194303.x/left.json', aof('status.update', id, { status: 'blocked', reason: 'x' }));
  await look(world.host, at);
  expect(readdirSync(at).sort()).toEqual(['done', 'rejected']);
  expect(readdirSync(join(at, 'done'))).toHaveLength(2);
  expect(readdirSync(join(at, 'rejected'))).toHaveLength(4);
  expect(readFileSync(join(at, 'rejected/left.json.reason'), 'utf8')).toMatch(/^rejected: /);
  expect(await world.store.text(id, 'body')).toMatch(/of a long name[\s\S]*after it/);
});

test('what could not be routed is tried again, and refused when that does not help', async () => {
  const world = await makeWorld({ config: EMMA });
  const { id, put, at } = await inboxOf(world);
  let failing = 1;
  const router: Host['router'] = {
    ...world.host.router,
    async take(bytes, sender) {
      if (failing-- > 0) throw new Error('no room on the disk');
      return world.host.router.take(bytes, sender);
    },
  };
  put('a.json', aof('status.update', id, { notes: 'said twice' }));
  await look({ ...world.host, router }, at);
  expect(readdirSync(join(at, 'done'))).toEqual(['a.json']);
  expect(await world.store.text(id, 'body')).toContain('said twice');
  failing = 100;
  put('b.json', aof('status.update', id, { notes: 'in vain' }));
  await look({ ...world.host, router }, at);
  expect(readFileSync(join(at, 'rejected/b.json.reason'), 'utf8')).toBe('it could not be taken: no room on the disk\n');
  expect(readdirSync(at).sort()).toEqual(['done', 'rejected']);
});

test('a TASK in a file gets at most the access that a task without a word about it has', async () => {
  const world = await makeWorld({ config: EMMA });
  const { put, at } = await inboxOf(world);
  const dropped = (access: object): string => JSON.stringify(taskOf(world, { agent: 'emma', task: { access } }));
  put('network.json', dropped({ network: 'FULL' }));
  put('home.json', dropped({ filesystem: { write_paths: [world.home] } }));
  put('passwords.json', dropped({ filesystem: { read_paths: ['/etc'], write_paths: [] } }));
  put('above.json', dropped({ filesystem: { write_paths: ['../home'] } }));
  put('usual.json', dropped({ network: 'NONE', filesystem: { write_paths: ['src'] } }));
  await look(world.host, at);
  expect(readdirSync(join(at, 'done'))).toEqual(['usual.json']);
  expect(readFileSync(join(at, 'rejected/network.json.reason'), 'utf8')).toContain(
    'network FULL, and a file in the inbox',
  );
  expect(readFileSync(join(at, 'rejected/home.json.reason'), 'utf8')).toContain(world.home);
  expect(readdirSync(join(at, 'rejected')).filter((name) => name.endsWith('.json'))).toHaveLength(4);
});
