/** What an OpenClaw gateway tells Baton, directly and through the plugin that is in the package. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Task } from '../../src/core/task.ts';
import { type ApiWorld, type Json, makeApiWorld, PERSON } from './api-world.ts';

const CLAWS = {
  agents: {
    claw: { kind: 'openclaw', url: 'http://127.0.0.1:1', args: ['swe-backend'] },
    other: { kind: 'openclaw', url: 'http://127.0.0.1:1', args: ['swe-other'] },
    lint: { kind: 'command', command: ['true'] },
  },
};
const KEY = 'agent:swe-backend:subagent:1234';
const envelope = {
  protocol: 'aof',
  version: 1,
  type: 'status.update',
  taskId: 'TASK-2026-01-01-001',
  fromAgent: 'boss',
};

const tell = (
  world: ApiWorld,
  type: string,
  event: object,
  context: object = {},
): Promise<{ status: number; body: Json }> => world.json('/v1/openclaw/events', { body: { type, event, context } });

/** A task that an agent runs in a session of the gateway. */
async function spawned(world: ApiWorld, agent: string, key: string, isWatched = true): Promise<Task> {
  const by = { kind: 'runtime', name: 'baton' } as const;
  const added = await world.store.send({
    message: { type: 'task.add', tasks: [{ title: 'x', routing: { agent } }] },
    by,
  });
  const id = added.kind === 'refused' ? '' : (added.tasks[0]?.id ?? '');
  const message = {
    type: 'task.claim',
    id,
    claimer: { agent },
    leaseMs: 60_000,
    ...(isWatched ? { supervisor: world.host.supervisor } : {}),
  } as const;
  const claimed = await world.store.send({ message, by });
  const task = claimed.kind === 'refused' ? undefined : claimed.tasks[0];
  if (!task?.run) throw new Error('it could not be claimed');
  const said = { type: 'note', event: 'run.conversation', task: id, run: task.run.id, detail: { id: key } } as const;
  await world.store.send({ message: said, by });
  return task;
}

test('messages that are ours go to the router, in each of their forms; talk does not', async () => {
  const world = await makeApiWorld({ config: CLAWS });
  const json = JSON.stringify(envelope);
  for (const event of [
    envelope,
    { payload: envelope },
    { content: envelope },
    { metadata: { payload: envelope } },
    { content: json },
  ])
    expect((await tell(world, 'message_received', event)).body).toMatchObject([{ result: 'accepted' }]);
  await tell(world, 'message_received', { content: `AOF/1 ${json}` });
  await tell(world, 'message_received', { content: `{"protocol":"aof","ver` });
  expect(world.taken.map(({ text }) => text)).toEqual([
    json,
    json,
    json,
    json,
    json,
    `AOF/1 ${json}`,
    '{"protocol":"aof","ver',
  ]);
  world.taken.length = 0;
  for (const content of [
    'hello',
    '#DELEGATE:emma:all of it:P0',
    '{"aop_version":"2.0","message_type":"TASK"}',
    `so: ${json}`,
    7,
    undefined,
  ])
    expect((await tell(world, 'message_received', { content })).body).toEqual([
      { result: 'ignored', reason: null, task: null, events: [] },
    ]);
  expect(world.taken).toEqual([]);
  expect((await tell(world, 'gateway_start', {})).status).toBe(422);
});

test('who speaks is who the gateway knows, never who the message says, and never the person', async () => {
  const world = await makeApiWorld({ config: CLAWS });
  const task = await spawned(world, 'claw', KEY);
  await tell(world, 'message_received', { payload: envelope }, { sessionKey: KEY });
  await tell(world, 'message_received', { payload: envelope }, { agentId: 'swe-other' });
  await tell(world, 'message_received', { payload: envelope }, { sessionKey: 'agent:swe-other:main' });
  await tell(world, 'message_received', { payload: envelope }, { agentId: 'lint' });
  await tell(world, 'message_received', { payload: envelope });
  expect(world.taken.map(({ sender }) => [sender.channel, sender.run, sender.agent, sender.actor.kind])).toEqual([
    ['openclaw', task.run?.id, 'claw', 'agent'],
    ['openclaw', null, 'other', 'agent'],
    ['openclaw', null, 'other', 'agent'],
    ['openclaw', null, 'openclaw:lint', 'agent'],
    ['openclaw', null, 'openclaw:unknown', 'agent'],
  ]);
});

