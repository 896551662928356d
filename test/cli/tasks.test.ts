/** `baton task …`, as scripts and people use it, on a real data folder. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { TASK_PRIORITIES, TASK_STATUSES } from '../../src/core/task.ts';
import { openStore } from '../../src/store/open.ts';
import { example } from '../helpers/documents.ts';
import { fixture, type Ran, startBaton, stopStarted } from './baton.ts';
import { batonHere } from './here.ts';

const made: string[] = [];
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

afterEach(stopStarted);

let cwd = '';
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'baton-tasks-'));
  made.push(cwd);
});
/** A config for those tests that give tasks to agents. */
const withAgents = (): void => {
  mkdirSync(join(cwd, '.baton'), { recursive: true });
  writeFileSync(
    join(cwd, '.baton/config.yaml'),
    'agents: { emma: { kind: command, command: ["true"] }, zed: { kind: command, command: ["true"] } }\n',
  );
};

const time = z.iso.datetime();
/** A task as JSON: these fields at least. */
const T = z.looseObject({
  id: z.string().regex(/^TASK-\d{4}-\d{2}-\d{2}-\d{3,}$/),
  externalId: z.string().nullable(),
  title: z.string(),
  status: z.enum(TASK_STATUSES),
  priority: z.enum(TASK_PRIORITIES),
  agent: z.string().nullable(),
  session: z.string(),
  parentId: z.string().nullable(),
  depth: z.int(),
  dependsOn: z.array(z.string()),
  attempts: z.int(),
  createdAt: time,
  updatedAt: time,
  blockedBy: z.array(z.string()),
  cost: z.strictObject({
    usd: z.number().nullable(),
    known_usd: z.number(),
    tokens_input: z.int(),
    tokens_output: z.int(),
  }),
  summary: z.string().nullable(),
});
type T = z.infer<typeof T>;

const run = (args: readonly string[], input = ''): Promise<Ran> => batonHere(args, input, cwd);
const json = async <S extends z.ZodType>(schema: S, args: readonly string[], input = ''): Promise<z.infer<S>> => {
  const ran = await run([...args, '--json'], input);
  if (ran.exit !== 0) throw new Error(ran.err);
  return schema.parse(JSON.parse(ran.out));
};
const add = (...args: string[]): Promise<T> => json(T, ['task', 'add', ...args]);
const list = (...args: string[]): Promise<T[]> => json(z.array(T), ['task', 'list', ...args]);
const show = (id: string): Promise<T & { body: string | null }> =>
  json(T.extend({ body: z.string().nullable() }), ['task', 'show', id]);

const errorOf = (ran: Ran): { code: string; message: string; hint: string | null } =>
  (JSON.parse(ran.err) as { error: { code: string; message: string; hint: string | null } }).error;
/** What a command says, for programs, when it does not work. */
async function failure(
  args: readonly string[],
  input = '',
): Promise<[exit: number | null, code: string, message: string]> {
  const ran = await run([...args, '--json'], input);
  expect(ran.out).toBe('');
  const { code, message } = errorOf(ran);
  return [ran.exit, code, message];
}

