/** Checkpoints and the way back, by command, on real repositories: files, state, variables, locks and tasks together, and nothing lost. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { reportText } from '../../src/cli/report-text.ts';
import { countTokens } from '../../src/cli/tokens.ts';
import type { AnyMessage } from '../../src/core/laws/messages.ts';
import { createSessionReport } from '../../src/core/session-report.ts';
import { createTotals } from '../../src/core/session-totals.ts';
import type { Task } from '../../src/core/task.ts';
import { self } from '../../src/process/identity.ts';
import { createTaskView, whyTask } from '../../src/runtime/lookup.ts';
import { recover } from '../../src/runtime/recovery.ts';
import { workOn } from '../../src/runtime/scheduler.ts';
import { rollBackTo } from '../../src/workspace/restore.ts';
import { EMMA, emma, REPORT_DONE } from '../runtime/small-agents.ts';
import { makeRepository, taskOf, until } from '../runtime/world.ts';
import { makeScene, type Scene, sceneOf } from './scene.ts';
import { SESSION, voiceOf } from './talk.ts';

const RUNTIME = { kind: 'runtime', name: 'baton' } as const;
const setting = (config: object = {}): Promise<Scene> =>
  makeScene({ git: true, config: { ...EMMA, defaults: { sandbox: 'off' }, ...config } });

async function send({ store }: Scene, message: AnyMessage): Promise<readonly Task[]> {
  const answer = await store.send({ message, by: RUNTIME });
  if (answer.kind === 'refused') throw new Error(`${answer.refusal.code} ${answer.refusal.message}`);
  return answer.tasks;
}

/** A task that is done by nobody's process. */
async function done(scene: Scene, title: string, dependsOn: readonly string[] = []): Promise<string> {
  const [made] = await send(scene, {
    type: 'task.add',
    tasks: [{ title, session: SESSION, dependsOn, routing: { agent: 'emma' }, texts: { body: `${title}, whole` } }],
  });
  const id = made?.id ?? '';
  await send(scene, { type: 'task.claim', id, claimer: { agent: 'emma' }, leaseMs: 60_000 });
  await send(scene, { type: 'run.report', run: `${id}-r1`, outcome: 'done', summary: 'it is' });
  await send(scene, { type: 'run.judge', run: `${id}-r1`, passed: true });
  return id;
}

