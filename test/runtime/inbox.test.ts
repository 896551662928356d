/** Files in the inbox that are in the way: none keeps the others waiting, and none is lost. */
import { mkdirSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Host } from '../../src/runtime/host.ts';
import { watchInbox } from '../../src/runtime/inbox.ts';
import { aof } from './messages.ts';
import { EMMA } from './small-agents.ts';
import { makeWorld, taskOf, until, type World } from './world.ts';

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

test('nor does one that is a part of another task, or that has a mistake in it; what the mistake cost is recorded', async () => {
  const world = await makeWorld({ config: EMMA });
  const { id, put, at } = await inboxOf(world);
  const dropped = (task: object, more: object = {}): string => {
    const message = taskOf(world, { agent: 'emma' });
    return JSON.stringify({ ...message, ...more, task: { ...message.task, ...task } });
  };
  const full = { access: { network: 'FULL' } };
  put('child.json', dropped({ parent_task_id: id, ...full }));
  put('broken.json', dropped({ priority: 'HIHG', ...full }));
  put('elsewhere.json', dropped({ priority: 'HIHG', environment: { workspace_root: world.home } }));
  put('usual.json', dropped({ priority: 'HIHG', expected_outputs: [{ path: 'out.txt' }], task_id: 'T-USUAL' }));
  await look(world.host, at);
  expect(readdirSync(join(at, 'done'))).toEqual(['usual.json']);
  const reason = (name: string): string => readFileSync(join(at, 'rejected', `${name}.json.reason`), 'utf8');
  for (const name of ['child', 'broken']) expect(reason(name)).toContain('network FULL, and a file in the inbox');
  expect(reason('elsewhere')).toContain(world.home);
  const made = await world.store.find('T-USUAL', 'test-session');
  const events = (await world.store.history(made?.id ?? '')).flatMap((record) => record.events);
  expect(events.find(({ type }) => type === 'protocol.version.fallback')?.detail).toMatchObject({
    lost: ['/task/priority'],
  });
  const kept = JSON.parse((await world.store.text(made?.id ?? '', 'inputs/task.json')) ?? '{}');
  expect(kept.task.expected_outputs).toMatchObject([{ path: 'out.txt' }]);
});

test('who watches the folder of what was refused sees whole files only', async () => {
  const world = await makeWorld({ config: EMMA });
  const { put, at } = await inboxOf(world);
  mkdirSync(join(at, 'rejected'));
  const seen = new Set<string | null>();
  const watcher = watch(join(at, 'rejected'), (_, name) => void seen.add(name));
  put('prose.txt', 'hello');
  await look(world.host, at);
  await until('the reason is seen', () => seen.has('prose.txt.reason'));
  watcher.close();
  expect([...seen].sort()).toEqual(['prose.txt', 'prose.txt.reason']);
  expect(readdirSync(at).sort()).toEqual(['rejected']);
});
