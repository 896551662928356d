/** What nothing needs is removed, and everything else is kept and told why. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAudit } from '../../src/core/audit.ts';
import type { AnyMessage } from '../../src/core/laws/messages.ts';
import type { Store } from '../../src/core/store.ts';
import type { Task } from '../../src/core/task.ts';
import { type Collected, collect, type GcOptions } from '../../src/runtime/gc.ts';
import { recover } from '../../src/runtime/recovery.ts';
import { takeSnapshots } from '../../src/workspace/snapshots.ts';
import { openWorktree } from '../../src/workspace/worktree.ts';
import { EMMA, emma, REPORT_DONE } from './small-agents.ts';
import { makeWorld, taskOf, type World } from './world.ts';

const DAY = 24 * 60 * 60 * 1000;
const PERSON = { kind: 'person', name: 'user' } as const;

const gc = (world: World, more: Partial<GcOptions> = {}): Promise<Collected> =>
  collect({
    store: world.store,
    dir: world.dir,
    workspace: world.workspace,
    by: PERSON,
    keepDays: 30,
    dryRun: false,
    now: Date.now() + 40 * DAY,
    ...more,
  });

const gone = ({ removed }: Collected): string[] => removed.map(({ path }) => path);
const why = ({ kept }: Collected, path: string): string | undefined => kept.find((one) => one.path === path)?.because;

async function ask(world: World, message: AnyMessage): Promise<Task> {
  const answer = await world.store.send({ message, by: PERSON });
  if (answer.kind === 'refused') throw new Error(answer.refusal.message);
  return answer.tasks[0] as Task;
}

/** A task with a run and its log; cancelled, if nothing else is said. */
async function ran(world: World, { cancel = true, ...fields }: Record<string, unknown> = {}): Promise<Task> {
  const { id } = await ask(world, { type: 'task.add', tasks: [{ title: 'x', ...fields }] } as AnyMessage);
  const task = await ask(world, { type: 'task.claim', id, claimer: { agent: 'a', any: true }, leaseMs: 60 * DAY });
  world.write(join(world.dir, 'logs', `${id}-r1`, 'out.log'), 'x'.repeat(100));
  return cancel === true ? ask(world, { type: 'task.cancel', id }) : task;
}

const logOf = ({ id }: Task): string => `logs/${id}-r1`;
const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' });

test('the log of a run that is long over goes, and the journal tells of it; a second time there is nothing', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, 'echo made > out.txt', REPORT_DONE);
  const { task } = await world.run(taskOf(world, { agent: 'emma' }));
  expect(task.status).toBe('done');
  const folder = join(world.dir, logOf(task));
  expect(why(await gc(world, { now: Date.now() + 29 * DAY }), logOf(task))).toBe(
    `${task.id} was over 29 days ago, and 30 are kept`,
  );
  expect(gone(await gc(world, { dryRun: true }))).toEqual([logOf(task)]);
  expect(existsSync(join(folder, 'details.json'))).toBe(true);

  const found = await gc(world);
  expect(found).toEqual({ removed: [{ path: logOf(task), bytes: expect.any(Number) }], kept: [] });
  expect(found.removed[0]?.bytes).toBeGreaterThan(500);
  expect(readdirSync(join(world.dir, 'logs'))).toEqual([]);
  expect(await gc(world)).toEqual({ removed: [], kept: [] });
  const told = [];
  for await (const { events } of world.store.eventsAfter({ after: 0 }))
    told.push(...events.filter(({ type }) => type.startsWith('gc.')));
  expect(told).toEqual([{ type: 'gc.removed', detail: { keep_days: 30, entries: [logOf(task)] } }]);
  expect(await recover(world.host)).toMatchObject({ runs: [] });
  expect((await world.store.verify()).ok).toBe(true);
});

test('with --keep 0 at once, but not while its Baton may be writing to it', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, REPORT_DONE);
  const { task } = await world.run(taskOf(world, { agent: 'emma' }));
  // This process has watched over it, and is alive.
  expect(why(await gc(world, { keepDays: 0, now: Date.now() }), logOf(task))).toContain('has just ended');
  expect(gone(await gc(world, { keepDays: 0, now: Date.now() + DAY }))).toEqual([logOf(task)]);
});

