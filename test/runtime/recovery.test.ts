/** What a Baton that died left behind is found, ended and finished, once; what a live one does is not touched. Real processes, really killed. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import type { Event } from '../../src/core/laws/decision.ts';
import type { TaskMessage as Message } from '../../src/core/laws/messages.ts';
import type { Supervisor, Task } from '../../src/core/task.ts';
import { isDead, statOf } from '../../src/process/identity.ts';
import { runtimeFolder } from '../../src/process/runtime-folder.ts';
import { startProgram } from '../../src/process/start.ts';
import type { Program } from '../../src/process/types.ts';
import type { TaskMessage } from '../../src/protocol/aop2/index.ts';
import { markOf, snapshotFolder } from '../../src/runtime/places.ts';
import { recover } from '../../src/runtime/recovery.ts';
import { snapshotTask } from '../../src/runtime/rollback.ts';
import { openStore } from '../../src/store/open.ts';
import { takeSnapshots } from '../../src/workspace/snapshots.ts';
import { openWorktree } from '../../src/workspace/worktree.ts';
import { startBaton, stopStarted } from '../cli/baton.ts';
import { sandboxTest } from '../helpers/sandbox.ts';
import { responseText } from './small-agents.ts';
import {
  alivePids,
  makeWorld,
  newSleep,
  REPORT,
  reportText,
  type TaskParts,
  taskOf,
  until,
  type World,
} from './world.ts';

const RUNTIME = { kind: 'runtime', name: 'baton' } as const;
const FOREVER = 'while :; do sleep 0.05; done';

const folders: string[] = [];
const programs: Program[] = [];
afterEach(async () => {
  stopStarted();
  await Promise.all(programs.splice(0).map((program) => program.end(0)));
  for (const pid of folders.flatMap(workingIn)) killNow(pid);
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (cause) {
    // It may have ended since it was listed.
    if ((cause as NodeJS.ErrnoException).code !== 'ESRCH') throw cause;
  }
}

/** The processes that are in a folder, whatever they carry. */
const workingIn = (folder: string): number[] =>
  readdirSync('/proc').flatMap((name) => {
    try {
      const stat = /^\d+$/.test(name) ? statOf(Number(name)) : null;
      return stat !== null && !isDead(stat) && readlinkSync(`/proc/${name}/cwd`).startsWith(folder) ? stat.pid : [];
    } catch {
      // It ended between the list and the look.
      return [];
    }
  });

/** The folders that runs of a Baton have outside of its data folder. */
const foldersOf = (pid = 0): string[] => readdirSync(runtimeFolder()).filter((name) => name.includes(`-${pid}-`));

/** A folder as a user has it, in which Baton is only ever a process of its own. */
interface Project {
  readonly workspace: string;
  readonly dir: string;
  read(name: string): string;
  write(name: string, content: string): void;
  /** The TASK as a file, to be run by its name. */
  task(parts?: Partial<TaskParts>): string;
  run(file: string): ReturnType<typeof startBaton>;
  /** The one task, and what the journal says of it. */
  look(): Promise<{ readonly task: Task; readonly events: readonly Event[] }>;
}

async function makeProject(script: string, sandbox: 'off' | 'require' = 'off'): Promise<Project> {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'baton-recovery-')));
  folders.push(workspace);
  const dir = join(workspace, '.baton');
  await (await openStore(dir, { create: true })).close();
  const agents = { a: { kind: 'command', command: ['sh', '-c', script] } };
  writeFileSync(join(dir, 'config.yaml'), JSON.stringify({ defaults: { sandbox }, agents }));
  const path = (name: string): string => join(workspace, name);
  return {
    workspace,
    dir,
    read: (name) => (existsSync(path(name)) ? readFileSync(path(name), 'utf8') : ''),
    write: (name, content) => writeFileSync(path(name), content),
    task(parts = {}) {
      writeFileSync(path('task.json'), JSON.stringify(taskOf({ workspace }, { agent: 'a', ...parts })));
      return 'task.json';
    },
    run: (file) => startBaton(['run', file], workspace),
    async look() {
      const store = await openStore(dir);
      try {
        const tasks: Task[] = [];
        for await (const task of store.tasks()) tasks.push(task);
        const [task] = tasks as [Task];
        return { task, events: (await store.history(task.id)).flatMap(({ events }) => events) };
      } finally {
        await store.close();
      }
    },
  };
}

