// Crashes the store at a million operations, or as many as one likes: npm run crash -- --points 1000000 [--seed S].
// A failure prints its seed and operation; with --seed S --at K --way W --variant V it is had again.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

const PROCESSES = 2;
/** Far enough apart that no two processes make the same work. */
const APART = 100_000_000;

const { values } = parseArgs({
  options: {
    points: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(Date.now() % APART) },
    at: { type: 'string' },
    way: { type: 'string', default: 'power' },
    variant: { type: 'string', default: '0' },
  },
});
const points = Number(values.points);
const seed = Number(values.seed);
if (!Number.isSafeInteger(points) || points < 1 || !Number.isSafeInteger(seed) || seed < 0) {
  console.error('expected --points and --seed to be whole numbers');
  process.exit(2);
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), 'baton-crash-'));
const script = join(folder, 'crash.mjs');
await build({
  entryPoints: [join(root, 'test/store/crash/main.ts')],
  outfile: script,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  logLevel: 'error',
});

const isOne = values.at !== undefined;
const count = isOne ? 1 : Math.min(PROCESSES, points);
const far = new Array(count).fill(0);
const children = [];
const began = Date.now();
let printed = began;

function progress() {
  if (Date.now() - printed < 5000) return;
  printed = Date.now();
  const done = far.reduce((sum, each) => sum + each, 0);
  console.log(`${done} of ${points} points, ${Math.round((done / (printed - began)) * 1000)} a second`);
}

function start(index) {
  const args = ['--seed', String(seed + index * APART), '--points', String(isOne ? 1 : Math.ceil(points / count))];
  if (isOne) args.push('--at', values.at, '--way', values.way, '--variant', values.variant);
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  let result = null;
  createInterface(child.stdout).on('line', (line) => {
    const said = JSON.parse(line);
    if (said.result !== undefined) result = said.result;
    else far[index] = said.points;
    progress();
  });
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      // One failure is enough to look at.
      if (result?.failure) for (const other of children) other.kill();
      resolve(result ?? { ended: signal ?? code });
    });
  });
}

const results = await Promise.all(Array.from({ length: count }, (_, index) => start(index)));
rmSync(folder, { recursive: true, force: true });

const failed = results.find((result) => result.failure);
const sum = (name) => results.reduce((total, result) => total + (result[name] ?? 0), 0);
const seconds = Math.round((Date.now() - began) / 1000);
console.log(
  `${sum('points')} crashes in ${seconds} s: ${sum('workloads')} workloads, ${sum('operations')} operations, ${sum('second')} crashes of a recovery`,
);
if (failed) {
  const { point, message } = failed.failure;
  console.error(`broken: ${message}`);
  console.error(
    `again: npm run crash -- --seed ${point.seed} --at ${point.at} --way ${point.way} --variant ${point.variant}`,
  );
  process.exit(1);
}
const lost = results.find((result) => result.points === undefined);
if (lost) {
  console.error(`a process ended without a result: ${lost.ended}`);
  process.exit(1);
}
