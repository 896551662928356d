// The session language: `#STATE:save` through the whole interpreter, on the store in memory against a number, and on files against a bare record
// in the same journal. In a process of its own, on a folder of its own.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { report } from './measure.mjs';

const GOAL = 50_000;
const IN_MEMORY = 100_000;
const ON_DISK = 10_000;
const IN_FLIGHT = 200;
const PERSON = { kind: 'person', name: 'user' };
const VOICE = {
  session: 'bench',
  speaker: { agent: 'orchestrator', run: null, priority: 'P2', leads: true },
  actor: PERSON,
};
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

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
  const { openStore } = await import('../dist/store/open.js');
  const { openMemoryStore } = await import('../dist/store/memory.js');
  const { createInterpreter } = await import('../dist/session/interpreter.js');
  const { DEFAULT_CONFIG } = await import('../dist/core/config.js');
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
  const rates = { memory: [], journal: [], files: [] };
  for (let round = 0; round < 3; round++) {
    // A new one each time: what is kept of a hundred thousand records is not what is measured.
    const memory = openMemoryStore();
    rates.memory.push(await rateOf(IN_MEMORY, over(memory, null)));
    await memory.close();
  }
  const store = await openStore(join(folder, '.baton'), { create: true });
  const save = over(store, join(folder, '.baton'));
  for (let round = 0; round < 3; round++) {
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
  return Object.fromEntries(Object.entries(rates).map(([name, values]) => [name, median(values)]));
}

export function session() {
  const self = fileURLToPath(import.meta.url);
  const { stdout, stderr, status } = spawnSync(process.execPath, [self, 'child'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`session: ${stderr}`);
  const { memory, journal, files } = JSON.parse(stdout);
  report('#STATE:save a second, in memory / 50,000', memory / GOAL, { least: 1 }, memory.toFixed(0));
  report(
    '#STATE:save a second, on files / bare records',
    files / journal,
    { least: 0.5 },
    `${files.toFixed(0)} / ${journal.toFixed(0)}`,
  );
}

if (process.argv[2] === 'child') console.log(JSON.stringify(await measure()));