/** Until it is so; with what Baton said where it ended before. */
async function works(baton: ReturnType<typeof startBaton>, what: string, isSo: () => boolean): Promise<void> {
  let code: number | null | undefined;
  void baton.ended.then((ended) => {
    code = ended;
  });
  await until(what, () => isSo() || code !== undefined);
  if (!isSo()) throw new Error(`it ended with ${code} before ${what}: ${baton.err()}`);
}

const journalOf = ({ dir }: Project): string =>
  readdirSync(join(dir, 'events'))
    .map((name) => readFileSync(join(dir, 'events', name), 'utf8'))
    .join('');

const toDone = (events: readonly Event[]): readonly Event[] =>
  events.filter(({ type, detail }) => type === 'task.transitioned' && detail?.['to'] === 'done');

test.each(['SIGINT', 'SIGHUP'] as const)('%s ends the agent, and the same command goes on', async (signal) => {
  const name = newSleep();
  const project = await makeProject(
    `echo $BATON_ATTEMPT >> trace; [ $(wc -l < trace) = 1 ] && { setsid sleep ${name} & sleep ${name}; }; ${REPORT}`,
  );
  const file = project.task();
  const first = project.run(file);
  await works(first, 'it works', () => alivePids(`sleep\0${name}`).length === 2);
  first.child.kill(signal);
  expect(await first.ended).toBe(signal === 'SIGINT' ? 130 : 1);
  expect(first.err()).toContain('it goes on with the same command');
  expect(alivePids(name)).toEqual([]);
  expect((await project.look()).task).toMatchObject({ status: 'ready', run: { status: 'expired' } });

  const second = project.run(file);
  expect(await second.ended).toBe(0);
  const { task, events } = await project.look();
  // That it was told to stop is no attempt that failed.
  expect(task).toMatchObject({ status: 'done', attempts: 1, runs: 2 });
  expect(toDone(events)).toHaveLength(1);
  expect(project.read('trace')).toBe('1\n1\n');
  expect(workingIn(project.workspace)).toEqual([]);
});

test('a second Ctrl-C ends Baton at once, and an agent that does not listen with it', async () => {
  const name = newSleep();
  const project = await makeProject(`trap '' TERM; setsid sleep ${name} & sleep ${name}; sleep ${name}`);
  const first = project.run(project.task());
  await works(first, 'it works', () => alivePids(`sleep\0${name}`).length === 2);
  first.child.kill('SIGINT');
  await until('it says so', () => first.err().includes('once more ends it at once'));
  first.child.kill('SIGINT');
  expect(await first.ended).toBe(130);
  await until('nothing is left', () => alivePids(name).length === 0);
  expect(workingIn(project.workspace)).toEqual([]);
});

test('that nobody reads what is noted ends no run', async () => {
  const project = await makeProject(`until [ -e go ]; do sleep 0.05; done; ${REPORT}`);
  const first = project.run(project.task());
  await until('it works', () => first.err().includes('working'));
  first.child.stderr.destroy();
  project.write('go', '');
  expect(await first.ended).toBe(0);
  expect(first.out()).toContain('[AOP:STATUS] success');
  expect((await project.look()).task).toMatchObject({ status: 'done' });
});

