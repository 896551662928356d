/** `baton mcp` as a program, by the SDK's own client on its standard input and output: on a data folder, and over the socket of a run. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterEach, describe, expect, test } from 'vitest';
import type { Store } from '../../src/core/store.ts';
import type { TaskStatus } from '../../src/core/task.ts';
import { LONGEST_WAIT_MS } from '../../src/runtime/door-inputs.ts';
import { openStore } from '../../src/store/open.ts';
import { MAIN } from '../cli/baton.ts';
import { EMMA, emma } from '../runtime/small-agents.ts';
import { makeWorld, taskOf, until, type World } from '../runtime/world.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Said {
  readonly text: string;
  readonly structured: Record<string, unknown>;
  readonly isError: boolean;
}

interface Session {
  readonly client: Client;
  call(name: string, input?: object): Promise<Said>;
  read(uri: string): Promise<string>;
  err(): string;
}

async function connect(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Session> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, 'mcp', ...args],
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/', ...env },
    stderr: 'pipe',
  });
  let err = '';
  transport.stderr?.on('data', (chunk) => (err += chunk));
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  closing.push(() => client.close());
  await client.listTools();
  return {
    client,
    err: () => err,
    async call(name, input = {}) {
      const answer = await client.callTool({ name, arguments: input as Record<string, unknown> });
      return {
        text: (answer.content as { text: string }[])[0]?.text ?? '',
        structured: (answer.structuredContent ?? {}) as Record<string, unknown>,
        isError: answer.isError === true,
      };
    },
    async read(uri) {
      const { contents } = await client.readResource({ uri });
      return (contents[0] as { text: string }).text;
    },
  };
}

/** All that it prints for an input that ends. Not waited for in one go: the store that it talks to may be this process's. */
async function piped(
  args: readonly string[],
  input: string,
): Promise<{ readonly status: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = spawn(process.execPath, [MAIN, 'mcp', ...args]);
  closing.push(() => child.kill('SIGKILL'));
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (said.stdout += chunk));
  child.stderr.on('data', (chunk) => (said.stderr += chunk));
  child.stdin.end(input);
  const status = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { status, ...said };
}

async function dataFolder(): Promise<{ dir: string; store: Store }> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-mcp-')));
  closing.push(() => rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
  const dir = join(root, '.baton');
  const store = await openStore(dir, { create: true });
  closing.push(() => store.close());
  return { dir, store };
}

const by = { kind: 'person', name: 'test' } as const;
const idOf = ({ structured }: Said): string => (structured['task'] as { id: string }).id;
const move = async (store: Store, id: string, to: TaskStatus): Promise<void> =>
  void (await store.send({ message: { type: 'task.move', id, to }, by }));

