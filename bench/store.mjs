// The store: a durable life cycle against a bare append with fdatasync; how cost grows with the number of tasks; start, idleness, memory.
// Each measurement runs in a process of its own, on a folder of its own. BATON_BENCH_DIR says on which disk; by default the temporary folder.
// Folders are removed at the very end: ext4 is slow to make files for minutes after many were deleted.
import { spawnSync } from 'node:child_process';
import { closeSync, fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inProcess, report } from './measure.mjs';

const PERSON = { kind: 'person', name: 'user' };
const RUNTIME = { kind: 'runtime', name: 'baton' };
const AGENT = { kind: 'agent', name: 'emma' };
const BODY = 'Find out why the parser drops the last line, and mend it.\n\n- keep the tests green\n- say what it was\n';
const IN_FLIGHT = 50;
const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

const made = [];
function temporary() {
  const dir = mkdtempSync(join(process.env.BATON_BENCH_DIR ?? tmpdir(), 'baton-bench-'));
  made.push(dir);
  return dir;
}
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

async function open(dir) {
  const { openStore } = await import('../dist/store/open.js');
  return openStore(dir, { create: true });
}

async function sent(store, message, by) {
  const answer = await store.send({ message, by });
  if (answer.kind === 'refused') throw new Error(answer.refusal.message);
  return answer.tasks[0];
}

const add = (store, i) =>
  sent(store, { type: 'task.add', tasks: [{ title: `Mend the parser, part ${i}`, texts: { body: BODY } }] }, PERSON);

async function lifeCycle(store, i) {
  await add(store, i);
  const { run } = await sent(store, { type: 'task.claim', claimer: { agent: 'emma' }, leaseMs: 60_000 }, RUNTIME);
  await sent(store, { type: 'run.report', run: run.id, outcome: 'done', summary: 'It was an off-by-one.' }, AGENT);
  const task = await sent(store, { type: 'run.judge', run: run.id, passed: true }, RUNTIME);
  if (task.status !== 'done') throw new Error(`${task.id} is ${task.status}`);
}