test('where nobody reads its events any more a run ends in order', async () => {
  const name = newSleep();
  const sign = {
    event: 'HEARTBEAT',
    session_id: 's',
    task_id: 'TASK-1',
    agent: 'a',
    timestamp: '2026-01-01T00:00:00Z',
  };
  const project = await makeProject(
    `until [ -e go ]; do sleep 0.05; done; echo '${JSON.stringify({ aop_version: '2.0.0', ...sign })}'; setsid sleep ${name} & sleep ${name}`,
  );
  const first = startBaton(['run', project.task({ task: { task_id: 'TASK-1' } }), '--json'], project.workspace);
  await first.printed(/run\.enforced/);
  first.child.stdout.destroy();
  project.write('go', '');
  expect(await first.ended).toBe(1);
  expect(first.err()).toContain('it goes on with the same command');
  expect(alivePids(name)).toEqual([]);
  expect((await project.look()).task).toMatchObject({ status: 'ready' });
});

/** The processes that the journal knows of. */
const remembered = (project: Parameters<typeof journalOf>[0]): number[] =>
  [...journalOf(project).matchAll(/"run\.process"[^}]*"detail":\{"pid":(\d+)/g)].map(([, pid]) => Number(pid));

/** Each line of `trace` says who wrote it: the agent, its daemon, its child without an environment, one that has dropped both; or the second attempt. */
const WRITERS = `
write() { while :; do echo $1 >> trace; sleep 0.02; done; }
if [ $BATON_ATTEMPT = 1 ]; then
  echo $$ > pid
  setsid sh -c 'while :; do echo daemon >> trace; sleep 0.02; done' </dev/null >/dev/null 2>&1 &
  env -i PATH="$PATH" sh -c 'while :; do echo bare >> trace; sleep 0.02; done' </dev/null >/dev/null 2>&1 &
  setsid env -i PATH="$PATH" sh -c 'while :; do echo nobody >> trace; sleep 0.02; done' </dev/null >/dev/null 2>&1 &
  write first
fi
i=0; while [ $i -lt 20 ]; do echo second >> trace; i=$((i+1)); sleep 0.02; done
${REPORT}`;

test.each(['the agent is alive', 'the agent has ended'])(
  'Baton is killed: what it left is ended before the next attempt begins (%s)',
  async (how) => {
    const project = await makeProject(WRITERS);
    const file = project.task();
    const first = project.run(file);
    await works(first, 'all of them write', () =>
      ['first', 'daemon', 'bare', 'nobody'].every((who) => project.read('trace').includes(who)),
    );
    // What has dropped all that it could be known by was seen, and that is on disk.
    // Others that came and went may have been, too.
    await until('it is remembered', () => {
      const [nobody] = alivePids('-c\0while :; do echo nobody');
      return nobody !== undefined && remembered(project).includes(nobody);
    });
    first.child.kill('SIGKILL');
    await first.ended;
    if (how === 'the agent has ended') process.kill(Number(project.read('pid')), 'SIGKILL');
    expect(foldersOf(first.child.pid)).toHaveLength(1);
    // They go on without it.
    const size = project.read('trace').length;
    await until('they write on', () => project.read('trace').length > size + 100);

    const second = project.run(file);
    expect(await second.ended).toBe(0);
    expect(second.err()).toContain('runs of a Baton that died were given up');
    const lines = project.read('trace').trim().split('\n');
    expect(lines.slice(lines.indexOf('second'))).toEqual(Array(20).fill('second'));
    const { task, events } = await project.look();
    expect(task).toMatchObject({ status: 'done', attempts: 2, runs: 2 });
    expect(toDone(events)).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'run.swept')).toHaveLength(1);
    expect(workingIn(project.workspace)).toEqual([]);
    expect(foldersOf(first.child.pid)).toEqual([]);
  },
);

sandboxTest('Baton is killed: in a sandbox its agent goes with it at once', async () => {
  const name = newSleep();
  const project = await makeProject(`setsid sleep ${name} & sleep ${name}`, 'require');
  const first = project.run(project.task());
  await works(first, 'it works', () => alivePids(`sleep\0${name}`).length === 2);
  first.child.kill('SIGKILL');
  await first.ended;
  await until('nothing is left', () => alivePids(name).length + workingIn(project.workspace).length === 0);
});

