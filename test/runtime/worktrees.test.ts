/** Tasks side by side in one repository: each in a worktree of its own, merged into the branch that it began from and no other. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Task } from '../../src/core/task.ts';
import type { TaskMessage } from '../../src/protocol/aop2/index.ts';
import { answerQuestion } from '../../src/runtime/answers.ts';
import { answerParts } from '../../src/runtime/host-answers.ts';
import { waitingFor } from '../../src/runtime/people-inbox.ts';
import { recover } from '../../src/runtime/recovery.ts';
import { EMMA, emma, output, REPORT_DONE } from './small-agents.ts';
import { makeWorld, taskOf, until, type World } from './world.ts';

const PERSON = { kind: 'person', name: 'me' } as const;

const git = (world: World, ...args: string[]): string =>
  execFileSync('git', args, { cwd: world.workspace, encoding: 'utf8' }).trim();

function commitFile(world: World, name: string, text: string): void {
  world.write(name, text);
  git(world, 'add', '-A');
  git(world, 'commit', '-q', '-m', `a person's ${name}`);
}

const order = (world: World, extensions: object = {}, more: Partial<TaskMessage['task']> = {}): TaskMessage =>
  taskOf(world, { agent: 'emma', task: { extensions: { x_worktree: true, ...extensions }, ...more } });

const ALWAYS = { x_merge: 'always' };

const approve = (world: World, id: string, status: 'approved' | 'rejected' | 'changes_requested' = 'approved') =>
  answerQuestion(answerParts(world.host), { id, status }, PERSON);

const find = async (world: World, id: string): Promise<Task> => (await world.store.find(id)) as Task;

/** Adds one to a counter; the first runs of all four read it before any of them writes. */
const COUNT = (meeting: string): string[] => [
  'N=$(cat count)',
  `case $BATON_RUN_ID in *-r1) touch ${meeting}/$BATON_RUN_ID; I=0`,
  `  while [ $(ls ${meeting} | wc -l) -lt 4 ] && [ $I -lt 3000 ]; do sleep 0.02; I=$((I+1)); done;; esac`,
  'echo $((N+1)) > count',
  REPORT_DONE,
];

test.each([
  ['with a check', { x_checks: [{ name: 'number', command: 'grep -q "^[0-9]*$" count' }] }],
  ['merged without one', ALWAYS],
])('four agents that each add one to a counter at the same time end at four (%s)', async (_, extensions) => {
  const world = await makeWorld({ config: EMMA, git: true });
  commitFile(world, 'count', '0\n');
  const meeting = join(world.root, 'meeting');
  mkdirSync(meeting);
  emma(world, ...COUNT(meeting));
  const all = await world.runAll(Array.from({ length: 4 }, () => order(world, extensions)));
  expect(all.map(({ task }) => [task.status, task.cause])).toEqual(Array(4).fill(['done', null]));
  expect(world.read('count')).toBe('4\n');
  expect(git(world, 'show', 'main:count')).toBe('4');
  expect(git(world, 'status', '--porcelain')).toBe('');
  // They did meet: three had to go again, and none of that counts as an attempt that failed.
  expect(all.reduce((sum, { task }) => sum + task.conflicts, 0)).toBeGreaterThanOrEqual(3);
  expect(all.every(({ task }) => task.attempts === 1)).toBe(true);
  expect(readdirSync(join(world.dir, 'worktrees'))).toEqual([]);
});

test('without git, four agents that each add one to a counter end at four', async () => {
  const world = await makeWorld({ config: EMMA });
  world.write('count', '0\n');
  emma(world, 'N=$(cat count); sleep 0.1; echo $((N+1)) > count', REPORT_DONE);
  const writes = { access: { filesystem: { write_paths: [world.workspace] } } };
  const all = await world.runAll(Array.from({ length: 4 }, () => taskOf(world, { agent: 'emma', task: writes })));
  expect(all.map(({ task }) => task.status)).toEqual(['done', 'done', 'done', 'done']);
  expect(world.read('count')).toBe('4\n');
});