describe('the recovery flow of the document (§13)', () => {
  test('checkpoint, a run that spoils files and fails, diff, rollback', async () => {
    const scene = await setting();
    for (let i = 1; i <= 5; i++) scene.write(`src/${i}.js`, 'one\ntwo\n');
    // Baton's own folder is in the repository, and nothing says that it is to be ignored.
    scene.write('.gitignore', 'ignored.txt\n');
    scene.write('ignored.txt', 'mine\n');
    scene.git('add', 'src', '.gitignore');
    scene.git('commit', '-qm', 'work');
    for (let i = 1; i <= 8; i++) await scene.say(`#STATE:save:key_${i}:value_${i}`);
    const [head, index] = [scene.git('rev-parse', 'HEAD'), readFileSync(scene.path('.git/index'))];
    expect(await scene.say('#CHECKPOINT:create:manual:pre_deploy')).toBe('checkpoint_id:cp_001');
    expect(readFileSync(scene.path('.git/index')).equals(index)).toBe(true);
    expect(scene.git('rev-parse', 'refs/baton/s/cp_001^')).toBe(head);

    // An agent changes files, and fails.
    emma(scene, 'cat > /dev/null', 'for i in 1 2 3 4; do echo three >> src/$i.js; done', 'rm src/5.js', 'exit 3');
    const ran = await scene.run(taskOf(scene, { agent: 'emma', session: { session_id: SESSION } }));
    expect(ran.task.status).not.toBe('done');
    await scene.say('#STATE:save:key_1:spoiled');
    await scene.say('#STATE:save:key_9:new');
    await scene.say('#LOCK:src/1.js:600');
    scene.write('untracked.txt', 'made since\n');
    scene.write('ignored.txt', 'still mine\n');

    expect(await scene.say('#CHECKPOINT:diff:cp_001')).toBe('Files changed: 6, Lines: +5 -2');
    expect(await scene.say('#ROLLBACK:dry-run:cp_001')).toBe(
      'restores 5, removes 1, stashes, 8 keys\n→ not restored: ignored ignored.txt',
    );
    expect(scene.read('untracked.txt')).toBe('made since\n');
    const reply = await scene.say('#ROLLBACK:cp_001');
    expect(reply.split('\n')).toEqual([
      '→ Stashing uncommitted changes',
      '→ kept:refs/baton/s/kept_001',
      '→ Rolling back to cp_001',
      '→ Files restored: 6',
      '→ State restored: 8 keys',
      '→ not restored: ignored ignored.txt',
      'rolled_back:cp_001',
    ]);
    for (let i = 1; i <= 5; i++) expect(scene.read(`src/${i}.js`)).toBe('one\ntwo\n');
    expect([scene.read('untracked.txt'), scene.read('ignored.txt')]).toEqual([null, 'still mine\n']);
    expect(scene.git('show', 'refs/baton/s/kept_001:untracked.txt')).toBe('made since');
    expect(scene.git('rev-parse', 'HEAD')).toBe(head);
    expect(await scene.say('#STATE:load:key_1')).toBe('value_1');
    expect(await scene.say('#STATE:load:key_9')).toBe('not_found');
    expect(await scene.say('#LOCK:src/1.js:60')).toBe('locked');
    expect(await scene.say('#ROLLBACK:status')).toMatch(/^rolled_back:cp_001(, kept_001)?$/);
    expect((await scene.store.verify()).ok).toBe(true);
    expect(scene.git('ls-tree', '-r', '--name-only', 'refs/baton/s/kept_001')).not.toContain('.baton');
    // Twice is once.
    expect(await scene.say('#ROLLBACK:cp_001')).toContain('→ Files restored: 0');
  });
});

