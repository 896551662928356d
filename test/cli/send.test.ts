/** `baton send`, and files dropped into the inbox, as a user and as an agent call them. */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../helpers/until.ts';
import { aof, event } from '../runtime/messages.ts';
import { MAIN, type Ran, startBaton, stopStarted } from './baton.ts';
import { batonHere } from './here.ts';

let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton send ')));
  mkdirSync(join(dir, '.baton'));
  writeFileSync(
    join(dir, '.baton/config.yaml'),
    'agents:\n  emma: { kind: command, command: ["./emma.sh"] }\n  qa: { kind: command, command: ["./qa.sh"] }\ndefaults: { sandbox: "off" }\n',
  );
  // A task is made only for an agent whose program is there.
  for (const name of ['emma.sh', 'qa.sh']) writeFileSync(join(dir, name), '#!/bin/sh\n', { mode: 0o755 });
});
afterEach(() => {
  stopStarted();
  rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

const add = async (...options: string[]): Promise<string> =>
  (await batonHere(['task', 'add', '--title', 'a task', '--json', ...options], '', dir)).json()['id'] as string;
const send = (text: string, ...options: string[]): Promise<Ran> => batonHere(['send', '--json', ...options], text, dir);
const show = async (id: string): Promise<Record<string, unknown>> =>
  (await batonHere(['task', 'show', id, '--json'], '', dir)).json();
const events = async (id: string): Promise<{ type: string; by: string; detail: Record<string, unknown> }[]> =>
  (await show(id))['events'] as { type: string; by: string; detail: Record<string, unknown> }[];

describe('as a person', () => {
  test('accepted, with the events that it led to', async () => {
    const id = await add();
    const sent = await send(aof('status.update', id, { progress: 'half' }));
    expect(sent.exit).toBe(0);
    expect(sent.json()).toEqual({ result: 'accepted', reason: null, task: id, events: ['protocol.message.received'] });
    expect((await show(id))['body']).toMatch(/## Work Log\n\n- \S+ user: half\n/);
    expect((await batonHere(['send'], aof('status.update', id, { progress: 'more' }), dir)).out).toMatch(
      /^accepted TASK-/,
    );
  });

  test('--as is the agent, and written down as the person', async () => {
    const id = await add('--agent', 'emma');
    const report = aof('completion.report', id, { outcome: 'partial', notes: 'half of it' });
    expect(await send(report, '--as', 'qa')).toMatchObject({ exit: 3 });
    expect(await send(report, '--as', 'emma')).toMatchObject({ exit: 0 });
    expect(await show(id)).toMatchObject({ status: 'review', summary: 'half of it' });
    expect((await events(id)).find(({ type }) => type === 'run.reported')?.by).toBe('user as emma');
    expect((await events(id)).find(({ type }) => type === 'protocol.message.rejected')).toMatchObject({
      by: 'user as qa',
      detail: { agent: 'qa', channel: 'cli' },
    });
  });

  test('a claim of done is looked at: the evidence decides, also for an agent that config does not know', async () => {
    const task = async (name: string): Promise<string> => {
      const envelope = {
        aop_version: '2.0.2-C',
        schema_version: '2.0.2',
        protocol_family: 'AOP',
        message_type: 'TASK',
        session: { session_id: 'default', created_at: '2026-01-01T00:00:00Z', orchestrator: 'test', origin: 'CLI' },
        target: { agent_name: 'zoe', role: 'EXECUTOR', provider: 'OTHER', model: 'none' },
        task: {
          task_id: name,
          objective: 'Write it',
          category: 'OTHER',
          complexity: 'LOW',
          environment: { workspace_root: dir },
          expected_outputs: [{ path: `${name}.txt` }],
        },
      };
      return (await send(JSON.stringify(envelope), '--as', 'zoe')).json()['task'] as string;
    };
    const [made, missing] = [await task('made'), await task('missing')];
    writeFileSync(join(dir, 'made.txt'), 'x');
    const done = (await send(aof('completion.report', made, { outcome: 'done' }), '--as', 'zoe')).json();
    expect(done['events']).toEqual([
      'task.transitioned',
      'run.started',
      'protocol.message.received',
      'run.reported',
      'task.transitioned',
      'run.judged',
      'task.transitioned',
    ]);
    expect((await show(made))['status']).toBe('done');
    await send(aof('completion.report', missing, { outcome: 'done' }), '--as', 'zoe');
    expect(await show(missing)).toMatchObject({ status: 'review', cause: { code: 'E_EVIDENCE' } });
  });

  test('rejected is 3, unknown and what is not ours is no failure, several messages at once', async () => {
    const id = await add();
    expect(await send(aof('status.update', 'TASK-2020-01-01-001', { notes: 'x' }))).toMatchObject({ exit: 3 });
    const unknown = await send(aof('status.query', id, {}));
    expect([unknown.exit, unknown.json()['result']]).toEqual([0, 'unknown']);
    const prose = await send('hello there');
    expect([prose.exit, prose.json()]).toEqual([
      0,
      { result: 'ignored', reason: 'it holds no message', task: null, events: [] },
    ]);
    const both = await send(`${aof('status.update', id, { notes: 'one' })}\n${aof('status.update', id, {})}\n`);
    expect(both.exit).toBe(3);
    expect(both.json()['messages']).toMatchObject([{ result: 'accepted' }, { result: 'rejected' }]);
    expect((await batonHere(['send', 'nothing.json'], '', dir)).exit).toBe(4);
    expect((await send(aof('status.update', id, { notes: 'x' }), '--token', 't')).exit).toBe(2);
  });

  test('from a file; a priority', async () => {
    const id = await add();
    writeFileSync(
      join(dir, 'm.json'),
      event('PRIORITY_ESCALATION', id, { new_priority: 'CRITICAL', reason: 'It burns.', escalated_by: 'ops' }),
    );
    expect((await batonHere(['send', 'm.json', '--json'], '', dir)).json()).toMatchObject({
      result: 'accepted',
      events: ['task.edited', 'task.escalated'],
    });
    expect((await show(id))['priority']).toBe('critical');
    expect((await batonHere(['why', id], '', dir)).out).toContain('It burns.');
    for (const json of [[], ['--json']]) {
      const { out } = await batonHere(['events', '--as', 'aop2', ...json], '', dir);
      expect(out.trim().split('\n')).toHaveLength(1);
      expect(JSON.parse(out)).toMatchObject({
        message_type: 'EVENT',
        event: 'PRIORITY_ESCALATION',
        task_id: id,
        new_priority: 'CRITICAL',
        reason: 'It burns.',
        escalated_by: 'ops',
      });
    }
    expect((await batonHere(['events', '--as', 'xml'], '', dir)).exit).toBe(2);
  });
});

test('a socket that is closed without an answer is no acknowledgement', async () => {
  const path = join(dir, 's.sock');
  const server = createServer((socket) => socket.resume().on('end', () => socket.end()));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  try {
    const child = spawn(process.execPath, [MAIN, 'send', '--json'], {
      cwd: dir,
      env: { ...process.env, BATON_SOCKET: path },
    });
    let err = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.stdin.end(aof('completion.report', 'TASK-2026-11-16-001', { outcome: 'done' }));
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(3);
    expect(err).toContain('not acknowledged');
  } finally {
    server.close();
  }
});

test('within a run: it is the run, whatever is said; --as is refused', async () => {
  const other = await add('--agent', 'qa');
  const send = (name: string): string => `${process.execPath} ${MAIN} send ${name} --json`;
  writeFileSync(join(dir, 'other.json'), aof('completion.report', other, { outcome: 'done' }, { fromAgent: 'qa' }));
  writeFileSync(
    join(dir, 'emma.sh'),
    `#!/bin/sh\ncat > /dev/null
printf '{"protocol":"aof","version":1,"type":"completion.report","taskId":"%s","fromAgent":"qa","sentAt":"2026-11-16T10:00:00Z","payload":{"outcome":"blocked","notes":"no key"}}' "$BATON_TASK_ID" > mine.json
${await send('mine.json')} > mine.out; echo $? >> mine.out
${await send('other.json')} > other.out; echo $? >> other.out
${await send('mine.json')} --as qa > as.out 2>&1; echo $? >> as.out
env -u BATON_SOCKET ${await send('other.json')} > bare.out; echo $? >> bare.out
`,
  );
  chmodSync(join(dir, 'emma.sh'), 0o755);
  const ran = await batonHere(['run', 'Do it', '--agent', 'emma', '--json'], '', dir);
  const out = (name: string): string => readFileSync(join(dir, `${name}.out`), 'utf8');
  expect(out('mine')).toMatch(/"result":"accepted"[\s\S]*\n0\n$/);
  expect(out('other')).toMatch(/"result":"rejected"[\s\S]*\n3\n$/);
  expect(out('as')).toMatch(/E_PERMISSION_DENIED[\s\S]*\n3\n$/);
  // Who takes the socket out of its own environment is the run all the same.
  expect(out('bare')).toMatch(/"result":"rejected"[\s\S]*\n3\n$/);
  expect((await show(other))['status']).toBe('ready');
  const last = JSON.parse(ran.out.trim().split('\n').at(-1) ?? '') as { task_status: object };
  expect(last.task_status).toMatchObject({ state: 'FAILED' });
  const blocked = (await batonHere(['task', 'list', '--status', 'blocked', '--json'], '', dir)).json() as unknown as {
    cause: object;
  }[];
  expect(blocked).toMatchObject([{ cause: { message: 'no key' } }]);
});

test('a run that hides is not the person, nor another run', async () => {
  const inReview = async (): Promise<string> => {
    const id = await add('--agent', 'qa');
    await send(aof('completion.report', id, { outcome: 'partial' }), '--as', 'qa');
    return id;
  };
  const other = await inReview();
  const cli = `${process.execPath} ${MAIN}`;
  const call = (name: string, text: string): string => `${text} > ${name}.out 2>&1; echo $? >> ${name}.out`;
  const lines = [
    { jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'resources/read', params: { uri: `baton://task/${other}` } },
  ].map((line) => `${JSON.stringify(line)}\n`);
  writeFileSync(join(dir, 'mcp.txt'), lines.join(''));
  writeFileSync(
    join(dir, 'orphan.sh'),
    `#!/bin/sh\nsleep 0.3\n${cli} task move ${other} done > orphan.out 2>&1\necho $? >> orphan.out\ntouch orphaned\n`,
  );
  writeFileSync(join(dir, 'note.json'), aof('status.update', other, { notes: 'as another' }));
  writeFileSync(
    join(dir, 'emma.sh'),
    `#!/bin/sh\ncat > /dev/null
mark="$BATON_RUN_MARK"
${call('forged', `env -u BATON_SOCKET BATON_RUN_MARK=${other}-r1@\${mark#*@} ${cli} send note.json --json`)}
${call('mcp', `env -u BATON_SOCKET ${cli} mcp < mcp.txt`)}
(env -i PATH="$PATH" setsid sh orphan.sh > /dev/null 2>&1 < /dev/null &)
while [ ! -e orphaned ]; do sleep 0.05; done
exec env -i PATH="$PATH" sh -c '${cli} task move ${other} done > bare.out 2>&1; echo $? >> bare.out'
`,
  );
  chmodSync(join(dir, 'emma.sh'), 0o755);
  const ran = startBaton(['run', 'Do it', '--agent', 'emma', '--json'], dir);
  await until('it runs', () => existsSync(join(dir, 'forged.out')));
  // With a line of parents that was there before, it is a person all the same, terminal or not.
  const mine = await inReview();
  expect(await batonHere(['task', 'move', mine, 'done'], '', dir)).toMatchObject({ exit: 0 });
  await ran.ended;
  const out = (name: string): string => readFileSync(join(dir, `${name}.out`), 'utf8');
  expect(out('forged')).toMatch(/"result":"rejected"[\s\S]*may speak of[\s\S]*\n3\n$/);
  expect(out('mcp')).toContain('there is no baton://task/');
  expect(out('orphan')).toMatch(/E_\w+[\s\S]*\n3\n$/);
  expect(out('bare')).toMatch(/E_\w+[\s\S]*\n3\n$/);
  expect((await show(other))['status']).toBe('review');
});

const INITIALIZE = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };

describe('the inbox', () => {
  const drop = (name: string, text: string): void => {
    mkdirSync(join(dir, '.baton/inbox'), { recursive: true });
    // Whole, as a careful writer does it.
    writeFileSync(join(dir, name), text);
    renameSync(join(dir, name), join(dir, '.baton/inbox', name));
  };
  const inbox = (folder: string): string[] =>
    existsSync(join(dir, '.baton/inbox', folder)) ? readdirSync(join(dir, '.baton/inbox', folder)).sort() : [];

  test('what is dropped there is routed, and moved to where it belongs', async () => {
    const id = await add('--status', 'backlog');
    drop('early.json', aof('status.update', id, { notes: 'before anybody looked' }));
    const work = startBaton(['work'], dir);
    await until('it is taken', () => inbox('done').includes('early.json'));
    drop('good.json', aof('status.update', id, { notes: 'while it works' }));
    drop('bad.json', aof('status.update', id, {}));
    drop('prose.txt', 'hello');
    await until('they are taken', () => inbox('done').length === 2 && inbox('rejected').length === 4);
    expect(inbox('rejected')).toEqual(['bad.json', 'bad.json.reason', 'prose.txt', 'prose.txt.reason']);
    expect(readFileSync(join(dir, '.baton/inbox/rejected/bad.json.reason'), 'utf8')).toMatch(/^rejected: \/payload/);
    expect((await show(id))['body']).toMatch(/user, in the inbox: before anybody looked[\s\S]*while it works/);
    work.child.kill('SIGTERM');
    await work.ended;
  });

  test('what was put there while a run was live is not a person when the run has ended', async () => {
    const id = await add('--status', 'backlog');
    writeFileSync(join(dir, 'late.json'), aof('status.update', id, { status: 'ready' }));
    writeFileSync(
      join(dir, 'emma.sh'),
      `#!/bin/sh\ncat > /dev/null\nmkdir -p .baton/inbox\ncp late.json .baton/inbox/late.json\ntouch -d '2 seconds' .baton/inbox/late.json\n`,
    );
    chmodSync(join(dir, 'emma.sh'), 0o755);
    await batonHere(['run', 'Do it', '--agent', 'emma'], '', dir);
    expect(existsSync(join(dir, '.baton/inbox/late.json'))).toBe(true);
    const work = startBaton(['work'], dir);
    await until('it is refused', () => inbox('rejected').includes('late.json.reason'));
    expect((await show(id))['status']).toBe('backlog');
    drop('mine.json', aof('status.update', id, { status: 'ready' }));
    await until('it is taken', () => inbox('done').includes('mine.json'));
    expect((await show(id))['status']).not.toBe('backlog');
    work.child.kill('SIGTERM');
    await work.ended;
  });

  test('while a run is live nobody can tell who put it there', async () => {
    const id = await add('--status', 'backlog');
    writeFileSync(
      join(dir, 'emma.sh'),
      '#!/bin/sh\ncat > /dev/null\ntouch started\nwhile [ ! -e stop ]; do sleep 0.05; done\n',
    );
    chmodSync(join(dir, 'emma.sh'), 0o755);
    await add('--agent', 'emma');
    const work = startBaton(['work'], dir);
    await until('it runs', () => existsSync(join(dir, 'started')));
    drop('who.json', aof('status.update', id, { status: 'ready' }));
    await until('it is refused', () => inbox('rejected').includes('who.json.reason'));
    expect((await show(id))['status']).toBe('backlog');
    expect((await events(id)).find(({ type }) => type === 'protocol.message.rejected')?.by).toBe(
      'somebody, in the inbox',
    );
    writeFileSync(join(dir, 'stop'), '');
    work.child.kill('SIGTERM');
    await work.ended;
  });
});