test('the work is merged into the branch that it began from, whatever is checked out when it ends', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  git(world, 'branch', 'other');
  emma(world, `git -C ${world.workspace} checkout -q other`, 'echo new > README.md', REPORT_DONE);
  const ran = await world.run(order(world, ALWAYS));
  expect(ran.task).toMatchObject({ status: 'done', workspace: { branch: 'main' } });
  expect([git(world, 'show', 'main:README.md'), git(world, 'show', 'other:README.md')]).toEqual(['new', 'hello']);
  expect([git(world, 'branch', '--show-current'), world.read('README.md')]).toEqual(['other', 'hello\n']);
});

test('what no check has proven waits to be merged, and approving it merges it', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(world, 'echo new > README.md', REPORT_DONE);
  const ran = await world.run(order(world));
  const { id } = ran.task;
  expect(ran.task).toMatchObject({ status: 'review', verdict: 'unverified', cause: { code: 'E_UNPROVEN' } });
  const [item] = await waitingFor(world.store);
  expect(item).toMatchObject({ id, question: expect.stringMatching(/is not merged into main.*merge it now\?/) });
  expect(world.read('README.md')).toBe('hello\n');
  expect((await approve(world, id)).task).toMatchObject({ status: 'done', cause: null });
  expect(world.read('README.md')).toBe('new\n');
});

test('what a check has proven is merged by itself; a branch that went on is checked again with it', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  commitFile(world, 'a', '1\n');
  commitFile(world, 'b', '1\n');
  // Each is right by itself; together they are not.
  const check = { x_checks: [{ name: 'sum', command: 'test $(( $(cat a) + $(cat b) )) -le 3' }] };
  emma(
    world,
    `case $BATON_RUN_ID in *-r1) cd ${world.workspace}; echo 2 > b; git commit -q -am meanwhile; cd - > /dev/null;; esac`,
    'echo $(( $(cat a) + 1 )) > a',
    'case $BATON_RUN_ID in *-r1) ;; *) echo 1 > a;; esac',
    REPORT_DONE,
  );
  const ran = await world.run(order(world, check));
  expect(ran.told('merge.conflict')).toMatchObject([
    { message: expect.stringContaining('a check fails on the merged') },
  ]);
  expect(ran.task).toMatchObject({ status: 'done', runs: 2, attempts: 1, verdict: 'proven' });
  expect([world.read('a'), world.read('b')]).toEqual(['1\n', '2\n']);
});

test('after three runs that did not merge a person is asked, with the files named', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(
    world,
    `cd ${world.workspace}; echo $BATON_RUN_ID > README.md; git commit -q -am meanwhile; cd - > /dev/null`,
    'echo mine > README.md',
    REPORT_DONE,
  );
  const ran = await world.run(order(world, ALWAYS));
  expect(ran.task).toMatchObject({ status: 'review', runs: 4, attempts: 1, cause: { code: 'E_MERGE_CONFLICT' } });
  expect(ran.task.cause?.message).toContain('changed the same lines in README.md');
  const [item] = await waitingFor(world.store);
  expect(item?.question).toMatch(/is not merged into main: .*README.md/);
  expect(git(world, 'show', `refs/baton/runs/${ran.task.run?.id}:README.md`)).toBe('mine');
});

test('a run after a conflict starts from the newest commit, knows why, and can merge its earlier work with git', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(
    world,
    'P=$(cat)',
    `case $BATON_RUN_ID in *-r1) cd ${world.workspace}; echo theirs > README.md; git commit -q -am meanwhile; cd - > /dev/null`,
    '  echo mine > README.md;;',
    '*) printf "%s" "$P" > prompt.txt; cat README.md > before.txt',
    '  git merge -q refs/baton/runs/"$BATON_TASK_ID"-r1 > merge.txt 2>&1; echo $? >> merge.txt',
    '  echo both > README.md; git add README.md prompt.txt before.txt merge.txt; git commit -q -m merged;; esac',
    REPORT_DONE,
  );
  const ran = await world.run(order(world, ALWAYS));
  expect(ran.task).toMatchObject({ status: 'done', runs: 2 });
  expect([world.read('README.md'), world.read('before.txt')]).toEqual(['both\n', 'theirs\n']);
  expect(world.read('merge.txt')).toMatch(/CONFLICT[\s\S]*\n1\n$/);
  expect(world.read('prompt.txt')).toContain('did not succeed (E_MERGE_CONFLICT)');
  expect(world.read('prompt.txt')).toContain(`git show refs/baton/runs/${ran.task.id}-r1`);
});

