/**
 * One order, through every interface: the journal holds the same task each time, and what one refuses all refuse. Real processes, a real
 * repository, `baton serve` beside them.
 */
import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Task } from '../../src/core/task.ts';
import { openStore } from '../../src/store/open.ts';
import { until } from '../helpers/until.ts';
import { MAIN, startBaton, stopStarted } from './baton.ts';
import { batonHere } from './here.ts';

let root = '';
let url = '';
let token = '';

const SILENT = '#!/bin/sh\ncat > /dev/null\n';

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-doors-')));
  const git = (...args: string[]): void => void execFileSync('git', args, { cwd: root, stdio: 'ignore' });
  git('init', '-q', '-b', 'main');
  git('config', 'user.email', 'ann@example.org');
  git('config', 'user.name', 'Ann');
  writeFileSync(join(root, 'emma.sh'), SILENT, { mode: 0o755 });
  mkdirSync(join(root, 'src'));
  writeFileSync(join(root, 'src/a.txt'), 'a\n');
  symlinkSync('src', join(root, 'link'));
  git('add', '.');
  git('commit', '-qm', 'one');
  mkdirSync(join(root, '.baton'));
  // Held back by its own limit, so that every task is seen as it was made.
  writeFileSync(
    join(root, '.baton/config.yaml'),
    'agents: { emma: { kind: command, command: ["./emma.sh"] } }\ndefaults: { sandbox: "off" }\n',
  );
  const served = startBaton(['serve', '--port', '0', '--json'], root);
  await served.printed(/^\{"url".*\}\n/);
  const told = JSON.parse(served.out().split('\n', 1)[0] ?? '') as { url: string; token_file: string };
  url = told.url;
  token = readFileSync(told.token_file, 'utf8').trim();
});
afterAll(() => {
  stopStarted();
  rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

const envelope = (title: string, agent: string, more: object = {}): string =>
  JSON.stringify({
    aop_version: '2.0.2-C',
    schema_version: '2.0.2',
    protocol_family: 'AOP',
    message_type: 'TASK',
    session: { session_id: 'default', created_at: '2026-11-16T00:00:00Z', orchestrator: 'ann', origin: 'CLI' },
    target: { agent_name: agent, role: 'EXECUTOR', provider: 'OTHER', model: 'default' },
    task: {
      task_id: title.replaceAll(' ', '-'),
      objective: title,
      category: 'OTHER',
      complexity: 'LOW',
      environment: { workspace_root: root },
      ...more,
    },
  });

const post = async (type: string, body: string): Promise<string> => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': type };
  return (await fetch(`${url}/v1/tasks`, { method: 'POST', headers, body })).text();
};

const cli = async (args: readonly string[], input = ''): Promise<string> => {
  const ran = await batonHere([...args, '--json'], input, root);
  return `${ran.out}${ran.err}`;
};

/** A file that Baton takes out of its inbox: with the reason beside it where it was refused. */
async function dropped(name: string, text: string): Promise<string> {
  const inbox = join(root, '.baton/inbox');
  writeFileSync(join(inbox, `.${name}`), text);
  execFileSync('mv', [join(inbox, `.${name}`), join(inbox, name)]);
  const refused = join(inbox, 'rejected', `${name}.reason`);
  const reason = (): string => (existsSync(refused) ? readFileSync(refused, 'utf8') : '');
  await until(`${name} is taken`, () => existsSync(join(inbox, 'done', name)) || reason() !== '');
  return reason() || 'taken';
}

/** A task file in `tasks/ready`: it becomes a task of Baton's, or the journal says why not. */
async function droppedTask(name: string, text: string): Promise<string> {
  const ready = join(root, '.baton/tasks/ready');
  mkdirSync(ready, { recursive: true });
  writeFileSync(join(ready, name), text);
  let said = '';
  await until(`${name} is taken`, async () => {
    const events = (await batonHere(['events', '--json'], '', root)).out;
    said = events
      .split('\n')
      .filter((line) => line.includes('tree.refused') && line.includes(name))
      .join('\n');
    return said !== '' || !readdirSync(ready).includes(name);
  });
  return said;
}

async function byMcp(title: string, agent: string): Promise<string> {
  const child = spawn(process.execPath, [MAIN, 'mcp'], { cwd: root });
  let out = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  const say = (message: object): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const info = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  say({ id: 1, method: 'initialize', params: info });
  say({ method: 'notifications/initialized' });
  say({ id: 2, method: 'tools/call', params: { name: 'aof_task_create', arguments: { title, agent } } });
  await until('it answers', () => out.includes('"id":2'));
  child.kill();
  return out;
}

type Give = (title: string, agent: string) => Promise<string>;

/** Each gives the same order, and returns what was answered. */
const DOORS: Readonly<Record<string, Give>> = {
  'baton task add': (title, agent) => cli(['task', 'add', '--title', title, '--agent', agent]),
  'baton task add, a TASK': (title, agent) => cli(['task', 'add', '-'], envelope(title, agent)),
  'HTTP, fields': (title, agent) => post('application/json', JSON.stringify({ title, agent })),
  'HTTP, a TASK': (title, agent) => post('text/plain', envelope(title, agent)),
  'baton send, a TASK': (title, agent) => cli(['send', '-'], envelope(title, agent)),
  'inbox, a TASK': (title, agent) => dropped(`${title.replaceAll(' ', '-')}.json`, envelope(title, agent)),
  'a file in tasks/ready': (title, agent) =>
    droppedTask(
      `${title.replaceAll(' ', '-')}.md`,
      `---\ntitle: ${title}\nrouting: { agent: ${agent} }\n---\n${title}\n`,
    ),
  '#DELEGATE': (title, agent) => cli(['do', `#DELEGATE:${agent}:${title}`, '--session', 'default']),
  MCP: byMcp,
};

async function madeOf(title: string): Promise<Task | undefined> {
  const store = await openStore(join(root, '.baton'));
  try {
    for await (const task of store.tasks()) if (task.title === title) return task;
    return undefined;
  } finally {
    await store.close();
  }
}

/** What every run of the task obeys, whoever made it. */
const orderIn = ({ routing, model, workspace, writes, retry, priority, dependsOn, reviewRequired }: Task) => ({
  agent: routing.agent,
  model,
  place: workspace === null ? null : { ...workspace, base: null },
  writes,
  retry,
  priority,
  dependsOn,
  reviewRequired,
});

describe.each(Object.entries(DOORS))('%s', (door, give) => {
  test('makes the same task as every other interface', async () => {
    const title = `Paint ${door.replace(/\W+/g, ' ').trim()}`;
    const answer = await give(title, 'emma');
    await until(`${title} is there: ${answer}`, async () => (await madeOf(title)) !== undefined);
    expect(orderIn((await madeOf(title)) as Task)).toEqual({
      agent: 'emma',
      model: null,
      place: {
        path: root,
        repository: execFileSync('git', ['rev-list', '--max-parents=0', 'HEAD'], {
          cwd: root,
          encoding: 'utf8',
        }).trim(),
        folder: '',
        branch: 'main',
        isolation: 'worktree',
        merge: 'proven',
        base: null,
      },
      writes: [],
      retry: { maxRetries: 0, backoffSeconds: [30, 120, 300] },
      priority: 'normal',
      dependsOn: [],
      reviewRequired: false,
    });
  });

  test('refuses an agent that is not there, with the same reason, and makes nothing', async () => {
    const title = `Ghost ${door.replace(/\W+/g, ' ').trim()}`;
    expect(await give(title, 'ghost')).toMatch(/no agent ghost|unknown_agent/);
    expect(await madeOf(title)).toBeUndefined();
  });
});

/** A TASK says more than a title: a path through a link, and a dependency that another session knows by its own name. */
const WITH_TASKS = ['baton task add, a TASK', 'HTTP, a TASK', 'baton send, a TASK', 'inbox, a TASK'];
const GIVE_TASK: Readonly<Record<string, (title: string, text: string) => Promise<string>>> = {
  'baton task add, a TASK': (_, text) => cli(['task', 'add', '-'], text),
  'HTTP, a TASK': (_, text) => post('text/plain', text),
  'baton send, a TASK': (_, text) => cli(['send', '-'], text),
  'inbox, a TASK': (title, text) => dropped(`${title.replaceAll(' ', '-')}.json`, text),
};

test.each(WITH_TASKS)(
  '%s: write paths are real, and dependencies are found by the names of other sessions',
  async (door) => {
    if ((await madeOf('First of all')) === undefined) {
      const first = JSON.parse(envelope('First of all', 'emma')) as { session: object; task: object };
      const text = JSON.stringify({
        ...first,
        session: { ...first.session, session_id: 'earlier' },
        task: { ...first.task, task_id: 'A1', constraints: { read_only_mode: true } },
      });
      expect(await cli(['task', 'add', '-', '--review'], text)).toContain('"externalId":"A1"');
    }
    const first = (await madeOf('First of all')) as Task;
    const title = `Then ${door.replace(/\W+/g, ' ').trim()}`;
    const text = envelope(title, 'emma', {
      access: { filesystem: { read_paths: [root], write_paths: ['link'] } },
      extensions: { x_depends_on: ['A1'], x_isolation: 'shared' },
    });
    const answer = await GIVE_TASK[door]?.(title, text);
    await until(`${title} is there: ${answer}`, async () => (await madeOf(title)) !== undefined);
    const made = (await madeOf(title)) as Task;
    expect([made.dependsOn, made.writes, made.workspace?.isolation]).toEqual([
      [first.id],
      [join(root, 'src')],
      'shared',
    ]);
  },
);
