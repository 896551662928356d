// Runs: what supervision costs against starting the same programs bare; how soon a task starts; what many quiet runs cost; a flood.
// Each measurement runs in a process of its own. BATON_BENCH_DIR says on which disk; by default the temporary folder.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { report } from './measure.mjs';

const PERSON = { kind: 'person', name: 'user' };
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const quantile = (values, share) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))];

const BARE_SANDBOX = [
  'bwrap',
  '--ro-bind',
  '/',
  '/',
  '--proc',
  '/proc',
  '--dev',
  '/dev',
  '--tmpfs',
  '/tmp',
  '--unshare-pid',
  '--unshare-net',
  '--die-with-parent',
];

async function world(command, { sandbox = 'off', network = 'NONE' } = {}) {
  const { openStore } = await import('./build/store/open.js');
  const { openHost, madeEnvelope, workOn } = await import('./build/runtime/index.js');
  const { configOf } = await import('./build/core/config.js');
  const folder = mkdtempSync(join(process.env.BATON_BENCH_DIR ?? tmpdir(), 'baton-bench-'));
  const workspace = join(folder, 'w');
  mkdirSync(workspace);
  const dir = join(folder, 'data');
  const store = await openStore(dir, { create: true });
  const config = configOf({ agents: { a: { kind: 'command', command } }, defaults: { agent: 'a', sandbox } });
  const host = await openHost({ store, dir, config, workspace });
  let number = 0;
  const add = (count, more = {}) => {
    const tasks = Array.from({ length: count }, () => {
      const taskId = `B-${++number}`;
      const made = madeEnvelope({
        taskId,
        session: 'bench',
        createdAt: new Date().toISOString(),
        agent: 'a',
        objective: 'Do it.',
        workspace,
      });
      const message = { ...made, ...more, task: { ...made.task, access: { network } } };
      return {
        externalId: taskId,
        title: taskId,
        session: 'bench',
        routing: { agent: 'a' },
        texts: { 'inputs/task.json': JSON.stringify(message) },
      };
    });
    return store.send({ message: { type: 'task.add', tasks }, by: PERSON });
  };
  const close = async () => {
    await host.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { store, host, add, close, dir, workOn, never: new AbortController().signal };
}

const bareRun = (command) =>
  new Promise((resolve, reject) => {
    const child = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin.end();
    child.stdout.resume();
    child.stderr.resume();
    child.on('error', reject);
    child.on('close', resolve);
  });

async function twoAtATime(count, work) {
  let next = 0;
  const worker = async () => {
    while (next++ < count) await work();
  };
  await Promise.all([worker(), worker()]);
}

const NOOP = [process.execPath, '-e', '0'];

const CHILDREN = {
  /** The same no-op program so many times, two at a time: bare and supervised in turns. */
  async noop(count, sandboxed) {
    const bare = sandboxed ? [...BARE_SANDBOX, ...NOOP] : NOOP;
    const { add, host, close, workOn, never } = await world(NOOP, { sandbox: sandboxed ? 'require' : 'off' });
    const times = { bare: [], baton: [] };
    for (let round = 0; round < 4; round++) {
      let start = performance.now();
      await twoAtATime(count, () => bareRun(bare));
      times.bare.push(performance.now() - start);
      await add(count);
      start = performance.now();
      await workOn(host, { parallel: 2, untilEmpty: true, leaving: never });
      times.baton.push(performance.now() - start);
    }
    await close();
    // The first round warms up both.
    return { bare: median(times.bare.slice(1)), baton: median(times.baton.slice(1)) };
  },

  /** From `task.add` to the first word of the program. */
  async latency(count) {
    const command = ['/bin/sh', '-c', 'date +%s%N'];
    const { add, host, close, workOn, store, dir } = await world(command);
    const { readFile } = await import('node:fs/promises');
    const leaving = new AbortController();
    const working = workOn(host, { parallel: 2, untilEmpty: false, leaving: leaving.signal });
    const bare = [];
    const baton = [];
    const now = () => (performance.timeOrigin + performance.now()) * 1e6;
    for (let i = 0; i < count; i++) {
      let start = now();
      const text = await new Promise((resolve) => {
        const child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'pipe', 'ignore'] });
        let out = '';
        child.stdout.on('data', (chunk) => (out += chunk));
        child.on('close', () => resolve(out));
      });
      bare.push((Number(text) - start) / 1e6);
      start = now();
      const answer = await add(1);
      const [{ id }] = answer.tasks;
      for (;;) {
        const task = await store.find(id);
        if (task.run !== null && task.run.status !== 'running') break;
        await sleep(2);
      }
      baton.push((Number(await readFile(join(dir, 'logs', `${id}-r1`, 'out.log'), 'utf8')) - start) / 1e6);
    }
    leaving.abort();
    await working;
    await close();
    const cut = (values) => ({ p50: quantile(values.slice(5), 0.5), p99: quantile(values.slice(5), 0.99) });
    return { bare: cut(bare), baton: cut(baton) };
  },

  /** So many runs that do nothing but beat every ten seconds. */
  async quiet(count, seconds) {
    const command = ['/bin/sh', '-c', 'while :; do echo .; sleep 10; done'];
    const { add, host, close, workOn } = await world(command);
    const leaving = new AbortController();
    await add(count, { execution_policy: { heartbeat: { enabled: true, interval_seconds: 10, max_missed_beats: 3 } } });
    const working = workOn(host, { parallel: count, untilEmpty: true, leaving: leaving.signal });
    await sleep(12_000);
    const before = process.cpuUsage();
    const start = performance.now();
    await sleep(seconds * 1000);
    const { user, system } = process.cpuUsage(before);
    const percent = (user + system) / 10 / (performance.now() - start);
    leaving.abort();
    await working;
    await close();
    return { percent };
  },

  /** An agent that prints a gigabyte. */
  async flood(bytes) {
    const line = 'the quick brown fox jumps over the lazy dog, and tells everybody about it at length ';
    const { add, host, close, workOn, dir, never } = await world(['/bin/sh', '-c', `yes '${line}' | head -c ${bytes}`]);
    globalThis.gc?.();
    const before = process.memoryUsage().rss;
    let most = before;
    const timer = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 20);
    const answer = await add(1);
    const start = performance.now();
    await workOn(host, { parallel: 1, untilEmpty: true, leaving: never });
    clearInterval(timer);
    const ms = performance.now() - start;
    const size = statSync(join(dir, 'logs', `${answer.tasks[0].id}-r1`, 'out.log')).size;
    await close();
    return { growth: (most - before) / 1e6, size, ms };
  },
};

