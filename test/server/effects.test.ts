/** What is asked for over HTTP, MCP and a run's socket has the effect that it has from the command line: checks, TASKs with a mistake, RESPONSEs. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, test } from 'vitest';
import { workOn } from '../../src/runtime/scheduler.ts';
import { until } from '../helpers/until.ts';
import { emma, REPORT_DONE, responseText } from '../runtime/small-agents.ts';
import { type Ran, taskOf } from '../runtime/world.ts';
import { type ApiWorld, type Json, makeApiWorld, PERSON } from './api-world.ts';

const CONFIG = {
  agents: { emma: { kind: 'command', command: ['agent'] }, lead: { kind: 'command', command: ['qa'] } },
  defaults: { sandbox: 'off' },
};
const made = (): Promise<ApiWorld> => makeApiWorld({ real: true, config: CONFIG });

async function callTool(world: ApiWorld, token: string, name: string, input: Record<string, unknown>): Promise<string> {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`${world.listening.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  const answer: Json = await client.callTool({ name, arguments: input });
  await client.close();
  return `${answer.isError === true ? 'error: ' : ''}${answer.content[0].text}`;
}

const work = (world: ApiWorld): Promise<unknown> =>
  workOn(world.host, { parallel: 4, untilEmpty: true, leaving: new AbortController().signal });

test('checks and expected files given over HTTP judge the run, also where an edit gives them', async () => {
  const world = await made();
  emma(world, 'echo x > made.txt', REPORT_DONE);
  const add = async (body: object): Promise<string> =>
    (await world.json('/v1/tasks', { body: { title: 'Make it', agent: 'emma', ...body } })).body.id;
  const edited = async (body: object): Promise<string> => {
    const id = await add({ check: ['true'] });
    const { status } = await world.json(`/v1/tasks/${id}`, { method: 'PATCH', body });
    expect(status).toBe(200);
    return id;
  };
  const ids = [
    await add({ check: ['exit 3'] }),
    await add({ check: ['test -s made.txt'] }),
    await add({ expect: ['missing.txt'] }),
    await edited({ check: ['exit 4'] }),
    await edited({ expect: ['missing.txt'] }),
  ];
  // One at a time: they work in one folder.
  await workOn(world.host, { parallel: 1, untilEmpty: true, leaving: new AbortController().signal });
  const found = async (id: string): Promise<readonly [string, string | null, string]> => {
    const task: Json = (await world.json(`/v1/tasks/${id}`)).body;
    return [task.status, task.verdict, task.cause?.message ?? ''];
  };
  expect(await Promise.all(ids.map(found))).toEqual([
    ['review', 'contradicted', expect.stringContaining('exit 3')],
    ['done', 'proven', ''],
    ['review', 'contradicted', expect.stringContaining('missing.txt')],
    ['review', 'contradicted', expect.stringContaining('exit 4')],
    ['review', 'contradicted', expect.stringContaining('missing.txt')],
  ]);
});

test('a field that is not known is refused and named over MCP and HTTP; a run gives its child no checks', async () => {
  const world = await made();
  for (const name of ['check', 'expect', 'x_checks', 'expected_outputs']) {
    const answer = await callTool(world, PERSON, 'aof_task_create', { title: 'x', [name]: ['true'] });
    expect(answer).toMatch(new RegExp(`^error: .*\\b${name}\\b`));
  }
  const { status, body } = await world.json('/v1/tasks', { body: { title: 'x', x_checks: ['true'] } });
  expect([status, body.error.message]).toEqual([422, expect.stringContaining('x_checks')]);
  await saidWhile(world, async (token) => {
    const refused = await world.json('/v1/tasks', { body: { title: 'x', check: ['true'] }, token });
    expect(refused.body.error).toMatchObject({
      code: 'E_PERMISSION_DENIED',
      message: expect.stringContaining('check'),
    });
  });
  expect((await world.json('/v1/tasks')).body).toMatchObject([{ externalId: 'T' }]);
});

/** `priority` is misspelt, one of the checkpoints has no id; and where `isBare`, it does not say that it is a TASK. */
function broken(world: ApiWorld, id: string, isBare = false): string {
  const { message_type: type, ...message } = taskOf(world, { agent: 'emma' });
  const check = { checkpoint_id: 'CP', validation: { command: 'exit 7' }, recovery_strategy: 'CONTINUE' };
  return JSON.stringify({
    ...message,
    ...(isBare ? {} : { message_type: type }),
    task: { ...message.task, task_id: id, priority: 'HIHG', expected_outputs: [{ path: 'out.txt' }] },
    phases: [{ phase_id: 'P', checkpoints: [check, { description: 'without an id' }] }],
  });
}
const LOST = ['/phases/0/checkpoints/1', '/task/priority'];

