/** The door: what an agent may ask for, in the process and over its run's own socket, with a real store and real runs. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Task } from '../../src/core/task.ts';
import { openDoor } from '../../src/runtime/door.ts';
import { connectDoor } from '../../src/runtime/door-client.ts';
import { CALL_START, createSplitter } from '../../src/runtime/door-wire.ts';
import type { Door, Sender } from '../../src/runtime/doors.ts';
import type { Ear } from '../../src/runtime/live-runs.ts';
import { openRunSocket } from '../../src/runtime/run-socket.ts';
import { aof, as, ofRun, USER } from './messages.ts';
import { emma, EMMA as ONLY_EMMA } from './small-agents.ts';
import { makeWorld, reportText, taskOf, until, type World } from './world.ts';

const EMMA = { ...ONLY_EMMA, agents: { ...ONLY_EMMA.agents, qa: { kind: 'command', command: ['qa'] } } };

const folders: string[] = [];
const undo: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const action of undo.splice(0)) await action();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

async function held(
  world: World,
  ear?: Partial<Ear>,
): Promise<{ task: Task; run: string; door: Door; heard: string[] }> {
  const { store, host } = world;
  const [added] = await world.add(taskOf(world, { agent: 'emma', objective: 'Make it so.' }));
  const message = { type: 'task.claim' as const, id: added?.id as string, claimer: { agent: 'emma' }, leaseMs: 60_000 };
  const answer = await store.send({ message, by: { kind: 'runtime', name: 'baton' } });
  if (answer.kind === 'refused') throw new Error(answer.refusal.message);
  const task = answer.tasks[0] as Task;
  const run = task.run?.id as string;
  const heard: string[] = [];
  host.runs.add(run, {
    hear(said) {
      heard.push(`${said.dialect} ${said.kind}`);
      return { result: 'accepted', reason: null };
    },
    end: () => {},
    ...ear,
  });
  return { task, run, door: openDoor({ ...host, sender: ofRun(run, 'emma') }), heard };
}

const doorOf = (world: World, sender: Sender): Door => openDoor({ ...world.host, sender });

describe('of a run', () => {
  test('a task is a child of its own, in its place and with its access', async () => {
    const world = await makeWorld({ config: EMMA });
    const { task, door } = await held(world);
    const child = await door.create({ title: 'A part', body: 'Do the part.', agent: 'emma', priority: 'high' });
    expect(child).toMatchObject({
      parentId: task.id,
      depth: 1,
      agent: 'emma',
      priority: 'high',
      session: task.session,
    });
    const envelope = JSON.parse((await world.store.text(child.id, 'inputs/task.json')) ?? '') as object;
    expect(envelope).toMatchObject({ task: { task_id: child.id, environment: { workspace_root: world.workspace } } });
    await expect(door.create({ title: 'x', dependsOn: ['TASK-2020-01-01-001'] })).rejects.toMatchObject({
      code: 'E_NOT_FOUND',
    });
  });

  test('it sees and touches its own task and its children, and nothing else', async () => {
    const world = await makeWorld({ config: EMMA });
    const { task, door } = await held(world);
    const other = await held(world);
    const child = await door.create({ title: 'A part', agent: 'qa' });
    expect((await door.list({})).map(({ id }) => id)).toEqual([task.id, child.id]);
    const foreign = { taskId: other.task.id };
    await expect(door.update({ ...foreign, notes: 'hello' })).rejects.toMatchObject({ code: 'E_PERMISSION_DENIED' });
    await expect(door.complete({ ...foreign, outcome: 'done' })).rejects.toMatchObject({ code: 'E_PERMISSION_DENIED' });
    await expect(
      door.handoff({ toAgent: 'qa', acceptanceCriteria: [], parentTaskId: other.task.id }),
    ).rejects.toMatchObject({ code: 'E_PERMISSION_DENIED' });
    await expect(door.wait({ taskIds: [other.task.id] })).rejects.toMatchObject({ code: 'E_PERMISSION_DENIED' });
    await expect(door.create({ title: 'x', parentId: other.task.id })).rejects.toMatchObject({
      code: 'E_PERMISSION_DENIED',
    });
    await expect(door.update({ taskId: 'TASK-2020-01-01-001', notes: 'x' })).rejects.toMatchObject({
      code: 'E_NOT_FOUND',
    });
    // Those that the router never hears of are written down all the same.
    const refused: unknown[] = [];
    for await (const { events } of world.store.eventsAfter({ after: 0 })) {
      for (const { type, detail } of events) {
        if (type === 'protocol.message.rejected') refused.push([detail?.['type'], detail?.['code']]);
      }
    }
    expect(refused).toContainEqual(['task.wait', 'E_PERMISSION_DENIED']);
    expect(refused).toContainEqual(['status.update', 'E_NOT_FOUND']);
    // The child is another's to speak of.
    await expect(door.complete({ taskId: child.id, outcome: 'done' })).rejects.toMatchObject({
      code: 'E_PERMISSION_DENIED',
    });
  });

  test('news and claims', async () => {
    const world = await makeWorld({ config: EMMA });
    const { task, door, heard } = await held(world);
    expect(await door.update({ progress: 'half' })).toMatchObject({ id: task.id, status: 'in-progress' });
    expect(await world.store.text(task.id, 'body')).toContain('emma: half');
    expect(await door.complete({ outcome: 'done', summary: 'Made it.', deliverables: ['a.txt'] })).toMatchObject({
      status: 'in-progress',
    });
    expect(await door.report({ status: 'success', summary: 'Made it.' })).toEqual({ accepted: true, reason: null });
    expect(heard).toEqual(['aof status.update', 'aof completion.report', 'aop1 report']);
    expect(await door.report({ status: 'success', summary: 'x'.repeat(601) })).toMatchObject({ accepted: false });
    await expect(door.update({})).rejects.toMatchObject({ code: 'E_SCHEMA_VALIDATION' });
    await expect(door.update({ notes: 'x'.repeat(10_001) })).rejects.toMatchObject({ code: 'E_SCHEMA_VALIDATION' });
  });

  test('a handoff, with its title', async () => {
    const world = await makeWorld({ config: EMMA });
    const { task, door } = await held(world);
    const child = await door.handoff({
      toAgent: 'qa',
      title: 'Look at it',
      acceptanceCriteria: ['it is fine'],
      expectedOutputs: ['r.md'],
    });
    expect(child).toMatchObject({ title: 'Look at it', agent: 'qa', parentId: task.id });
    await expect(door.handoff({ toAgent: 'emma', acceptanceCriteria: [] })).rejects.toMatchObject({
      code: 'E_PERMISSION_DENIED',
    });
    await expect(door.handoff({ toAgent: 'qa', acceptanceCriteria: [], dueBy: 'soon' })).rejects.toMatchObject({
      code: 'E_SCHEMA_VALIDATION',
    });
  });

  test('its context, within the bound', async () => {
    const world = await makeWorld({ config: EMMA });
    const { door } = await held(world);
    await door.create({ title: 'A part of it' });
    const text = await door.context({});
    expect(text).toContain('Make it so.');
    expect(text).toContain('A part of it');
    for (const maxChars of [40, 100, 200])
      expect((await door.context({ maxChars })).length).toBeLessThanOrEqual(maxChars);
  });

  test('what a handoff refers to is found wherever its task has moved to, and not in another session', async () => {
    const world = await makeWorld({ config: EMMA });
    const { task, door } = await held(world);
    const [foreign] = await world.add(
      taskOf(world, { agent: 'emma', objective: 'a secret', session: { session_id: 'another' } }),
    );
    const refs = [
      `tasks/ready/${task.id}.md`,
      `tasks/ready/${task.id}/outputs/handoff.md`,
      `tasks/ready/${task.id}/outputs/pipe`,
      `tasks/ready/${task.id}/outputs/link`,
      `tasks/ready/${task.id}/../../x`,
      `tasks/ready/${foreign?.id}.md`,
    ];
    const child = await door.handoff({ toAgent: 'qa', acceptanceCriteria: ['fine'], contextRefs: refs });
    await world.store.settled();
    world.write(join(world.dir, 'tasks/in-progress', task.id, 'outputs/handoff.md'), 'mind the gap');
    const outputs = join(world.dir, 'tasks/in-progress', task.id, 'outputs');
    // Nobody ever writes there, and the other one is not in the task's folder under this name.
    execFileSync('mkfifo', [join(outputs, 'pipe')]);
    symlinkSync('handoff.md', join(outputs, 'link'));
    const claim = { type: 'task.claim' as const, id: child.id, claimer: { agent: 'qa' }, leaseMs: 60_000 };
    const claimed = await world.store.send({ message: claim, by: { kind: 'runtime', name: 'baton' } });
    const run = claimed.kind === 'refused' ? '' : (claimed.tasks[0]?.run?.id as string);
    const text = await doorOf(world, ofRun(run, 'qa')).context({});
    expect(text).toContain('mind the gap');
    expect(text).toContain(`## Context: tasks/ready/${task.id}.md\n\nMake it so.`);
    expect(text).not.toContain('a secret');
    expect(text).not.toMatch(/Context: .*outputs\/(pipe|link)/);
  });

  test('waiting: until one has ended, changed, or the time is over', async () => {
    const world = await makeWorld({ config: EMMA });
    const { door } = await held(world);
    const [one, two] = [await door.create({ title: 'one' }), await door.create({ title: 'two' })];
    expect((await door.wait({ taskIds: [one.id], timeoutMs: 30 })).map(({ status }) => status)).toEqual(['ready']);
    const waiting = door.wait({ taskIds: [one.id, two.id], timeoutMs: 20_000 });
    await world.store.send({ message: { type: 'task.cancel', id: two.id }, by: USER.actor });
    expect((await waiting).map(({ status }) => status)).toEqual(['ready', 'cancelled']);
    expect(await door.wait({ taskIds: [two.id] })).toMatchObject([{ status: 'cancelled' }]);
  });

  test('it ends with the run', async () => {
    const world = await makeWorld({ config: EMMA });
    const { task, door } = await held(world);
    await world.store.send({ message: { type: 'task.move', id: task.id, to: 'ready' }, by: USER.actor });
    const calls = [
      () => door.create({ title: 'x' }),
      () => door.update({ notes: 'x' }),
      () => door.list({}),
      () => door.context({}),
    ];
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ code: 'E_STALE_RUN' });
    }
  });
});

test('a person: any task; a task without a parent; no report and no context', async () => {
  const world = await makeWorld({ config: EMMA });
  const { task } = await held(world);
  const door = doorOf(world, USER);
  expect(await door.create({ title: 'By hand' })).toMatchObject({ parentId: null, createdBy: 'user' });
  expect((await door.list({ limit: 1 })).length).toBe(1);
  expect((await door.list({ status: ['ready'] })).map(({ title }) => title)).toEqual(['By hand']);
  expect(await door.update({ taskId: task.id, notes: 'seen' })).toMatchObject({ id: task.id });
  await expect(door.update({ notes: 'x' })).rejects.toMatchObject({ code: 'E_USAGE' });
  await expect(door.report({ status: 'success', summary: 's' })).rejects.toMatchObject({ code: 'E_USAGE' });
  await expect(doorOf(world, as('qa')).update({ taskId: task.id, notes: 'x' })).rejects.toMatchObject({
    code: 'E_PERMISSION_DENIED',
  });
});

describe('over the socket', () => {
  async function opened(world: World) {
    const { task, run, door } = await held(world);
    const folder = mkdtempSync(join(tmpdir(), 'baton-s-'));
    folders.push(folder);
    let signs = 0;
    const socket = await openRunSocket(folder, {
      take: (found) => world.host.router.message(found, ofRun(run, 'emma')),
      door,
      onSign: () => void signs++,
    });
    undo.push(() => socket.close());
    return { task, path: socket.path, socket, signs: () => signs };
  }

  /** Writes pieces and reads all that is answered. */
  const talk = (path: string, ...pieces: readonly (string | Buffer)[]): Promise<Record<string, unknown>[]> =>
    new Promise((resolve, reject) => {
      let said = '';
      const socket = createConnection({ path, allowHalfOpen: true });
      socket.on('data', (chunk) => (said += String(chunk)));
      socket.on('error', reject);
      socket.on('end', () =>
        resolve(
          said
            .split('\n')
            .filter(Boolean)
            .map((line) => JSON.parse(line) as Record<string, unknown>),
        ),
      );
      socket.on('connect', async () => {
        for (const piece of pieces) {
          socket.write(piece);
          await new Promise((next) => setImmediate(next));
        }
        socket.end();
      });
    });

  test('the same door, by calls', async () => {
    const world = await makeWorld({ config: EMMA });
    const { task, path, signs } = await opened(world);
    const door = await connectDoor(path);
    undo.push(() => door.close());
    const child = await door.create({ title: 'A part' });
    expect(child).toMatchObject({ parentId: task.id });
    expect(await door.message({ text: aof('status.update', task.id, { progress: 'half' }) })).toMatchObject([
      { result: 'accepted' },
    ]);
    await expect(door.update({ taskId: 'TASK-2020-01-01-001', notes: 'x' })).rejects.toMatchObject({
      code: 'E_NOT_FOUND',
    });
    const wrong = [
      [{ title: 'x', priority: 'soon' }, 'create: expected one of critical high normal low, got "soon", at /priority'],
      [{ title: 'x'.repeat(501) }, 'create: expected at most 500 characters'],
      [{ title: 'x', status: 'done' }, 'create: unknown field "status", at /status'],
    ] as const;
    for (const [ask, message] of wrong) {
      await expect(door.create(ask as never)).rejects.toThrow(message);
    }
    // A long wait does not hold up what comes after it.
    const waiting = door.wait({ taskIds: [child.id], timeoutMs: 20_000 });
    expect(await door.list({})).toHaveLength(2);
    await world.store.send({ message: { type: 'task.cancel', id: child.id }, by: USER.actor });
    expect(await waiting).toMatchObject([{ status: 'cancelled' }]);
    expect(signs()).toBeGreaterThan(3);
  });

  test('a socket that closes fails what waits there', async () => {
    const world = await makeWorld({ config: EMMA });
    const { task, path, socket } = await opened(world);
    const door = await connectDoor(path);
    const waiting = door.wait({ taskIds: [task.id], timeoutMs: 20_000 });
    const failed = expect(waiting).rejects.toMatchObject({ code: 'E_STALE_RUN' });
    await socket.close();
    await failed;
    await expect(door.list({})).rejects.toMatchObject({ code: 'E_STALE_RUN' });
    await expect(connectDoor(path)).rejects.toMatchObject({ code: 'E_STALE_RUN' });
  });

  test('who does not read the answers is not asked on, and has them all in the end', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'baton-s-'));
    folders.push(folder);
    let called = 0;
    const context = async (): Promise<string> => `${++called} ${'x'.repeat(100_000)}`;
    const socket = await openRunSocket(folder, {
      take: async () => ({ result: 'ignored', reason: null }) as never,
      door: { context } as unknown as Door,
      onSign: () => {},
    });
    undo.push(() => socket.close());
    const client = createConnection({ path: socket.path });
    client.pause();
    const asked = 1_000;
    const lines = Array.from({ length: asked }, (_, id) => `${CALL_START}"id":${id},"call":"context","args":{}}\n`);
    client.write(lines.join(''));
    const deadline = Date.now() + 1_000;
    while (Date.now() < deadline && called < asked) await new Promise((next) => setTimeout(next, 20));
    expect(called).toBeGreaterThan(5);
    expect(called).toBeLessThan(200);
    let answered = 0;
    client.on('data', (chunk) => (answered += String(chunk).split('\n').length - 1));
    client.resume();
    await until('all are answered', () => answered === asked);
    client.destroy();
  });

  test('messages, calls and prose on one connection, cut anywhere', async () => {
    const world = await makeWorld({ config: EMMA });
    const { task, path } = await opened(world);
    const text = [
      'some words first',
      aof('status.update', task.id, { notes: 'größer' }),
      `${CALL_START}"id":1,"call":"list","args":{}}`,
      JSON.stringify(JSON.parse(aof('status.update', task.id, { notes: 'over lines' })), null, 2),
      `${CALL_START}"id":2,"call":"nothing","args":{}}`,
      `${CALL_START}"id":3,"call":"create","args":{"title":7}}`,
      `${CALL_START}not JSON at all`,
      '',
    ].join('\n');
    const bytes = Buffer.from(text);
    const answers = await talk(
      path,
      ...Array.from({ length: Math.ceil(bytes.length / 7) }, (_, i) => bytes.subarray(i * 7, i * 7 + 7)),
    );
    expect(answers.filter((answer) => answer['result'] === 'accepted')).toHaveLength(2);
    expect(answers.find(({ id }) => id === 1)?.['result']).toMatchObject([{ id: task.id }]);
    expect(answers.find(({ id }) => id === 2)).toMatchObject({ error: { code: 'E_NOT_FOUND' } });
    expect(answers.find(({ id }) => id === 3)).toMatchObject({ error: { code: 'E_SCHEMA_VALIDATION' } });
    expect(answers.find(({ id }) => id === null)).toMatchObject({ error: { code: 'E_SCHEMA_VALIDATION' } });
    expect(await world.store.text(task.id, 'body')).toContain('größer');
  });

  test('prose alone is ignored, and answered so', async () => {
    const world = await makeWorld({ config: EMMA });
    const { path } = await opened(world);
    expect(await talk(path, 'hello\n')).toMatchObject([{ result: 'ignored' }]);
  });
});