test("a live Baton's run is not touched by another one; when it dies, the one that waits takes over", async () => {
  const project = await makeProject(`echo $BATON_ATTEMPT >> trace; [ $BATON_ATTEMPT = 1 ] && ${FOREVER}; ${REPORT}`);
  const file = project.task();
  const first = project.run(file);
  await works(first, 'it works', () => project.read('trace') === '1\n');
  const beside = startBaton(['work', '--until-empty'], project.workspace);
  expect(await beside.ended).toBe(0);
  expect((await project.look()).task).toMatchObject({ status: 'in-progress', attempts: 1 });

  const second = project.run(file);
  await works(second, 'it waits', () => second.err().includes('is in-progress already'));
  expect(project.read('trace')).toBe('1\n');
  first.child.kill('SIGKILL');
  expect(await second.ended).toBe(0);
  const { task, events } = await project.look();
  expect(task).toMatchObject({ status: 'done', attempts: 2 });
  expect(toDone(events)).toHaveLength(1);
  expect(project.read('trace')).toBe('1\n2\n');
  expect(workingIn(project.workspace)).toEqual([]);
});

test('after a crash in the second phase the first is not done again', async () => {
  const project = await makeProject(
    `echo $BATON_PHASE $BATON_ATTEMPT >> trace; [ $BATON_PHASE$BATON_ATTEMPT = two1 ] && ${FOREVER}; echo made > $BATON_PHASE.txt; ${REPORT}`,
  );
  const phase = (id: string, order: number) => ({
    phase_id: id,
    phase_order: order,
    label: id,
    checkpoints: [
      { checkpoint_id: `${id}-made`, validation: { command: `test -s ${id}.txt`, expects: 'EXIT_CODE_0' as const } },
    ],
  });
  const file = project.task({ phases: [phase('one', 1), phase('two', 2), phase('three', 3)] as TaskMessage['phases'] });
  const first = project.run(file);
  await works(first, 'it is in the second phase', () => project.read('trace') === 'one 1\ntwo 1\n');
  first.child.kill('SIGKILL');
  await first.ended;
  expect(await project.run(file).ended).toBe(0);
  expect(project.read('trace')).toBe('one 1\ntwo 1\ntwo 2\nthree 2\n');
  expect((await project.look()).task).toMatchObject({ status: 'done', attempts: 2 });
  expect(workingIn(project.workspace)).toEqual([]);
});

/** A process that was, and one that is. */
const deadSupervisor = (): Supervisor => ({ pid: spawnSync('true').pid, started: 'another/1' });
async function liveSupervisor(): Promise<Supervisor> {
  const program = await startProgram({
    command: ['sleep', '1000'],
    cwd: tmpdir(),
    env: { PATH: process.env['PATH'] ?? '' },
    stdin: null,
    mark: 'test-supervisor',
    sandbox: null,
  });
  programs.push(program);
  return { pid: program.pid, started: statOf(program.pid)?.started ?? '' };
}

const AGENTS = { config: { defaults: { sandbox: 'off' }, agents: { a: { kind: 'command', command: ['true'] } } } };

async function ask(world: World, message: Message): Promise<Task> {
  const answer = await world.store.send({ message, by: RUNTIME });
  if (answer.kind === 'refused') throw new Error(answer.refusal.message);
  return answer.tasks[0] as Task;
}

/** A task as a Baton that died leaves it: claimed by that one. */
async function claimedBy(world: World, supervisor: Supervisor, parts: Partial<TaskParts> = {}): Promise<Task> {
  const [added] = await world.add(taskOf(world, { agent: 'a', ...parts }));
  const claimer = { agent: 'a', any: true };
  return ask(world, { type: 'task.claim', id: added?.id ?? '', claimer, leaseMs: 60_000, supervisor });
}

