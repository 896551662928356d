// Ratios to a floor measured in the same run, interleaved, since a shared machine is noisy.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const median = (times) => times.toSorted((a, b) => a - b)[times.length >> 1];

/** Times each function in turn, round after round. @returns the median of each, in milliseconds */
export function interleave(functions, { rounds = 15, warmup = 2 } = {}) {
  const times = functions.map(() => []);
  for (let round = -warmup; round < rounds; round++) {
    for (const [i, run] of functions.entries()) {
      const start = performance.now();
      run();
      if (round >= 0) times[i].push(performance.now() - start);
    }
  }
  return times.map(median);
}

/** A part of a bench in a process of its own, where nothing else has used the memory; what it prints is its answer, as JSON. */
export function inProcess(url, name, ...args) {
  const options = { encoding: 'utf8', maxBuffer: 1 << 28 };
  const argv = ['--expose-gc', fileURLToPath(url), name, ...args.map(String)];
  const { stdout, stderr, status } = spawnSync(process.execPath, argv, options);
  if (status !== 0) throw new Error(`${name}: ${stderr}`);
  return JSON.parse(stdout);
}

let rows = [];
let misses = 0;

/** @param goal what the ratio must be: `{ most }` or `{ least }` */
export function report(name, ratio, goal, detail) {
  const met = goal === null ? null : 'most' in goal ? ratio <= goal.most : ratio >= goal.least;
  const wanted = goal === null ? '' : 'most' in goal ? `at most ${goal.most}` : `at least ${goal.least}`;
  if (met === false) misses++;
  rows.push({ name, ratio, wanted, met, detail });
  console.log(
    `${met === null ? '  ' : met ? 'ok' : 'NO'}  ${name.padEnd(52)} ${ratio.toFixed(2).padStart(6)}×  ${wanted.padEnd(14)} ${detail}`,
  );
}

/** What was reported since it was last asked. */
export function takeRows() {
  const taken = rows;
  rows = [];
  return taken;
}

export const missed = () => misses;