test('what is not over, nobody knows, or is no folder of a run is kept, each with its reason', async () => {
  const world = await makeWorld();
  const running = await ran(world, { cancel: false });
  const over = await ran(world);
  const linked = await ran(world);
  const flat = await ran(world);
  const full = await ran(world);
  const logs = join(world.dir, 'logs');
  world.write(join(world.root, 'elsewhere', 'out.log'), 'mine');
  execFileSync('rm', ['-r', join(world.dir, logOf(linked)), join(world.dir, logOf(flat))]);
  symlinkSync(join(world.root, 'elsewhere'), join(world.dir, logOf(linked)));
  writeFileSync(join(world.dir, logOf(flat)), 'a file');
  world.write(join(world.dir, logOf(full), 'notes.txt'), 'mine');
  for (const name of ['TASK-2020-01-01-001-r1', `${over.id}-r2`, `${over.id}-r01`, 'mine'])
    world.write(join(logs, name, 'out.log'), 'x');
  world.write(join(logs, 'sessions', 'default.log'), 'x');
  world.write(join(logs, 'notes.txt'), 'x');

  const found = await gc(world);
  expect(gone(found)).toEqual([logOf(over)]);
  expect(why(found, logOf(running))).toBe(`${running.id} is in-progress`);
  expect(why(found, logOf(linked))).toBe('it is a link, and no link is followed');
  expect(why(found, logOf(flat))).toBe('it is no folder');
  expect(why(found, logOf(full))).toBe('notes.txt in it is not of its run');
  for (const name of ['TASK-2020-01-01-001-r1', `${over.id}-r2`, `${over.id}-r01`, 'mine', 'notes.txt'])
    expect(why(found, `logs/${name}`)).toBe('nobody knows it');
  expect(why(found, 'logs/sessions')).toBe('the commands of sessions are kept');
  expect(readFileSync(join(world.root, 'elsewhere', 'out.log'), 'utf8')).toBe('mine');
  expect(found.kept).toHaveLength(10);
});

test('a folder that is a link itself is not looked into', async () => {
  const world = await makeWorld();
  const over = await ran(world);
  execFileSync('mv', [join(world.dir, 'logs'), join(world.root, 'moved')]);
  symlinkSync(join(world.root, 'moved'), join(world.dir, 'logs'));
  expect(await gc(world)).toEqual({
    removed: [],
    kept: [{ path: 'logs', because: 'it is a link, and no link is followed' }],
  });
  expect(existsSync(join(world.root, 'moved', `${over.id}-r1`))).toBe(true);
});

/** A node that a task has written. */
const write = (world: World, task: Task, id: string, data: object = {}): Promise<Task> =>
  ask(world, {
    type: 'graph.apply',
    task: task.id,
    updates: [
      {
        kind: 'add-node',
        node: {
          id,
          type: 'Findings',
          createdBy: 'a',
          confidence: 1,
          sources: [],
          domain: null,
          outputType: null,
          ready: true,
          nextStage: null,
          topic: null,
        },
        document: JSON.stringify({ node_id: id, data }),
      },
    ],
    escalate: { below: 0, domains: {} },
  });

test('what an open task, a session that is not over, a node or a memory needs is kept', async () => {
  const world = await makeWorld();
  const tasks: Task[] = [];
  for (let i = 0; i < 7; i++) tasks.push(await ran(world, { session: `s${i}`, cancel: false }));
  const [upon, named, part, loaded, handed, referred, remembered] = tasks as [Task, Task, Task, Task, Task, Task, Task];
  const add = (fields: object): Promise<Task> =>
    ask(world, { type: 'task.add', tasks: [{ title: 'later', status: 'backlog', session: 'new', ...fields }] });
  const builder = await add({ dependsOn: [upon.id] });
  const reader = await add({ texts: { body: `Go on with what ${named.id} found.` } });
  const child = await add({ parentId: part.id, session: part.session });
  await write(world, loaded, 'n_1');
  await ask(world, { type: 'graph.load', node: 'n_1', by: { task: reader.id } });
  await write(world, handed, 'n_2');
  const stage = await add({ metadata: { node: 'n_2' } });
  const other = await ran(world);
  await write(world, other, 'n_3', { all: `.baton/${logOf(referred)}/details.json` });
  await ask(world, {
    type: 'session.save',
    session: 'x',
    key: 'where',
    value: join(world.dir, logOf(remembered), 'details.json'),
    persistent: false,
    speaker: { agent: 'user', run: null, priority: 'P1', leads: true },
  });
  for (const { id } of tasks) await ask(world, { type: 'task.cancel', id });
  const status = async ({ id }: Task): Promise<string> => (await world.store.find(id))?.status ?? '';

  const found = await gc(world);
  expect(why(found, logOf(upon))).toBe(`${builder.id}, which is ${await status(builder)}, builds upon it`);
  expect(why(found, logOf(named))).toBe(`${reader.id}, which is backlog, names it`);
  expect(why(found, logOf(loaded))).toBe(`${reader.id}, which is backlog, has loaded its node n_1`);
  expect(why(found, logOf(handed))).toBe(`${stage.id}, which is backlog, has loaded its node n_2`);
  expect(why(found, logOf(referred))).toBe('the node n_3 refers to it');
  expect(why(found, logOf(remembered))).toBe('a session remembers a path of it');
  expect(why(found, logOf(part))).toBe(`${child.id}, which is ${await status(child)}, builds upon it`);
  expect(gone(found)).toEqual([logOf(other)]);
  for (const { id } of [builder, reader, child, stage]) await ask(world, { type: 'task.cancel', id });
  expect(gone(await gc(world))).toEqual([upon, named, part, loaded, handed].map(logOf));
});

