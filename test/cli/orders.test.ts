/** What was said is what happens: the agent, the model, the checks and the limits of an order hold for every process that carries it out. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../helpers/until.ts';
import { baton, startBaton, stopStarted } from './baton.ts';
import { batonHere } from './here.ts';

type Json = Record<string, unknown>;

let root = '';
const REPORT = ['[AOP:SUMMARY] done by $0', '[AOP:STATUS] success'].map((line) => `echo "${line}"`).join('\n');
const agent = (name: string, before = ''): void =>
  writeFileSync(join(root, `${name}.sh`), `#!/bin/sh\ncat > /dev/null\n${before}\n${REPORT}\n`, { mode: 0o755 });
const config = (text: string): void => writeFileSync(join(root, '.baton/config.yaml'), text);
const AGENTS = `agents:
  emma: { kind: command, command: ["./emma.sh"] }
  other: { kind: command, command: ["./other.sh"] }
defaults: { agent: other, sandbox: "off" }
`;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-orders-')));
  mkdirSync(join(root, '.baton'));
  agent('emma');
  agent('other');
  config(AGENTS);
});
afterEach(() => {
  stopStarted();
  rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

const json = async (...args: string[]): Promise<Json> => {
  const ran = await batonHere([...args, '--json'], '', root);
  if (ran.exit !== 0) throw new Error(`${args.join(' ')}: ${ran.err}`);
  return ran.json();
};
const list = async (): Promise<Json[]> =>
  JSON.parse((await batonHere(['task', 'list', '--json'], '', root)).out) as Json[];
const runsOf = async (id: string): Promise<Json[]> => (await json('task', 'show', id))['runs'] as Json[];
/** Which agent had each run of a task, and with which model. */
const ranBy = async (id: string): Promise<unknown[]> => (await runsOf(id)).map((run) => [run['agent'], run['model']]);
const idOf = ({ id }: Json): string => String(id);
const begun = (name: string): boolean => existsSync(join(root, name));