test('the end of a session is the end of its own runs, and of no others', async () => {
  const world = await makeApiWorld({ config: CLAWS });
  const own = await spawned(world, 'claw', KEY);
  const other = await spawned(world, 'other', 'agent:swe-other:subagent:99');
  const result = (task: Task, run = task.run?.id) => ({
    taskId: task.id,
    runId: run,
    agentId: task.run?.agent,
    completedAt: '2026-11-16T00:00:00Z',
    outcome: 'done',
    deliverables: ['a.md'],
    summaryRef: 'outputs/summary.md',
  });
  const leave = async (task: Task, value: object): Promise<void> => {
    await mkdir(join(world.dir, 'runs', task.id), { recursive: true });
    await writeFile(join(world.dir, 'runs', task.id, 'run_result.json'), JSON.stringify(value));
  };
  expect((await tell(world, 'session_end', { sessionId: 'nobody' })).body).toMatchObject([{ result: 'ignored' }]);
  expect((await tell(world, 'session_end', { sessionKey: KEY })).body).toMatchObject([{ result: 'ignored' }]);
  await leave(own, result(own, `${own.id}-r7`));
  expect((await tell(world, 'session_end', { sessionKey: KEY })).body).toMatchObject([{ result: 'ignored' }]);
  expect(world.taken).toEqual([]);
  await leave(own, result(own));
  await leave(other, result(other));
  expect(
    (await tell(world, 'session_end', { sessionId: 'u', messageCount: 3 }, { sessionKey: KEY })).body,
  ).toMatchObject([{ result: 'accepted' }]);
  expect(world.taken).toHaveLength(1);
  const [{ text, sender } = { text: '', sender: null }] = world.taken;
  expect(sender).toMatchObject({ run: own.run?.id, agent: 'claw' });
  expect(JSON.parse(text.slice('AOF/1 '.length))).toMatchObject({
    type: 'completion.report',
    taskId: own.id,
    messageId: `session_end:${own.run?.id}`,
    payload: { outcome: 'done', deliverables: ['a.md'], taskId: own.id },
  });
});

test('told twice by the real router, the end of a session acts once; a run that was taken away is no longer its own', async () => {
  const world = await makeApiWorld({ config: CLAWS, real: true });
  const by = { kind: 'runtime', name: 'baton' } as const;
  // Nobody of ours watches over it: what its session left is all there will be.
  const task = await spawned(world, 'claw', KEY, false);
  const run = task.run?.id ?? '';
  await mkdir(join(world.dir, 'runs', task.id), { recursive: true });
  const completedAt = '2026-11-16T00:00:00Z';
  const result = {
    taskId: task.id,
    runId: run,
    agentId: 'claw',
    completedAt,
    outcome: 'blocked',
    blockers: ['no key'],
  };
  await writeFile(join(world.dir, 'runs', task.id, 'run_result.json'), JSON.stringify(result));
  const first = await tell(world, 'session_end', { sessionKey: KEY });
  expect(first.body, JSON.stringify(first.body)).toMatchObject([{ result: 'accepted', task: task.id }]);
  expect((await world.store.find(task.id))?.status).toBe('blocked');
  const records = await world.store.lastRecord();
  await tell(world, 'session_end', { sessionKey: KEY });
  expect(await world.store.lastRecord()).toBe(records);

  const other = await spawned(world, 'claw', 'agent:swe-backend:subagent:2');
  await mkdir(join(world.dir, 'runs', other.id), { recursive: true });
  await writeFile(
    join(world.dir, 'runs', other.id, 'run_result.json'),
    JSON.stringify({ ...result, taskId: other.id, runId: other.run?.id, outcome: 'done' }),
  );
  await world.store.send({ message: { type: 'task.move', id: other.id, to: 'ready' }, by });
  expect((await tell(world, 'session_end', { sessionKey: 'agent:swe-backend:subagent:2' })).body).toMatchObject([
    { result: 'ignored' },
  ]);
  expect((await world.store.find(other.id))?.status).toBe('ready');
});

test('the plugin tells of what may be ours and of ends, and a gateway never fails because of it', async () => {
  const world = await makeApiWorld({ config: CLAWS });
  await writeFile(join(world.root, 'token'), `${PERSON}\n`);
  const hooks = new Map<string, (event: object, context?: object) => void>();
  const warnings: string[] = [];
  const api = (config: object) => ({
    pluginConfig: config,
    logger: { warn: (text: string) => warnings.push(text) },
    on: (name: string, hook: (event: object, context?: object) => void) => hooks.set(name, hook),
  });
  const { default: plugin } = await import('../../docs/openclaw-plugin/index.mjs' as string);
  plugin.register(api({ url: world.listening.url, tokenFile: join(world.root, 'token') }));
  hooks.get('message_received')?.({ from: 'x', content: 'hello' }, { channelId: 'telegram' });
  hooks.get('message_received')?.(
    { from: 'x', content: `AOF/1 ${JSON.stringify(envelope)}` },
    { agentId: 'swe-other' },
  );
  hooks.get('session_end')?.({ sessionId: 'nobody', messageCount: 1 }, { sessionId: 'nobody' });
  await expect.poll(() => world.taken.length).toBe(1);
  expect(world.taken[0]?.sender.agent).toBe('other');
  expect(warnings).toEqual([]);
  plugin.register(api({ url: 'http://127.0.0.1:9', tokenFile: join(world.root, 'token') }));
  hooks.get('session_end')?.({ sessionId: 'nobody' });
  await expect.poll(() => warnings.join()).toContain('session_end could not be told');
});