async function reportedBy(world: World, supervisor: Supervisor, parts: Partial<TaskParts> = {}): Promise<Task> {
  const task = await claimedBy(world, supervisor, parts);
  return ask(world, { type: 'run.report', run: task.run?.id ?? '', outcome: 'done', summary: 'It is made.' });
}

const note = (world: World, task: Task, event: string, detail: Readonly<Record<string, unknown>>): Promise<Task> =>
  ask(world, { type: 'note', event, task: task.id, run: task.run?.id ?? '', detail });

const now = async (world: World, { id }: Task): Promise<Task> => (await world.store.find(id)) as Task;
const OUT = { expected_outputs: [{ type: 'text', path: 'out.txt' }] };

test('a report that nobody judged: the evidence is looked at, and that once', async () => {
  const world = await makeWorld(AGENTS);
  world.write('out.txt', 'made');
  const task = await reportedBy(world, deadSupervisor(), { task: OUT });
  expect(task.status).toBe('review');
  await recover(world.host);
  expect(await now(world, task)).toMatchObject({ status: 'done', attempts: 1, cause: null });
  const { events, told } = await world.ran(task.id, []);
  expect(told('run.judged')).toMatchObject([{ passed: true }]);
  expect(told('run.evidence')).toMatchObject([{ findings: [] }]);
  await recover(world.host);
  expect((await world.ran(task.id, [])).events).toHaveLength(events.length);
});

test('a report that nobody judged and that is not so', async () => {
  const world = await makeWorld(AGENTS);
  const [stays, again] = [
    await reportedBy(world, deadSupervisor(), { task: OUT }),
    await reportedBy(world, deadSupervisor(), { task: OUT, policy: { max_retries: 1, retry_backoff_seconds: [0] } }),
  ];
  await recover(world.host);
  expect(await now(world, stays)).toMatchObject({ status: 'review', cause: { code: 'E_EVIDENCE' } });
  expect(await now(world, again)).toMatchObject({ status: 'ready', cause: { code: 'E_EVIDENCE' } });
});

test('what was found before the crash holds, whatever is there now', async () => {
  const world = await makeWorld(AGENTS);
  world.write('out.txt', 'made');
  const task = await claimedBy(world, deadSupervisor(), { task: OUT });
  const finding = { code: 'E_PERMISSION_DENIED', message: 'files outside the write paths changed' };
  await note(world, task, 'run.evidence', { claims: [], artifacts: [], findings: [finding] });
  await ask(world, { type: 'run.report', run: task.run?.id ?? '', outcome: 'done' });
  await recover(world.host);
  expect(await now(world, task)).toMatchObject({ status: 'review', cause: finding });
});

test('checkpoints that nobody saw pass are looked at', async () => {
  const world = await makeWorld(AGENTS);
  const checkpoint = (id: string) => ({
    checkpoint_id: id,
    validation: { command: `test -e ${id}`, expects: 'EXIT_CODE_0' as const },
  });
  const phases = [
    { phase_id: 'p', phase_order: 1, label: 'p', checkpoints: [checkpoint('seen'), checkpoint('unseen')] },
  ] as TaskMessage['phases'];
  const tasks: Task[] = [];
  for (const isThere of [false, true]) {
    const task = await claimedBy(world, deadSupervisor(), { phases });
    await note(world, task, 'run.checkpoint', { phase: 'p', checkpoint: 'seen', status: 'PASS' });
    await ask(world, { type: 'run.report', run: task.run?.id ?? '', outcome: 'done' });
    if (isThere) world.write('unseen', '');
    await recover(world.host);
    tasks.push(await now(world, task));
  }
  expect(tasks.map(({ status }) => status)).toEqual(['review', 'done']);
  expect(tasks[0]?.cause?.message).toContain('unseen');
});

