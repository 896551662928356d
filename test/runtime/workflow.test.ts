/** Tasks that come together: who waits for whom, who runs side by side, and what a failure does to the others; and tasks in worktrees. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { TaskMessage } from '../../src/protocol/aop2/index.ts';
import { recover } from '../../src/runtime/recovery.ts';
import { workOn } from '../../src/runtime/scheduler.ts';
import { EMMA, emma, output, REPORT_DONE } from './small-agents.ts';
import { makeWorld, type Ran, type TaskParts, taskOf, until, type World } from './world.ts';

type Pattern = NonNullable<TaskMessage['session']['workflow_pattern']>;

/** Notes when each task begins and ends, waits for another to begin where the objective says `with-NAME`, and fails the ones that must. */
const TIMED = [
  'P="$(cat)"; N=$(printf %s "$P" | sed -n "s/.*name-\\([a-z]*\\).*/\\1/p" | head -1)',
  'W=$(printf %s "$P" | sed -n "s/.*with-\\([a-z]*\\).*/\\1/p" | head -1)',
  'echo "begin $N $(date +%s%3N)" >> log.txt',
  'sleep 0.3; I=0',
  'while [ -n "$W" ] && ! grep -q "^begin $W " log.txt && [ $I -lt 1000 ]; do sleep 0.02; I=$((I+1)); done',
  'echo "end $N $(date +%s%3N)" >> log.txt',
  'case "$P" in *must-fail*) exit 1;; esac',
  REPORT_DONE,
];

function inSession(
  world: World,
  pattern: Pattern,
  names: readonly string[],
  parts: (name: string) => Partial<TaskParts> = () => ({}),
): TaskMessage[] {
  return names.map((name) =>
    taskOf(world, {
      agent: 'emma',
      objective: `name-${name}`,
      session: { session_id: `s-${pattern}`, workflow_pattern: pattern },
      ...parts(name),
      task: { task_id: name, ...parts(name).task },
    }),
  );
}

/** When each began and ended. */
function timesOf(world: World): Record<string, { begin: number; end: number }> {
  const times: Record<string, { begin: number; end: number }> = {};
  for (const line of (world.read('log.txt') ?? '').trim().split('\n')) {
    const [what, name = '', at] = line.split(' ');
    times[name] = { ...(times[name] ?? { begin: 0, end: 0 }), [what as 'begin' | 'end']: Number(at) };
  }
  return times;
}

const statusesOf = (all: readonly Ran[]): string[] => all.map(({ task }) => task.status);
const overlap = (a?: { begin: number; end: number }, b?: { begin: number; end: number }): boolean =>
  a !== undefined && b !== undefined && a.begin < b.end && b.begin < a.end;

test('CHAIN: each after the one before', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, ...TIMED);
  const all = await world.runAll(inSession(world, 'CHAIN', ['a', 'b', 'c']));
  expect(statusesOf(all)).toEqual(['done', 'done', 'done']);
  const { a, b, c } = timesOf(world);
  expect(b?.begin).toBeGreaterThanOrEqual(a?.end ?? Infinity);
  expect(c?.begin).toBeGreaterThanOrEqual(b?.end ?? Infinity);
});

test('PARALLEL: disjoint write paths run at once, overlapping ones wait', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, ...TIMED);
  const writes: Record<string, string> = { a: 'src', b: 'src/deep', c: 'srcs' };
  const all = await world.runAll(
    inSession(world, 'PARALLEL', ['a', 'b', 'c'], (name) => ({
      ...(name === 'a' ? { objective: 'name-a with-c' } : {}),
      task: {
        access: {
          filesystem: { write_paths: [world.path(writes[name] ?? ''), world.path('log.txt.not')].slice(0, 1) },
        },
      },
    })),
  );
  // The log is outside of what they may write, which stands against done; when they ran is what counts here.
  expect(new Set(statusesOf(all))).toEqual(new Set(['review']));
  const { a, b, c } = timesOf(world);
  expect(overlap(a, b)).toBe(false);
  expect(overlap(a, c)).toBe(true);
});

test('PARALLEL: no more at once than there is room for', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, ...TIMED);
  await world.runAll(inSession(world, 'PARALLEL', ['a', 'b', 'c']), { parallel: 2 });
  const { a, b, c } = timesOf(world);
  expect([overlap(a, b), overlap(a, c), overlap(b, c)].filter(Boolean).length).toBeLessThanOrEqual(2);
  expect(overlap(a, b) && overlap(a, c) && overlap(b, c)).toBe(false);
});

test('MAP_REDUCE: the last one after all the others, which run at once', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, ...TIMED);
  const objectives: Record<string, string> = { a: 'name-a with-b', b: 'name-b with-a', r: 'name-r' };
  const all = await world.runAll(
    inSession(world, 'MAP_REDUCE', ['a', 'b', 'r'], (name) => ({ objective: objectives[name] ?? '' })),
  );
  expect(statusesOf(all)).toEqual(['done', 'done', 'done']);
  const { a, b, r } = timesOf(world);
  expect(overlap(a, b)).toBe(true);
  expect(r?.begin).toBeGreaterThanOrEqual(Math.max(a?.end ?? Infinity, b?.end ?? Infinity));
});

