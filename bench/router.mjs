// The router: messages a second, against decoding the same texts and appending a note for each. In a process of its own, on a folder of its own.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { report } from './measure.mjs';

const PERSON = { kind: 'person', name: 'user' };
const SENDER = { channel: 'cli', run: null, agent: null, actor: PERSON };
const TASKS = 500;
const MESSAGES = 4_000;
const IN_FLIGHT = 200;

async function inFlight(count, work) {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}

async function measure() {
  const { openStore } = await import('./build/store/open.js');
  const { openHost } = await import('./build/runtime/index.js');
  const { DEFAULT_CONFIG } = await import('./build/core/config.js');
  const { detect } = await import('./build/protocol/detect.js');
  const dir = mkdtempSync(join(process.env.BATON_BENCH_DIR ?? tmpdir(), 'baton-bench-'));
  const store = await openStore(dir, { create: true });
  const host = await openHost({ store, dir, config: DEFAULT_CONFIG });
  const tasks = Array.from({ length: TASKS }, (_, i) => ({ title: `Task ${i}`, texts: { body: 'Do it.' } }));
  const { tasks: made } = await store.send({ message: { type: 'task.add', tasks }, by: PERSON });
  await store.settled();
  const text = (i) =>
    JSON.stringify({
      protocol: 'aof',
      version: 1,
      type: 'status.update',
      taskId: made[i % TASKS].id,
      fromAgent: 'emma',
      sentAt: '2026-01-01T00:00:00Z',
      payload: { progress: `step ${i}` },
    });
  const rates = { floor: [], router: [] };
  for (let round = 0; round < 3; round++) {
    let start = performance.now();
    await inFlight(MESSAGES, async (i) => {
      const [{ value }] = detect(text(i));
      const message = { type: 'note', event: 'bench', task: value.taskId, detail: value.payload };
      await store.send({ message, by: PERSON });
    });
    rates.floor.push(MESSAGES / ((performance.now() - start) / 1000));
    await store.settled();
    start = performance.now();
    await inFlight(MESSAGES, async (i) => {
      const [answer] = await host.router.take(text(i), SENDER);
      if (answer.result !== 'accepted') throw new Error(answer.reason);
    });
    rates.router.push(MESSAGES / ((performance.now() - start) / 1000));
    await store.settled();
  }
  await host.close();
  await store.close();
  rmSync(dir, { recursive: true, force: true });
  const best = (values) => Math.max(...values);
  return { floor: best(rates.floor), router: best(rates.router) };
}

export function router() {
  const { stdout, stderr, status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url)], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  const { floor, router: rate } = JSON.parse(stdout);
  report(
    'messages a second through the router, thousands',
    rate / 1000,
    { least: 10 },
    `${(rate / floor).toFixed(2)} of decode + append at ${floor.toFixed(0)} a second`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(JSON.stringify(await measure()));
