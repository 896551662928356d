/** `baton why`, `events`, `audit`, `init`, `doctor`, `gc`. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { LEAST_NODE } from '../../src/cli/doctor.ts';
import { AUDIT_TYPES } from '../../src/core/audit.ts';
import { DEFAULT_CONFIG } from '../../src/core/config.ts';
import { TASK_STATUSES } from '../../src/core/task.ts';
import { openStore } from '../../src/store/open.ts';
import { baton, MAIN, type Ran, startBaton, stopStarted } from './baton.ts';
import { batonHere } from './here.ts';

const made: string[] = [];
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

afterEach(stopStarted);

let cwd = '';
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'baton-store-'));
  made.push(cwd);
});

const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> => batonHere(args, '', cwd, env);
const add = async (...args: string[]): Promise<string> => {
  const ran = await run(['task', 'add', '--json', ...args]);
  if (ran.exit !== 0) throw new Error(ran.err);
  return (JSON.parse(ran.out) as { id: string }).id;
};
const lines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Changes a word of the journal, in whichever day's file it stands, and leaves no snapshot to open from. */
function damage(word: string, other: string): void {
  const events = join(cwd, '.baton/events');
  for (const name of readdirSync(events)) {
    const file = join(events, name);
    writeFileSync(file, readFileSync(file, 'utf8').replace(word, other));
  }
  rmSync(join(cwd, '.baton/snapshot.jsonl'), { force: true });
}

describe('baton why', () => {
  const WhyShape = z.strictObject({
    id: z.string(),
    status: z.enum(TASK_STATUSES),
    verdict: z.enum(['proven', 'contradicted', 'unverified']).nullable(),
    because: z.array(
      z.strictObject({
        event: z.string(),
        at: z.iso.datetime(),
        by: z.string(),
        detail: z.record(z.string(), z.unknown()),
      }),
    ),
    waitsFor: z.array(z.looseObject({ for: z.string(), text: z.string() })),
  });

  test('the dependency that failed, and what to do about it', async () => {
    const a = await add('--title', 'a');
    const b = await add('--title', 'b', '--depends-on', a);
    await run(['task', 'move', a, 'deadletter', '--reason', 'hopeless']);
    const found = WhyShape.parse((await run(['why', b, '--json'])).json());
    expect(found.because.map(({ event, detail }) => [event, detail['task'], detail['to']])).toEqual([
      ['task.created', undefined, undefined],
      ['task.transitioned', a, 'deadletter'],
      ['task.transitioned', undefined, 'blocked'],
    ]);
    expect(found.waitsFor).toEqual([
      {
        for: 'dependency',
        text: `${a} to be done; it is deadletter (try: baton task retry ${a})`,
        task: a,
        status: 'deadletter',
      },
    ]);
    const { exit, out } = await run(['why', b]);
    expect(exit).toBe(0);
    expect(out).toMatch(new RegExp(`^${b} is blocked {2}b\n\nBecause:\n {2}.*task\\.created`));
    expect(out).toContain(`\nIt waits for:\n  ${a} to be done; it is deadletter`);
  });

  test('what is final waits for nothing', async () => {
    const a = await add('--title', 'a');
    await run(['task', 'cancel', a]);
    expect((await run(['why', a])).out).toMatch(/to: cancelled\n\nIt waits for nothing more\.\n$/);
  });
});