test('a run after changes were asked for starts from the newest commit with its earlier work', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(world, 'echo $BATON_RUN_ID >> mine.txt; ls > seen.txt', REPORT_DONE);
  const ran = await world.run(
    order(world, ALWAYS, { extensions: { ...ALWAYS, x_worktree: true, x_human_review_required: true } }),
  );
  const { id } = ran.task;
  expect(ran.task.status).toBe('review');
  commitFile(world, 'theirs.txt', 'x\n');
  await approve(world, id, 'changes_requested');
  const { workOn } = await import('../../src/runtime/scheduler.ts');
  const leaving = new AbortController().signal;
  await workOn(world.host, { only: [id], parallel: 1, untilEmpty: true, leaving });
  await approve(world, id);
  expect(await find(world, id)).toMatchObject({ status: 'done', runs: 2 });
  expect(world.read('mine.txt')).toBe(`${id}-r1\n${id}-r2\n`);
  expect(world.read('seen.txt')).toContain('theirs.txt');
});

test('what the agent will not see is named before it starts', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  world.write('draft.txt', 'not committed');
  emma(world, 'ls > seen.txt', REPORT_DONE);
  const ran = await world.run(order(world, ALWAYS));
  expect(world.warnings).toContain(`${ran.task.id}: its agent does not see what is not committed: draft.txt`);
  expect(ran.told('run.workspace')).toMatchObject([
    { uncommitted: ['draft.txt'], base: expect.stringMatching(/^[0-9a-f]{40}$/), branch: 'main' },
  ]);
  expect(world.read('seen.txt')).toBe('README.md\nseen.txt\n');
});

test('a task that is not to be merged is done, and its work is on a branch; what depends on it starts from there', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(world, 'cat one.txt 2>/dev/null > two.txt; echo 1 > one.txt', REPORT_DONE);
  const first = await world.run(order(world, { x_merge: 'never' }));
  expect(first.task.status).toBe('done');
  expect(git(world, 'show', `baton/${first.task.id}:one.txt`)).toBe('1');
  expect(existsSync(world.path('one.txt'))).toBe(false);
  expect(world.warnings.join()).toContain(`its work is on the branch baton/${first.task.id}`);
  const second = await world.run(order(world, { ...ALWAYS, x_depends_on: [first.task.id] }));
  expect(second.task.dependsOn).toEqual([first.task.id]);
  expect(second.told('run.workspace')).toMatchObject([{ upon: [first.task.id] }]);
  expect([second.task.status, world.read('two.txt')]).toEqual(['done', '1\n']);
});

test('on a detached HEAD nothing is merged, and the work is on a branch', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  git(world, 'checkout', '-q', '--detach');
  emma(world, 'echo new > README.md', REPORT_DONE);
  const ran = await world.run(order(world, ALWAYS));
  expect(ran.task.status).toBe('done');
  expect(git(world, 'show', `baton/${ran.task.id}:README.md`)).toBe('new');
  expect(world.read('README.md')).toBe('hello\n');
});

test('approve and reject at the same time: one of them wins, and rejected work is never merged', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(world, 'echo new > README.md', REPORT_DONE);
  for (let i = 0; i < 4; i += 1) {
    const { task } = await world.run(order(world));
    const tip = git(world, 'rev-parse', 'main');
    const said = await Promise.allSettled([
      approve(world, task.id),
      approve(world, task.id, 'rejected'),
      approve(world, task.id),
    ]);
    const { status } = await find(world, task.id);
    expect(['done', 'cancelled']).toContain(status);
    expect(git(world, 'rev-parse', 'main') === tip).toBe(status === 'cancelled');
    expect(said.filter((one) => one.status === 'fulfilled').length).toBeGreaterThanOrEqual(1);
    if (status === 'done') expect(said[1]?.status).toBe('rejected');
    git(world, 'reset', '-q', '--hard', tip);
  }
});