test('a TASK with a mistake in it: its evidence holds, and what it lost is in the answer and in the journal', async () => {
  const world = await made();
  emma(world, REPORT_DONE);
  const talk = `const socket = require('node:net').connect(process.env.BATON_SOCKET);
    let said = '';
    socket.on('data', (chunk) => { said += chunk; });
    socket.on('close', () => require('node:fs').writeFileSync('answers.txt', said));
    socket.end(require('node:fs').readFileSync(0));`;
  const send = world.script('send', talk);
  world.script('qa', `#!/bin/sh\nnode ${send} <<'SAID'\n${broken(world, 'T-SOCKET')}\nSAID\n${REPORT_DONE}\n`);
  const post = async (text: string): Promise<string> =>
    JSON.stringify((await world.json('/v1/messages', { body: text })).body);
  const answers = [
    await post(broken(world, 'T-HTTP')),
    await post(broken(world, 'T-BARE', true)),
    await callTool(world, PERSON, 'aof_message', { text: broken(world, 'T-MCP') }),
  ];
  await world.run(taskOf(world, { agent: 'lead', task: { task_id: 'T-LEAD' } }));
  for (const answer of [...answers, world.read('answers.txt')]) {
    expect(answer).toContain('accepted');
    expect(answer).toContain(`without ${LOST.join(', ')}`);
  }
  expect(answers[0]).toContain('protocol.version.fallback');
  await work(world);
  for (const name of ['T-HTTP', 'T-BARE', 'T-MCP', 'T-SOCKET']) {
    const task = await world.store.find(name, 'test-session');
    const { told } = await world.ran(task?.id ?? '', []);
    expect(task, name).toMatchObject({ status: 'review', cause: { message: expect.stringContaining('out.txt') } });
    expect(told('run.checkpoint')).toMatchObject([{ checkpoint: 'CP', status: 'FAIL' }]);
    expect(told('protocol.version.fallback')).toMatchObject([{ event: 'VERSION_FALLBACK', lost: LOST }]);
  }
});

/** While the agent waits, its run says it; the agent ends when all was answered. */
async function saidWhile(world: ApiWorld, say: (token: string) => Promise<void>): Promise<Ran> {
  emma(world, 'touch began; while [ ! -e go ]; do sleep 0.02; done; echo bye');
  const running = world.run(taskOf(world, { agent: 'emma', task: { task_id: 'T' } }));
  await until('the agent is at work', () => world.read('began') !== null);
  const task = await world.store.find('T', 'test-session');
  const token = world.tokens.open({ id: task?.run?.id ?? '', task: task?.id ?? '', agent: 'emma' });
  await say(token).finally(() => world.write('go', ''));
  return running;
}

const SAY: Readonly<Record<string, (world: ApiWorld, token: string, text: string) => Promise<string>>> = {
  HTTP: async (world, token, text) =>
    JSON.stringify((await world.json('/v1/messages', { body: text, token })).body[0].result),
  MCP: (world, token, text) => callTool(world, token, 'aof_message', { text }),
};

test.each(Object.entries(SAY))(
  'over %s a RESPONSE of another session or task is no report of this run',
  async (_, say) => {
    const world = await made();
    const ran = await saidWhile(world, async (token) => {
      for (const ids of [{ task_id: 'T', session_id: 'another' }, { task_id: 'TASK-001' }])
        expect(await say(world, token, responseText(ids))).toMatch(/^"?rejected/);
    });
    expect(ran.task).toMatchObject({ status: 'review', run: { outcome: 'needs_review' } });
    expect(ran.told('protocol.message.rejected')).toHaveLength(2);
    expect(ran.last.block).toContain('report: made by baton');
  },
);

test.each(Object.entries(SAY))('over %s its own RESPONSE is', async (_, say) => {
  const world = await made();
  const ran = await saidWhile(world, async (token) => {
    expect(await say(world, token, responseText({ task_id: 'T' }))).toMatch(/^"?accepted/);
  });
  expect(ran.task).toMatchObject({ status: 'done', summary: 'It is made.' });
});
