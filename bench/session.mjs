// The session language: `#STATE:save` through the whole interpreter, on the store in memory against a number, and on files against a bare record
// in the same journal. In a process of its own, on a folder of its own.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { report } from './measure.mjs';

const GOAL = 50_000;
const IN_MEMORY = 50_000;
const ON_DISK = 10_000;
const IN_FLIGHT = 200;
/** The first ones warm up. */
const [ROUNDS, WARM_UP] = [7, 2];
const PERSON = { kind: 'person', name: 'user' };
const VOICE = {
  session: 'bench',
  speaker: { agent: 'orchestrator', run: null, priority: 'P2', leads: true },
  actor: PERSON,
};
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** A second is one of work: on a machine that others use too, what nobody lets it do is not its own. */
async function rateOfWork(count, work) {
  const [before, start] = [process.cpuUsage(), performance.now()];
  for (let i = 0; i < count; i++) await work(i);
  const clock = count / ((performance.now() - start) / 1000);
  const { user, system } = process.cpuUsage(before);
  return { work: count / ((user + system) / 1e6), clock };
}

async function rateOf(count, work) {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  return count / ((performance.now() - start) / 1000);
}

async function measure() {
  const { openStore } = await import('./build/store/open.js');
  const { openMemoryStore } = await import('./build/store/memory.js');
  const { createInterpreter } = await import('./build/session/interpreter.js');
  const { DEFAULT_CONFIG } = await import('./build/core/config.js');
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
  const folder = mkdtempSync(join(process.env.BATON_BENCH_DIR ?? tmpdir(), 'baton-bench-'));
  const over = (store, dir) => {
    const parts = { store, dir, config: DEFAULT_CONFIG, workspace: folder, now: Date.now, countTokens, askAgent: null };
    const { do: say } = createInterpreter({ ...parts, warn: console.error });
    return async (i) => {
      const { reply } = await say(`#STATE:save:key_${i % 20}:value ${i}`, VOICE);
      if (!reply.startsWith('saved:')) throw new Error(reply);
    };
  };
  const rates = { memory: [], clock: [], journal: [], files: [] };
  for (let round = 0; round < ROUNDS; round++) {
    // A new one each time: what is kept of all the records before is not what is measured.
    const memory = openMemoryStore();
    const rate = await rateOfWork(IN_MEMORY, over(memory, null));
    rates.memory.push(rate.work);
    rates.clock.push(rate.clock);
    await memory.close();
  }
  const store = await openStore(join(folder, '.baton'), { create: true });
  const save = over(store, join(folder, '.baton'));
  for (let round = 0; round < ROUNDS; round++) {
    rates.journal.push(
      await rateOf(ON_DISK, (i) =>
        store.send({
          message: {
            type: 'note',
            event: 'bench',
            session: 'bench',
            detail: { key: `key_${i % 20}`, value: `value ${i}` },
          },
          by: PERSON,
        }),
      ),
    );
    await store.settled();
    rates.files.push(await rateOf(ON_DISK, save));
    await store.settled();
  }
  await store.close();
  rmSync(folder, { recursive: true });
  return Object.fromEntries(Object.entries(rates).map(([name, values]) => [name, median(values.slice(WARM_UP))]));
}

export function session() {
  const self = fileURLToPath(import.meta.url);
  const { stdout, stderr, status } = spawnSync(process.execPath, [self, 'child'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`session: ${stderr}`);
  const { memory, clock, journal, files } = JSON.parse(stdout);
  report(
    '#STATE:save a second of work, in memory / 50,000',
    memory / GOAL,
    { least: 1 },
    `${memory.toFixed(0)} (by the clock: ${clock.toFixed(0)})`,
  );
  report(
    '#STATE:save a second, on files / bare records',
    files / journal,
    { least: 0.5 },
    `${files.toFixed(0)} / ${journal.toFixed(0)}`,
  );
}

if (process.argv[2] === 'child') console.log(JSON.stringify(await measure()));