test('a task whose Baton died while it merged is merged by the next one, once', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(world, 'echo new > README.md', REPORT_DONE);
  const { task } = await world.run(order(world));
  const dead = { pid: 4_000_000, started: 'long ago' };
  const by = { kind: 'runtime', name: 'baton' } as const;
  await world.store.send({ message: { type: 'task.move', id: task.id, to: 'done' }, by: PERSON });
  await world.store.send({ message: { type: 'task.merge', id: task.id, supervisor: dead }, by });
  expect(await find(world, task.id)).toMatchObject({ status: 'review', merging: { supervisor: dead } });
  // Nobody else decides about it meanwhile.
  await expect(approve(world, task.id, 'rejected')).rejects.toThrow();
  await recover(world.host);
  expect(await find(world, task.id)).toMatchObject({ status: 'done', merging: null });
  expect(world.read('README.md')).toBe('new\n');
  expect(git(world, 'rev-list', '--count', 'main')).toBe('2');
});

test('a changed submodule waits for a person', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(
    world,
    'mkdir inner; cd inner; git init -q; echo x > x; git add x; git -c user.name=a -c user.email=b commit -q -m x; cd ..',
    REPORT_DONE,
  );
  const ran = await world.run(order(world, ALWAYS));
  expect(ran.task).toMatchObject({ status: 'review', cause: { code: 'E_MERGE_REFUSED' } });
  expect(ran.task.cause?.message).toContain('inner');
  expect(git(world, 'rev-list', '--count', 'main')).toBe('1');
});

test('what a run that was cut off has left is kept, and the next run goes on with it', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(world, 'echo half > half.txt', 'exit 1');
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      task: { extensions: { x_worktree: true, ...ALWAYS } },
      policy: { max_retries: 1, retry_backoff_seconds: [0] },
    }),
  );
  expect(ran.task).toMatchObject({ status: 'deadletter', runs: 2 });
  // As a Baton leaves it that is killed before it has taken the work.
  git(world, 'update-ref', '-d', `refs/baton/runs/${ran.task.id}-r2`);
  world.write(join(world.dir, 'worktrees', ran.task.id, 'more.txt'), 'more\n');
  emma(world, 'cat half.txt more.txt > all.txt', REPORT_DONE);
  await world.store.send({ message: { type: 'task.retry', id: ran.task.id }, by: PERSON });
  const { workOn } = await import('../../src/runtime/scheduler.ts');
  await workOn(world.host, {
    only: [ran.task.id],
    parallel: 1,
    untilEmpty: true,
    leaving: new AbortController().signal,
  });
  expect(await find(world, ran.task.id)).toMatchObject({ status: 'done' });
  expect(world.read('all.txt')).toBe('half\nmore\n');
});

test('in the sandbox an agent commits in its worktree, and cannot write the repository of the user', async () => {
  const { probeSandbox } = await import('../../src/process/sandbox.ts');
  const isBoxed = (await probeSandbox()).ok;
  if (!isBoxed) {
    console.warn('skipped: there is no bubblewrap here');
    return;
  }
  const world = await makeWorld({ config: { ...EMMA, defaults: { sandbox: 'require' } }, git: true });
  emma(
    world,
    'git status --porcelain > status.txt 2>&1',
    'echo one > one.txt; git add one.txt; git commit -q -m one > commit.txt 2>&1; echo $? >> commit.txt',
    'git checkout -q -b topic && git checkout -q - && git config x.y z && git log --oneline main > log.txt',
    // What is not shown may be an empty folder in memory inside: what counts is that nothing of it is outside.
    `for F in planted config HEAD index refs/heads/planted; do echo x > ${world.workspace}/.git/$F; done 2>/dev/null`,
    `O=$(cat .git/objects/info/alternates); touch $O/planted 2>/dev/null; echo $? > planted.txt`,
    REPORT_DONE,
  );
  const ran = await world.run(order(world, ALWAYS, { expected_outputs: [output(world.path('log.txt'))] }));
  expect(ran.task).toMatchObject({ status: 'done' });
  expect([world.read('status.txt'), world.read('commit.txt')]).toEqual(['?? status.txt\n', '0\n']);
  expect(world.read('planted.txt')).toBe('1\n');
  expect(world.read('log.txt')).toMatch(/first/);
  for (const name of ['planted', 'refs/heads/planted', 'objects/planted'])
    expect(existsSync(world.path(`.git/${name}`))).toBe(false);
  expect(git(world, 'config', 'user.name')).toBe('test');
});