describe('baton events', () => {
  test('one line an event, flat', async () => {
    const a = await add('--title', 'a');
    const b = await add('--title', 'b', '--depends-on', a, '--session', 's');
    await run(['task', 'cancel', a, '--reason', 'r']);
    const events = lines((await run(['events', '--json'])).out);
    expect(events).toEqual([
      {
        id: '1-0',
        seq: 1,
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        session: 'default',
        type: 'task.created',
        task: a,
        run: null,
        by: 'user',
        byKind: 'person',
        detail: { title: 'a', status: 'ready', priority: 'normal' },
      },
      expect.objectContaining({ id: '2-0', session: 's', task: b }),
      expect.objectContaining({
        id: '3-0',
        type: 'task.transitioned',
        task: a,
        detail: { from: 'ready', to: 'cancelled', reason: 'r' },
      }),
      expect.objectContaining({ id: '3-1', type: 'task.transitioned', task: b }),
    ]);
    const of = async (...args: string[]): Promise<unknown[]> =>
      lines((await run(['events', '--json', ...args])).out).map(({ id }) => id);
    expect(await of('--task', b)).toEqual(['2-0', '3-1']);
    expect(await of('--session', 's')).toEqual(['2-0']);
    expect((await run(['events', '--task', a])).out).toMatch(
      new RegExp(
        `^[-\\d]+ [:\\d]+ {2}task\\.created {8}${a} {2}by user {2}title: a, status: ready, priority: normal\n`,
      ),
    );
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('--follow goes on with what others do, until %s', async (signal) => {
    const first = await add('--title', 'first');
    const following = startBaton(['events', '--follow', '--json'], cwd);
    await following.printed(new RegExp(first));
    const second = await add('--title', 'second');
    await following.printed(new RegExp(second));
    following.child.kill(signal);
    expect([await following.ended, following.err()]).toEqual([0, '']);
    expect(lines(following.out()).map(({ task }) => task)).toEqual([first, second]);
    expect((await run(['audit', 'verify', '--json'])).json()).toMatchObject({ ok: true, records: 2 });
  });
});

describe('baton audit', () => {
  const Audit = z.strictObject({
    id: z.string(),
    version: z.string(),
    timestamp: z.iso.datetime(),
    session: z.string(),
    task: z.string().nullable(),
    type: z.enum(AUDIT_TYPES),
    actor: z.strictObject({
      name: z.string(),
      role: z.string(),
      provider: z.string().nullable(),
      model: z.string().nullable(),
    }),
    payload: z.record(z.string(), z.unknown()),
    context: z.strictObject({
      parent_task_id: z.string().nullable(),
      attempt: z.int().nullable(),
      correlation_id: z.string().nullable(),
    }),
    governance: z.strictObject({
      guard_rails_applied: z.array(z.string()),
      budget_status: z.string().nullable(),
      access_decision: z.string(),
      reason_code: z.string().nullable(),
    }),
  });

  test('a line a record, of all sessions or of one', async () => {
    const a = await add('--title', 'a');
    await add('--title', 'b', '--session', 's');
    await run(['task', 'cancel', a]);
    const trail = lines((await run(['audit', '--json'])).out).map((record) => Audit.parse(record));
    expect(trail.map(({ id, type, task }) => [id, type, task === a])).toEqual([
      ['audit-1-0', 'ROUTING_DECISION', true],
      ['audit-2-0', 'ROUTING_DECISION', false],
      ['audit-3-0', 'ROUTING_DECISION', true],
    ]);
    expect(lines((await run(['audit', '--json', '--session', 's'])).out).map(({ id }) => id)).toEqual(['audit-2-0']);
    expect((await run(['audit'])).out).toMatch(
      /ROUTING_DECISION {3}TASK-.* {2}by user {2}event: task\.created, title: a/,
    );
  });

  test('verify: an intact journal, and one with a changed record', async () => {
    await add('--title', 'a');
    await add('--title', 'before');
    await add('--title', 'c');
    const intact = await run(['audit', 'verify', '--json']);
    expect([intact.exit, intact.json()]).toEqual([
      0,
      expect.objectContaining({ ok: true, records: 3, broken_at: null }),
    ]);
    expect((await run(['audit', 'verify'])).out).toBe('intact: 3 records, each chained to the one before it\n');

    damage('before', 'beFore');
    const broken = await run(['audit', 'verify', '--json']);
    expect([broken.exit, broken.json()]).toEqual([
      1,
      expect.objectContaining({ ok: false, records: 1, broken_at: 2, reason: expect.any(String) }),
    ]);
    const text = await run(['audit', 'verify']);
    expect([text.exit, text.out]).toEqual([1, expect.stringMatching(/^broken: record 2 in events\/.*\.jsonl.*: .+\n/)]);
  });
});

/** A folder with programs of these names. */
function programs(...names: string[]): string {
  const bin = join(cwd, 'bin');
  mkdirSync(bin, { recursive: true });
  for (const name of names) {
    writeFileSync(join(bin, name), '#!/bin/sh\nexit 1\n');
    chmodSync(join(bin, name), 0o755);
  }
  return bin;
}

describe('baton init', () => {
  test('makes the folder, finds agents, prints what to tell them, and does it once', async () => {
    const PATH = programs('claude', 'codex', 'other');
    const first = await run(['init', '--json'], { PATH });
    const dir = join(cwd, '.baton');
    expect([first.exit, first.json()]).toEqual([
      0,
      {
        dir,
        agents: [
          { name: 'claude', path: join(PATH, 'claude') },
          { name: 'codex', path: join(PATH, 'codex') },
        ],
        created: true,
        changed: true,
      },
    ]);
    writeFileSync(join(dir, 'config.yaml'), 'defaults: { parallel: 2 }\n');
    const before = snapshot(dir);
    expect((await run(['init', '--json'], { PATH })).json()).toMatchObject({ dir, created: false, changed: false });
    const again = await run(['init'], { PATH });
    expect(again.out).toContain(`${dir} is there already; nothing was changed`);
    expect(again.out).toContain('baton run "what is to be done"');
    expect(snapshot(dir)).toEqual(before);
    expect(readdirSync(cwd).sort()).toEqual(['.baton', 'bin']);
  });

  test('writes a config that is missing, and says so', async () => {
    await run(['init']);
    const config = join(cwd, '.baton/config.yaml');
    rmSync(config);
    expect((await run(['init'])).out).toMatch(/^wrote config\.yaml into /);
    expect(existsSync(config)).toBe(true);
  });

  test('a program that may not be run is not an agent', async () => {
    const PATH = programs('gemini');
    chmodSync(join(PATH, 'gemini'), 0o644);
    mkdirSync(join(PATH, 'opencode'));
    const ran = await run(['init'], { PATH });
    expect([ran.exit, ran.out]).toEqual([0, expect.stringContaining('no agent found on PATH')]);
  });

  /** What is in the files that a person may have changed. */
  function snapshot(dir: string): unknown {
    return ['config.yaml', 'baton.json'].map((name) => [
      name,
      readFileSync(join(dir, name), 'utf8'),
      statSync(join(dir, name)).mtimeMs,
    ]);
  }
});

describe('baton doctor', () => {
  const Checks = z.strictObject({
    dir: z.string(),
    config: z.unknown(),
    checks: z.array(z.strictObject({ name: z.string(), ok: z.boolean(), detail: z.string() })),
  });
  const examine = async (env: NodeJS.ProcessEnv = {}, ...args: string[]) => {
    const ran = await run(['doctor', '--json', ...args], env);
    const found = Checks.parse(ran.json());
    return { exit: ran.exit, ...found, of: (name: string) => found.checks.find((check) => check.name === name) };
  };

  test('before there is anything: what is installed and what is not, and nothing is broken', async () => {
    const PATH = programs('claude', 'git');
    const found = await examine({ PATH });
    expect(found.exit).toBe(0);
    expect([found.of('node'), found.of('git'), found.of('claude'), found.of('codex')]).toEqual([
      { name: 'node', ok: true, detail: process.versions.node },
      { name: 'git', ok: true, detail: join(PATH, 'git') },
      { name: 'claude', ok: true, detail: join(PATH, 'claude') },
      { name: 'codex', ok: true, detail: 'not installed' },
    ]);
    expect(found.of('bubblewrap')?.detail).toMatch(/^bubblewrap is not installed/);
    expect(found.of('data folder')).toMatchObject({ ok: true, detail: expect.stringContaining('baton init') });
    expect(found.config).toEqual(DEFAULT_CONFIG);
    expect(readdirSync(cwd)).toEqual(['bin']);
  });

  test('a rollback that was stopped half-way is told', async () => {
    await run(['do', '#CHECKPOINT:create:manual:start', '--session', 's']);
    const store = await openStore(join(cwd, '.baton'), { create: false });
    const speaker = { agent: 'orchestrator', run: null, priority: 'P2', leads: true } as const;
    const message = { type: 'session.hold', session: 's', to: 'cp_001', keep: null, speaker } as const;
    expect((await store.send({ message, by: { kind: 'person', name: 'ann' } })).kind).toBe('changed');
    await store.close();
    const found = await examine();
    expect([found.exit, found.of('rollback')?.ok]).toEqual([1, false]);
    expect(found.of('rollback')?.detail).toMatch(/of s to cp_001 .*#ROLLBACK:cp_001$/);
  });

  test('shows people what is in force', async () => {
    await run(['init']);
    writeFileSync(join(cwd, '.baton/config.yaml'), 'defaults: { parallel: 7 }\n');
    const { exit, out } = await run(['doctor']);
    expect([exit, out]).toEqual([0, expect.stringMatching(/^ok {6}node /)]);
    expect(out).toMatch(/\nIn force .*\n[\s\S]*\n {2}parallel: 7\n/);
  });

  test('shows nobody the secrets in it', async () => {
    await run(['init']);
    writeFileSync(
      join(cwd, '.baton/config.yaml'),
      `agents: { own: { kind: command, command: [node, --token=hunter1], env: { HIDDEN: hunter2 } } }
notify: [{ on: [task.blocked], to: { webhook: "http://127.0.0.1:9/x?token=hunter3" } }]\n`,
    );
    const { out } = await run(['doctor']);
    expect(out).toContain('HIDDEN');
    expect(`${out}${JSON.stringify(await examine())}`).not.toContain('hunter');
  });

  test('what config.yaml needs has to be there', async () => {
    await run(['init']);
    writeFileSync(
      join(cwd, '.baton/config.yaml'),
      `agents:
  emma: { kind: codex }
  own: { kind: command, command: [my-agent] }
  claw: { kind: openclaw, url: "http://127.0.0.1:1" }
defaults: { sandbox: require }
`,
    );
    const without = await examine({ PATH: programs('other') });
    expect([without.exit, without.checks.filter(({ ok }) => !ok).map(({ name }) => name)]).toEqual([
      1,
      ['bubblewrap', 'agent emma', 'agent own'],
    ]);
    const found = await examine({ PATH: `${programs('codex', 'my-agent')}:${process.env['PATH']}` });
    // Whether bubblewrap works is tried, and depends on the machine.
    expect(found.checks.filter(({ ok, name }) => !ok && name !== 'bubblewrap')).toEqual([]);
  });

  test('a broken config is named, and the rest is looked at', async () => {
    await run(['init']);
    const config = join(cwd, '.baton/config.yaml');
    writeFileSync(config, 'agnts: {}\n');
    const unknown = await examine();
    expect([unknown.exit, unknown.of('config')]).toEqual([
      1,
      {
        name: 'config',
        ok: false,
        detail: expect.stringContaining('unknown key "agnts"; the nearest known one is agents'),
      },
    ]);
    expect(unknown.of('data folder')).toMatchObject({ ok: true });
    writeFileSync(config, 'a: [1\n');
    expect((await examine()).of('config')?.detail).toMatch(/^config\.yaml is not readable as YAML: .* at line \d/);
  });

  test('a damaged journal is broken; --fix goes on without the record', async () => {
    await add('--title', 'a');
    await add('--title', 'before');
    await add('--title', 'c');
    damage('before', 'beFore');
    const broken = await examine();
    expect([broken.exit, broken.checks.some(({ ok }) => !ok)]).toEqual([1, true]);
    await run(['doctor', '--fix']);
    expect((await run(['task', 'list'])).out).toMatch(/ a\n[\s\S]* c\n/);
  });

  test('the least Node is that of package.json', () => {
    const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
      engines: { node: string };
    };
    expect(manifest.engines.node).toBe(`>=${LEAST_NODE.join('.')}`);
  });
});

describe('output', () => {
  test('a reader that goes away is no error, and the folder is in order after it', async () => {
    const dir = join(cwd, '.baton');
    const store = await openStore(dir, { create: true });
    const tasks = Array.from({ length: 400 }, (_, i) => ({ title: `task ${i} ${'x'.repeat(1000)}` }));
    await store.send({ message: { type: 'task.add', tasks }, by: { kind: 'person', name: 'user' } });
    await store.close();
    for (const args of ['task list', 'task list --json', 'events --json', 'audit']) {
      const { status, stdout, stderr } = spawnSync(
        'bash',
        ['-c', `set -o pipefail; "${process.execPath}" "${MAIN}" ${args} | head -1`],
        { cwd, encoding: 'utf8' },
      );
      expect([args, status, stderr, stdout.split('\n').length]).toEqual([args, 0, '', 2]);
    }
    const listed = await run(['task', 'list', '--json']);
    expect((JSON.parse(listed.out) as unknown[]).length).toBe(400);
    expect((await run(['audit', 'verify'])).exit).toBe(0);
  });

  test('colour where it is asked for, and not with NO_COLOR or without a terminal', async () => {
    await add('--title', 'a', '--status', 'backlog');
    // Settled when the command line is loaded, so each in a process of its own.
    const listed = (env: NodeJS.ProcessEnv = {}): string => baton(['task', 'list'], '', cwd, env).out;
    expect(listed({ FORCE_COLOR: '1' })).toContain('\x1b[2mbacklog');
    expect(listed()).not.toContain('\x1b');
    expect(listed({ NO_COLOR: '1' })).not.toContain('\x1b');
  });

  test.each([
    'task',
    'task add',
    'task list',
    'task show',
    'task move',
    'task cancel',
    'task retry',
    'task edit',
    'why',
    'events',
    'audit',
    'init',
    'doctor',
  ])('baton %s --help', async (name) => {
    const { exit, out, err } = await run([...name.split(' '), '--help']);
    expect([exit, err]).toEqual([0, '']);
    expect(out).toMatch(new RegExp(`^Usage: baton ${name} `));
  });

  test('baton task alone shows its help, and is wrong usage', async () => {
    const ran = await run(['task']);
    expect([ran.exit, ran.err]).toEqual([2, expect.stringContaining('Usage: baton task ')]);
  });
});

describe('gc', () => {
  /** A task that was run and cancelled, and its log. */
  const over = async (): Promise<string> => {
    const id = await add('--title', 'x');
    const store = await openStore(join(cwd, '.baton'), {});
    const by = { kind: 'person', name: 'test' } as const;
    await store.send({
      message: { type: 'task.claim', id, claimer: { agent: 'a', any: true }, leaseMs: 60_000 },
      by,
    });
    await store.send({ message: { type: 'task.cancel', id }, by });
    await store.close();
    mkdirSync(join(cwd, '.baton', 'logs', `${id}-r1`), { recursive: true });
    writeFileSync(join(cwd, '.baton', 'logs', `${id}-r1`, 'out.log'), 'x'.repeat(1_500));
    return id;
  };

  test('a line each and a sum; --dry-run removes nothing and prints the same; twice there is nothing', async () => {
    const id = await over();
    mkdirSync(join(cwd, '.baton', 'logs', 'mine'));
    const young = await run(['gc', '--json']);
    expect(young.json()).toEqual({
      removed: [],
      kept: [
        { path: `logs/${id}-r1`, because: `${id} was over 0 days ago, and 30 are kept` },
        { path: 'logs/mine', because: 'nobody knows it' },
      ],
    });
    const trial = await run(['gc', '--keep', '0', '--dry-run']);
    expect(trial.out).toBe(
      `removed  logs/${id}-r1  1.5 kB\nkept     logs/mine  nobody knows it\nremoved 1 (1.5 kB), kept 1\n`,
    );
    expect(trial.err).toContain('nothing was removed');
    expect((await run(['logs', id])).out).toHaveLength(1_500);
    const real = await run(['gc', '--keep', '0']);
    expect(real).toMatchObject({ exit: 0, out: trial.out, err: '' });
    expect((await run(['gc', '--keep', '0', '--json'])).json()).toMatchObject({ removed: [], kept: [{}] });
    expect((await run(['logs', id])).err).toBe(
      `baton: the log of ${id}-r1 is not there; it was removed, or the run never began\n`,
    );
    const trail = lines((await run(['audit', '--json'])).out).at(-1);
    expect(trail).toMatchObject({ payload: { keep_days: 0, entries: [`logs/${id}-r1`] }, actor: { role: 'person' } });
  });

  test.each(['-1', '1.5', 'x', '', '1e3'])('--keep %j is refused in one sentence', async (days) => {
    const ran = await run(['gc', '--keep', days]);
    expect(ran).toMatchObject({ exit: 2, out: '' });
    expect(ran.err).toMatch(/^baton: .*expected a whole number, 0 or more.*\(E_USAGE\)/);
  });

  test('a run may not, and without a data folder there is nothing to remove', async () => {
    expect((await run(['gc'])).exit).toBe(4);
    const id = await over();
    const ran = await run(['gc', '--keep', '0', '--json'], { BATON_RUN_MARK: `${id}-r1@0123456789abcdef` });
    expect(ran.exit).toBe(3);
    expect(JSON.parse(ran.err)).toMatchObject({ error: { code: 'E_PERMISSION_DENIED' } });
    expect(existsSync(join(cwd, '.baton', 'logs', `${id}-r1`))).toBe(true);
  });
});