describe('on a data folder', () => {
  test('it says who it is, and lists its tools and resources', async () => {
    const { dir } = await dataFolder();
    const { client, err } = await connect(['--dir', dir]);
    expect(client.getServerVersion()).toMatchObject({ name: 'baton', title: 'Baton' });
    expect((await client.listTools()).tools).toHaveLength(11);
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(3);
    expect(err()).toBe('');
  });

  test('tasks are made, listed, told of and ended, by an agent and no person', async () => {
    const { dir, store } = await dataFolder();
    const { call } = await connect(['--dir', dir]);
    const made = await call('aof_task_create', { title: 'Paint it', body: 'Blue.', agent: 'mcp', priority: 'high' });
    const id = idOf(made);
    expect(await store.find(id)).toMatchObject({ title: 'Paint it', status: 'ready', priority: 'high' });
    expect(await store.text(id, 'body')).toContain('Blue.');
    const [first] = await store.history(id);
    expect(first?.by).toMatchObject({ kind: 'agent' });

    const listed = await call('aof_task_list', { status: ['ready'] });
    expect(listed.structured).toMatchObject({ tasks: [{ id, title: 'Paint it', uri: `baton://task/${id}` }], more: 0 });
    expect(listed.text).toContain(id);

    await call('aof_task_update', { taskId: id, progress: 'The ladder is up.' });
    expect(await store.text(id, 'body')).toContain('The ladder is up.');
    const blocked = await call('aof_task_update', { taskId: id, status: 'blocked', blockers: ['no paint'] });
    expect(blocked.isError).toBe(false);
    expect((await store.find(id))?.status).toBe('blocked');
  });

  test('what it may not, it does not, and says why', async () => {
    const { dir, store } = await dataFolder();
    const { call } = await connect(['--dir', dir]);
    const answer = await store.send({
      message: { type: 'task.add', tasks: [{ title: 'theirs', routing: { agent: 'claude' } }] },
      by,
    });
    const theirs = answer.kind === 'refused' ? '' : (answer.tasks[0]?.id ?? '');
    for (const [tool, input, code] of [
      ['aof_task_complete', { taskId: theirs, outcome: 'done' }, /^E_/],
      ['aof_task_update', { taskId: theirs, status: 'done' }, /^E_/],
      ['aof_task_update', { taskId: 'TASK-2026-01-01-001', notes: 'x' }, /^E_NOT_FOUND: /],
      ['aof_task_create', { title: 'x', dependsOn: ['TASK-2026-01-01-001'] }, /^E_/],
      ['aof_task_create', { title: '' }, /^E_SCHEMA_VALIDATION: /],
      ['baton_report', { status: 'success', summary: 's' }, /^E_/],
      ['baton_wait', { taskIds: ['TASK-2026-01-01-001'], timeoutMs: 10 }, /^E_NOT_FOUND: /],
    ] as const) {
      const said = await call(tool, input);
      expect([tool, said.isError, said.text]).toEqual([tool, true, expect.stringMatching(code)]);
    }
    expect((await store.find(theirs))?.status).toBe('ready');
    // It goes on.
    expect((await call('aof_task_list')).isError).toBe(false);
  });

  test('messages of any dialect, each with what became of it', async () => {
    const { dir } = await dataFolder();
    const { call } = await connect(['--dir', dir]);
    const id = idOf(await call('aof_task_create', { title: 'x', agent: 'mcp' }));
    const envelope = (type: string, payload: object): string =>
      `AOF/1 ${JSON.stringify({ protocol: 'aof', version: 1, type, taskId: id, fromAgent: 'mcp', sentAt: '2026-11-16T00:00:00Z', payload })}`;
    const said = await call('aof_message', {
      text: [
        envelope('status.update', { progress: 'half' }),
        envelope('status.sing', {}),
        'AOF/1 {"protocol":"aof"',
      ].join('\n'),
    });
    const results = said.structured['results'] as { result: string; reason: string | null }[];
    expect(results.map(({ result }) => result)).toEqual(['accepted', 'unknown', 'rejected']);
    expect(results[2]?.reason).not.toBe('');
  });

  test('waiting ends when something changes, and when the time is over', async () => {
    const { dir, store } = await dataFolder();
    const { call } = await connect(['--dir', dir]);
    const id = idOf(await call('aof_task_create', { title: 'x' }));
    const begun = Date.now();
    const quiet = await call('baton_wait', { taskIds: [id], timeoutMs: 300 });
    expect(quiet.isError).toBe(false);
    expect(Date.now() - begun).toBeGreaterThanOrEqual(290);
    // The longest that may be asked for, so that a busy machine is not mistaken for a wait that nothing ended.
    const asked = Date.now();
    const waiting = call('baton_wait', { taskIds: [id], timeoutMs: LONGEST_WAIT_MS });
    // Others are answered meanwhile.
    expect((await call('aof_task_list')).isError).toBe(false);
    await move(store, id, 'cancelled');
    const told = await waiting;
    expect(told.structured).toMatchObject({ tasks: [{ id, status: 'cancelled' }] });
    expect(Date.now() - asked).toBeLessThan(LONGEST_WAIT_MS);
  });

  test('a line of the session language, as the agent mcp and no person', async () => {
    const { dir, store } = await dataFolder();
    const { call, err } = await connect(['--dir', dir]);
    expect((await call('baton_do', { line: '#STATE:save:db:postgres', session: 's' })).structured).toEqual({
      reply: 'saved:db',
      commands: ['#STATE:save:db:postgres'],
      clarify: null,
      failed: false,
    });
    expect((await store.session('s'))?.state).toMatchObject({ db: { value: 'postgres', by: 'mcp' } });
    const speaker = { agent: 'qa', run: null, priority: 'P2', leads: false } as const;
    await store.send({ message: { type: 'session.lock', session: 's', resource: 'x', seconds: 60, speaker }, by });
    expect((await call('baton_do', { line: '#UNLOCK:x', session: 's' })).text).toBe('not_owner');
    expect((await call('baton_do', { line: '#NOPE' })).structured).toMatchObject({ failed: true });
    expect((await call('baton_do', { line: '#HELP:all' })).text).toContain('#CONTEXT:validate');
    expect(err()).toBe('');
  });

  test('details are resources, and bounded', async () => {
    const { dir, store } = await dataFolder();
    const { call, client, read } = await connect(['--dir', dir]);
    const id = idOf(await call('aof_task_create', { title: 'Print a lot', body: 'All of it.' }));
    await store.send({ message: { type: 'task.claim', id, claimer: { agent: 'x' }, leaseMs: 60_000 }, by });
    const logs = join(dir, 'logs', `${id}-r1`);
    mkdirSync(logs, { recursive: true });
    writeFileSync(join(logs, 'out.log'), `${'x'.repeat(10_000_000)}\nthe end`);
    writeFileSync(join(logs, 'response.json'), '{"message_type":"RESPONSE"}');

    expect((await client.listResources()).resources).toMatchObject([{ uri: `baton://task/${id}` }]);
    expect(JSON.parse(await read(`baton://task/${id}`))).toMatchObject({
      id,
      body: expect.stringContaining('All of it.'),
      runs: [{ id: `${id}-r1` }],
    });
    const log = await read(`baton://task/${id}/log`);
    expect(log.length).toBeLessThan(70_000);
    expect(log).toMatch(/^\(\d+ bytes before this are left out\)/);
    expect(log).toMatch(/the end$/);
    expect(await read(`baton://run/${id}-r1/response`)).toBe('{"message_type":"RESPONSE"}');
    for (const uri of [
      'baton://task/TASK-2026-01-01-001',
      `baton://run/${id}-r2/response`,
      'baton://run/..%2F..%2F..%2Fetc-r1/response',
      'baton://task/..%2F..%2Fsecret/log',
      'baton://nothing/x',
    ]) {
      await expect(read(uri)).rejects.toThrow();
    }
    // A link that a run has put there leads nowhere.
    writeFileSync(join(dir, '../secret'), '{"secret":true}');
    for (const name of ['out.log', 'response.json']) {
      rmSync(join(logs, name));
      symlinkSync(join(dir, '../secret'), join(logs, name));
    }
    expect(await read(`baton://task/${id}/log`)).toBe('');
    await expect(read(`baton://run/${id}-r1/response`)).rejects.toThrow();
  });

  test('a flood of tasks stays a page', async () => {
    const { dir, store } = await dataFolder();
    const long = 'a long title '.repeat(30);
    const tasks = Array.from({ length: 300 }, (_, i) => ({ title: `${i} ${long}` }));
    await store.send({ message: { type: 'task.add', tasks }, by });
    const { call } = await connect(['--dir', dir]);
    const said = await call('aof_task_list', { limit: 100 });
    expect(said.text.length).toBeLessThanOrEqual(500);
    expect(JSON.stringify(said.structured).length).toBeLessThan(21_000);
  });

  test('broken input does not end it; the end of input does', async () => {
    const { dir } = await dataFolder();
    const ask = (id: number, method: string, params: object = {}): string =>
      JSON.stringify({ jsonrpc: '2.0', id, method, params });
    const lines = [
      'not json at all',
      '{"jsonrpc":"2.0","id":',
      '[]',
      ask(1, 'initialize', {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'x', version: '1' },
      }),
      ask(2, 'tools/call', { name: 'aof_task_create', arguments: { title: 'x' } }),
      ask(3, 'no/such/method'),
      ask(4, 'tools/call', { name: 'aof_task_list', arguments: [] }),
    ];
    const ran = await piped(['--dir', dir], `${lines.join('\n')}\n`);
    const answers = ran.stdout
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text) as { id: number; result?: { structuredContent?: object }; error?: object });
    expect(answers.map(({ id }) => id).sort()).toEqual([1, 2, 3, 4]);
    expect(answers.find(({ id }) => id === 2)?.result?.structuredContent).toMatchObject({ task: { title: 'x' } });
    expect(answers.find(({ id }) => id === 3)?.error).toBeDefined();
    expect(ran.status).toBe(0);
    expect(ran.stderr).not.toContain('    at ');
  });

  test('without a data folder there is one sentence, and nothing on standard output', async () => {
    const { dir } = await dataFolder();
    const ran = await piped(['--dir', join(dir, 'nowhere')], '');
    expect([ran.status, ran.stdout]).toEqual([4, '']);
    expect(ran.stderr).toContain('E_NOT_FOUND');
  });
});