test('no verdict where a person has to look, and none on what a live Baton reported', async () => {
  const world = await makeWorld(AGENTS);
  world.write('out.txt', 'made');
  const extensions = { x_human_review_required: true };
  const asked = await reportedBy(world, deadSupervisor(), { task: { ...OUT, extensions } });
  const live = await reportedBy(world, await liveSupervisor(), { task: OUT });
  await recover(world.host);
  await recover(world.host);
  expect(await now(world, asked)).toMatchObject({ status: 'review', cause: null });
  expect((await world.ran(asked.id, [])).told('run.judged')).toMatchObject([{ passed: true }]);
  expect(await now(world, live)).toMatchObject({ status: 'review', cause: null });
  expect((await world.ran(live.id, [])).told('run.judged')).toEqual([]);
});

test('a task that was cancelled when nobody watched over its run: its processes end, its work is taken back', async () => {
  const world = await makeWorld(AGENTS);
  const output = {
    type: 'text',
    path: 'out.txt',
    rollback_snapshot: { enabled: true, snapshot_strategy: 'COPY' as const },
  };
  const parts = { agent: 'a', task: { expected_outputs: [output] } };
  world.write('out.txt', 'before');
  const all: { task: Task; name: string; pid: number }[] = [];
  for (const supervisor of [deadSupervisor(), await liveSupervisor()]) {
    const task = await claimedBy(world, supervisor, parts);
    await snapshotTask(world.dir, task.id, taskOf(world, parts), {
      workspace: world.workspace,
      writePaths: [world.workspace],
    });
    const name = newSleep();
    // An orphan: nobody here holds it.
    const env = { PATH: process.env['PATH'], BATON_RUN_MARK: markOf(world.dir, task.run?.id ?? '') };
    const child = spawn('setsid', ['sleep', name], { env, stdio: 'ignore', detached: true });
    await until('it runs', () => alivePids(`sleep\0${name}`).length === 1);
    await ask(world, { type: 'task.cancel', id: task.id });
    all.push({ task, name, pid: child.pid ?? 0 });
  }
  const [dead, live] = all as [(typeof all)[0], (typeof all)[0]];
  world.write('out.txt', 'after');
  try {
    expect((await recover(world.host)).ended).toBe(1);
    expect(alivePids(dead.name)).toEqual([]);
    expect((await world.ran(dead.task.id, [])).told('rollback.initiated')).toHaveLength(1);
    expect(world.read('out.txt')).toBe('before');
    // Whoever watches over it is about to end it, and takes it back then.
    expect(alivePids(live.name)).toHaveLength(1);
    expect((await world.ran(live.task.id, [])).told('rollback.initiated')).toEqual([]);
  } finally {
    for (const pid of alivePids(live.name)) process.kill(pid, 'SIGKILL');
  }
});

test('a report that was printed is not lost with Baton: the run is not done again', async () => {
  const project = await makeProject(`echo $BATON_ATTEMPT >> trace; ${REPORT} ${FOREVER}`);
  const file = project.task();
  const first = project.run(file);
  const log = (): string => {
    const logs = join(project.dir, 'logs');
    const [run = ''] = existsSync(logs) ? readdirSync(logs) : [];
    const path = join(logs, run, 'out.log');
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  };
  await works(first, 'it has reported', () => log().includes('[AOP:END]'));
  first.child.kill('SIGKILL');
  await first.ended;
  expect(await project.run(file).ended).toBe(0);
  expect(project.read('trace')).toBe('1\n');
  const { task } = await project.look();
  expect(task).toMatchObject({ status: 'done', attempts: 1, runs: 1, summary: '- It is made.' });
});

/** What a run has left in its log, and nowhere else. */
function leaveLog(world: World, task: Task, text: string): void {
  const folder = join(world.dir, 'logs', task.run?.id ?? '');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'out.log'), text);
}