test('the splitter: text passes as it comes, calls come whole', () => {
  const said: string[] = [];
  const splitter = createSplitter({
    text: (piece) => said.push(`text ${piece}`),
    call: (line) => said.push(`call ${line}`),
    tooLong: () => said.push('too long'),
  });
  for (const piece of ['{"ba', 'ton":1,"id":1}\n{"bat', '": 2}\nplain', ' words\n', '{"baton":1,x'])
    splitter.feed(Buffer.from(piece));
  splitter.end();
  expect(said).toEqual([
    'call {"baton":1,"id":1}',
    'text {"bat": 2}\n',
    'text plain',
    'text  words\n',
    'call {"baton":1,x',
  ]);
});

test('a real run: what it says on its socket acts at once, and its claim when it ends', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(
    world,
    `cat > talk.cjs <<'EOF'
const { createConnection } = require('node:net');
const { writeFileSync } = require('node:fs');
const socket = createConnection(process.env.BATON_SOCKET);
const id = process.env.BATON_TASK_ID;
const said = (type, payload) => socket.write(JSON.stringify({ protocol: 'aof', version: 1, type, taskId: id, fromAgent: 'emma', sentAt: '2026-11-16T10:00:00Z', payload }) + '\\n');
said('status.update', { progress: 'begun' });
said('completion.report', { outcome: 'partial', notes: 'half of it' });
socket.write('{"baton":1,"id":1,"call":"create","args":{"title":"the other half","agent":"qa"}}\\n');
let text = '';
socket.on('data', (data) => { text += data; if (text.split('\\n').length > 3) socket.end(); });
socket.on('close', () => writeFileSync('answers', text));
EOF`,
    `${process.execPath} talk.cjs`,
  );
  const { task, told } = await world.run(taskOf(world, { agent: 'emma' }), { leaving: AbortSignal.timeout(20_000) });
  expect(task).toMatchObject({ status: 'review', summary: 'half of it', run: { outcome: 'partial' } });
  expect(told('protocol.message.received').map(({ type }) => type)).toEqual(['status.update', 'completion.report']);
  expect(await world.store.text(task.id, 'body')).toContain('begun');
  const lines = (world.read('answers') ?? '')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.map((line) => line['result'])).toContain('accepted');
  const children: string[] = [];
  for await (const other of world.store.tasks()) if (other.parentId === task.id) children.push(other.title);
  expect(children).toEqual(['the other half']);
});

test('a real run that speaks of another task, or that tries to be another, is refused and that is written down', async () => {
  const world = await makeWorld({ config: EMMA });
  const [victim] = await world.add(taskOf(world, { agent: 'qa' }));
  emma(
    world,
    `cat <<'SAID'\n${aof('completion.report', victim?.id as string, { outcome: 'done' }, { fromAgent: 'qa' })}\nSAID`,
    `cat <<'SAID'\n${reportText()}\nSAID`,
  );
  const { task, told } = await world.run(taskOf(world, { agent: 'emma' }));
  expect(task.status).toBe('done');
  expect((await world.store.find(victim?.id as string))?.status).toBe('ready');
  expect(told('protocol.message.rejected')).toEqual([]);
  const events = (await world.store.history(victim?.id as string)).flatMap((record) => record.events);
  expect(events.find(({ type }) => type === 'protocol.message.rejected')?.detail).toMatchObject({
    channel: 'stdout',
    agent: 'emma',
    code: 'E_PERMISSION_DENIED',
  });
});