function child(name, ...args) {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--expose-gc', fileURLToPath(import.meta.url), name, ...args.map(String)],
    {
      encoding: 'utf8',
      maxBuffer: 1 << 26,
    },
  );
  if (status !== 0) throw new Error(`${name}: ${stderr}`);
  return JSON.parse(stdout);
}

const hasBwrap = () => (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, 'bwrap')));

export function runs() {
  const ms = (value) => `${value.toFixed(0)} ms`;
  const plain = child('noop', 300, 0);
  report(
    '300 no-op runs, two at a time / bare spawn',
    plain.baton / plain.bare,
    { most: 1.25 },
    `${ms(plain.baton)} / ${ms(plain.bare)}`,
  );
  if (hasBwrap()) {
    const walled = child('noop', 300, 1);
    report(
      '300 no-op runs in the sandbox / bare bubblewrap',
      walled.baton / walled.bare,
      { most: 1.25 },
      `${ms(walled.baton)} / ${ms(walled.bare)}`,
    );
  } else console.log('    300 no-op runs in the sandbox: bubblewrap is not installed, not measured');
  const { bare, baton } = child('latency', 200);
  const above = baton.p99 - bare.p99;
  report(
    'task add to process start, p99, ms above bare spawn',
    above,
    { most: 25 },
    `p99 ${baton.p99.toFixed(1)} / ${bare.p99.toFixed(1)} ms; p50 ${baton.p50.toFixed(1)} / ${bare.p50.toFixed(1)} ms`,
  );
  const { percent } = child('quiet', 200, 20);
  report('200 runs with a beat every 10 s, percent of a core', percent, { most: 10 }, 'over 20 s');
  const flood = child('flood', 2 ** 30);
  report(
    'an agent that prints 1 GB: memory grows by, MB',
    flood.growth,
    { most: 64 },
    `${flood.size === 2 ** 30 ? 'log complete' : `LOG OF ${flood.size} BYTES`}, ${ms(flood.ms)}`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name, ...args] = process.argv.slice(2);
  process.stdout.write(JSON.stringify(await CHILDREN[name](...args.map(Number))));
}
