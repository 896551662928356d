/** The session language by HTTP and by MCP over HTTP: the person, an agent on their word, a run with its own token. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterEach, describe, expect, test } from 'vitest';
import { createInterpreter } from '../../src/session/interpreter.ts';
import { createDoLine } from '../../src/session/lines.ts';
import { type ApiWorld, type Json, makeApiWorld, PERSON } from './api-world.ts';

const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

const CONFIG = { agents: { emma: { kind: 'command', command: ['true'] }, qa: { kind: 'command', command: ['true'] } } };

async function talking(): Promise<ApiWorld> {
  const world = await makeApiWorld({ real: true, config: CONFIG });
  const { store, config, dir, workspace, now } = world.host;
  const countTokens = (text: string): number => Math.ceil(text.length / 4);
  const parts = { store, config, dir, workspace, now, countTokens, warn: () => {}, askAgent: null };
  world.host.doLine = createDoLine(createInterpreter(parts), parts);
  return world;
}

/** A run that is under way, and the token that it has. */
async function running(world: ApiWorld, session: string, agent: string): Promise<string> {
  const by = { kind: 'person', name: 'test' } as const;
  const added = await world.store.send({
    message: { type: 'task.add', tasks: [{ title: 't', session, routing: { agent } }] },
    by,
  });
  if (added.kind === 'refused') throw new Error(added.refusal.message);
  const id = added.tasks[0]?.id as string;
  const claimed = await world.store.send({
    message: { type: 'task.claim', id, claimer: { agent }, leaseMs: 60_000 },
    by: { kind: 'runtime', name: 'baton' },
  });
  if (claimed.kind === 'refused') throw new Error(claimed.refusal.message);
  return world.tokens.open({ id: `${id}-r1`, task: id, agent });
}

const said = async (world: ApiWorld, session: string, body: object, token = PERSON): Promise<Json> =>
  world.json(`/v1/sessions/${session}/do`, { body, token });

