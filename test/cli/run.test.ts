/** `baton run`, `work`, `logs`, `report` and `demo` as a user calls them. The agents are small scripts. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
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
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { detect } from '../../src/protocol/index.ts';
import { baton, type Ran } from './baton.ts';
import { batonHere } from './here.ts';

let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton run ')));
  mkdirSync(join(dir, '.baton'));
  script('good', 'echo done > out.txt', block('success', '- out.txt written'));
  script('liar', block('success', '- out.txt written'));
  script('bad', 'echo broken >&2', 'exit 7');
  script('silent', 'true');
  writeFileSync(
    join(dir, '.baton/config.yaml'),
    `agents:\n${['good', 'liar', 'bad', 'silent', 'caller'].map((name) => `  ${name}: { kind: command, command: ["./${name}.sh"] }`).join('\n')}\n  gone: { kind: command, command: ["./gone.sh"] }\n`,
  );
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const block = (status: string, summary: string): string =>
  `printf '%s\\n' '[AOP:START] 2026-01-01T00:00:00Z' '[AOP:TASK] t' '[AOP:SUMMARY]' '${summary}' '[AOP:STATUS] ${status}' '[AOP:END] 2026-01-01T00:00:01Z'`;

function script(name: string, ...lines: string[]): void {
  const path = join(dir, `${name}.sh`);
  writeFileSync(path, `#!/bin/sh\ncat > /dev/null\n${lines.join('\n')}\n`);
  chmodSync(path, 0o755);
}

const task = (
  agent: string,
  more: Record<string, unknown> = {},
  envelope: Record<string, unknown> = {},
): Record<string, unknown> => ({
  aop_version: '2.0.2-C',
  schema_version: '2.0.2',
  protocol_family: 'AOP',
  message_type: 'TASK',
  session: { session_id: 'S-1', created_at: '2026-01-01T00:00:00Z', orchestrator: 'test', origin: 'CLI' },
  target: { agent_name: agent, role: 'EXECUTOR', provider: 'LOCAL', model: 'default' },
  task: {
    task_id: 'T-1',
    objective: 'Write out.txt',
    category: 'CODE_GENERATION',
    complexity: 'LOW',
    environment: { workspace_root: dir },
    expected_outputs: [
      { type: 'FILE', path: 'out.txt', validation: { command: 'grep -q done out.txt', expects: 'EXIT_CODE_0' } },
    ],
    access: { network: 'NONE' },
    ...more,
  },
  ...envelope,
});

const run = (given: unknown, ...args: string[]): Promise<Ran> =>
  batonHere(['run', '-', ...args], JSON.stringify(given), dir);
const events = (out: string): Record<string, unknown>[] =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('baton run', () => {
  test('done: exit 0, and nothing on stdout but one valid aop1 block', () => {
    const ran = baton(['run', '-'], JSON.stringify(task('good')), dir);
    expect([ran.exit, ran.out]).toEqual([0, expect.stringMatching(/^\[AOP:START\][\s\S]*\[AOP:END\] \S+\n$/)]);
    expect(detect(ran.out)).toMatchObject([
      { dialect: 'aop1', valid: true, value: { status: 'success', summary: '- out.txt written' } },
    ]);
    const [found] = detect(ran.out);
    const details = (found as unknown as { value: { detailsFile: string } }).value.detailsFile;
    expect(JSON.parse(readFileSync(details, 'utf8'))).toMatchObject({
      aop_version: '1.0.0',
      results: { report: { outcome: 'done' } },
    });
  });

  test('what a rollback undid is done again by the same run, and shown as undone meanwhile', async () => {
    const git = (...args: string[]): void => void execFileSync('git', ['-C', dir, ...args]);
    git('init', '-q', '-b', 'main');
    writeFileSync(join(dir, '.gitignore'), '.baton/\n');
    git('add', '.');
    git('-c', 'user.name=t', '-c', 'user.email=t@example.org', 'commit', '-qm', 'first');
    const say = (line: string): Promise<Ran> => batonHere(['do', line, '--session', 'S-1'], '', dir);
    expect((await say('#CHECKPOINT:create:manual:start')).out).toContain('checkpoint_id:cp_001');
    for (const named of ['T-1', 'TASK-2026-01-01-007']) {
      const given = task('good', { task_id: named });
      expect((await run(given)).exit).toBe(0);
      expect((await run(given)).err).toContain('done already');
      expect((await say('#ROLLBACK:cp_001')).out).toMatch(/Tasks made anew: [12]/);
      expect(existsSync(join(dir, 'out.txt'))).toBe(false);
      const list = (await batonHere(['task', 'list', '--session', 'S-1'], '', dir)).out;
      expect(list).toMatch(/undone .*Write out\.txt/);
      const again = await run(given);
      expect([again.exit, again.err]).toEqual([0, expect.not.stringContaining('done already')]);
      expect(readFileSync(join(dir, 'out.txt'), 'utf8')).toBe('done\n');
      rmSync(join(dir, 'out.txt'));
    }
    const shown = (await batonHere(['why', 'TASK-2026-01-01-007'], '', dir)).out;
    expect(shown).toMatch(/is undone by a rollback/);
    const tasks = (await batonHere(['task', 'list', '--session', 'S-1', '--json'], '', dir)).json() as unknown as {
      undone: boolean;
      status: string;
    }[];
    expect(tasks.map(({ status, undone }) => `${status} ${undone}`)).toEqual(
      expect.arrayContaining(['done true', 'done false']),
    );
  });

  test('--json: events, and last the RESPONSE with what Baton knows', async () => {
    const all = events((await run(task('good'), '--json')).out);
    expect(all.map(({ type }) => type)).toContain('run.enforced');
    const response = all.at(-1) as Record<string, Record<string, unknown>>;
    expect(detect(JSON.stringify(response))).toMatchObject([{ kind: 'RESPONSE', valid: true }]);
    expect(response).toMatchObject({
      session_id: 'S-1',
      task_id: 'T-1',
      agent: { name: 'good', provider: 'LOCAL' },
      task_status: { state: 'COMPLETED', final_signal: 'SUCCESS' },
      execution_summary: { output_artifacts: [{ path: 'out.txt', status: 'CREATED', size_bytes: 5 }] },
      error_details: null,
    });
  });

  test('a false claim is caught: exit 3, and the findings', async () => {
    const ran = await run(task('liar'));
    expect([ran.exit, ran.out]).toEqual([
      3,
      expect.stringContaining('Not accepted: expected out.txt, and it is not there'),
    ]);
    expect(ran.err).toMatch(/(TASK-\S+) waits for a person: .*\n {2}baton approve \1/);
    expect((await batonHere(['task', 'list', '--json'], '', dir)).json()).toMatchObject([
      { status: 'review', externalId: 'T-1' },
    ]);
  });

  test('an agent that fails: exit 1, the block says so', async () => {
    const ran = await run(task('bad'));
    expect([ran.exit, ran.out]).toEqual([
      1,
      expect.stringMatching(/broken.*\(E_PROCESS_CRASH\)[\s\S]*STATUS\] failure/),
    ]);
  });

  test('exit 0 without a word is a look for a person, never done', async () => {
    expect((await run(task('silent', { expected_outputs: [] }))).exit).toBe(3);
  });

  test('the same TASK again is the same task; another one of its name is refused', async () => {
    expect((await run(task('good'))).exit).toBe(0);
    writeFileSync(join(dir, 'out.txt'), 'kept');
    const again = await run(task('good'));
    expect([again.exit, again.out]).toEqual([0, expect.stringContaining('STATUS] success')]);
    expect([again.err, readFileSync(join(dir, 'out.txt'), 'utf8')]).toEqual([
      expect.stringContaining('is done already'),
      'kept',
    ]);
    expect(await run(task('good', { objective: 'Other' }))).toMatchObject({
      exit: 3,
      err: expect.stringContaining('E_DUPLICATE') as string,
    });
    expect((await run(task('bad', { task_id: 'T-2' }))).exit).toBe(1);
    script('bad', 'echo done > out.txt', block('success', '- out.txt written'));
    expect(await run(task('bad', { task_id: 'T-2' }))).toMatchObject({
      exit: 0,
      err: expect.stringContaining('tried again') as string,
    });
  });

  test('a person who is waited for in a chain is what all of it waits for', async () => {
    const chain = (id: string, agent: string): Record<string, unknown> => {
      const made = task(agent, { task_id: id });
      return { ...made, session: { ...(made['session'] as object), workflow_pattern: 'CHAIN' } };
    };
    const ran = await run([chain('A', 'liar'), chain('B', 'good')]);
    expect([ran.exit, ran.out]).toEqual([3, expect.stringContaining('[AOP:STATUS] partial')]);
  });

  test('an objective may be long, and said again in its session it is the same task', async () => {
    const words = ['run', `write out.txt ${'please '.repeat(60)}`, '--agent', 'good', '--session', 'S-words'];
    expect(await batonHere(words, '', dir)).toMatchObject({ exit: 0 });
    expect(await batonHere(words, '', dir)).toMatchObject({
      exit: 0,
      err: expect.stringContaining('is done already') as string,
    });
  });

  test('words are an objective; a path that is not there is no objective', async () => {
    expect(await batonHere(['run', 'write out.txt please', '--agent', 'good'], '', dir)).toMatchObject({ exit: 0 });
    expect(await batonHere(['run', 'tasks/none.json'], '', dir)).toMatchObject({
      exit: 4,
      err: expect.stringContaining('E_FILE_NOT_FOUND') as string,
    });
  });

  test('several TASKs: a list and JSON lines, one block for all, the final report with --json', async () => {
    const chain = (id: string, agent: string): Record<string, unknown> => {
      const made = task(agent, { task_id: id });
      return { ...made, session: { ...(made['session'] as object), workflow_pattern: 'CHAIN', session_id: 'S-chain' } };
    };
    const ran = await run([chain('A', 'good'), chain('B', 'good')]);
    expect([ran.exit, detect(ran.out)]).toMatchObject([
      0,
      [{ dialect: 'aop1', valid: true, value: { status: 'success' } }],
    ]);
    const lines = [task('good', { task_id: 'C' }), task('bad', { task_id: 'D' })]
      .map((item) => JSON.stringify(item))
      .join('\n');
    const all = await batonHere(['run', '-', '--json'], lines, dir);
    expect([all.exit, events(all.out).at(-1)]).toMatchObject([
      1,
      {
        event: 'SESSION_FINAL_REPORT',
        session_id: 'S-1',
        totals: { tasks: 2, tasks_by_state: { done: 1, deadletter: 1 } },
      },
    ]);
  });

  test.each([
    [
      'a missing workspace',
      () => task('good', { environment: { workspace_root: join(dir, 'none') } }),
      4,
      'E_FILE_NOT_FOUND',
    ],
    ['an unknown agent', () => task('nobody'), 4, 'E_AGENT_NOT_FOUND'],
    ['a program that vanished', () => task('gone'), 4, 'E_AGENT_NOT_FOUND'],
    ['an input that is not there', () => task('good', { inputs: [{ path: 'none.txt' }] }), 4, 'E_FILE_NOT_FOUND'],
    ['an input outside', () => task('good', { inputs: [{ path: '/etc/hostname' }] }), 3, 'E_PERMISSION_DENIED'],
    [
      'a snapshot outside',
      () =>
        task('good', {
          expected_outputs: [
            {
              path: 'out.txt',
              rollback_snapshot: { enabled: true, snapshot_path: '/tmp/baton-none/x', snapshot_strategy: 'COPY' },
            },
          ],
        }),
      3,
      'E_PERMISSION_DENIED',
    ],
    [
      'a snapshot through a link',
      () => {
        symlinkSync(tmpdir(), join(dir, 'link'));
        return task('good', {
          expected_outputs: [
            {
              path: 'out.txt',
              rollback_snapshot: { enabled: true, snapshot_path: 'link/x', snapshot_strategy: 'COPY' },
            },
          ],
        });
      },
      3,
      'E_PERMISSION_DENIED',
    ],
    [
      'too many inputs',
      () => task('good', { inputs: Array.from({ length: 101 }, (_, i) => ({ path: `${i}` })) }),
      1,
      'E_CONTEXT_OVERFLOW',
    ],
    [
      'a terminal asked for',
      () =>
        task(
          'good',
          {},
          {
            target: {
              agent_name: 'good',
              role: 'EXECUTOR',
              provider: 'LOCAL',
              model: 'm',
              capabilities: { headless_mode: false },
            },
          },
        ),
      3,
      'E_PERMISSION_DENIED',
    ],
    [
      'another system',
      () => task('good', { environment: { workspace_root: dir, os: 'win32' } }),
      1,
      'E_SCHEMA_VALIDATION',
    ],
  ])('%s: one sentence with its code, and nothing is changed', async (_, make, exit, code) => {
    const listing = (): string[] => readdirSync(dir).sort();
    const given = make();
    const names = listing();
    const ran = await run(given);
    expect([ran.exit, ran.out, ran.err]).toEqual([exit, '', expect.stringContaining(`(${code})`)]);
    expect(ran.err.split('\n').filter((line) => line.startsWith('baton: '))).toHaveLength(1);
    expect(listing()).toEqual(names);
    // Where it was refused before a data folder was made, there is no list at all.
    expect(['', '[]\n']).toContain((await batonHere(['task', 'list', '--json'], '', dir)).out);
  });

  test('options go before what the TASK says', async () => {
    script('slow', 'sleep 20');
    const slow = await batonHere(['run', 'x', '--agent', 'silent', '--timeout', '0'], '', dir);
    expect(slow).toMatchObject({ exit: 2 });
    writeFileSync(join(dir, '.baton/config.yaml'), 'agents:\n  slow: { kind: command, command: ["./slow.sh"] }\n');
    const ran = await batonHere(['run', 'x', '--agent', 'slow', '--timeout', '0.5'], '', dir);
    expect([ran.exit, ran.out]).toEqual([1, expect.stringContaining('E_TIMEOUT')]);
  });

  test('an agent that calls baton is not the person: it cannot approve its own work', async () => {
    writeFileSync(
      join(dir, '.baton/config.yaml'),
      'defaults: { sandbox: off }\nagents:\n  caller: { kind: command, command: ["./caller.sh"] }\n',
    );
    const cli = join(import.meta.dirname, '../../dist/cli/main.js');
    const call = (prefix: string): string =>
      `${prefix} ${process.execPath} ${cli} task move "$id" done --dir "${dir}/.baton" >> calls.txt 2>&1`;
    script('caller', 'id=$BATON_TASK_ID', call(''), call('env -u BATON_RUN_MARK'), 'exit 0');
    expect((await run(task('caller', { expected_outputs: [] }))).exit).toBe(3);
    const calls = readFileSync(join(dir, 'calls.txt'), 'utf8');
    expect(calls.match(/E_ILLEGAL_MOVE|E_PERMISSION_DENIED/g)).toHaveLength(2);
  });
});

test('an agent that calls baton changes its own task and its children, and no other', async () => {
  writeFileSync(
    join(dir, '.baton/config.yaml'),
    'defaults: { sandbox: off }\nagents:\n  caller: { kind: command, command: ["./caller.sh"] }\n',
  );
  const add = (title: string): string =>
    baton(['task', 'add', '--title', title, '--session', 'S-2', '--status', 'backlog', '--json'], '', dir).json()[
      'id'
    ] as string;
  const other = add('of another session');
  const cli = join(import.meta.dirname, '../../dist/cli/main.js');
  const calls = [
    `edit ${other} --title mine`,
    `cancel ${other}`,
    `move ${other} blocked`,
    'add --title beside --session S-2',
    'add --title part',
  ];
  script(
    'caller',
    // Its part is run too, by the same agent.
    '[ ! -e calls.txt ] || exit 0',
    ...calls.map((call) => `${process.execPath} ${cli} task ${call} --dir "${dir}/.baton" >> calls.txt 2>&1`),
  );
  await run(task('caller', { expected_outputs: [] }));
  const said = readFileSync(join(dir, 'calls.txt'), 'utf8');
  expect(said.match(/\(E_PERMISSION_DENIED\)/g)).toHaveLength(4);
  const tasks = JSON.parse(baton(['task', 'list', '--json'], '', dir).out) as Record<string, unknown>[];
  expect(tasks.find(({ id }) => id === other)).toMatchObject({ title: 'of another session', status: 'backlog' });
  const own = tasks.find(({ session, parentId }) => session === 'S-1' && parentId === null);
  expect(tasks.find(({ title }) => title === 'part')).toMatchObject({
    session: 'S-1',
    parentId: own?.['id'],
    depth: 1,
  });
  expect(tasks).toHaveLength(3);
});

describe('what is left of a run', () => {
  test('baton logs prints all of it, of a task and of a run', async () => {
    await run(task('bad'));
    const [only] = JSON.parse((await batonHere(['task', 'list', '--json'], '', dir)).out) as { id: string }[];
    const id = only?.id ?? '';
    expect(await batonHere(['logs', id], '', dir)).toMatchObject({ exit: 0, out: '', err: 'broken\n' });
    expect(events((await batonHere(['logs', `${id}-r1`, '--json'], '', dir)).out)).toEqual([
      { run: `${id}-r1`, stream: 'err', text: 'broken\n' },
    ]);
    expect(await batonHere(['logs', `${id}-r9`], '', dir)).toMatchObject({ exit: 4 });
    rmSync(join(dir, '.baton/logs', `${id}-r1`), { recursive: true });
    expect(await batonHere(['logs', id], '', dir)).toMatchObject({
      exit: 0,
      out: '',
      err: `baton: the log of ${id}-r1 is not there; it was removed, or the run never began\n`,
    });
    expect(await batonHere(['logs', 'T-9'], '', dir)).toMatchObject({ exit: 4 });
  });

  test('baton report is the SESSION_FINAL_REPORT, of the session named or the last', async () => {
    await run(task('good'));
    expect((await batonHere(['report', '--json'], '', dir)).json()).toMatchObject({
      event: 'SESSION_FINAL_REPORT',
      session_id: 'S-1',
      totals: { tasks: 1 },
    });
    expect((await batonHere(['report', 'S-1'], '', dir)).out).toContain('1 done');
    expect(await batonHere(['report', 'S-none'], '', dir)).toMatchObject({ exit: 4 });
  });

  test('baton work runs what is ready, and ends when nothing is left', async () => {
    for (const id of ['W-1', 'W-2', 'W-3'])
      await batonHere(['task', 'add', '-'], JSON.stringify(task('good', { task_id: id })), dir);
    const ran = await batonHere(['work', '--until-empty', '--parallel', '2'], '', dir);
    expect(ran.exit).toBe(0);
    expect((await batonHere(['task', 'list', '--json'], '', dir)).json()).toMatchObject([
      { status: 'done' },
      { status: 'done' },
      { status: 'done' },
    ]);
    expect(existsSync(join(dir, '.baton/runs'))).toBe(true);
  });
});

test('baton demo shows all of it, and leaves nothing behind', async () => {
  const names = readdirSync(dir).sort();
  const ran = baton(['demo'], '', dir);
  expect(ran.exit).toBe(0);
  for (const said of ['DEMO-5  review', 'DEMO-4  deadletter', '{ "port": 8080 }', 'DEMO-3  done', 'contradicted'])
    expect(ran.out).toContain(said);
  const figures = [...ran.out.matchAll(/agents: (\d+) characters; handed to the parent: (\d+)/g)];
  expect(figures.map(([, produced, delivered]) => [Number(produced) > 1_000_000, Number(delivered) < 2_500])).toEqual([
    [true, true],
  ]);
  expect(ran.out).not.toMatch(/Read by the parent|\b1 (retries|outputs|tasks|runs)\b/);
  expect(readdirSync(dir).sort()).toEqual(names);
  expect((await batonHere(['demo', '--json'], '', dir)).json()).toMatchObject({
    event: 'SESSION_FINAL_REPORT',
    totals: { tasks: 5, retries: 1 },
  });
});

describe('a TASK that fails its schema', () => {
  test('is run as the prompt it falls back to, with its limits, and says so', async () => {
    const broken = task('good', { category: 'POETRY', expected_outputs: [] });
    const ran = await run(broken, '--json');
    expect([ran.exit, ran.err]).toEqual([0, expect.stringContaining('E_SCHEMA_VALIDATION: /task/category')]);
    const all = events(ran.out);
    expect(all.find(({ type }) => type === 'protocol.version.fallback')).toMatchObject({
      detail: { event: 'VERSION_FALLBACK', reason: 'E_SCHEMA_VALIDATION' },
    });
    expect(all.find(({ type }) => type === 'run.enforced')).toMatchObject({ detail: { network: 'NONE' } });
  });

  test('is refused where its limits cannot be read', async () => {
    expect(await run(task('good', { category: 'POETRY', access: { network: 'SOME' } }))).toMatchObject({
      exit: 1,
      out: '',
    });
    expect(await run(task('good', { budgets: { max_cost_usd: 'two' } }))).toMatchObject({
      exit: 1,
      err: expect.stringContaining('/task/budgets/max_cost_usd') as string,
    });
  });
});

describe('a person says what becomes of a task in review', () => {
  const idOf = async (): Promise<string> =>
    ((await batonHere(['task', 'list', '--json'], '', dir)).json() as unknown as { id: string }[])[0]?.id ?? '';
  const git = (...args: string[]): string => execFileSync('git', ['-C', dir, ...args], { encoding: 'utf8' }).trim();

  test('cancel puts its outputs back at once', async () => {
    writeFileSync(join(dir, 'out.txt'), 'before');
    script('half', 'echo half > out.txt', block('success', '- out.txt written'));
    writeFileSync(join(dir, '.baton/config.yaml'), 'agents: { half: { kind: command, command: ["./half.sh"] } }\n');
    const outputs = [
      { type: 'FILE', path: 'out.txt', rollback_snapshot: { enabled: true } },
      { type: 'FILE', path: 'missing.txt' },
    ];
    expect((await run(task('half', { expected_outputs: outputs }))).exit).toBe(3);
    expect(readFileSync(join(dir, 'out.txt'), 'utf8')).toBe('half\n');
    const ran = await batonHere(['task', 'cancel', await idOf()], '', dir);
    expect([ran.exit, ran.err]).toEqual([0, expect.stringContaining('1 of 1 outputs put back')]);
    expect(readFileSync(join(dir, 'out.txt'), 'utf8')).toBe('before');
  });

  test('what is moved to done is done once it is merged, and waits where a file is in the way', async () => {
    writeFileSync(join(dir, '.gitignore'), '.baton/\n');
    writeFileSync(join(dir, 'README.md'), 'hello\n');
    git('init', '-q', '-b', 'main', '.');
    for (const [name, value] of [
      ['email', 't@example.org'],
      ['name', 't'],
    ] as const)
      git('config', `user.${name}`, value);
    git('add', '.');
    git('commit', '-q', '-m', 'first');
    const extensions = { x_worktree: true, x_human_review_required: true };
    expect((await run(task('good', { extensions }))).exit).toBe(3);
    writeFileSync(join(dir, 'out.txt'), 'by hand\n');
    const id = await idOf();
    const waits = await batonHere(['task', 'move', id, 'done'], '', dir);
    expect([waits.exit, waits.err]).toEqual([3, expect.stringMatching(/not merged into main: out\.txt changed in/)]);
    expect(readFileSync(join(dir, 'out.txt'), 'utf8')).toBe('by hand\n');
    const why = JSON.parse((await batonHere(['why', id, '--json'], '', dir)).out) as { waitsFor: object[] };
    expect(why.waitsFor).toMatchObject([{ for: 'merge', branch: 'main' }]);
    rmSync(join(dir, 'out.txt'));
    expect((await batonHere(['approve', id], '', dir)).exit).toBe(0);
    expect(readFileSync(join(dir, 'out.txt'), 'utf8')).toBe('done\n');
  });
});