test('a session that is not over keeps what others of it have built upon; a review keeps its own', async () => {
  const world = await makeWorld();
  const first = await ran(world, { cancel: false });
  const second = await ask(world, { type: 'task.add', tasks: [{ title: 'y', dependsOn: [first.id] }] });
  const third = await ran(world, { reviewRequired: true, cancel: false });
  await ask(world, { type: 'run.report', run: `${third.id}-r1`, outcome: 'done' });
  for (const { id } of [first, second]) await ask(world, { type: 'task.cancel', id });
  const found = await gc(world);
  expect(found.kept).toEqual([
    { path: logOf(first), because: `${second.id} builds upon it, and the session default is not over` },
    { path: logOf(third), because: `${third.id} is review` },
  ]);
});

test('snapshots go only where nothing is left to be put back', async () => {
  const world = await makeWorld({ git: true });
  const [kept, left, mine] = [await ran(world), await ran(world), await ran(world)];
  const folder = ({ id }: Task): string => join(world.dir, 'snapshots', id);
  const take = (task: Task): Promise<unknown> =>
    takeSnapshots([{ path: 'README.md', strategy: 'GIT_STASH', snapshotPath: null }], {
      workspace: world.workspace,
      dataDir: world.dir,
      folder: folder(task),
    });
  await take(kept);
  await take(left);
  // As one leaves it who dies while it throws them away.
  execFileSync('rm', [join(folder(left), 'manifest.json')]);
  world.write(join(folder(mine), 'notes.txt'), 'mine');
  expect(git(world.workspace, 'for-each-ref', 'refs/baton')).toMatch(/.\n.+\n$/);
  const found = await gc(world);
  expect(gone(found).filter((path) => path.startsWith('snap'))).toEqual([`snapshots/${left.id}`]);
  expect(why(found, `snapshots/${kept.id}`)).toBe('1 snapshot in it was not put back');
  expect(why(found, `snapshots/${mine.id}`)).toBe('notes.txt in it is no snapshot');
  expect(existsSync(folder(left))).toBe(false);
  expect(existsSync(join(folder(kept), 'manifest.json'))).toBe(true);
  expect(git(world.workspace, 'for-each-ref', 'refs/baton').trim().split('\n')).toHaveLength(1);
});

/** A task that is over, with a worktree. */
async function withWorktree(world: World): Promise<{ task: Task; path: string; name: string }> {
  const task = await ran(world, { metadata: { workspace: world.workspace } });
  const folder = join(world.dir, 'worktrees');
  const { path } = await openWorktree({ repo: world.workspace, taskId: task.id, folder });
  return { task, path, name: `worktrees/${task.id}` };
}

const commit = (path: string, name: string): void => {
  writeFileSync(join(path, name), 'work\n');
  git(path, 'add', name);
  git(path, '-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-q', '-m', name);
};

