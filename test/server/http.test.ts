/** The HTTP API on a real port, asked with real requests. */
import { link, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import type { Task } from '../../src/core/task.ts';
import type { Peer } from '../../src/process/peer.ts';
import { type ApiWorld, type Body, type Json, listenTo, makeApiWorld, PERSON } from './api-world.ts';

const add = async (world: ApiWorld, body: object): Promise<Json> => {
  const made = await world.json('/v1/tasks', { body });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body;
};

/** A task with a run under way, as the scheduler would begin it. */
async function withRun(
  world: ApiWorld,
  body: object = { title: 'Fix it', agent: 'emma', write: ['here'] },
): Promise<Task> {
  const { id } = await add(world, body);
  const answer = await world.store.send({
    message: {
      type: 'task.claim',
      id,
      claimer: { agent: 'emma', any: true },
      leaseMs: 60_000,
      supervisor: world.host.supervisor,
    },
    by: { kind: 'runtime', name: 'baton' },
  });
  if (answer.kind !== 'changed' || answer.tasks[0] === undefined) throw new Error(JSON.stringify(answer));
  return answer.tasks[0];
}

const tokenOf = (world: ApiWorld, task: Task): string =>
  world.tokens.open({ id: task.run?.id ?? '', task: task.id, agent: 'emma' });

/** With headers that fetch does not let us set. */
const raw = (world: ApiWorld, headers: Record<string, string>, path = '/healthz'): Promise<number> =>
  new Promise((resolve, reject) => {
    request({ port: world.listening.port, host: '127.0.0.1', path, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });

/** A reader that costs little: the ids of what it was told, in the order in which it was. */
const sequence = (world: ApiWorld): Promise<{ readonly ids: string[]; stop(): void }> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${PERSON}` };
    const asked = request({
      port: world.listening.port,
      host: '127.0.0.1',
      path: '/v1/events?after=0',
      headers,
      agent: false,
    });
    asked.on('error', reject).on('response', (response) => {
      const ids: string[] = [];
      let held = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        const frames = (held + text).split('\n\n');
        held = frames.pop() ?? '';
        for (const frame of frames) if (frame.includes('\ndata: ')) ids.push(/^id: (\S+)/m.exec(frame)?.[1] ?? '');
      });
      resolve({ ids, stop: () => asked.destroy() });
    });
    asked.end();
  });

describe('tasks', () => {
  test('one is made, listed, shown, edited, moved, retried, cancelled and explained', async () => {
    const world = await makeApiWorld();
    const made = await add(world, {
      title: 'Fix the form',
      body: 'All of it',
      priority: 'high',
      agent: 'emma',
      session: 's',
    });
    expect(made).toMatchObject({
      title: 'Fix the form',
      status: 'ready',
      priority: 'high',
      agent: 'emma',
      session: 's',
    });
    expect((await world.json('/v1/tasks')).body).toMatchObject([{ id: made.id, cost: { usd: 0 } }]);
    expect((await world.json('/v1/tasks?status=done&status=review')).body).toEqual([]);
    expect((await world.json('/v1/tasks?session=other')).body).toEqual([]);
    const shown = (await world.json(`/v1/tasks/${made.id}`)).body;
    expect(shown).toMatchObject({
      body: 'All of it',
      runs: [],
      events: [{ type: 'task.created', by: 'user', byKind: 'person' }],
    });
    const path = `/v1/tasks/${made.id}`;
    expect((await world.json(path, { method: 'PATCH', body: { title: 'Other', agent: 'bob' } })).body).toMatchObject({
      title: 'Other',
      agent: 'bob',
    });
    expect((await world.json(`${path}/move`, { body: { status: 'blocked', reason: 'wait' } })).body.status).toBe(
      'blocked',
    );
    expect((await world.json(`${path}/why`)).body).toMatchObject({ id: made.id, status: 'blocked' });
    expect((await world.json(`${path}/retry`, { method: 'POST' })).body.status).toBe('ready');
    expect((await world.json(`${path}/cancel`, { body: {} })).body.status).toBe('cancelled');
  });

  test('a text, a TASK and a list of TASKs are what baton task add makes of them', async () => {
    const world = await makeApiWorld();
    const text = await world.json('/v1/tasks', {
      body: '# Write the docs\n\nAll of them',
      headers: { 'content-type': 'text/markdown' },
    });
    expect(text.body).toMatchObject({ title: 'Write the docs' });
    const broken = await world.json('/v1/tasks', { body: { aop_version: '2.0' } });
    expect(broken).toMatchObject({ status: 422, body: { error: { code: expect.stringMatching(/^E_/) } } });
  });

  test('the same Idempotency-Key makes one task', async () => {
    const world = await makeApiWorld();
    const ask = { body: { title: 'Once' }, headers: { 'idempotency-key': 'k1' } };
    const [one, two] = [await world.json('/v1/tasks', ask), await world.json('/v1/tasks', ask)];
    expect(two.body.id).toBe(one.body.id);
    expect((await world.json('/v1/tasks')).body).toHaveLength(1);
    // Of another request it is another key.
    const other = await world.json('/v1/tasks', { ...ask, body: { title: 'Twice' } });
    expect(other.body).toMatchObject({ title: 'Twice' });
    const moved = await world.json(`/v1/tasks/${one.body.id}/move`, { ...ask, body: { status: 'blocked' } });
    expect(moved.body).toMatchObject({ id: one.body.id, status: 'blocked' });
  });

  test('nor does a run that asks twice with one key make two', async () => {
    const world = await makeApiWorld({ real: true });
    const token = tokenOf(world, await withRun(world));
    const ask = { body: { title: 'Part' }, headers: { 'idempotency-key': 'k1' }, token };
    const [one, two] = [await world.json('/v1/tasks', ask), await world.json('/v1/tasks', ask)];
    expect([one.status, two.body.id]).toEqual([201, one.body.id]);
    expect((await world.json('/v1/tasks', { token })).body).toHaveLength(2);
  });

  test('what is wrong is said with its code and its status', async () => {
    const world = await makeApiWorld();
    const { id } = await add(world, { title: 'Fix it' });
    const codes = async (
      path: string,
      options: Parameters<ApiWorld['json']>[1] = {},
    ): Promise<readonly [number, string]> => {
      const { status, body } = await world.json(path, options);
      expect(Object.keys(body.error)).toEqual(['code', 'message', 'hint']);
      return [status, body.error.code];
    };
    expect(await codes('/v1/tasks/TASK-2020-01-01-001')).toEqual([404, 'E_NOT_FOUND']);
    expect(await codes('/v1/nothing')).toEqual([404, 'E_NOT_FOUND']);
    expect(await codes(`/v1/tasks/${id}/move`, { body: { status: 'done' } })).toEqual([409, 'E_ILLEGAL_MOVE']);
    expect(await codes(`/v1/tasks/${id}/move`, { body: { status: 'gone' } })).toEqual([422, 'E_SCHEMA_VALIDATION']);
    expect(await codes(`/v1/tasks/${id}/move`, { body: '{"status": "blo' })).toEqual([400, 'E_PARSE_FAILURE']);
    expect(await codes('/v1/tasks', { body: { title: 'x', colour: 'red' } })).toEqual([422, 'E_SCHEMA_VALIDATION']);
    expect(await codes('/v1/tasks', { body: { title: 'x', dependsOn: ['TASK-2020-01-01-001'] } })).toEqual([
      404,
      'E_NOT_FOUND',
    ]);
    expect(await codes(`/v1/tasks/${id}`, { method: 'PATCH', body: {} })).toEqual([422, 'E_SCHEMA_VALIDATION']);
    expect(await codes('/v1/tasks', { body: new Uint8Array([0xff, 0xfe]) })).toEqual([400, 'E_INVALID_UTF8']);
    expect(await codes('/v1/tasks?limit=many')).toEqual([422, 'E_SCHEMA_VALIDATION']);
  });

  test('a long list comes whole', async () => {
    const world = await makeApiWorld();
    // In several records: the tree is written from them, and a record is read anew for each of its tasks.
    for (let i = 0; i < 20; i++) {
      const tasks = Array.from({ length: 20 }, (_, k) => ({ title: `Number ${i} ${k} ${'x'.repeat(400)}` }));
      await world.store.send({ message: { type: 'task.add', tasks }, by: { kind: 'person', name: 'test' } });
    }
    expect((await world.json('/v1/tasks')).body).toHaveLength(400);
    expect((await world.json('/v1/tasks?limit=7')).body).toHaveLength(7);
  });
});

describe('runs', () => {
  test('one is shown with its log and its RESPONSE', async () => {
    const world = await makeApiWorld();
    const task = await withRun(world);
    const run = task.run?.id ?? '';
    expect((await world.json(`/v1/runs/${run}`)).body).toMatchObject({
      id: run,
      task: task.id,
      status: 'running',
      agent: 'emma',
    });
    expect((await world.json(`/v1/runs/${run}/response`)).status).toBe(404);
    const folder = join(world.dir, 'logs', run);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'out.log'), 'grüße\n'.repeat(50_000));
    await writeFile(join(folder, 'err.log'), 'oh\n');
    await writeFile(join(folder, 'response.json'), '{"message_type":"RESPONSE"}');
    expect((await world.json(`/v1/runs/${run}/response`)).body).toEqual({ message_type: 'RESPONSE' });
    expect(await (await world.call(`/v1/runs/${run}/log?stream=out`)).text()).toBe('grüße\n'.repeat(50_000));
    const lines = (await (await world.call(`/v1/runs/${run}/log`)).text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const textOf = (stream: string): string =>
      lines
        .filter((line) => line.stream === stream)
        .map(({ text }) => text)
        .join('');
    expect([textOf('out'), textOf('err')]).toEqual(['grüße\n'.repeat(50_000), 'oh\n']);
  });

  test('a log is followed until the run has ended', async () => {
    const world = await makeApiWorld();
    const task = await withRun(world);
    const folder = join(world.dir, 'logs', task.run?.id ?? '');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'out.log'), 'one\n');
    const response = await world.call(`/v1/runs/${task.run?.id}/log?follow&stream=out`);
    let seen = '';
    for await (const chunk of response.body ?? []) {
      seen += new TextDecoder().decode(chunk);
      if (seen === 'one\n') await writeFile(join(folder, 'out.log'), 'one\ntwo\n');
      else if (seen === 'one\ntwo\n') {
        await world.store.send({ message: { type: 'task.cancel', id: task.id }, by: { kind: 'person', name: 'test' } });
      }
    }
    expect(seen).toBe('one\ntwo\n');
  });

  test('nothing is served from outside the data folder', async () => {
    const world = await makeApiWorld();
    const task = await withRun(world);
    const run = task.run?.id ?? '';
    await writeFile(join(world.root, 'secret.json'), '{"secret":true}');
    const names = [
      '..%2f..%2fetc',
      '..%2F..%2F..%2Fetc%2Fpasswd-r1',
      `${run}%2f..%2f..%2fserve.token`,
      `${task.id}-r01`,
      `${task.id}-r2`,
      '%00',
      `${run}%00`,
    ];
    for (const name of names) {
      for (const rest of ['', '/log', '/response']) {
        expect([name, (await world.call(`/v1/runs/${name}${rest}`)).status]).toEqual([name, 404]);
      }
    }
    const folder = join(world.dir, 'logs', run);
    await mkdir(folder, { recursive: true });
    await symlink(join(world.root, 'secret.json'), join(folder, 'response.json'));
    await writeFile(join(world.root, 'other.log'), 'secret');
    await link(join(world.root, 'other.log'), join(folder, 'out.log'));
    expect((await world.call(`/v1/runs/${run}/response`)).status).toBe(404);
    expect(await (await world.call(`/v1/runs/${run}/log`)).text()).toBe('');
    await rm(folder, { recursive: true });
    await mkdir(join(world.root, 'away'));
    await writeFile(join(world.root, 'away', 'response.json'), '{"secret":true}');
    await symlink(join(world.root, 'away'), folder);
    expect((await world.call(`/v1/runs/${run}/response`)).status).toBe(404);
    expect((await world.json('/v1/sessions/..%2f..%2fetc/report')).status).toBe(404);
  });
});

describe('messages', () => {
  test('a text of any dialect goes to the router, with who really sent it', async () => {
    const world = await makeApiWorld();
    const task = await withRun(world);
    expect((await world.json('/v1/messages', { body: '[AOP:STATUS] success' })).body).toMatchObject([
      { result: 'accepted' },
    ]);
    await world.json('/v1/messages?as=bob', { body: 'AOF/1 {}' });
    await world.json('/v1/messages', { body: 'AOF/1 {}', token: tokenOf(world, task) });
    expect(world.taken.map(({ sender }) => sender)).toEqual([
      { channel: 'http', run: null, agent: null, actor: { kind: 'person', name: 'user' } },
      { channel: 'http', run: null, agent: 'bob', actor: { kind: 'person', name: 'user as bob' } },
      { channel: 'http', run: task.run?.id, agent: 'emma', actor: { kind: 'agent', name: 'emma' } },
    ]);
    expect(world.taken[0]?.text).toBe('[AOP:STATUS] success');
    const asOther = await world.json('/v1/messages?as=bob', { body: 'x', token: tokenOf(world, task) });
    expect([asOther.status, asOther.body.error.code]).toEqual([403, 'E_PERMISSION_DENIED']);
  });

  test("a session's report", async () => {
    const world = await makeApiWorld();
    await add(world, { title: 'Fix it', session: 'mine' });
    expect((await world.json('/v1/sessions/mine/report')).body).toMatchObject({ totals: { tasks: 1 } });
    expect((await world.json('/v1/sessions/other/report')).status).toBe(404);
  });
});

describe('who may come in', () => {
  test('nothing but health and the document is answered without the right token', async () => {
    const world = await makeApiWorld();
    expect((await world.json('/healthz', { token: null })).body).toMatchObject({ ok: true });
    expect((await world.call('/openapi.json', { token: null })).status).toBe(200);
    for (const token of [null, 'wrong', `${PERSON}x`, PERSON.slice(1), '']) {
      for (const path of ['/v1/tasks', '/metrics', '/mcp', '/v1/events', '/nothing']) {
        const { status, body } = await world.json(path, { token });
        expect([path, status, body.error.code]).toEqual([path, 401, 'E_CREDENTIALS']);
      }
    }
    expect((await world.call('/v1/tasks', { token: null })).headers.get('www-authenticate')).toBe('Bearer');
    expect((await world.call('/v1/tasks', { token: null, headers: { authorization: `Basic ${PERSON}` } })).status).toBe(
      401,
    );
  });

  test('only by a name of this machine, and only from a page of our own', async () => {
    const world = await makeApiWorld();
    const { port } = world.listening;
    const authorization = `Bearer ${PERSON}`;
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'LOCALHOST:9999', `[::1]:${port}`, 'localhost'])
      expect([host, await raw(world, { host, authorization }, '/v1/tasks')]).toEqual([host, 200]);
    for (const host of [
      `evil.example:${port}`,
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '192.168.1.9',
      'a@localhost',
    ])
      expect([host, await raw(world, { host, authorization }, '/v1/tasks')]).toEqual([
        host,
        expect.toBeOneOf([400, 403]),
      ]);
    expect(await raw(world, { host: 'evil.example' })).toBe(403);
    const host = `localhost:${port}`;
    expect(await raw(world, { host, origin: `http://${host}`, authorization }, '/v1/tasks')).toBe(200);
    for (const origin of [
      'http://evil.example',
      'null',
      `http://localhost:${port + 1}`,
      'http://localhost',
      `http://${host}.evil.example`,
      'file://',
    ])
      expect([origin, await raw(world, { host, origin, authorization }, '/v1/tasks')]).toEqual([origin, 403]);
  });

  test("a run's token reaches its own task and its children, and nothing else", async () => {
    const world = await makeApiWorld();
    const task = await withRun(world);
    const child = await add(world, { title: 'A part of it', parentId: task.id });
    const other = await withRun(world, { title: 'Not its business', agent: 'emma', write: ['elsewhere'] });
    const token = tokenOf(world, task);
    const status = async (path: string, body?: object, method?: string): Promise<number> =>
      (await world.call(path, { token, ...(body ? { body } : {}), ...(method ? { method } : {}) })).status;
    expect((await world.json('/v1/tasks', { token })).body.map(({ id }: Json) => id)).toEqual([task.id, child.id]);
    for (const rest of ['', '/why']) {
      expect(await status(`/v1/tasks/${task.id}${rest}`)).toBe(200);
      expect(await status(`/v1/tasks/${child.id}${rest}`)).toBe(200);
      expect(await status(`/v1/tasks/${other.id}${rest}`)).toBe(403);
    }
    expect(await status(`/v1/runs/${task.run?.id}`)).toBe(200);
    for (const rest of ['', '/log', '/response']) expect(await status(`/v1/runs/${other.run?.id}${rest}`)).toBe(403);
    expect(await status(`/v1/events?task=${other.id}`)).toBe(403);

    // What is for a person only.
    expect(await status(`/v1/tasks/${task.id}/cancel`, {})).toBe(403);
    expect(await status(`/v1/tasks/${child.id}/retry`, {})).toBe(403);
    expect(await status(`/v1/tasks/${child.id}`, { title: 'x' }, 'PATCH')).toBe(403);
    expect(await status('/v1/sessions/default/report')).toBe(403);
    expect(await status('/metrics')).toBe(403);
    expect(await status('/v1/openclaw/events', { type: 'session_end', event: {} })).toBe(403);
    expect(await status('/v1/tasks', { title: 'x', session: 'other' })).toBe(403);

    // What it may ask goes through its own door, and never as the person.
    expect(await status('/v1/tasks', { title: 'Another part' })).toBe(201);
    expect(await status(`/v1/tasks/${task.id}/move`, { status: 'review' })).toBe(200);
    expect(await status(`/v1/tasks/${other.id}/move`, { status: 'done' })).toBe(403);
    expect(world.asked.map(({ what, ask, sender }) => [what, ask, sender.run, sender.actor.kind])).toEqual([
      ['create', { title: 'Another part' }, task.run?.id, 'agent'],
      ['update', { taskId: task.id, status: 'review' }, task.run?.id, 'agent'],
    ]);
    expect((await world.store.find(other.id))?.status).toBe('in-progress');

    world.tokens.close(task.run?.id ?? '');
    expect(await status(`/v1/tasks/${task.id}`)).toBe(401);
  });

  test("a run's process does not even read with the person's token", async () => {
    const world = await makeApiWorld({ peerOf: () => ({ kind: 'run', run: 'TASK-2026-01-01-001-r1' }) });
    for (const path of ['/v1/tasks', '/v1/inbox', '/v1/events?after=0', '/metrics'])
      expect(await world.json(path)).toMatchObject({ status: 403, body: { error: { code: 'E_PERMISSION_DENIED' } } });
    expect((await world.json('/healthz')).status).toBe(200);
  });

  test("while a run is under way, the person's token in other hands is not the person", async () => {
    let peer: Peer = { kind: 'other' };
    const world = await makeApiWorld({ real: true, peerOf: () => peer });
    const { id } = await add(world, { title: 'Nothing runs yet' });
    const task = await withRun(world);
    // Who is at the other end of a connection stays so.
    await world.json('/v1/tasks', { headers: { connection: 'close' } });
    peer = { kind: 'run', run: 'TASK-2026-01-01-001-r1' };
    await world.store.send({
      message: { type: 'run.report', run: task.run?.id ?? '', outcome: 'needs_review' },
      by: { kind: 'runtime', name: 'baton' },
    });
    expect((await world.store.find(task.id))?.status).toBe('review');
    // It is the run that makes it doubtful.
    await world.store.send({
      message: { type: 'task.claim', id, claimer: { agent: 'emma', any: true }, leaseMs: 60_000 },
      by: { kind: 'runtime', name: 'baton' },
    });
    const approve = () =>
      world.json(`/v1/tasks/${task.id}/move`, { body: { status: 'done' }, headers: { connection: 'close' } });
    expect(await approve()).toMatchObject({ status: 403, body: { error: { code: 'E_PERMISSION_DENIED' } } });
    peer = { kind: 'unknown' };
    expect((await world.json('/v1/tasks', { headers: { connection: 'close' } })).status).toBe(200);
    expect((await approve()).status).toBe(403);
    expect(
      (await world.json('/v1/tasks', { body: { title: 'By whom' }, headers: { connection: 'close' } })).body,
    ).toMatchObject({
      createdBy: 'user, over HTTP',
    });
    const close = { connection: 'close' };
    expect((await world.call('/v1/messages?as=emma', { body: 'hello', headers: close })).status).toBe(403);
    const told = { type: 'message_received', event: { content: 'hello' } };
    expect((await world.json('/v1/openclaw/events', { body: told, headers: close })).status).toBe(403);
    peer = { kind: 'other' };
    expect((await world.json('/v1/openclaw/events', { body: told, headers: close })).status).toBe(200);
    expect((await approve()).body).toMatchObject({ status: 'done' });
  });

  test('a body over 10 MB is refused, said or not said, and the server goes on', async () => {
    const world = await makeApiWorld();
    const big = new Uint8Array(11 * 1024 * 1024).fill(97);
    const refused = async (body: Body): Promise<readonly unknown[]> => {
      try {
        const { status, body: said } = await world.json('/v1/messages', { body });
        return [status, said.error.code];
      } catch {
        // The connection may be cut while the rest is still being sent.
        return [413, 'E_CONTEXT_OVERFLOW'];
      }
    };
    expect(await refused(big)).toEqual([413, 'E_CONTEXT_OVERFLOW']);
    const pieces = new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(1024 * 1024).fill(97));
      },
    });
    expect(await refused(pieces)).toEqual([413, 'E_CONTEXT_OVERFLOW']);
    expect(world.taken).toEqual([]);
    const most = new Uint8Array(10 * 1024 * 1024).fill(97);
    expect((await world.json('/v1/messages', { body: most })).status).toBe(200);
  });
});