describe('the agent that was ordered does it', () => {
  test('while another process works on the same folder', async () => {
    const working = startBaton(['work'], root);
    for (let i = 1; i <= 5; i++) {
      const ran = await startBaton(['run', `Part ${i}`, '--agent', 'emma', '--model', 'm-1'], root).ended;
      expect(ran).toBe(0);
    }
    for (const task of await list()) expect(await ranBy(idOf(task))).toEqual([['emma', 'm-1']]);
    working.child.kill('SIGTERM');
    await working.ended;
  });

  test('after Ctrl-C, when another process goes on with it', async () => {
    agent('emma', 'touch begun\nwhile [ ! -e go ]; do sleep 0.05; done');
    const running = startBaton(['run', 'Do it', '--agent', 'emma', '--model', 'm-2'], root);
    await until('emma has begun', () => begun('begun'));
    running.child.kill('SIGINT');
    expect(await running.ended).toBe(130);
    writeFileSync(join(root, 'go'), '');
    expect((await batonHere(['work', '--until-empty'], '', root)).exit).toBe(0);
    const [task] = await list();
    expect(await ranBy(idOf(task as Json))).toEqual([
      ['emma', 'm-2'],
      ['emma', 'm-2'],
    ]);
    expect(task).toMatchObject({ status: 'done', agent: 'emma', model: 'm-2' });
  });

  test('after kill -9 of the process that ran it', async () => {
    agent('emma', 'touch begun\nwhile [ ! -e go ]; do sleep 0.05; done');
    const running = startBaton(['run', 'Do it', '--agent', 'emma'], root);
    await until('emma has begun', () => begun('begun'));
    running.child.kill('SIGKILL');
    await running.ended;
    writeFileSync(join(root, 'go'), '');
    expect((await batonHere(['work', '--until-empty'], '', root)).exit).toBe(0);
    const [task] = await list();
    expect((await ranBy(idOf(task as Json))).map((run) => (run as string[])[0])).toEqual(['emma', 'emma']);
  });

  test('when it is made anew after a rollback', async () => {
    const git = (...args: string[]): void => void execFileSync('git', args, { cwd: root, stdio: 'ignore' });
    git('init', '-q', '-b', 'main');
    git('-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', 'commit', '-q', '--allow-empty', '-m', 'one');
    const line = (text: string): Promise<Json> => json('do', text, '--session', 's');
    await line('#CHECKPOINT:create:manual:before');
    const ran = await batonHere(['run', 'Do it', '--agent', 'emma', '--model', 'm-3', '--session', 's'], '', root);
    expect(ran.exit).toBe(0);
    expect((await line('#ROLLBACK:cp_001:force'))['reply']).not.toMatch(/#ERROR/);
    const anew = (await list()).find(({ status }) => status === 'ready') as Json;
    expect(anew).toMatchObject({ agent: 'emma', model: 'm-3' });
    await batonHere(['work', '--until-empty'], '', root);
    expect(await ranBy(idOf(anew))).toEqual([['emma', 'm-3']]);
  });
});

describe('an order that cannot be carried out is refused when it is given', () => {
  const refused = async (...args: string[]): Promise<[number | null, string]> => {
    const ran = await batonHere([...args, '--json'], '', root);
    return [ran.exit, ((JSON.parse(ran.err) as Json)['error'] as Json)['code'] as string];
  };

  test('an agent that is not there, a program that is not there', async () => {
    config(`${AGENTS}`.replace('defaults', '  broken: { kind: command, command: ["./gone.sh"] }\ndefaults'));
    for (const name of ['ghost', 'broken']) {
      expect(await refused('task', 'add', '--title', 'x', '--agent', name)).toEqual([4, 'E_AGENT_NOT_FOUND']);
      expect(await refused('run', 'x', '--agent', name)).toEqual([4, 'E_AGENT_NOT_FOUND']);
    }
    expect(await list()).toEqual([]);
    const { id } = await json('task', 'add', '--title', 'x');
    expect(await refused('task', 'edit', String(id), '--agent', 'ghost')).toEqual([4, 'E_AGENT_NOT_FOUND']);
    expect((await list())[0]).toMatchObject({ agent: null });
  });

  test('a worktree where there is no repository', async () => {
    expect(await refused('task', 'add', '--title', 'x', '--worktree')).toEqual([4, 'E_FILE_NOT_FOUND']);
    expect(await list()).toEqual([]);
  });
});

describe('run, task add and task edit take the same options', () => {
  const OPTIONS = ['--agent', 'emma', '--model', 'm-4', '--timeout', '77', '--retries', '2', '--priority', 'high'];
  const CHECKS = ['--check', 'test -e made.txt', '--check', 'lint=true', '--expect', 'made.txt', '--write', 'made.txt'];

  const order = async (id: string): Promise<unknown> => {
    const shown = await json('task', 'show', id);
    const file = join(root, `.baton/tasks/${String(shown['status'])}/${id}/inputs/task.json`);
    await until('the TASK is written', () => existsSync(file));
    const {
      guard_rails: rails,
      task,
      execution_policy: policy,
    } = JSON.parse(readFileSync(file, 'utf8')) as {
      guard_rails: Json;
      execution_policy: Json;
      task: { extensions: Json; expected_outputs: Json[]; access: { filesystem: Json } };
    };
    const { agent: named, model, priority, maxRetries } = shown;
    return {
      ...{ named, model, priority, maxRetries, timeout: rails['timeout_seconds'], retries: policy['max_retries'] },
      checks: task.extensions['x_checks'],
      outputs: task.expected_outputs,
      write: task.access.filesystem['write_paths'],
    };
  };

  test('and the same order comes of them', async () => {
    agent('emma', 'echo x > made.txt');
    const added = await json('task', 'add', '--title', 'Make it', ...OPTIONS, ...CHECKS);
    const plain = await json('task', 'add', '--title', 'Make it');
    await json('task', 'edit', idOf(plain), ...OPTIONS, ...CHECKS);
    await batonHere(['run', 'Make it', ...OPTIONS, ...CHECKS], '', root);
    const ran = (await list()).at(-1) as Json;
    const expected = {
      ...{ named: 'emma', model: 'm-4', priority: 'high', maxRetries: 2, timeout: 77, retries: 2 },
      checks: [
        { name: 'check-1', command: 'test -e made.txt' },
        { name: 'lint', command: 'true' },
      ],
      outputs: [{ path: 'made.txt' }],
      write: [join(root, 'made.txt')],
    };
    for (const { id } of [added, plain, ran]) expect(await order(String(id))).toEqual(expected);
    expect(ran).toMatchObject({ status: 'done', verdict: 'proven' });
  });

  test('a check that fails keeps a task from being done, and says which and why', async () => {
    const ran = await batonHere(['run', 'Say so', '--agent', 'emma', '--check', 'echo broken; exit 3'], '', root);
    expect(ran.exit).toBe(3);
    const [task] = await list();
    expect(task).toMatchObject({ status: 'review', verdict: 'contradicted' });
    expect(JSON.stringify(await json('why', idOf(task as Json)))).toMatch(
      /check `echo broken; exit 3` failed.*broken/s,
    );
  });

  test('none empties a list, and dependencies can be changed', async () => {
    const first = await json('task', 'add', '--title', 'First');
    const second = await json('task', 'add', '--title', 'Second', '--depends-on', idOf(first), '--check', 'false');
    expect(second).toMatchObject({ blockedBy: [first['id']], waitsFor: [{ for: 'dependency', task: first['id'] }] });
    const freed = await json('task', 'edit', idOf(second), '--depends-on', 'none', '--check', 'none');
    expect(freed).toMatchObject({ dependsOn: [], blockedBy: [] });
    const again = await json('task', 'edit', idOf(second), '--depends-on', idOf(first));
    expect(again).toMatchObject({ dependsOn: [first['id']] });
  });

  test('retry takes another agent and another budget', async () => {
    agent('emma', 'exit 1');
    const ran = await batonHere(['run', 'Do it', '--agent', 'emma'], '', root);
    expect(ran.exit).toBe(1);
    const [task] = await list();
    await json('task', 'retry', idOf(task as Json), '--agent', 'other', '--budget', '3');
    await batonHere(['work', '--until-empty'], '', root);
    expect((await ranBy(idOf(task as Json))).map((run) => (run as string[])[0])).toEqual(['emma', 'other']);
  });
});

test('a body that is edited by hand is the new order, also of a task that came as a TASK', async () => {
  agent('emma', 'true');
  writeFileSync(join(root, 'emma.sh'), `#!/bin/sh\ncat > said.txt\n${REPORT}\n`, { mode: 0o755 });
  const { id } = await json('task', 'add', '--title', 'Make it red', '--agent', 'emma', '--timeout', '50');
  const file = join(root, `.baton/tasks/ready/${String(id)}.md`);
  await until('its file is there', () => existsSync(file));
  writeFileSync(file, `${readFileSync(file, 'utf8')}Make it green, and only that.\n`);
  await until('the edit is taken in', async () =>
    String((await json('task', 'show', String(id)))['body']).includes('green'),
  );
  await batonHere(['work', '--until-empty'], '', root);
  expect(readFileSync(join(root, 'said.txt'), 'utf8')).toContain('Make it green, and only that.');
});

test('a process that stays follows a changed config, and goes on with the old one where the new one is broken', async () => {
  const working = startBaton(['work'], root);
  const { id: first } = await json('task', 'add', '--title', 'First', '--agent', 'emma');
  await until('it works', async () => (await list())[0]?.['status'] === 'done');
  config('agents: { emma: 7 }\n');
  await until('it says that it is broken', () => working.err().includes('is not followed'));
  agent('late');
  config(`${AGENTS}`.replace('defaults', '  late: { kind: command, command: ["./late.sh"] }\ndefaults'));
  await until('it says that it has changed', () => working.err().includes('are in force from now on'));
  const { id } = await json('task', 'add', '--title', 'Second', '--agent', 'late');
  await until('it is done', async () => (await list())[1]?.['status'] === 'done');
  expect(await ranBy(String(id))).toEqual([['late', null]]);
  expect(await ranBy(String(first))).toEqual([['emma', null]]);
});

describe('a model that is tried in place of another', () => {
  const envelope = (target: object, alternatives: object[]): string =>
    JSON.stringify({
      aop_version: '2.0.2-C',
      schema_version: '2.0.2',
      protocol_family: 'AOP',
      message_type: 'TASK',
      session: { session_id: 's', created_at: '2026-11-16T00:00:00Z', orchestrator: 'ann', origin: 'CLI' },
      target: { role: 'EXECUTOR', ...target },
      task: {
        task_id: 'T-1',
        objective: 'Do it',
        category: 'OTHER',
        complexity: 'LOW',
        environment: { workspace_root: root },
      },
      execution_policy: { alternative_models: alternatives },
    });
  const MISSING = { agent_name: 'nobody-here', provider: 'LOCAL', model: 'x' };
  const LLAMA = { provider: 'LOCAL', model: 'llama', fallback_trigger: 'FIRST_ERROR' };

  test('is tried by run as by work, though the first agent is not there', async () => {
    config(AGENTS.replace('other: { kind: command,', 'other: { kind: command, model: llama,'));
    const ran = baton(['run', '-'], envelope(MISSING, [LLAMA]), root);
    expect([ran.exit, ran.out]).toEqual([0, expect.stringContaining('[AOP:STATUS] success')]);
    const [task] = await list();
    expect((await ranBy(idOf(task as Json))).at(-1)).toEqual(['other', 'llama']);
  });

  test('is not given to an agent of another provider', async () => {
    writeFileSync(join(root, 'claude'), `#!/bin/sh\necho "$@" >> ${root}/started\nexit 1\n`, { mode: 0o755 });
    const path = `${root}:${process.env['PATH']}`;
    const target = { agent_name: 'claude', provider: 'CLAUDE', model: 'claude-sonnet-4-5' };
    const ran = await batonHere(['run', '-'], envelope(target, [LLAMA]), root, { PATH: path });
    expect(ran.exit).toBe(1);
    const [task] = await list();
    expect(JSON.stringify((task as Json)['cause'])).toMatch(/there is no agent with the model llama/);
    // The program was started with its own model, and never with the other.
    expect(readFileSync(join(root, 'started'), 'utf8')).toMatch(/claude-sonnet-4-5/);
    expect(readFileSync(join(root, 'started'), 'utf8')).not.toMatch(/llama/);
  });
});

test('task list shows what waits as waiting, external ids, and only what is open where that is asked for', async () => {
  const first = await json('task', 'add', '--title', 'First');
  await json('task', 'add', '--title', 'Second', '--depends-on', idOf(first));
  const gone = await json('task', 'add', '--title', 'Third');
  await json('task', 'cancel', idOf(gone));
  const { out } = await batonHere(['task', 'list'], '', root);
  expect(out).toMatch(new RegExp(`waiting .*Second {2}after ${idOf(first)}`));
  const open = await batonHere(['task', 'list', '--open'], '', root);
  expect(open.out).not.toContain('Third');
  expect(open.out).toContain('Second');
});