test('a report that stands only in the log counts: its verdict, the journal and run_result.json have it', async () => {
  const world = await makeWorld(AGENTS);
  world.write('out.txt', 'made');
  const task = await claimedBy(world, deadSupervisor(), { task: OUT });
  leaveLog(world, task, `some words\n${reportText('success', '- It is there.')}\n`);
  await recover(world.host);
  expect(await now(world, task)).toMatchObject({ status: 'done', attempts: 1, summary: '- It is there.' });
  const received = (await world.ran(task.id, [])).told('protocol.message.received');
  expect(received).toMatchObject([{ channel: 'stdout', outcome: 'done' }]);
  await world.store.settled();
  const result = JSON.parse(readFileSync(join(world.dir, 'runs', task.id, 'run_result.json'), 'utf8'));
  expect(result).toMatchObject({ runId: task.run?.id, taskId: task.id, outcome: 'done', notes: '- It is there.' });
});

test('of what stands in the log only the words of the agent count, and only of this run', async () => {
  const claude = { ...AGENTS, config: { ...AGENTS.config, agents: { a: { kind: 'claude', command: ['true'] } } } };
  const tool = { type: 'tool_result', tool_use_id: 't', content: reportText() };
  const shown = { type: 'user', message: { content: [tool] } };
  const foreign = responseText({ session_id: 'of-another-session' });
  const own = { type: 'assistant', message: { id: 'm', content: [{ type: 'text', text: reportText() }], usage: {} } };
  const lines: readonly (readonly [object, string, string])[] = [
    [claude, `${JSON.stringify(shown)}\n`, 'ready'],
    [claude, `${JSON.stringify(own)}\n`, 'done'],
    [AGENTS, `${foreign}\n`, 'ready'],
    [AGENTS, `${reportText().replace('[AOP:STATUS] success', '')}\n`, 'ready'],
  ];
  for (const [config, log, status] of lines) {
    const world = await makeWorld(config);
    const task = await claimedBy(world, deadSupervisor(), { task: { task_id: 'T-1' } });
    leaveLog(world, task, log);
    await recover(world.host);
    expect([log, (await now(world, task)).status]).toEqual([log, status]);
  }
});

test('a run whose result is on disk is not done again', async () => {
  const world = await makeWorld(AGENTS);
  world.write('out.txt', 'made');
  const task = await claimedBy(world, deadSupervisor(), { task: OUT });
  mkdirSync(join(world.dir, 'runs', task.id), { recursive: true });
  const result = {
    runId: task.run?.id,
    taskId: task.id,
    completedAt: new Date().toISOString(),
    outcome: 'done',
  };
  writeFileSync(join(world.dir, 'runs', task.id, 'run_result.json'), JSON.stringify(result));
  expect((await recover(world.host)).runs).toEqual([task.run?.id]);
  expect(await now(world, task)).toMatchObject({ status: 'done', attempts: 1 });
});

test('what nobody needs any more is swept: sockets without a listener, snapshots that no manifest names', async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'bs-')));
  vi.stubEnv('XDG_RUNTIME_DIR', root);
  const servers: Server[] = [];
  try {
    const world = await makeWorld({ ...AGENTS, git: true });
    const [dead, live, young] = ['0', '1', '2'].map((digit) => join(root, 'baton', `${digit.repeat(24)}.sock`)) as [
      string,
      string,
      string,
    ];
    for (const path of [dead, young]) {
      const listen = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
      spawnSync(process.execPath, ['-e', listen]);
    }
    const server = createServer();
    servers.push(server);
    await new Promise<void>((settle) => server.listen(live, settle));
    for (const path of [dead, live]) utimesSync(path, 1, 1);
    const folder = snapshotFolder(world.dir, 'T-lost');
    const place = { workspace: world.workspace, dataDir: world.dir, folder };
    await takeSnapshots([{ path: 'README.md', strategy: 'GIT_STASH', snapshotPath: null }], place);
    rmSync(join(folder, 'manifest.json'));
    await recover(world.host);
    expect([dead, live, young].map((path) => existsSync(path))).toEqual([false, true, true]);
    expect(existsSync(folder)).toBe(false);
    const refs = execFileSync('git', ['-C', world.workspace, 'for-each-ref', 'refs/baton'], { encoding: 'utf8' });
    expect(refs).toBe('');
    await world.close();
  } finally {
    for (const server of servers) server.close();
    vi.unstubAllEnvs();
    rmSync(root, { recursive: true, force: true });
  }
});