describe('events', () => {
  test('come once and in order, and a reader that comes back misses none and sees none twice', async () => {
    const world = await makeApiWorld();
    const first = await listenTo(world, '/v1/events');
    await first.until(() => first.ids.length === 1);
    const made = [];
    for (let i = 0; i < 5; i++) made.push((await add(world, { title: `Number ${i}` })).id);
    await first.until(() => first.events.length >= 5);
    await first.close();
    for (let i = 5; i < 8; i++) made.push((await add(world, { title: `Number ${i}` })).id);
    const last = first.ids.at(-1) ?? '';
    const second = await listenTo(world, '/v1/events', { headers: { 'last-event-id': last } });
    await second.until(() => second.events.length >= 3);
    made.push((await add(world, { title: 'Number 8' })).id);
    await second.until(() => second.events.length >= 4);
    expect([...first.events, ...second.events].map(({ type, task }) => [type, task])).toEqual(
      made.map((id) => ['task.created', id]),
    );
    expect(second.events[0]).toMatchObject({
      id: expect.stringMatching(/^\d+-\d+$/),
      byKind: 'person',
      session: 'default',
    });
    await second.close();
  });

  test('as=aop2: the EVENTs of the contract, and nothing else', async () => {
    const world = await makeApiWorld();
    const { id } = await add(world, { title: 'Fix it', session: 's' });
    const reader = await listenTo(world, '/v1/events?after=0&as=aop2');
    const escalation = {
      aop_version: '2.0.2-C',
      message_type: 'EVENT',
      event: 'PRIORITY_ESCALATION',
      session_id: 's',
      task_id: id,
      timestamp: '2026-11-16T10:00:00Z',
      new_priority: 'HIGH',
      reason: 'The customer waits.',
      escalated_by: 'user@domain.com',
    };
    const { store } = world;
    await store.send({
      message: { type: 'task.edit', id, priority: 'high', reason: escalation.reason, escalatedBy: 'user@domain.com' },
      by: { kind: 'person', name: 'test' },
    });
    await reader.until(() => reader.events.length >= 1);
    const { timestamp: _, ...said } = escalation;
    expect(reader.events).toMatchObject([{ ...said, old_priority: 'NORMAL' }]);
    await reader.close();
    expect((await world.json('/v1/events?as=xml')).status).toBe(422);
  });

  test('a TASK above a soft limit is made, and the answer warns', async () => {
    const world = await makeApiWorld();
    const phases = Array.from({ length: 11 }, (_, i) => ({ phase_id: `P${i}` }));
    const task = {
      ...{ aop_version: '2.0.2-C', schema_version: '2.0.2', protocol_family: 'AOP', message_type: 'TASK' },
      session: { session_id: 's', created_at: '2026-11-16T00:00:00Z', orchestrator: 'test', origin: 'CLI' },
      target: { agent_name: 'emma', role: 'EXECUTOR', provider: 'OTHER', model: 'none' },
      task: {
        ...{ task_id: 'T', objective: 'Do it.', category: 'OTHER', complexity: 'LOW' },
        environment: { workspace_root: world.host.workspace },
      },
      phases,
    };
    const answer = await fetch(`http://127.0.0.1:${world.listening.port}/v1/tasks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${PERSON}`, 'content-type': 'application/json' },
      body: JSON.stringify(task),
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('baton-warning')).toBe(
      'T: E_PAYLOAD_SIZE_WARNING at /phases: expected at most 10 phases, got 11',
    );
  });

  test('a reader that was cut off within a record goes on within it', async () => {
    const world = await makeApiWorld();
    const tasks = ['one', 'two', 'three'].map((title) => ({ title }));
    await world.store.send({ message: { type: 'task.add', tasks }, by: { kind: 'person', name: 'test' } });
    const all = await listenTo(world, '/v1/events?after=0');
    await all.until(() => all.events.length >= 3);
    const record = all.events[0].seq;
    expect(all.events.map(({ id }) => id)).toEqual([`${record}-0`, `${record}-1`, `${record}-2`]);
    for (const [id, rest] of [
      [`${record}-0`, 2],
      [`${record}-1`, 1],
      [`${record}-2`, 0],
      [`${record}`, 0],
      [`${record - 1}`, 3],
    ] as const) {
      const again = await listenTo(world, '/v1/events', { headers: { 'last-event-id': id } });
      await again.until(() => again.ids.length >= 1);
      await add(world, { title: 'after' });
      await again.until(() => again.events.at(-1)?.task !== undefined && again.events.length > rest);
      expect([id, again.events.filter(({ seq }: Json) => seq === record).length]).toEqual([id, rest]);
      await again.close();
    }
    await all.close();
    expect((await world.json('/v1/events', { headers: { 'last-event-id': 'yesterday' } })).status).toBe(422);
  });

  test("of one task, of one session, of a run's own", async () => {
    const world = await makeApiWorld();
    const task = await withRun(world, { title: 'Mine', agent: 'emma', session: 's1' });
    const streams = await Promise.all([
      listenTo(world, `/v1/events?task=${task.id}&after=0`),
      listenTo(world, '/v1/events?session=s2&after=0'),
      listenTo(world, '/v1/events?after=0', { token: tokenOf(world, task) }),
    ]);
    const other = await add(world, { title: 'Other', session: 's2' });
    const child = await add(world, { title: 'Part', session: 's1', parentId: task.id });
    await world.json(`/v1/tasks/${task.id}/cancel`, { body: {} });
    const [ofTask, ofSession, ofRun] = streams as [Json, Json, Json];
    await ofTask.until(() => ofTask.events.length >= 3);
    await ofSession.until(() => ofSession.events.length >= 1);
    await ofRun.until(() => ofRun.events.length >= ofTask.events.length + 1);
    expect(new Set(ofTask.events.map((event: Json) => event.task))).toEqual(new Set([task.id]));
    expect(ofSession.events.map((event: Json) => event.task)).toEqual([other.id]);
    expect(new Set(ofRun.events.map((event: Json) => event.task))).toEqual(new Set([task.id, child.id]));
    for (const stream of streams) await stream.close();
  });

  test('a quiet stream gives signs of life', async () => {
    const world = await makeApiWorld({ heartbeatMs: 30 });
    const stream = await listenTo(world, '/v1/events');
    await stream.until(() => stream.comments.length >= 3);
    expect(stream.events).toEqual([]);
    await stream.close();
  });

  test('who never reads holds no memory, keeps nobody waiting, and is sent away', async () => {
    const world = await makeApiWorld({ stallMs: 1_000 });
    const stuck = connect(world.listening.port, '127.0.0.1');
    stuck.pause();
    const gone = new Promise<void>((resolve) => stuck.on('close', () => resolve()));
    // An answer that was cut off is an error to whoever looks at it.
    stuck.on('error', () => {});
    stuck.write(`GET /v1/events?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${PERSON}\r\n\r\n`);
    const reader = await listenTo(world, '/v1/events');
    await reader.until(() => reader.ids.length === 1);
    const before = process.memoryUsage().rss;
    // 40 MB of events; the system itself holds some for a socket.
    for (let i = 0; i < 400; i++) {
      const detail = { text: 'x'.repeat(100_000) };
      await world.store.send({
        message: { type: 'note', event: 'test.big', detail },
        by: { kind: 'runtime', name: 'test' },
      });
    }
    await reader.until(() => reader.events.length >= 400);
    expect(reader.events.map(({ seq }: Json) => seq)).toEqual(
      Array.from({ length: 400 }, (_, i) => reader.events[0].seq + i),
    );
    reader.events.length = 0;
    await expect.poll(() => world.listening.connections()).toBe(1);
    expect((process.memoryUsage().rss - before) / 2 ** 20).toBeLessThan(300);
    stuck.destroy();
    await gone;
    await reader.close();
  });

  test('a thousand readers get every event once and in order, while one of them never reads', async () => {
    const world = await makeApiWorld();
    const stuck = connect(world.listening.port, '127.0.0.1').pause();
    stuck.write(`GET /v1/events?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${PERSON}\r\n\r\n`);
    const readers = await Promise.all(Array.from({ length: 1000 }, () => sequence(world)));
    const EVENTS = 60;
    for (let i = 0; i < EVENTS; i++) {
      const detail = { text: 'x'.repeat(2000) };
      await world.store.send({
        message: { type: 'note', event: 'test.told', detail },
        by: { kind: 'runtime', name: 'test' },
      });
    }
    const expected = Array.from({ length: EVENTS }, (_, i) => `${i + 1}-0`);
    await expect.poll(() => readers.filter(({ ids }) => ids.length < EVENTS).length).toBe(0);
    for (const { ids, stop } of readers) {
      expect(ids).toEqual(expected);
      stop();
    }
    stuck.destroy();
  });

  test('the end of the server is the end of the stream, after all that happened', async () => {
    const world = await makeApiWorld();
    const stream = await listenTo(world, '/v1/events');
    await stream.until(() => stream.ids.length === 1);
    for (let i = 0; i < 20; i++) await add(world, { title: `Number ${i}` });
    await world.host.watch.caughtUp();
    await world.stop();
    await stream.ended;
    expect(stream.events).toHaveLength(20);
    await expect(world.call('/healthz')).rejects.toThrow();
  });
});