describe('over the socket of a run', () => {
  /** A run that stays until the file `go` is there, and says where its socket is. */
  async function running(): Promise<{ world: World; session: Session; ended: ReturnType<World['run']>; go(): void }> {
    const world = await makeWorld({ config: EMMA, git: true });
    emma(world, 'echo "$BATON_SOCKET" > "$HOME/socket"', 'while [ ! -e "$HOME/go" ]; do sleep 0.05; done', 'echo bye');
    const ended = world.run(taskOf(world, { agent: 'emma', objective: 'Paint the fence.' }));
    const file = join(world.home, 'socket');
    await until('the agent is there', () => {
      try {
        return readFileSync(file, 'utf8').endsWith('\n');
      } catch {
        // Not written yet.
        return false;
      }
    });
    // With a folder that is not there: the socket is all that it needs.
    const session = await connect(['--dir', join(world.root, 'nowhere')], {
      BATON_SOCKET: readFileSync(file, 'utf8').trim(),
    });
    return { world, session, ended, go: () => writeFileSync(join(world.home, 'go'), '') };
  }

  test('it is that run: what it is to do, what it hands on, how it ended', async () => {
    const { world, session, ended, go } = await running();
    const { call, client } = session;
    expect(client.getInstructions()).toContain('baton_report');
    expect((await call('baton_context')).text).toContain('Paint the fence.');
    expect((await call('aof_task_update', { progress: 'half of it' })).isError).toBe(false);
    const child = await call('aof_task_create', { title: 'Buy paint' });
    expect(JSON.parse(await session.read(`baton://task/${idOf(child)}`))).toMatchObject({ title: 'Buy paint' });
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(1);
    const done = await call('aof_task_complete', { outcome: 'done', summary: '- The fence is blue.' });
    expect(done).toMatchObject({ isError: false, structured: { note: expect.stringContaining('checked') } });
    go();
    const ran = await ended;
    expect(ran.task.status).toBe('done');
    expect(ran.last.block).toContain('The fence is blue.');
    const made = await world.store.find(idOf(child));
    expect(made).toMatchObject({ title: 'Buy paint', parentId: ran.task.id });
  });

  test('another task is not its own, and after its end it is nobody', async () => {
    const { world, session, ended, go } = await running();
    const [other] = await world.add(taskOf(world, { agent: 'emma' }));
    const steal = { taskId: other?.id, outcome: 'done' };
    await expect(session.read(`baton://task/${other?.id}`)).rejects.toThrow(/E_PERMISSION_DENIED/);
    const refused = await session.call('aof_task_complete', steal);
    expect(refused).toMatchObject({ isError: true, text: expect.stringMatching(/^E_/) });
    expect((await session.call('baton_report', { status: 'failure', summary: '- No paint.' })).isError).toBe(false);
    go();
    const ran = await ended;
    expect(ran.last.block).toContain('No paint.');
    const late = await session.call('aof_task_complete', { outcome: 'done' });
    expect(late).toMatchObject({ isError: true, text: expect.stringMatching(/^E_/) });
    expect((await world.store.find(other?.id ?? ''))?.status).toBe('ready');
  });
});