test('HIERARCHICAL: the first is the parent, and has the last word', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, ...TIMED);
  const all = await world.runAll(inSession(world, 'HIERARCHICAL', ['p', 'a', 'b']));
  expect(statusesOf(all)).toEqual(['done', 'done', 'done']);
  const [parent, child] = all;
  expect(child?.task.parentId).toBe(parent?.task.id);
  const { p, a, b } = timesOf(world);
  expect(p?.begin).toBeGreaterThanOrEqual(Math.max(a?.end ?? Infinity, b?.end ?? Infinity));
});

test('a failed dependency blocks all that wait for it, near and far, and nobody else', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, ...TIMED);
  const chain = inSession(world, 'CHAIN', ['a', 'b', 'c'], (name) =>
    name === 'a' ? { objective: 'name-a must-fail' } : {},
  );
  const other = taskOf(world, {
    agent: 'emma',
    objective: 'name-x',
    session: { session_id: 's-CHAIN' },
    task: { task_id: 'x', extensions: { x_depends_on: [] } },
  });
  const [a, b, c, x] = await world.runAll([...chain, other]);
  expect(a?.task.status).toBe('deadletter');
  expect(b?.task).toMatchObject({ status: 'blocked', cause: { code: 'E_DEPENDENCY_FAILED' } });
  expect(c?.task).toMatchObject({ status: 'blocked', cause: { code: 'E_DEPENDENCY_FAILED' } });
  expect(x?.task.status).toBe('done');
  expect(Object.keys(timesOf(world)).sort()).toEqual(['a', 'x']);
});

test('what waits for a task that waits for a person is not waited for', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, ...TIMED);
  const all = await world.runAll(
    inSession(world, 'CHAIN', ['a', 'b', 'c'], (name) =>
      name === 'a' ? { task: { expected_outputs: [output('never.txt')] } } : {},
    ),
  );
  expect(statusesOf(all)).toEqual(['review', 'ready', 'ready']);
});

const git = (world: World, ...args: string[]): string =>
  execFileSync('git', ['-C', world.workspace, ...args], { encoding: 'utf8' }).trim();

test.each([['off'], ['auto']])(
  'a worktree: the work is done elsewhere and merged when it is done (sandbox %s)',
  async (sandbox) => {
    const world = await makeWorld({ config: { ...EMMA, defaults: { sandbox } }, git: true });
    emma(
      world,
      'pwd > where.txt; echo new > README.md; mkdir -p src; echo out > src/out.txt; git status > status.txt 2>&1',
      REPORT_DONE,
    );
    const before = git(world, 'rev-parse', 'HEAD');
    const snapshot = { enabled: true, snapshot_path: world.path('.snap/out') };
    const ran = await world.run(
      taskOf(world, {
        agent: 'emma',
        task: {
          extensions: { x_worktree: true },
          environment: { workspace_root: world.workspace, git_branch: 'main' },
          expected_outputs: [output(world.path('src/out.txt'), { rollback_snapshot: snapshot })],
        },
      }),
    );
    expect(ran.task).toMatchObject({ status: 'done', cause: null });
    expect(world.read('where.txt')?.trim()).toBe(`${world.dir}/worktrees/${ran.task.id}`);
    expect(world.read('status.txt')).toContain(`On branch baton/${ran.task.id}`);
    expect(world.read('README.md')).toBe('new\n');
    expect(world.read('src/out.txt')).toBe('out\n');
    expect(git(world, 'rev-parse', 'HEAD')).not.toBe(before);
    expect(git(world, 'status', '--porcelain')).toBe('');
    expect(ran.told('run.worktree')).toMatchObject([{ changed: true, gitlinks: [] }]);
    expect(ran.told('merge.done')).toMatchObject([{ into: 'main', commit: git(world, 'rev-parse', 'HEAD') }]);
    expect(existsSync(`${world.dir}/worktrees/${ran.task.id}`)).toBe(false);
    expect(git(world, 'for-each-ref', 'refs/baton')).toBe('');
    expect(git(world, 'log', '-1', '--format=%an|%s|%(trailers:only)').trim()).toBe(
      `test|${ran.task.title}|Baton-Task: ${ran.task.id}\nBaton-Agent: emma`,
    );
  },
);

test('a worktree of a task that fails is kept, and the tree of the user is as it was', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(world, 'echo half > README.md; exit 1');
  const before = git(world, 'rev-parse', 'HEAD');
  const ran = await world.run(taskOf(world, { agent: 'emma', task: { extensions: { x_worktree: true } } }));
  expect(ran.task.status).toBe('deadletter');
  expect(world.read('README.md')).toBe('hello\n');
  expect(git(world, 'rev-parse', 'HEAD')).toBe(before);
  expect(ran.told('run.worktree')).toMatchObject([{ changed: true }]);
  expect(git(world, 'show', `refs/baton/runs/${ran.task.run?.id}:README.md`)).toBe('half');
});