test('a child works in the worktree of its parent', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(
    world,
    'case $BATON_RUN_ID in',
    `${'*'}-001-r1) echo parent > parent.txt; touch $HOME/parent-ready; I=0`,
    '  while [ ! -e child.txt ] && [ $I -lt 1500 ]; do sleep 0.02; I=$((I+1)); done;;',
    '*) cat parent.txt > child.txt;; esac',
    REPORT_DONE,
  );
  const [parent] = await world.add(order(world, ALWAYS));
  const { workOn } = await import('../../src/runtime/scheduler.ts');
  const leaving = new AbortController();
  const working = workOn(world.host, { parallel: 2, untilEmpty: false, leaving: leaving.signal });
  await until('the parent works', () => existsSync(join(world.home, 'parent-ready')));
  await world.store.send({
    message: {
      type: 'task.add',
      tasks: [{ title: 'child', parentId: parent?.id ?? '', routing: { agent: 'emma' } }],
    },
    by: { kind: 'person', name: 'me' },
  });
  await until('it is merged', () => world.read('child.txt') !== null);
  leaving.abort();
  await working;
  expect([world.read('parent.txt'), world.read('child.txt')]).toEqual(['parent\n', 'parent\n']);
});

test('a child with a worktree of its own starts from the files of its parent, which merges its branch', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(
    world,
    'case $BATON_RUN_ID in',
    '*-001-r1) echo parent > parent.txt; touch $HOME/parent-ready; I=0',
    '  while [ ! -e $HOME/child-done ] && [ $I -lt 3000 ]; do sleep 0.02; I=$((I+1)); done',
    '  git add parent.txt; git commit -q -m parent',
    '  git merge -q --no-edit -X theirs $(cat $HOME/child-done) > merge.txt 2>&1; echo $? >> merge.txt;;',
    '*) cat parent.txt > child.txt;; esac',
    REPORT_DONE,
  );
  const [parent] = await world.add(order(world, ALWAYS));
  const { workOn } = await import('../../src/runtime/scheduler.ts');
  const leaving = new AbortController();
  const working = workOn(world.host, { parallel: 2, untilEmpty: false, leaving: leaving.signal });
  await until('the parent works', () => existsSync(join(world.home, 'parent-ready')));
  const message = order(world, ALWAYS);
  const answer = await world.store.send({
    message: {
      type: 'task.add',
      tasks: [
        {
          title: 'child',
          parentId: parent?.id ?? '',
          routing: { agent: 'emma' },
          texts: { 'inputs/task.json': JSON.stringify(message) },
        },
      ],
    },
    by: PERSON,
  });
  const child = answer.kind === 'changed' ? (answer.tasks[0]?.id ?? '') : '';
  const ref = join(world.workspace, '.git/refs/heads/baton', child);
  await until('the child is done', () => existsSync(ref));
  world.write(join(world.home, 'child-done'), git(world, 'rev-parse', `baton/${child}`));
  await until('the parent is merged', () => world.read('merge.txt') !== null);
  leaving.abort();
  await working;
  expect(world.read('merge.txt')).toBe('0\n');
  expect([world.read('parent.txt'), world.read('child.txt')]).toEqual(['parent\n', 'parent\n']);
  expect(await find(world, child)).toMatchObject({ status: 'done', workspace: { merge: 'never' } });
});

test('the folder of a task that was merged is gone, also where Baton died before it was removed', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  emma(world, 'echo new > README.md', REPORT_DONE);
  const ran = await world.run(order(world, ALWAYS));
  expect(ran.task.status).toBe('done');
  expect(readdirSync(join(world.dir, 'worktrees'))).toEqual([]);
  rmSync(join(world.dir, 'worktrees'), { recursive: true });
});