describe('POST /v1/sessions/ID/do', () => {
  test('what is said has its effect here too: order, the inbox, the mode', async () => {
    const world = await talking();
    const words = 'fix http://localhost:3000/login, see src/a.cpp:42';
    const made = await said(world, 'a', { line: `ask emma to ${words} and then ask qa to test it` });
    const [first = '', second = ''] = String(made.body.reply).match(/TASK-[\d-]+\d/g) ?? [];
    expect(await world.store.text(first, 'body')).toBe(words);
    expect((await world.store.find(second))?.dependsOn).toEqual([first]);
    expect((await said(world, 'a', { line: `#DEPENDS:emma:${words}` })).body.reply).toBe(
      `${second} waits for ${first} already`,
    );
    expect((await said(world, 'a', { line: '#ESCALATE:the disk is full' })).body.reply).toBe('ack:ask-1');
    expect((await world.json('/v1/inbox', {})).body).toMatchObject([{ id: 'ask-1', question: 'the disk is full' }]);
    await world.json('/v1/inbox/ask-1/answer', { body: { status: 'rejected' } });
    expect((await world.json('/v1/inbox', {})).body).toEqual([]);
    await said(world, 'a', { line: 'use protocol mode' });
    expect((await said(world, 'a', { line: 'remember that a is b' })).body.reply).toMatch(/^#ERROR:E001/);
    expect((await said(world, 'b', { line: 'remember that a is b' })).body.reply).toMatch(/^I saved/);
  });

  test('a person: commands, plain words, what would be done, an agent on their word', async () => {
    const world = await talking();
    expect(await said(world, 'a', { line: '#STATE:save:db:postgres' })).toEqual({
      status: 200,
      body: { reply: 'saved:db', commands: ['#STATE:save:db:postgres'], clarify: null },
    });
    expect((await said(world, 'a', { line: '#STATE:load:db' })).body.reply).toBe('postgres');
    expect((await said(world, 'b', { line: '#STATE:load:db' })).body.reply).toBe('not_found');
    expect((await said(world, 'a', { line: 'fix the thing' })).body).toMatchObject({
      commands: [],
      clarify: expect.any(String),
    });
    expect((await said(world, 'a', { line: '#STATE:clear', dryRun: true })).body.reply).toBe('#STATE:clear');
    expect((await said(world, 'a', { line: '#STATE:load:db' })).body.reply).toBe('postgres');
    expect((await said(world, 'a', { line: '#LOCK:x', as: 'qa' })).body.reply).toBe('locked');
    expect((await said(world, 'a', { line: '#UNLOCK:x', as: 'emma' })).body.reply).toBe('not_owner');
    expect((await said(world, 'a', { line: '#LOCK:y', as: 'or\u001b[2Jx' })).status).toBe(400);
    expect((await said(world, 'a', { line: '#LOCK:x' })).body.reply).toBe('busy:qa');
    // What the language finds wrong is an answer of the language.
    expect(await said(world, 'a', { line: '#NOPE' })).toMatchObject({
      status: 200,
      body: { reply: expect.stringMatching(/^#ERROR:E001:/) },
    });
    writeFileSync(join(world.host.workspace, 'a-file'), '');
    expect(await said(world, 'a', { line: '#CONTEXT:export:a-file/x' })).toMatchObject({
      status: 200,
      body: { reply: '#ERROR:E002:not_a_folder a-file/x' },
    });
  });

  test.each<[string, object, number]>([
    ['no line', {}, 422],
    ['an empty line', { line: '' }, 422],
    ['a field that is not known', { line: '#VERSION', session: 'x' }, 422],
    ['no text', { line: 7 }, 422],
    ['too long', { line: 'x'.repeat(100_001) }, 422],
  ])('%s is refused', async (_, body, status) => {
    expect((await said(await talking(), 'a', body)).status).toBe(status);
  });

  test('a run is itself, in its own session, and for nobody else', async () => {
    const world = await talking();
    const token = await running(world, 'work', 'emma');
    expect((await said(world, 'work', { line: '#LOCK:x' }, token)).body.reply).toBe('locked');
    expect((await said(world, 'work', { line: '#LOCK:x' })).body.reply).toBe('busy:emma');
    expect((await said(world, 'other', { line: '#LOCK:x' }, token)).status).toBe(403);
    expect((await said(world, 'work', { line: '#LOCK:y', as: 'qa' }, token)).status).toBe(403);
    expect((await said(world, 'work', { line: '#LOCK:x' }, 'no-token')).status).toBe(401);
    expect((await world.json('/v1/sessions/work', { token })).body.held).toMatchObject({ x: { owner: 'emma' } });
    expect((await world.json('/v1/sessions/other', { token })).status).toBe(403);
    expect((await world.json('/v1/sessions', { token })).status).toBe(403);
  });

  test('a wait is answered by another request’s signal, and given up when its client goes', async () => {
    const world = await talking();
    const waiting = said(world, 'a', { line: '#WAIT:built:60', as: 'qa' });
    const waiters = async (): Promise<number> => Object.keys((await world.store.session('a'))?.waiters ?? {}).length;
    const until = (count: number): Promise<void> => expect.poll(waiters).toBe(count);
    await until(1);
    expect((await said(world, 'a', { line: '#SIGNAL:built:true' })).body.reply).toBe('signaled:1');
    expect((await waiting).body.reply).toMatch(/^ready/);
    const gone = new AbortController();
    const left = world
      .call('/v1/sessions/a/do', { body: { line: '#WAIT:never:60' }, signal: gone.signal })
      .catch(() => null);
    await until(1);
    gone.abort();
    await left;
    await until(0);
  });
});

describe('GET', () => {
  test('the sessions, and one of them', async () => {
    const world = await talking();
    expect((await world.json('/v1/sessions')).body).toEqual([]);
    await said(world, 'a', { line: '#STATE:save:db:postgres:persistent' });
    await said(world, 'a', { line: '#SUBSCRIBE:file_changes' });
    await running(world, 'b', 'emma');
    expect((await world.json('/v1/sessions')).body).toMatchObject([
      { id: 'a', keys: 1, tasks: {}, endedAt: null },
      { id: 'b', keys: 0, tasks: { 'in-progress': 1 } },
    ]);
    expect((await world.json('/v1/sessions/a')).body).toMatchObject({
      id: 'a',
      state: { db: { value: 'postgres', persistent: true } },
      channels: { file_changes: ['orchestrator'] },
    });
    expect((await world.json('/v1/sessions/none')).status).toBe(404);
  });
});

describe('baton_do over MCP', () => {
  const connect = async (world: ApiWorld, token: string): Promise<(line: string, more?: object) => Promise<Json>> => {
    const client = new Client({ name: 'test', version: '1' });
    const transport = new StreamableHTTPClientTransport(new URL(`${world.listening.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    clients.push(client);
    return async (line, more = {}) => client.callTool({ name: 'baton_do', arguments: { line, ...more } });
  };

  test('a run speaks as itself; a program with the person’s token is no person', async () => {
    const world = await talking();
    const mine = await connect(world, await running(world, 'work', 'emma'));
    expect(await mine('#LOCK:x')).toMatchObject({
      structuredContent: { reply: 'locked', commands: ['#LOCK:x'], clarify: null, failed: false },
      content: [{ text: 'locked' }],
    });
    expect((await mine('#NOPE')).structuredContent).toMatchObject({ failed: true });
    expect(await mine('#LOCK:y', { session: 'other' })).toMatchObject({ isError: true });
    const program = await connect(world, PERSON);
    expect((await program('#UNLOCK:x', { session: 'work' })).structuredContent.reply).toBe('not_owner');
    expect((await program('#LOCK:z', { session: 'work' })).structuredContent.reply).toBe('locked');
    expect((await said(world, 'work', { line: '#LOCK:z' })).body.reply).toBe('busy:mcp');
  });

  test('where nobody understands the language, that is said', async () => {
    const world = await makeApiWorld({ real: true, config: CONFIG });
    expect((await said(world, 'a', { line: '#VERSION' })).body.error.message).toMatch(/nobody understands/);
  });
});