test('a worktree is not made of a branch that the TASK was not written for', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(world, 'echo x > made.txt', REPORT_DONE);
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      task: {
        extensions: { x_worktree: true },
        environment: { workspace_root: world.workspace, git_branch: 'feature/x' },
      },
    }),
  );
  expect(ran.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_SCHEMA_VALIDATION' } });
  expect(git(world, 'branch', '--list', 'baton/*')).toBe('');
  expect(existsSync(`${world.dir}/worktrees/${ran.task.id}`)).toBe(false);
});

const APART = { extensions: { x_worktree: true, x_merge: 'always' } };

test('CHAIN in worktrees: each begins with what the one before has made', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(
    world,
    'N=$(sed -n "s/.*name-\\([a-z]*\\).*/\\1/p" | head -1)',
    '[ $N = a ] || [ -e before.txt ] || exit 1',
    'echo $N >> before.txt',
    REPORT_DONE,
  );
  const all = await world.runAll(inSession(world, 'CHAIN', ['a', 'b', 'c'], () => ({ task: APART })));
  expect(statusesOf(all)).toEqual(['done', 'done', 'done']);
  expect(world.read('before.txt')).toBe('a\nb\nc\n');
});

test('worktrees side by side are merged one after the other', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(world, 'N=$(sed -n "s/.*name-\\([a-z]*\\).*/\\1/p" | head -1)', 'echo $N > $N.txt', REPORT_DONE);
  const all = await world.runAll(inSession(world, 'PARALLEL', ['a', 'b', 'c', 'd'], () => ({ task: APART })));
  expect(all.map(({ task }) => task.cause)).toEqual([null, null, null, null]);
  expect(statusesOf(all)).toEqual(['done', 'done', 'done', 'done']);
  expect(['a', 'b', 'c', 'd'].map((name) => world.read(`${name}.txt`))).toEqual(['a\n', 'b\n', 'c\n', 'd\n']);
});

test('what cannot be merged is not done, and everybody is told where it is', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(world, 'echo runs >> $HOME/runs; echo new > README.md', REPORT_DONE);
  world.write('README.md', 'of a person\n');
  const ran = await world.run(
    taskOf(world, { agent: 'emma', task: APART, policy: { max_retries: 3, retry_backoff_seconds: [0] } }),
  );
  const where = `it is the commit refs/baton/runs/${ran.task.run?.id}`;
  // Nothing is wrong with the work: it stays accepted, and is merged as soon as the file is not in the way any more.
  expect(ran.task).toMatchObject({ status: 'review', runs: 1, cause: { code: 'E_MERGE_WAITS' } });
  expect(ran.task.cause?.message).toContain(`README.md changed in ${world.workspace} and is not committed`);
  expect(ran.task.cause?.message).toContain(where);
  expect(ran.last.block).toContain('the work is not merged into main: README.md changed');
  expect(ran.last.block).not.toContain('[AOP:STATUS] success');
  expect(ran.last.response).toMatchObject({ error_details: { code: 'E_MERGE_WAITS' } });
  expect(JSON.stringify(ran.last.response.error_details)).toContain(where);
  expect(world.read('README.md')).toBe('of a person\n');
  expect(git(world, 'show', `refs/baton/runs/${ran.task.run?.id}:README.md`)).toBe('new');
  const records = (await world.store.history(ran.task.id)).length;
  await recover(world.host);
  expect((await world.store.history(ran.task.id)).length).toBe(records);
  git(world, 'checkout', '-q', 'README.md');
  await recover(world.host);
  expect(await world.store.find(ran.task.id)).toMatchObject({ status: 'done', cause: null });
  expect(world.read('README.md')).toBe('new\n');
});

test.each(['later', 'at work'])(
  'what a person accepts is merged: by the next Baton, or by one that is there (%s)',
  async (when) => {
    const world = await makeWorld({ config: EMMA, git: true });
    emma(world, 'echo new > README.md', REPORT_DONE);
    const extensions = { ...APART.extensions, x_human_review_required: true };
    const ran = await world.run(taskOf(world, { agent: 'emma', task: { extensions } }));
    expect(ran.task).toMatchObject({ status: 'review', cause: null });
    expect(world.read('README.md')).toBe('hello\n');
    const leaving = new AbortController();
    const working =
      when === 'later' ? null : workOn(world.host, { parallel: 1, untilEmpty: false, leaving: leaving.signal });
    const by = { kind: 'person', name: 'me' } as const;
    await world.store.send({ message: { type: 'task.move', id: ran.task.id, to: 'done' }, by });
    if (working === null) await recover(world.host);
    await until('it is merged', () => world.read('README.md') === 'new\n');
    leaving.abort();
    await working;
    await recover(world.host);
    const { told } = await world.ran(ran.task.id, []);
    expect(told('merge.done')).toMatchObject([{ into: 'main' }]);
    expect(told('task.accepted')).toMatchObject([{ by: 'person', into: 'main' }]);
    expect(existsSync(`${world.dir}/worktrees/${ran.task.id}`)).toBe(false);
  },
);