describe('baton task add', () => {
  test('makes the data folder on first use, and a task of a title alone', async () => {
    const task = await add('--title', 'Fix it', '--priority', 'high', '--status', 'backlog', '--review');
    expect(task).toMatchObject({
      title: 'Fix it',
      agent: null,
      priority: 'high',
      status: 'backlog',
      session: 'default',
      reviewRequired: true,
      createdBy: 'user',
      blockedBy: [],
    });
    expect(readdirSync(cwd)).toEqual(['.baton']);
  });

  test('says to people what was made', async () => {
    const ran = await run(['task', 'add', '--title', 'Fix it']);
    expect([ran.exit, ran.out, ran.err]).toEqual([
      0,
      expect.stringMatching(/^added TASK-\d{4}-\d\d-\d\d-001 ready {2}Fix it\n$/),
      '',
    ]);
  });

  test('takes a body from a file or from standard input, and its title from its first line', async () => {
    const body = '# The title\n\nWith **words**.\n';
    writeFileSync(join(cwd, 'notes.md'), body);
    const [a, b] = [await add('notes.md'), await json(T, ['task', 'add', '-', '--title', 'Mine'], body)];
    const c = await json(T, ['task', 'add'], body);
    expect([a.title, b.title, c.title]).toEqual(['The title', 'Mine', 'The title']);
    for (const { id } of [a, b, c]) expect((await show(id)).body).toBe(body);
  });

  test('does not wait for a pipe that nobody closes, where there is a title', async () => {
    const started = startBaton(['task', 'add', '--title', 'x'], cwd);
    expect([await started.ended, started.err()]).toEqual([0, '']);
  });

  test('makes a task of a TASK, known by its own id from then on', async () => {
    withAgents();
    const task = await add(fixture('aop2-task-full.json'));
    expect(task).toMatchObject({
      externalId: 'TASK-001',
      title: 'Refactor module X to use dependency injection.',
      session: 'AOP-SESSION-2026-02-26-001',
      agent: 'Emma',
      role: 'EXECUTOR',
      maxRetries: 1,
    });
    expect((await show('TASK-001')).id).toBe(task.id);
    const after = await add('--title', 'Then this', '--depends-on', 'TASK-001');
    expect([after.dependsOn, after.blockedBy, after.session]).toEqual([[task.id], [task.id], 'default']);
    const child = await add('--title', 'A part', '--parent', 'TASK-001');
    expect([child.parentId, child.depth, child.session]).toEqual([task.id, 1, 'AOP-SESSION-2026-02-26-001']);
  });

  test('what the command line says goes before what the TASK says', async () => {
    withAgents();
    const task = await add(
      fixture('aop2-task-minimal.json'),
      '--title',
      'X',
      '--agent',
      'zed',
      '--priority',
      'low',
      '--session',
      's',
    );
    expect(task).toMatchObject({ title: 'X', agent: 'zed', priority: 'low', session: 's', externalId: 'TASK-001' });
  });

  test('the same TASK twice is refused', async () => {
    withAgents();
    await add(fixture('aop2-task-minimal.json'));
    expect(await failure(['task', 'add', fixture('aop2-task-minimal.json')])).toEqual([
      3,
      'E_DUPLICATE',
      'the session AOP-SESSION-2026-02-26-001 has a task TASK-001 already',
    ]);
    expect((await list()).length).toBe(1);
  });

  test('an id of our form is kept; of another session it becomes an external one, and in the same it is a duplicate', async () => {
    withAgents();
    const of = (session: string): string =>
      example('aop2-task-minimal.json')
        .replace('"TASK-001"', '"TASK-2026-02-09-057"')
        .replace('AOP-SESSION-2026-02-26-001', session);
    const first = await json(T, ['task', 'add'], of('a'));
    expect([first.id, first.externalId]).toEqual(['TASK-2026-02-09-057', null]);
    const other = await json(T, ['task', 'add'], of('b'));
    expect([other.id === first.id, other.externalId]).toEqual([false, 'TASK-2026-02-09-057']);
    expect((await failure(['task', 'add'], of('a'))).slice(0, 2)).toEqual([3, 'E_DUPLICATE']);
  });

  test('several TASKs come together or not at all', async () => {
    withAgents();
    const task = (id: string): Record<string, unknown> =>
      JSON.parse(example('aop2-task-minimal.json').replace('TASK-001', id)) as Record<string, unknown>;
    const [a, b] = [task('A'), task('B')];
    const broken = { ...task('C'), task: { task_id: 'C' } };
    expect((await failure(['task', 'add'], JSON.stringify([a, broken]))).slice(0, 2)).toEqual([
      1,
      'E_SCHEMA_VALIDATION',
    ]);
    expect((await failure(['task', 'add'], JSON.stringify([a, task('A')]))).slice(0, 2)).toEqual([3, 'E_DUPLICATE']);
    expect((await failure(['task', 'add', '-', '--title', 'x'], JSON.stringify([a, b]))).slice(0, 2)).toEqual([
      2,
      'E_USAGE',
    ]);
    const both = await json(z.array(T), ['task', 'add'], `${JSON.stringify(a)}\n${JSON.stringify(b)}\n`);
    expect(both.map(({ externalId }) => externalId)).toEqual(['A', 'B']);
    expect((await list()).length).toBe(2);
  });

  test('a TASK whose limits cannot be read is refused with its first problem, before anything is made', async () => {
    const whole = JSON.parse(example('aop2-task-minimal.json')) as { task: object };
    const broken = JSON.stringify({ ...whole, task: { ...whole.task, budgets: { max_cost_usd: 'much' } } });
    expect(await failure(['task', 'add'], broken)).toEqual([
      1,
      'E_SCHEMA_VALIDATION',
      expect.stringMatching(/\/task\/budgets\/max_cost_usd: expected a number/),
    ]);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test.each([
    [[], '', 2, 'E_USAGE', 'expected a --title, a FILE or text on standard input, got an empty text'],
    [[], '---\n', 2, 'E_USAGE', 'expected a text with words in it, or a --title'],
    [['--title', ' '], '', 2, 'E_USAGE', expect.stringContaining('got an empty text')],
    [['--title', 'x', '--priority', 'urgent'], '', 2, 'E_USAGE', expect.stringContaining("'urgent' is invalid")],
    [['--title', 'x', '--status', 'done'], '', 2, 'E_USAGE', expect.stringContaining("'done' is invalid")],
    [['missing.md'], '', 4, 'E_FILE_NOT_FOUND', 'there is no file missing.md'],
    [['--title', 'x', '--depends-on', 'NO'], '', 4, 'E_NOT_FOUND', 'there is no task NO'],
    [['--title', 'x', '--parent', 'NO'], '', 4, 'E_NOT_FOUND', 'there is no task NO'],
  ])('%j is refused', async (args, input, exit, code, message) => {
    expect(await failure(['task', 'add', ...args], input)).toEqual([exit, code, message]);
  });

  test('delegation.max_depth of config.yaml acts', async () => {
    const parent = await add('--title', 'parent');
    writeFileSync(join(cwd, '.baton/config.yaml'), 'delegation: { max_depth: 1 }\n');
    const child = await add('--title', 'child', '--parent', parent.id);
    expect((await failure(['task', 'add', '--title', 'too deep', '--parent', child.id])).slice(0, 2)).toEqual([
      3,
      'E_MAX_DEPTH_EXCEEDED',
    ]);
    writeFileSync(join(cwd, '.baton/config.yaml'), 'delegation: { max_dept: 1 }\n');
    expect(await failure(['task', 'add', '--title', 'x'])).toEqual([
      1,
      'E_CONFIG',
      'config.yaml, delegation: unknown key "max_dept"; the nearest known one is max_depth',
    ]);
  });
});

describe('baton task list', () => {
  test('lists in the order of ids, by status and by session', async () => {
    const a = await add('--title', 'a');
    const b = await add('--title', 'b', '--status', 'backlog', '--depends-on', a.id);
    const c = await add('--title', 'c', '--session', 'other', '--depends-on', a.id);
    expect((await list()).map(({ id, blockedBy }) => [id, blockedBy])).toEqual([
      [a.id, []],
      [b.id, [a.id]],
      [c.id, [a.id]],
    ]);
    expect((await list('--status', 'backlog')).map(({ id, blockedBy }) => [id, blockedBy])).toEqual([[b.id, [a.id]]]);
    expect((await list('--status', 'backlog', '--status', 'ready')).length).toBe(3);
    expect((await list('--session', 'other')).map(({ id }) => id)).toEqual([c.id]);
    expect(await list('--status', 'done')).toEqual([]);
    for (const status of ['in-progress', 'review', 'done']) await run(['task', 'move', a.id, status]);
    expect((await list()).map(({ status, blockedBy }) => [status, blockedBy])).toEqual([
      ['done', []],
      ['backlog', []],
      ['ready', []],
    ]);
    expect((await list('--session', 'other'))[0]?.blockedBy).toEqual([]);
  });

  test('shows people aligned columns, and says where there is nothing', async () => {
    withAgents();
    const a = await add('--title', 'one\nline \x1b[31mred', '--agent', 'emma');
    expect((await run(['task', 'list'])).out).toBe(
      [
        'ID                   STATUS       PRIORITY  AGENT         TITLE',
        `${a.id}  ready        normal    emma          one line red`,
        '',
      ].join('\n'),
    );
    expect((await run(['task', 'list', '--status', 'done', '--status', 'review'])).out).toBe(
      'no task is done or review\n',
    );
    expect((await run(['task', 'list', '--session', 'x'])).out).toBe('there is no task in the session x\n');
  });

  test('an unknown status is wrong usage', async () => {
    withAgents();
    expect((await failure(['task', 'list', '--status', 'donne'])).slice(0, 2)).toEqual([2, 'E_USAGE']);
  });
});

describe('baton task show', () => {
  const Shown = T.extend({
    body: z.string().nullable(),
    runs: z.array(
      z.looseObject({ id: z.string(), attempt: z.int(), agent: z.string(), status: z.string(), startedAt: time }),
    ),
    events: z.array(
      z.looseObject({ id: z.string(), seq: z.int(), at: time, session: z.string(), type: z.string(), by: z.string() }),
    ),
  });

  /** A task with a run that failed and one that is at work. */
  async function worked(): Promise<string> {
    withAgents();
    const { id } = await add('--title', 'Work', '--agent', 'emma');
    const store = await openStore(join(cwd, '.baton'));
    const by = { kind: 'runtime', name: 'baton' } as const;
    try {
      await store.send({ by, message: { type: 'task.claim', id, claimer: { agent: 'emma' }, leaseMs: 60_000 } });
      await store.send({
        by,
        message: { type: 'run.fail', run: `${id}-r1`, code: 'E_TIMEOUT', message: 'slow', cost: { usd: 0.5 } },
      });
      await store.send({ by, message: { type: 'task.retry', id } });
      await store.send({
        by,
        message: { type: 'task.claim', id, claimer: { agent: 'emma' }, model: 'm-1', leaseMs: 60_000 },
      });
    } finally {
      await store.close();
    }
    return id;
  }

  test('T with its runs, its events and its body', async () => {
    const id = await worked();
    const task = await json(Shown, ['task', 'show', id]);
    expect(task).toMatchObject({ status: 'in-progress', attempts: 1, cost: { usd: 0.5 }, body: null });
    expect(task.runs).toMatchObject([
      { id: `${id}-r1`, status: 'failed', attempt: 1, model: null, outcome: 'failed', endedAt: expect.any(String) },
      { id: `${id}-r2`, status: 'running', attempt: 1, model: 'm-1', outcome: null, endedAt: null },
    ]);
    expect(task.events.map(({ type }) => type)).toEqual([
      'task.created',
      'task.transitioned',
      'run.started',
      'run.failed',
      'task.transitioned',
      'task.transitioned',
      'task.retried',
      'task.transitioned',
      'run.started',
    ]);
  });

  test('readable for people', async () => {
    const id = await worked();
    const { out } = await run(['task', 'show', id]);
    for (const line of [
      new RegExp(`^${id} in-progress {2}Work\n`),
      /^agent {7}emma$/m,
      /^cost {8}0.5 dollars, 0 tokens in, 0 out$/m,
      /^Runs$/m,
      new RegExp(`^ {2}${id}-r1 {2}failed, said: failed {2}emma {2}.* to .*$`, 'm'),
      new RegExp(`^ {2}${id}-r2 {2}running {2}emma \\(m-1\\) {2}.* to now$`, 'm'),
      /^Events$/m,
      /run\.failed .*code: E_TIMEOUT/,
    ]) {
      expect(out).toMatch(line);
    }
  });

  test('lets no escape of a body or a title through', async () => {
    const { id } = await json(T, ['task', 'add'], '\x1b]0;title\x07Evil \x1b[2Jtext\u202e\n');
    const { out } = await run(['task', 'show', id]);
    expect(out).not.toMatch(/[\x1b\x07\u202e]/);
    expect(out).toContain('Evil text');
  });
});

describe('baton task move, cancel, retry, edit', () => {
  test('each answers with the task as it is then', async () => {
    withAgents();
    const { id } = await add('--title', 'x');
    const ask = (...args: string[]): Promise<T> => json(T, ['task', ...args]);
    expect(await ask('move', id, 'blocked', '--reason', 'no key')).toMatchObject({
      status: 'blocked',
      cause: { code: 'E_MOVED', message: 'no key' },
    });
    expect((await ask('retry', id)).status).toBe('ready');
    expect(await ask('edit', id, '--title', 'y', '--priority', 'critical', '--agent', 'zed')).toMatchObject({
      title: 'y',
      priority: 'critical',
      agent: 'zed',
    });
    expect((await ask('cancel', id, '--reason', 'enough')).status).toBe('cancelled');
  });

  test('says to people what it was before, and where there was nothing to do', async () => {
    const { id } = await add('--title', 'x');
    expect((await run(['task', 'move', id, 'blocked'])).out).toBe(`${id} blocked  x (was ready)\n`);
    expect((await run(['task', 'move', id, 'blocked'])).out).toBe(`${id} blocked  x (nothing to change)\n`);
    expect((await run(['task', 'edit', id, '--title', 'y'])).out).toBe(`${id} blocked  y\n`);
  });

  test('an illegal move is refused with what is legal, and changes nothing', async () => {
    const { id } = await add('--title', 'x');
    const ran = await run(['task', 'move', id, 'done']);
    expect([ran.exit, ran.out, ran.err]).toEqual([
      3,
      '',
      `baton: ${id} is ready and cannot become done (E_ILLEGAL_MOVE)\n  from ready it may become in-progress, blocked, deadletter, cancelled\n`,
    ]);
    expect((await show(id)).status).toBe('ready');
    await run(['task', 'cancel', id]);
    for (const args of [
      ['move', id, 'ready'],
      ['retry', id],
      ['edit', id, '--title', 'y'],
    ]) {
      expect((await failure(['task', ...args])).slice(0, 2)).toEqual([3, 'E_ILLEGAL_MOVE']);
    }
  });

  test('what a failed dependency forbids is refused too', async () => {
    const a = await add('--title', 'a');
    const b = await add('--title', 'b', '--depends-on', a.id);
    await run(['task', 'cancel', a.id]);
    expect((await show(b.id)).status).toBe('blocked');
    expect((await failure(['task', 'move', b.id, 'ready'])).slice(0, 2)).toEqual([3, 'E_DEPENDENCY_FAILED']);
  });

  test.each([
    [['task', 'show', 'NO']],
    [['task', 'move', 'NO', 'ready']],
    [['task', 'cancel', 'NO']],
    [['task', 'retry', 'NO']],
    [['task', 'edit', 'NO', '--title', 'x']],
    [['why', 'NO']],
    [['events', '--task', 'NO']],
  ])('%j: there is no such task', async (args) => {
    await add('--title', 'x');
    expect(await failure(args)).toEqual([4, 'E_NOT_FOUND', 'there is no task NO']);
  });

  test.each([
    [['task', 'move', 'X', 'nowhere'], /'nowhere' is invalid/],
    [['task', 'move', 'X'], /missing required argument 'status'/],
    [['task', 'shwo', 'X'], /unknown command 'shwo'/],
    [['task', 'list', 'extra'], /too many arguments/],
    [['audit', 'verfy'], /'verfy' is invalid/],
    [['events', '--task', ''], /expected a name, got an empty text/],
    [['task', 'list', '--dir', ''], /expected a name, got an empty text/],
  ])('%j is wrong usage', async (args, message) => {
    expect(await failure(args)).toEqual([2, 'E_USAGE', expect.stringMatching(message)]);
  });

  test('an edit that changes nothing is wrong usage', async () => {
    const { id } = await add('--title', 'x');
    expect(await failure(['task', 'edit', id])).toEqual([2, 'E_USAGE', 'expected something to change, got no option']);
  });

  test('an external id that two sessions have needs its session', async () => {
    withAgents();
    const minimal = fixture('aop2-task-minimal.json');
    const [a, b] = [await add(minimal, '--session', 'a'), await add(minimal, '--session', 'b')];
    const ran = await run(['task', 'cancel', 'TASK-001', '--json']);
    expect([ran.exit, errorOf(ran)]).toEqual([
      4,
      {
        code: 'E_NOT_FOUND',
        message: 'there is no single task TASK-001: the sessions a, b have one each',
        hint: 'say which with --session, or name it by its own id',
      },
    ]);
    expect((await json(T, ['task', 'cancel', 'TASK-001', '--session', 'b'])).id).toBe(b.id);
    expect((await show(a.id)).status).toBe('ready');
  });
});

describe('the data folder', () => {
  test.each([
    [['task', 'list']],
    [['task', 'show', 'X']],
    [['task', 'move', 'X', 'ready']],
    [['why', 'X']],
    [['events']],
    [['audit']],
    [['audit', 'verify']],
  ])('%j needs one, and makes none', async (args) => {
    const ran = await run([...args, '--json']);
    expect([ran.exit, errorOf(ran)]).toEqual([
      4,
      {
        code: 'E_NOT_FOUND',
        message: expect.stringContaining('there is no data folder'),
        hint: expect.stringContaining('baton init'),
      },
    ]);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('is the nearest one above, unless BATON_DIR or, before it, --dir names another', async () => {
    await add('--title', 'above');
    const below = join(cwd, 'a/b');
    mkdirSync(below, { recursive: true });
    const titles = async (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<unknown[]> => {
      const ran = await batonHere(['task', 'list', '--json', ...args], '', below, env);
      return (JSON.parse(ran.out) as T[]).map(({ title }) => title);
    };
    expect(await titles([])).toEqual(['above']);
    await batonHere(['task', 'add', '--title', 'named'], '', below, { BATON_DIR: join(cwd, 'named') });
    await batonHere(['task', 'add', '--title', 'given', '--dir', 'given'], '', below, {
      BATON_DIR: join(cwd, 'named'),
    });
    expect(await titles([], { BATON_DIR: join(cwd, 'named') })).toEqual(['named']);
    expect(await titles(['--dir', 'given'], { BATON_DIR: join(cwd, 'named') })).toEqual(['given']);
    expect(await titles([], { BATON_DIR: '' })).toEqual(['above']);
    expect(readdirSync(below)).toEqual(['given']);
  });
});

test('two people at once, in one folder', async () => {
  const started = Array.from({ length: 6 }, (_, i) => startBaton(['task', 'add', '--title', `t${i}`], cwd));
  expect(await Promise.all(started.map(({ ended }) => ended))).toEqual([0, 0, 0, 0, 0, 0]);
  const tasks = await list();
  expect(tasks.map(({ title }) => title).sort()).toEqual(['t0', 't1', 't2', 't3', 't4', 't5']);
  expect(new Set(tasks.map(({ id }) => id)).size).toBe(6);
});