test('what a run is known to have used when Baton died is the cost of its task', async () => {
  const world = await makeWorld(AGENTS);
  const task = await claimedBy(world, deadSupervisor());
  for (const usd of [0.25, 0.5]) await note(world, task, 'run.usage', { usd, tokensInput: 100 * usd, tokensOutput: 1 });
  await recover(world.host);
  expect(await now(world, task)).toMatchObject({
    status: 'ready',
    cost: { usd: 0.5, tokensInput: 50, tokensOutput: 1 },
  });
});

test('one task that cannot be finished does not keep Baton from the others', async () => {
  const world = await makeWorld(AGENTS);
  world.write('out.txt', 'made');
  // A worktree as 0.1.0 made it, of a repository that is not there.
  const stuck = await reportedBy(world, deadSupervisor(), { task: { ...OUT, extensions: { x_worktree: true } } });
  world.write(join(world.dir, 'worktrees', stuck.id, '.git'), 'gitdir: /nowhere\n');
  const fine = await reportedBy(world, deadSupervisor(), { task: OUT });
  const cancelled = await claimedBy(world, deadSupervisor(), { task: OUT });
  await ask(world, { type: 'task.cancel', id: cancelled.id });
  world.write(join(world.dir, 'snapshots', cancelled.id, 'manifest.json'), '{');
  await recover(world.host);
  expect(await now(world, stuck)).toMatchObject({ status: 'review', cause: null });
  expect(await now(world, fine)).toMatchObject({ status: 'done' });
  for (const { id } of [stuck, cancelled]) expect(world.warnings.join('\n')).toContain(`${id}: `);
});

test('ABORT_SESSION: what Baton did not come to is done by the next one', async () => {
  const world = await makeWorld(AGENTS);
  const task = await claimedBy(world, deadSupervisor(), { policy: { on_failure: 'ABORT_SESSION' } });
  const [rest, elsewhere] = await world.add(
    taskOf(world, { agent: 'a' }),
    taskOf(world, { agent: 'a', session: { session_id: 'another' } }),
  );
  await ask(world, { type: 'run.fail', run: task.run?.id ?? '', code: 'E_TIMEOUT', message: 'too slow', final: true });
  const { lastTransitionAt } = await now(world, task);
  await until('the clock has gone on', () => Date.now() > lastTransitionAt);
  const [later] = await world.add(taskOf(world, { agent: 'a' }));
  await recover(world.host);
  const statuses = await Promise.all([rest, elsewhere, later].map((one) => now(world, one as Task)));
  expect(statuses.map(({ status }) => status)).toEqual(['cancelled', 'ready', 'ready']);
});

test.each([
  ['done', null],
  ['review', 'E_MERGE_REFUSED'],
])(
  'a report from a worktree of 0.1.0 that nobody judged: it is merged first, and that decides (%s)',
  async (status, code) => {
    const world = await makeWorld({ ...AGENTS, git: true });
    const task = await reportedBy(world, deadSupervisor(), { task: { ...OUT, extensions: { x_worktree: true } } });
    const folder = join(world.dir, 'worktrees');
    const { path } = await openWorktree({ repo: world.workspace, taskId: task.id, folder });
    writeFileSync(join(path, 'out.txt'), 'made');
    if (code !== null) world.write('README.md', 'of a person');
    await recover(world.host);
    const after = await now(world, task);
    expect([after.status, after.cause?.code ?? null]).toEqual([status, code]);
    expect(world.read('out.txt')).toBe(code === null ? 'made' : null);
  },
);