test('a worktree goes only when it is merged and nothing else is in it', async () => {
  const world = await makeWorld({ git: true });
  const [merged, unmerged, dirty, ignored, locked] = [
    await withWorktree(world),
    await withWorktree(world),
    await withWorktree(world),
    await withWorktree(world),
    await withWorktree(world),
  ];
  commit(merged.path, 'merged.txt');
  git(world.workspace, 'merge', '-q', `baton/${merged.task.id}`);
  commit(unmerged.path, 'unmerged.txt');
  writeFileSync(join(dirty.path, 'README.md'), 'changed\n');
  mkdirSync(join(ignored.path, '.baton'));
  writeFileSync(join(ignored.path, '.baton', 'x'), 'ignored\n');
  git(world.workspace, 'worktree', 'lock', locked.path);
  const folder = join(world.dir, 'worktrees');
  mkdirSync(join(folder, 'mine'));

  const trial = await gc(world, { dryRun: true });
  const found = await gc(world);
  expect(trial).toEqual(found);
  expect(gone(found).filter((path) => path.startsWith('work'))).toEqual([merged.name]);
  expect(why(found, unmerged.name)).toContain(`baton/${unmerged.task.id} is not merged into main`);
  expect(why(found, dirty.name)).toBe('it holds what is in no commit: README.md');
  expect(why(found, ignored.name)).toBe('it holds what is in no commit: .baton/');
  expect(why(found, locked.name)).toContain('locked');
  expect(why(found, 'worktrees/mine')).toBe('nobody knows it');
  expect(readdirSync(folder).sort()).toEqual(
    [unmerged, dirty, ignored, locked]
      .map(({ task }) => task.id)
      .concat('mine')
      .sort(),
  );
  expect(readFileSync(join(dirty.path, 'README.md'), 'utf8')).toBe('changed\n');
  expect(git(world.workspace, 'branch', '--list', `baton/${merged.task.id}`)).toBe('');
  expect(git(world.workspace, 'worktree', 'list')).not.toContain(merged.task.id);
  expect(git(world.workspace, 'branch', '--list', 'baton/*').trim().split('\n')).toHaveLength(4);
});

/** The store, with something that happens when the journal is to tell what is removed. */
const storeWith = (store: Store, before: () => void): Store => ({
  ...store,
  send(asked) {
    if (asked.message.type === 'note' && asked.message.event === 'gc.removed') before();
    return store.send(asked);
  },
});

test('one that is killed in the middle leaves nothing that is taken for work, and the next one finishes', async () => {
  const world = await makeWorld({ git: true });
  const { task, path } = await withWorktree(world);
  const killed = storeWith(world.store, () => {
    throw new Error('killed');
  });
  await expect(gc(world, { store: killed })).rejects.toThrow('killed');
  const aside = readdirSync(join(world.dir, 'worktrees'))[0] as string;
  expect(aside).toMatch(new RegExp(`^${task.id}\\.gone-`));
  // Half of it is gone.
  for (const name of ['README.md', '.git']) execFileSync('rm', [join(world.dir, 'worktrees', aside, name)]);
  await recover(world.host);
  expect(world.warnings).toEqual([]);
  expect(git(world.workspace, 'log', '--format=%s')).toBe('first\n');

  const found = await gc(world);
  expect(found.kept).toEqual([]);
  expect(gone(found).map((name) => name.replace(/\.gone-.*/, ''))).toEqual([logOf(task), `worktrees/${task.id}`]);
  expect(existsSync(path)).toBe(false);
  expect(git(world.workspace, 'worktree', 'list').trim().split('\n')).toHaveLength(1);
  expect(git(world.workspace, 'branch', '--list', 'baton/*')).toBe('');
});

test('one that cannot be removed is told, and the rest goes on', async () => {
  const world = await makeWorld({ git: true });
  const { task, path, name } = await withWorktree(world);
  const folder = join(world.dir, 'worktrees');
  const late = storeWith(world.store, () =>
    writeFileSync(join(folder, readdirSync(folder)[0] as string, 'late.txt'), 'mine'),
  );
  const found = await gc(world, { store: late });
  expect(gone(found)).toEqual([logOf(task)]);
  expect(found.kept).toEqual([{ path: name, because: 'it holds what is in no commit: late.txt' }]);
  expect(readFileSync(join(path, 'late.txt'), 'utf8')).toBe('mine');
  const audit = createAudit();
  const told = [];
  for await (const record of world.store.eventsAfter({ after: 0 })) told.push(...audit(record));
  expect(told.slice(-2).map(({ type, payload }) => [type, payload['entries']])).toEqual([
    ['GUARD_RAIL_CHECK', [logOf(task), name]],
    ['GUARD_RAIL_CHECK', [`${name}: it holds what is in no commit: late.txt`]],
  ]);
});