describe('numbers and documents', () => {
  test('a query that is called as what all objects have is refused like any other', async () => {
    const world = await makeApiWorld();
    for (const name of ['__proto__', 'constructor']) {
      const { status, body } = await world.json(`/v1/tasks?${name}=x`);
      expect([status, body.error?.message]).toEqual([422, expect.stringContaining(`"${name}"`)]);
    }
  });

  test('a client that goes away in the middle of its request is counted, and nothing is said of it', async () => {
    const world = await makeApiWorld();
    const head = `POST /v1/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${PERSON}\r\nContent-Length: 99\r\n\r\nhalf`;
    const socket = connect(world.listening.port, '127.0.0.1', () => socket.write(head, () => socket.destroy()));
    const cut = 'baton_http_requests_total{method="POST",route="/v1/tasks",status="400"} 1\n';
    const isCounted = async (): Promise<boolean> => (await (await world.call('/metrics')).text()).includes(cut);
    await expect.poll(isCounted).toBe(true);
    expect(world.warnings).toEqual([]);
  });

  test('metrics as Prometheus reads them', async () => {
    const world = await makeApiWorld();
    await withRun(world);
    await add(world, { title: 'Wait', status: 'backlog' });
    const response = await world.call('/metrics');
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    const text = await response.text();
    for (const line of text.trim().split('\n'))
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{[^}]+\})? -?[\d.e+-]+)$/);
    expect(text).toContain('baton_tasks{status="in-progress"} 1\n');
    expect(text).toContain('baton_tasks{status="backlog"} 1\n');
    expect(text).toContain('baton_runs_running 1\n');
    expect(text).toContain('baton_cost_usd_total 0\n');
    expect(text).toMatch(/baton_events_total \d/);
    expect(text).toContain('baton_http_requests_total{method="POST",route="/v1/tasks",status="201"} 2\n');
    expect(text).toMatch(/process_resident_memory_bytes \d{7,}/);
  });

  test('the OpenAPI document holds together, and each route in it is there', async () => {
    const world = await makeApiWorld();
    const { body: document } = await world.json('/openapi.json', { token: null });
    expect(document.openapi).toBe('3.1.0');
    const names = new Set(Object.keys(document.components.schemas));
    for (const [, name] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      expect(names).toContain(name);
    expect(JSON.stringify(document)).not.toContain('$defs');
    const ajv = addFormats.default(new Ajv2020.default({ strict: false }));
    ajv.addSchema({ $id: 'doc', components: document.components });
    for (const name of names) ajv.compile({ $ref: `doc#/components/schemas/${name}` });
    const ids = new Set<string>();
    const paths = Object.entries(document.paths as Record<string, Record<string, Json>>);
    for (const [path, operations] of paths) {
      for (const [method, operation] of Object.entries(operations)) {
        expect(ids).not.toContain(operation.operationId);
        ids.add(operation.operationId);
        const inPath = (operation.parameters ?? []).filter((parameter: Json) => parameter.in === 'path');
        expect(inPath.map(({ name }: Json) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
        const stop = new AbortController();
        const response = await world.call(path.replaceAll(/\{\w+\}/g, 'none'), {
          method: method.toUpperCase(),
          signal: stop.signal,
          ...(method === 'get' ? {} : { body: {} }),
        });
        if (response.status === 404)
          expect(((await response.json()) as Json).error.hint).not.toBe('see: /openapi.json');
        stop.abort();
      }
    }
    expect(paths.map(([path]) => path).sort()).toEqual([
      '/healthz',
      '/metrics',
      '/openapi.json',
      '/v1/events',
      '/v1/graph',
      '/v1/inbox',
      '/v1/inbox/{id}/answer',
      '/v1/messages',
      '/v1/nodes',
      '/v1/nodes/{id}',
      '/v1/nodes/{id}/lineage',
      '/v1/openclaw/events',
      '/v1/runs/{id}',
      '/v1/runs/{id}/log',
      '/v1/runs/{id}/response',
      '/v1/sessions',
      '/v1/sessions/{id}',
      '/v1/sessions/{id}/do',
      '/v1/sessions/{id}/report',
      '/v1/tasks',
      '/v1/tasks/{id}',
      '/v1/tasks/{id}/cancel',
      '/v1/tasks/{id}/move',
      '/v1/tasks/{id}/retry',
      '/v1/tasks/{id}/why',
    ]);
    // What is answered fits what is promised.
    const task = await add(world, { title: 'Fix it' });
    const fits = (name: string, value: unknown): void => {
      const validate = ajv.compile({ $ref: `doc#/components/schemas/${name}` });
      expect([name, validate(value), validate.errors]).toEqual([name, true, null]);
    };
    fits('Task', task);
    fits('TaskWithHistory', (await world.json(`/v1/tasks/${task.id}`)).body);
    fits('Why', (await world.json(`/v1/tasks/${task.id}/why`)).body);
    fits('Error', (await world.json('/v1/tasks/none')).body);
  });
});