async function inFlight(count, width, work) {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/** Appends of the size of a record, each synced: what the disk gives to somebody who does nothing else. */
function singleAppends(seconds) {
  const dir = temporary();
  const file = openSync(join(dir, 'floor'), 'a');
  const bytes = Buffer.alloc(700, 'x');
  const start = performance.now();
  let count = 0;
  while (performance.now() - start < seconds * 1000) {
    writeSync(file, bytes);
    fdatasyncSync(file);
    count++;
  }
  const rate = (count / (performance.now() - start)) * 1000;
  closeSync(file);
  return rate;
}

const CHILDREN = {
  /** Life cycles per second, until the tree shows the last one. */
  async life(dir, before, count) {
    const store = await open(dir);
    await inFlight(before, 1000, (i) => add(store, i));
    await inFlight(500, IN_FLIGHT, (i) => lifeCycle(store, i));
    await store.settled();
    const start = performance.now();
    await inFlight(count, IN_FLIGHT, (i) => lifeCycle(store, i));
    const answered = performance.now();
    await store.settled();
    const end = performance.now();
    await store.close();
    return { rate: (count / (end - start)) * 1000, answered: (count / (answered - start)) * 1000 };
  },
  async start(dir) {
    const { openFsStore } = await import('../dist/store/fs/store.js');
    const begin = performance.now();
    const store = await openFsStore(dir, { watch: false });
    const ms = performance.now() - begin;
    await store.close();
    return { ms };
  },
  /** The floor of a start: the snapshot, read and parsed. */
  async parse(dir) {
    const begin = performance.now();
    const values = readFileSync(join(dir, 'snapshot.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    return { ms: performance.now() - begin, values: values.length };
  },
  async idle(dir, seconds) {
    const store = await open(dir);
    await store.settled();
    await sleep(2_000);
    const before = process.cpuUsage();
    await sleep(seconds * 1000);
    const { user, system } = process.cpuUsage(before);
    await store.close();
    return { percent: ((user + system) / 1e6 / seconds) * 100 };
  },
  async memory(dir) {
    globalThis.gc();
    const before = process.memoryUsage().heapUsed;
    const store = await open(dir);
    await store.settled();
    globalThis.gc();
    const bytes = process.memoryUsage().heapUsed - before;
    await store.close();
    return { bytes };
  },
};

const child = (name, ...args) => inProcess(import.meta.url, name, ...args);

export function store() {
  try {
    durability();
    growth();
  } finally {
    for (const dir of made) rmSync(dir, { recursive: true });
  }
}

function durability() {
  const floors = [];
  const lives = [];
  const answered = [];
  for (let round = 0; round < 5; round++) {
    floors.push(singleAppends(1));
    const life = child('life', temporary(), 0, 10_000);
    floors.push(singleAppends(1));
    lives.push(life.rate);
    answered.push(life.answered);
  }
  const [floor, rate] = [median(floors), median(lives)];
  report(
    'durable life cycles a second / single appends',
    rate / floor,
    { least: 1 },
    `${rate.toFixed(0)} (answered: ${median(answered).toFixed(0)}) / ${floor.toFixed(0)}`,
  );
}

function growth() {
  const small = [];
  const large = [];
  const big = temporary();
  for (let round = 0; round < 3; round++) {
    for (const [count, rates] of [
      [1_000, small],
      [100_000, large],
    ]) {
      const dir = round === 0 && count === 100_000 ? big : temporary();
      rates.push(child('life', dir, count, 5_000).rate);
    }
  }
  const ratio = median(small) / median(large);
  report(
    'cost of a life cycle at 100,000 tasks / at 1,000',
    ratio,
    { most: 1.3 },
    `${median(large).toFixed(0)} a second / ${median(small).toFixed(0)}`,
  );
  const starts = [];
  const parses = [];
  for (let round = 0; round < 7; round++) {
    starts.push(child('start', big).ms);
    parses.push(child('parse', big).ms);
  }
  report(
    'start with 100,000 tasks / read and parse the snapshot',
    median(starts) / median(parses),
    { most: 2 },
    `${median(starts).toFixed(0)} ms / ${median(parses).toFixed(0)} ms`,
  );
  const { percent } = child('idle', big, 10);
  report('idle with 100,000 tasks, percent of a core', percent, { most: 0.5 }, 'over 10 s');
  const { bytes } = child('memory', big);
  report('memory a task, KB', bytes / 105_500 / 1024, { most: 1 }, `${(bytes / 1e6).toFixed(0)} MB for 105,500 tasks`);
  list(big);
}

/** `baton task list` of all of them: the peak of memory against that of a list of none. */
function list(dir) {
  const peak = (status) => {
    const script = `process.argv.splice(1, 1, ${JSON.stringify(MAIN)});
      process.on('exit', () => process.stderr.write(String(process.resourceUsage().maxRSS)));
      await import(${JSON.stringify(MAIN)});`;
    const args = ['--input-type=module', '-e', script, 'x', 'task', 'list', '--dir', dir, '--json', '--status', status];
    const start = performance.now();
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
    return { rss: Number(stderr), count: JSON.parse(stdout).length, ms: performance.now() - start };
  };
  const none = peak('blocked');
  const all = peak('ready');
  report(
    'baton task list of 100,000: memory / of none',
    all.rss / none.rss,
    { most: 1.5 },
    `${(all.rss / 1024).toFixed(0)} MB / ${(none.rss / 1024).toFixed(0)} MB, ${all.count} tasks in ${all.ms.toFixed(0)} ms`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name, ...args] = process.argv.slice(2);
  const result = await CHILDREN[name](...args.map((arg) => (/^\d+$/.test(arg) ? Number(arg) : arg)));
  process.stdout.write(JSON.stringify(result));
}