describe('tasks', () => {
  test('what is done since is stale and made anew in its order; open ones begin again; what was done before stays', async () => {
    const scene = await setting();
    const before = await done(scene, 'before');
    expect(await scene.say('#CHECKPOINT:create:milestone:half')).toBe('checkpoint_id:cp_001');
    const first = await done(scene, 'first');
    const second = await done(scene, 'second', [first]);
    const [waits] = await send(scene, {
      type: 'task.add',
      tasks: [{ title: 'waits', session: SESSION, dependsOn: [second] }],
    });
    const under = await scene.claimed('emma');
    expect(await scene.say('#ROLLBACK:cp_001')).toContain('→ Tasks made anew: 2\n');
    const tasks = await scene.tasks();
    const find = (id: string): Task => tasks.find((task) => task.id === id) as Task;
    expect(find(before)).toMatchObject({ status: 'done', metadata: {} });
    for (const id of [first, second]) expect(find(id)).toMatchObject({ status: 'done', metadata: { stale: true } });
    const [again, after] = tasks.slice(-2) as [Task, Task];
    expect([again.title, again.status, again.metadata]).toEqual(['first', 'ready', { anew: first }]);
    expect([after.title, after.dependsOn]).toEqual(['second', [again.id]]);
    expect(await scene.store.text(after.id, 'body')).toBe('second, whole');
    expect(find(waits?.id ?? '').dependsOn).toEqual([after.id]);
    expect(find(under.task.id)).toMatchObject({ status: 'ready', availableAt: 0, run: { status: 'cancelled' } });
    // Everything that shows tasks says that it is done no more.
    const view = createTaskView(scene.store);
    expect([(await view(find(first))).undone, (await view(again)).undone]).toEqual([true, false]);
    const made = createSessionReport(SESSION);
    const totals = createTotals();
    for await (const record of scene.store.eventsAfter({ after: 0 })) {
      made.take(record);
      totals.take(record);
    }
    const report = made.finish(Date.now(), { auditPath: 'audit' });
    expect(report.totals).toMatchObject({ tasks: tasks.length, tasks_by_state: { done: 1 }, tasks_undone: 2 });
    expect(reportText(report)).toContain('1 done, 2 undone');
    expect(totals.of(SESSION).tasks).toMatchObject({ done: 1, undone: 2 });
    const because = (await whyTask(scene.store, find(first), Date.now())).because;
    expect(because.find(({ event }) => event === 'task.stale')?.detail).toEqual({
      run: `${first}-r1`,
      because: 'rolled back',
      redo: again.id,
    });
    await scene.say('#CONTEXT:export:x.ctx:tasks');
    const exported = scene.read('x.ctx') ?? '';
    expect(exported).toMatch(new RegExp(`completed:\\s+- ${before}\\s+in_progress`));
    rmSync(scene.path('x.ctx'));
    // Those that are made anew already are not made again.
    expect(await scene.say('#ROLLBACK:cp_001')).not.toContain('anew');
  });

  test('a TASK made anew is the same TASK under the name that it had, and can be run', async () => {
    const scene = await setting();
    emma(scene, 'cat > prompt.txt', REPORT_DONE);
    await scene.say('#CHECKPOINT:create:manual:start');
    const task = taskOf(scene, { agent: 'emma', objective: 'Write the poem.', session: { session_id: SESSION } });
    expect((await scene.run(task)).task.status).toBe('done');
    await scene.say('#ROLLBACK:cp_001');
    const again = (await scene.tasks()).at(-1) as Task;
    const envelope = JSON.parse((await scene.store.text(again.id, 'inputs/task.json')) ?? '');
    expect(envelope.task).toMatchObject({ task_id: task.task.task_id, objective: 'Write the poem.' });
    expect((await scene.store.find(task.task.task_id, SESSION))?.id).toBe(again.id);
    expect(scene.read('prompt.txt')).toBeNull();
    await workOn(scene.host, {
      only: [again.id],
      parallel: 1,
      untilEmpty: true,
      leaving: new AbortController().signal,
    });
    expect((await scene.store.find(again.id))?.status).toBe('done');
    expect(scene.read('prompt.txt')).toContain('Write the poem.');
  });

  test('a run that is at work is stopped before its files are touched, and begins again after', async () => {
    const scene = await setting();
    await scene.say('#CHECKPOINT:create:manual:start');
    // It writes for as long as it lives, and it does not go at once.
    emma(
      scene,
      'cat > /dev/null',
      'trap "sleep 1; echo late > late.txt; exit 0" TERM',
      'touch begun.txt; while :; do echo x >> busy.txt; sleep 0.05; done',
    );
    const [task] = await scene.add(taskOf(scene, { agent: 'emma', session: { session_id: SESSION } }));
    const id = task?.id ?? '';
    const stop = new AbortController();
    const working = workOn(scene.host, { only: [id], parallel: 1, untilEmpty: false, leaving: stop.signal });
    await until('it works', () => existsSync(scene.path('begun.txt')));
    emma(scene, 'cat > /dev/null', 'echo second > second.txt', REPORT_DONE);
    const reply = await scene.say('#ROLLBACK:cp_001');
    expect(reply).toMatch(/rolled_back:cp_001$/);
    // Its last word came before the files went back, and is kept with the rest.
    expect(scene.git('show', 'refs/baton/s/kept_001:late.txt')).toBe('late');
    await until('it works again', () => existsSync(scene.path('second.txt')));
    await until('it has ended', () => scene.lives.some(({ status }) => status === 'done'));
    stop.abort();
    await working;
    expect(scene.alive()).toEqual([]);
    expect([scene.read('busy.txt'), scene.read('late.txt')]).toEqual([null, null]);
  });
});

