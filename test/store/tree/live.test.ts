/** On the real disk: readers and editors in processes of their own, while the writer moves tasks around. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { TASK_STATUSES, type Task, type TaskStatus } from '../../../src/core/task.ts';
import { realDisk } from '../../../src/store/fs/disk.ts';
import { tidy } from '../../../src/store/fs/tree/aside.ts';
import { look } from '../../../src/store/fs/tree/reader.ts';
import { scan } from '../../../src/store/fs/tree/scan.ts';
import { createTreeWorker } from '../../../src/store/fs/tree/worker.ts';
import { applyJobs, type Job } from '../../../src/store/fs/tree/writer.ts';
import { entry, program } from './built.ts';
import { id, NOW, stateOf, task } from './samples.ts';

let folder: string;
let count = 0;
const newRoot = (): string => {
  const root = join(folder, `root-${count++}`);
  for (const status of TASK_STATUSES) mkdirSync(`${root}/tasks/${status}`, { recursive: true });
  return root;
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'baton-tree-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A disk that others use too may take milliseconds for a file. */
vi.setConfig({ testTimeout: 300_000 });

const TASKS = 20;
const ids = Array.from({ length: TASKS }, (_, i) => id(i + 1));
const ROUND: readonly TaskStatus[] = ['ready', 'in-progress', 'review', 'blocked'];

const jobFor = (which: string, turn: number, seq: number, from: Job['from']): Job => {
  const status = ROUND[turn % ROUND.length] as TaskStatus;
  return {
    task: task({ id: which, status, title: `Turn ${turn}`, updatedAt: NOW + turn, lastTransitionAt: NOW + turn }),
    seq,
    from,
    texts: { body: `Turn ${turn}\n`.repeat(200), ...(turn === 0 ? { 'inputs/task.json': '{}' } : {}) },
  };
};

const lines = async (child: ChildProcess): Promise<string[]> => {
  let out = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  await once(child, 'close');
  return out.split('\n').filter((line) => line !== '');
};