describe('what stands against it', () => {
  test('no such checkpoint, another branch, a rebase, commits since', async () => {
    const scene = await setting();
    expect(await scene.say('#ROLLBACK:cp_009')).toBe('#ERROR:E002:unknown_checkpoint cp_009');
    expect(await scene.say('#ROLLBACK:dry-run:cp_009')).toMatch(/^#ERROR:E002:unknown_checkpoint/);
    expect(await scene.say('#CHECKPOINT:diff:cp_009')).toMatch(/^#ERROR:E002:unknown_checkpoint/);
    expect(await scene.say('#ROLLBACK:status')).toBe('none');
    await scene.say('#STATE:save:k:then');
    await scene.say('#CHECKPOINT:create:manual:start');
    await scene.say('#STATE:save:k:now');
    scene.git('checkout', '-qb', 'other');
    const refused = await scene.say('#ROLLBACK:cp_001:force');
    expect(refused).toBe('#ERROR:E005:on_other_branch, check out main');
    expect(countTokens(refused.slice('#ERROR:E005:'.length))).toBeLessThanOrEqual(10);
    scene.git('checkout', '-q', 'main');
    mkdirSync(scene.path('.git/rebase-merge'));
    expect(await scene.say('#ROLLBACK:cp_001:force')).toBe('#ERROR:E005:rebase_under_way');
    rmSync(scene.path('.git/rebase-merge'), { recursive: true });
    expect(await scene.say('#STATE:load:k')).toBe('now');
    scene.write('more.txt', 'more\n');
    scene.git('add', '.');
    scene.git('commit', '-qm', 'more');
    expect(await scene.say('#ROLLBACK:dry-run:cp_001')).toBe('#ERROR:E002:1 commit since, add :force');
    expect(await scene.say('#ROLLBACK:cp_001')).toBe('#ERROR:E002:1 commit since, add :force');
    expect(scene.read('more.txt')).toBe('more\n');
    expect(await scene.say('#ROLLBACK:cp_001:force')).toMatch(/rolled_back:cp_001$/);
    expect([scene.read('more.txt'), scene.git('log', '-1', '--format=%s')]).toEqual([null, 'more']);
    expect(await scene.say('#STATE:load:k')).toBe('then');
  });

  test('a run that does not end: nothing is touched, and work goes on', async () => {
    const scene = await setting();
    await scene.say('#CHECKPOINT:create:manual:start');
    scene.write('untracked.txt', 'mine\n');
    const [task] = await send(scene, { type: 'task.add', tasks: [{ title: 'endless', session: SESSION }] });
    const id = task?.id ?? '';
    // Watched over by somebody who is alive, and never says that it is over.
    const supervisor = { pid: process.pid, started: scene.host.supervisor.started };
    await send(scene, { type: 'task.claim', id, claimer: { agent: 'emma' }, leaseMs: 60_000, supervisor });
    const stop = new AbortController();
    const rolling = scene.as(voiceOf('orchestrator'), '#ROLLBACK:cp_001:force', stop.signal);
    const isHeld = async (): Promise<boolean> => (await scene.store.find(id))?.status === 'ready';
    for (const end = Date.now() + 10_000; !(await isHeld()) && Date.now() < end; ) await sleep(10);
    const held = await scene.store.find(id);
    expect(held?.availableAt).toBeGreaterThan(Date.now() + 60_000);
    expect(await scene.say('#ROLLBACK:status')).toBe('rolling_back:cp_001');
    stop.abort();
    expect(await rolling).toMatch(/^#ERROR:E002:still_at_work/);
    expect(scene.read('untracked.txt')).toBe('mine\n');
    expect(await scene.store.find(id)).toMatchObject({ status: 'ready', availableAt: 0 });
    expect(await scene.say('#ROLLBACK:status')).toBe('none');
  });

  test('only who leads goes back; a run that leads goes on', async () => {
    const scene = await setting();
    await scene.say('#CHECKPOINT:create:manual:start');
    const run = await scene.claimed('emma');
    expect(await scene.as(run, '#ROLLBACK:cp_001')).toMatch(/^#ERROR:E005:/);
    expect(await scene.as(run, '#ROLLBACK:dry-run:cp_001')).toMatch(/^#ERROR:E005:/);
    const lead = await scene.claimed('emma', { leads: true });
    const other = await scene.claimed('emma');
    expect(await scene.as(lead, '#ROLLBACK:cp_001')).toMatch(/rolled_back:cp_001$/);
    expect((await scene.store.find(lead.task.id))?.status).toBe('in-progress');
    expect((await scene.store.find(other.task.id))?.status).toBe('ready');
  });
});

describe('what is unusual', () => {
  test('contents of submodules, repositories inside and ignored files are named before and after, as not restored', async () => {
    const scene = await setting();
    const inner = join(scene.root, 'inner');
    makeRepository(inner);
    scene.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, 'lib');
    scene.write('.gitignore', '.baton/\n*.tmp\n');
    scene.git('add', '.gitignore');
    scene.git('commit', '-qm', 'with a submodule');
    makeRepository(scene.path('vendor/own'));
    for (let i = 1; i <= 5; i++) scene.write(`${i}.tmp`, 'ignored\n');
    await scene.say('#CHECKPOINT:create:manual:start');
    scene.write('README.md', 'changed\n');
    for (const name of ['lib/README.md', 'vendor/own/README.md', '1.tmp']) scene.write(name, 'changed since\n');
    const named =
      '→ not restored: contents of submodule lib; repository vendor/own; ignored 1.tmp, 2.tmp, 3.tmp and 2 more';
    expect(await scene.say('#ROLLBACK:dry-run:cp_001')).toBe(`restores 1, stashes, 0 keys\n${named}`);
    const reply = (await scene.say('#ROLLBACK:cp_001')).split('\n');
    expect(reply).toContain(named);
    expect(reply).toContain('→ Files restored: 1');
    expect(scene.read('README.md')).toBe('hello\n');
    for (const name of ['lib/README.md', 'vendor/own/README.md', '1.tmp'])
      expect(scene.read(name)).toBe('changed since\n');
  });

  test('without a repository state and tasks are bound, and that is said', async () => {
    const scene = await makeScene({ config: EMMA });
    await scene.say('#STATE:save:k:then');
    expect(await scene.say('#CHECKPOINT:create:manual:bare')).toBe(
      'checkpoint_id:cp_001\n→ no repository: files are not in it',
    );
    await scene.say('#STATE:save:k:now');
    scene.write('new.txt', 'new\n');
    expect(await scene.say('#CHECKPOINT:diff:cp_001')).toBe('no files in it: no repository');
    expect(await scene.say('#ROLLBACK:cp_001')).toContain('→ State restored: 1 keys\nrolled_back:cp_001');
    expect([await scene.say('#STATE:load:k'), scene.read('new.txt')]).toEqual(['then', 'new\n']);
  });

  test('with `git: branch` it is a commit on the branch; of a run that does not lead it is not', async () => {
    const scene = await setting({ git: 'branch' });
    scene.write('a.txt', 'a\n');
    expect(await scene.say('#CHECKPOINT:create:manual:before_refactor')).toBe('checkpoint_id:cp_001');
    expect(scene.git('log', '-1', '--format=%s')).toBe('Checkpoint: before_refactor [cp_001]');
    const head = scene.git('rev-parse', 'HEAD');
    const run = await scene.claimed('emma');
    expect(await scene.as(run, '#CHECKPOINT:create:auto:mine')).toBe('checkpoint_id:cp_002');
    // Nor is the one that is taken before what it hands on.
    scene.write('a.txt', 'a person, at work\n');
    await scene.as(run, '#DELEGATE:emma:thing:P0');
    expect(Object.keys((await scene.store.session(SESSION))?.checkpoints ?? {})).toContain('cp_003');
    expect(scene.git('rev-parse', 'HEAD')).toBe(head);
  });

  test('the list is short, the latest first', async () => {
    const scene = await setting();
    expect(await scene.say('#CHECKPOINT:list')).toBe('none');
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await scene.say(`#CHECKPOINT:create:auto:${name}`);
    const lines = (await scene.say('#CHECKPOINT:list')).split('\n');
    expect(lines).toHaveLength(5);
    expect(lines[0]).toMatch(/^• cp_006 f/);
    expect(lines.at(-1)).toBe('• +2 more → #CHECKPOINT:list:from=5');
    expect((await scene.say('#CHECKPOINT:list:from=5')).replace(/ \(.*?\)| \d+s/g, '')).toBe('• cp_002 b\n• cp_001 a');
    await scene.say('#CHECKPOINT:create:manual:before_refactor');
    const [first = ''] = (await scene.say('#CHECKPOINT:list')).split('\n');
    expect(first).toMatch(/^• cp_007 before_refactor(?: \(manual, \d+s\)| \d+s)?$/);
    expect(await scene.say('#CHECKPOINT:list:detailed')).toMatch(/^• cp_007 before_refactor \(manual, \d+s ago\)\n/);
  });

  test('stopped between files and state, it is completed by rolling back again', async () => {
    const scene = await setting();
    await scene.say('#STATE:save:k:then');
    await scene.say('#CHECKPOINT:create:manual:start');
    await scene.say('#STATE:save:k:now');
    scene.write('untracked.txt', 'mine\n');
    const git = (await scene.store.session(SESSION))?.checkpoints?.['cp_001']?.git;
    if (git == null) throw new Error('no files');
    // As far as a Baton came that was killed then.
    const keepRef = 'refs/baton/s/kept_001';
    const speaker = { agent: 'orchestrator', run: null, priority: 'P2', leads: true } as const;
    await send(scene, { type: 'session.hold', session: SESSION, to: 'cp_001', keep: keepRef, speaker });
    await rollBackTo({ workspace: scene.workspace, exclude: [scene.dir], checkpoint: git, keepRef });
    expect(await scene.say('#ROLLBACK:status')).toBe('interrupted:cp_001, kept_001');
    expect(await scene.say('#STATE:load:k')).toBe('now');

    const later = sceneOf(scene);
    expect(await later.say('#ROLLBACK:cp_001')).toContain(`→ kept:${keepRef}`);
    expect(await later.say('#STATE:load:k')).toBe('then');
    expect(scene.git('show', `${keepRef}:untracked.txt`)).toBe('mine');
    expect(scene.git('for-each-ref', '--format=%(refname)', 'refs/baton/s')).not.toContain('kept_002');
  });

  test('two at a time do not mix: the second is refused, and so is a checkpoint', async () => {
    const scene = await setting();
    scene.write('a.txt', 'one\n');
    await scene.say('#CHECKPOINT:create:manual:one');
    scene.write('a.txt', 'two\n');
    await scene.say('#CHECKPOINT:create:manual:two');
    scene.write('a.txt', 'three\n');
    const speaker = { agent: 'orchestrator', run: null, priority: 'P2', leads: true } as const;
    const held = {
      type: 'session.hold',
      session: SESSION,
      keep: null,
      holder: { token: 'x', ...self() },
      speaker,
    } as const;
    await send(scene, { ...held, to: 'cp_001' });
    expect(await scene.say('#ROLLBACK:status')).toBe('rolling_back:cp_001');
    expect(await scene.say('#ROLLBACK:cp_002')).toBe('#ERROR:E002:rolling_back cp_001');
    expect(await scene.say('#CHECKPOINT:create:manual:half')).toBe('#ERROR:E002:rolling_back cp_001');
    expect(scene.read('a.txt')).toBe('three\n');
    expect(scene.git('for-each-ref', '--format=%(refname)', 'refs/baton/s').split('\n')).toHaveLength(2);
    await send(scene, { ...held, to: null });
    expect(await scene.say('#ROLLBACK:cp_002')).toMatch(/rolled_back:cp_002$/);
    expect(scene.read('a.txt')).toBe('two\n');
  });

  test('what was ignored is not taken by a second one', async () => {
    const scene = await setting();
    await scene.say('#CHECKPOINT:create:manual:start');
    scene.write('.gitignore', 'ign/\n');
    scene.write('ign/secret', 'mine\n');
    expect(await scene.say('#ROLLBACK:cp_001')).toMatch(/rolled_back:cp_001$/);
    expect(await scene.say('#ROLLBACK:cp_001')).toMatch(/rolled_back:cp_001$/);
    expect([scene.read('.gitignore'), scene.read('ign/secret')]).toEqual(['.baton/\n', 'mine\n']);
  });

  test('one that comes half-way says where all is kept, and can be completed', async () => {
    const scene = await setting();
    const words = randomBytes(50_000).toString('hex');
    scene.write('a.txt', words);
    await scene.say('#CHECKPOINT:create:manual:start');
    scene.write('a.txt', 'changed\n');
    const blob = scene.git('rev-parse', 'refs/baton/s/cp_001:a.txt');
    const object = scene.path(`.git/objects/${blob.slice(0, 2)}/${blob.slice(2)}`);
    const whole = readFileSync(object);
    chmodSync(object, 0o644);
    // Its size and kind can still be told; what it holds cannot be read.
    writeFileSync(object, Buffer.concat([whole.subarray(0, -1_000), Buffer.alloc(1_000)]));
    expect(await scene.say('#ROLLBACK:cp_001')).toBe('#ERROR:E002:half_done kept_001, roll back again');
    expect(await scene.say('#ROLLBACK:status')).toBe('interrupted:cp_001, kept_001');
    expect(scene.warnings.at(-1)).toMatch(/a\.txt could not be put back/);
    expect(await scene.say('#CHECKPOINT:create:manual:half')).toBe('#ERROR:E002:rolling_back cp_001');
    writeFileSync(object, whole);
    expect(await scene.say('#ROLLBACK:cp_001')).toMatch(/rolled_back:cp_001$/);
    expect(scene.read('a.txt')).toBe(words);
    expect(scene.git('show', 'refs/baton/s/kept_001:a.txt')).toBe('changed');
  });

  test('one whose process is gone is completed by another', async () => {
    const scene = await setting();
    await scene.say('#CHECKPOINT:create:manual:start');
    const speaker = { agent: 'orchestrator', run: null, priority: 'P2', leads: true } as const;
    const { pid } = spawnSync('true');
    const holder = { token: 'gone', pid, started: null };
    await send(scene, { type: 'session.hold', session: SESSION, to: 'cp_001', keep: null, holder, speaker });
    expect(await scene.say('#ROLLBACK:status')).toBe('interrupted:cp_001');
    // Whoever begins to work is told.
    await recover(scene.host);
    expect(scene.warnings.filter((text) => text.includes('#ROLLBACK:cp_001'))).toHaveLength(1);
    // Also when its time is over.
    const later = sceneOf(scene, () => Date.now() + 11 * 60_000);
    expect(await later.say('#ROLLBACK:status')).toBe('interrupted:cp_001');
    expect(await scene.say('#ROLLBACK:cp_001')).toMatch(/rolled_back:cp_001$/);
    expect(await scene.say('#ROLLBACK:status')).toMatch(/^rolled_back:cp_001/);
    await recover(scene.host);
    expect(scene.warnings.filter((text) => text.includes('#ROLLBACK:cp_001'))).toHaveLength(1);
  });

  test('before a run whose paths to write hold more than five files there is a checkpoint; else none', async () => {
    const scene = await setting();
    emma(scene, 'cat > /dev/null', REPORT_DONE);
    for (let i = 0; i < 6; i++) scene.write(`many/${i}.txt`, 'x\n');
    scene.write('few/1.txt', 'x\n');
    const run = async (paths: readonly string[]): Promise<readonly string[]> => {
      const access = { filesystem: { write_paths: [...paths] } };
      await scene.run(taskOf(scene, { agent: 'emma', task: { access }, session: { session_id: SESSION } }));
      const { checkpoints = {} } = (await scene.store.session(SESSION)) ?? {};
      return Object.values(checkpoints).map(({ kind, name }) => `${kind} ${name}`);
    };
    expect(await run(['few'])).toEqual([]);
    expect(await run(['few', 'many'])).toEqual([expect.stringMatching(/^auto before_TASK-.*-r1$/)]);
    expect(scene.git('show', '--stat', '--format=', 'refs/baton/s/cp_001')).toContain('many/0.txt');
    writeFileSync(scene.path('few/2.txt'), 'x\n');
  });
});