/** Starts a program and waits for its first words. */
const started = async (path: string, ...args: string[]): Promise<ChildProcess> => {
  const child = spawn(process.execPath, [path, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout as NodeJS.ReadableStream, 'readable');
  return child;
};

/** Looks for every task in every folder, again and again, and says what should never be: a file that is not whole, a task that is nowhere. */
const READER = `
import { readFileSync } from 'node:fs';
import { oursOf } from './stamp.ts';
import { TASK_STATUSES } from '../../../core/task.ts';
import { readTaskFile } from '../../../protocol/aof/index.ts';
const [root, ...ids] = process.argv.slice(2);
let isOver = false;
let rounds = 0;
process.stdin.on('data', () => { isOver = true; });
console.log('ready');
const read = (path) => { try { return readFileSync(path); } catch (cause) { if (cause.code === 'ENOENT') return null; throw cause; } };
const findAll = (id) => {
  const found = [];
  for (const status of TASK_STATUSES) {
    const bytes = read(root + '/tasks/' + status + '/' + id + '.md');
    if (bytes === null) continue;
    if (oursOf(bytes) === null) console.log('torn ' + status + ' ' + id);
    const file = readTaskFile(bytes.toString('utf8'));
    if (!file.ok || file.task.frontmatter.status !== status) console.log('illegal ' + status + ' ' + id);
    found.push(status);
  }
  return found;
};
const round = () => {
  for (const id of ids) {
    // It may move from a folder not yet looked at into one already looked at, as often as the writer is quick.
    let tries = 0;
    while (findAll(id).length === 0) if (++tries > 50) { console.log('missing ' + id); break; }
  }
  rounds++;
  if (isOver) { console.log('rounds ' + rounds); process.exit(0); }
  setImmediate(round);
};
round();
`;

it('a reader at any time sees whole files, and every task', async () => {
  const root = newRoot();
  applyJobs(
    realDisk,
    root,
    ids.map((each) => jobFor(each, 0, 1, null)),
  );
  const reader = await started(await program(folder, 'reader', READER), root, ...ids);
  const said = lines(reader);
  const turns = 60;
  for (let turn = 1; turn <= turns; turn++) {
    const from = ROUND[(turn - 1) % ROUND.length] as TaskStatus;
    const results = applyJobs(
      realDisk,
      root,
      ids.map((each) => jobFor(each, turn, turn, from)),
    );
    expect(results.filter(({ kind }) => kind !== 'done')).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
  }
  reader.stdin?.write('stop\n');
  const found = await said;
  expect(found).toEqual(['ready', expect.stringMatching(/^rounds \d+$/)]);
  const last = ROUND[turns % ROUND.length] as TaskStatus;
  expect(readdirSync(`${root}/tasks/${last}`).sort()).toEqual(ids.flatMap((each) => [each, `${each}.md`]).sort());
  expect(existsSync(`${root}/tasks/${last}/${ids[0]}/inputs/task.json`)).toBe(true);
  expect(readdirSync(`${root}/tmp`)).toEqual([]);
});

/** Adds a line to a task's file, wherever that is, as editors that write in place do; says which lines it wrote. */
const EDITOR = `
import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import { TASK_STATUSES } from '../../../core/task.ts';
const [root, ...ids] = process.argv.slice(2);
console.log('ready');
let n = 0;
const edit = () => {
  if (n >= 200) process.exit(0);
  const id = ids[n % ids.length];
  for (const status of TASK_STATUSES) {
    try {
      // Without O_CREAT: an editor that has a file open does not make another.
      const file = openSync(root + '/tasks/' + status + '/' + id + '.md', constants.O_WRONLY | constants.O_APPEND);
      writeSync(file, 'EDIT ' + n + ' of ' + id + '\\n');
      // Held up between opening and writing, it may have written to a file that is no more; an editor would find out when it looks.
      const isThere = fstatSync(file).nlink > 0;
      closeSync(file);
      if (!isThere) break;
      console.log('EDIT ' + n + ' of ' + id);
      n++;
      break;
    } catch (cause) { if (cause.code !== 'ENOENT') throw cause; }
  }
  setTimeout(edit, 1);
};
edit();
`;

it('edits by hand are never lost, whenever they come', async () => {
  const root = newRoot();
  const bodies = new Map<string, string>(ids.map((each) => [each, '']));
  const tasks = new Map<string, Task>();
  const where = new Map<string, Job['from']>(ids.map((each) => [each, null]));
  const imported = new Set<string>();
  let turn = 0;

  /** What the store does: it writes; where somebody was quicker it takes that in first, and writes again. */
  const write = (): void => {
    let todo: Job[] = ids.map((each) => {
      const job = jobFor(each, turn, turn + 1, where.get(each) ?? null);
      tasks.set(each, job.task);
      return { ...job, texts: { body: bodies.get(each) ?? '' } };
    });
    for (let tries = 0; todo.length > 0; tries++) {
      expect(tries).toBeLessThan(200);
      const results = applyJobs(realDisk, root, todo);
      const next: Job[] = [];
      for (const [i, result] of results.entries()) {
        const job = todo[i] as Job;
        if (result.kind === 'done') {
          where.set(result.id, job.task.status);
          continue;
        }
        if (result.kind !== 'foreign') throw new Error(JSON.stringify(result));
        const state = { task: (one: string) => tasks.get(one), body: (one: string) => bodies.get(one) ?? '' };
        const finding = look(realDisk, root, result.path, state);
        if (finding.kind === 'edited' && finding.changes.body !== undefined) {
          for (const line of finding.changes.body.split('\n')) if (line.startsWith('EDIT')) imported.add(line);
          bodies.set(result.id, finding.changes.body);
        }
        const replaces = [...(job.replaces ?? []), ...('digest' in finding ? [finding] : [])];
        next.push({ ...job, from: 'unknown', texts: { body: bodies.get(result.id) ?? '' }, replaces });
      }
      todo = next;
    }
    turn++;
  };

  write();
  const editor = await started(await program(folder, 'editor', EDITOR), root, ...ids);
  const said = lines(editor);
  let isOver = false;
  said.then(() => {
    isOver = true;
  });
  while (!isOver) {
    write();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const edits = (await said).filter((line) => line.startsWith('EDIT'));
  expect(edits).toHaveLength(200);
  write();
  write();
  expect(edits.filter((line) => !imported.has(line))).toEqual([]);
});

const KILLED = `
import { applyJobs } from './writer.ts';
import { realDisk } from '../disk.ts';
const [root, jobs] = process.argv.slice(2);
const rounds = JSON.parse(jobs);
console.log('ready');
for (let seq = 1; ; seq++) {
  const round = rounds[seq % rounds.length].map((job) => ({ ...job, seq }));
  for (const { kind } of applyJobs(realDisk, root, round)) if (kind !== 'done') console.log(kind);
}
`;

it('killed at any moment leaves whole files, every task, and nothing that a restart does not clear', async () => {
  const path = await program(folder, 'killed', KILLED);
  const few = ids.slice(0, 5);
  for (let kill = 0; kill < 15; kill++) {
    const root = newRoot();
    const rounds = [0, 1, 2, 3].map((turn) => few.map((each) => jobFor(each, turn, 1, 'unknown')));
    const child = await started(path, root, JSON.stringify(rounds));
    const said = lines(child);
    await new Promise((resolve) => setTimeout(resolve, kill));
    child.kill('SIGKILL');
    expect(await said).toEqual(['ready']);
    expect(tidy(realDisk, root)).toEqual([]);
    const tasks = few.map((each) => task({ id: each, status: 'done', title: 'After' }));
    const after = [...scan(realDisk, root, stateOf(tasks), { full: true })];
    const kinds = new Set(after.map(({ kind }) => kind));
    // Killed before its first round, it has written nothing yet.
    for (const kind of kinds) expect(['stale', 'astray', 'missing']).toContain(kind);
    const jobs = tasks.map((each): Job => ({ task: each, seq: 1e6, from: 'unknown', texts: { body: '' } }));
    expect(applyJobs(realDisk, root, jobs).filter(({ kind }) => kind !== 'done')).toEqual([]);
    expect([...scan(realDisk, root, stateOf(tasks), { full: true })]).toEqual([]);
    const left = TASK_STATUSES.flatMap((status) =>
      readdirSync(`${root}/tasks/${status}`).map((name) => `${status}/${name}`),
    );
    expect(left.filter((name) => name.endsWith('.md')).sort()).toEqual(few.map((each) => `done/${each}.md`));
    expect(existsSync(`${root}/tmp`) ? readdirSync(`${root}/tmp`) : []).toEqual([]);
  }
});

it('writes through no link', () => {
  const outside = newRoot();
  const victim = join(outside, 'victim.md');
  const cases: readonly ((root: string) => [target: string, link: string])[] = [
    (root) => [join(outside, 'tasks/done'), `${root}/tasks/done`],
    (root) => [victim, `${root}/tasks/done/${ids[0]}.md`],
    (root) => [join(outside, 'tasks/ready'), `${root}/tasks/done/${ids[0]}`],
    (root) => [join(outside, 'tasks/ready'), `${root}/runs`],
    (root) => [join(outside, 'tasks/ready'), `${root}/tmp`],
    (root) => [join(outside, 'nowhere'), `${root}/tasks/done/${ids[0]}.md`],
  ];
  for (const make of cases) {
    const root = newRoot();
    writeFileSync(victim, 'untouched');
    const [target, link] = make(root);
    rmSync(link, { recursive: true, force: true });
    symlinkSync(target, link);
    const run = {
      id: 'r',
      attempt: 1,
      agent: 'a',
      model: null,
      startedAt: 0,
      endedAt: 1,
      leaseMs: 1,
      supervisor: null,
    };
    const one = task({ status: 'done', run: { ...run, status: 'completed', outcome: 'done' } });
    const texts = { body: '', 'inputs/x': 'x' };
    const [result] = applyJobs(realDisk, root, [{ task: one, seq: 1, from: null, texts }]);
    expect(result, link).toMatchObject({ kind: 'refused', path: link });
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(victim, 'utf8')).toBe('untouched');
    expect(readdirSync(outside).sort()).toEqual(['tasks', 'victim.md']);
    for (const status of TASK_STATUSES) expect(readdirSync(`${outside}/tasks/${status}`)).toEqual([]);
  }
});

it('works in a thread, and here where there is none', async () => {
  const thread = pathToFileURL(await entry(folder, 'worker-main'));
  for (const url of [thread, null]) {
    const root = newRoot();
    const worker = createTreeWorker(root, url);
    const jobs = ids.map((each) => jobFor(each, 0, 1, null));
    const batches = await Promise.all([worker.apply(jobs.slice(0, 10)), worker.apply(jobs.slice(10))]);
    expect(batches.flat()).toMatchObject(ids.map((each) => ({ id: each, seq: 1, kind: 'done' })));
    expect(readdirSync(`${root}/tasks/ready`)).toHaveLength(2 * TASKS);
    const under = worker.apply(jobs.map((job) => ({ ...job, task: { ...job.task, status: 'done' }, from: 'ready' })));
    await worker.close();
    expect((await under).every(({ kind }) => kind === 'done')).toBe(true);
    expect(readdirSync(`${root}/tasks/done`)).toHaveLength(2 * TASKS);
  }
});

it('tells when its thread dies, and goes on without it', async () => {
  const root = newRoot();
  const dying = `import { parentPort } from 'node:worker_threads'; parentPort.on('message', () => { throw new Error('broken'); });`;
  const worker = createTreeWorker(root, pathToFileURL(await program(folder, 'dying', dying)));
  const jobs = ids.map((each) => jobFor(each, 0, 1, null));
  await expect(worker.apply(jobs)).rejects.toThrow('broken');
  expect(await worker.apply(jobs)).toHaveLength(TASKS);
  expect(readdirSync(`${root}/tasks/ready`)).toHaveLength(2 * TASKS);
  await worker.close();
});
