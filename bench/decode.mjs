// What it costs to read a message: against JSON.parse alone, and how that grows with the text.
import { readFileSync } from 'node:fs';
import { detect } from 'baton-run/protocol';
import { interleave, report } from './measure.mjs';

const task = readFileSync(new URL('../test/fixtures/documents/aop2-task-full.json', import.meta.url), 'utf8');
const times = (n, run) => () => {
  for (let i = 0; i < n; i++) run();
};

export function decode() {
  const n = 2000;
  const [floor, full] = interleave([times(n, () => JSON.parse(task)), times(n, () => detect(task))], { rounds: 31 });
  const micro = (ms) => `${((ms / n) * 1000).toFixed(1)} µs`;
  report('speed of detect(full TASK) / JSON.parse', floor / full, { least: 0.5 }, `${micro(full)} / ${micro(floor)}`);
}

export function growth() {
  const units = [
    ['lines of prose', 'A line of prose, as agents print it.\n', 8_000_000],
    ['open braces', '{\n', 500_000],
    ['JSON lines', `${JSON.stringify(JSON.parse(task))}\n`, 1_000_000],
  ];
  for (const [name, unit, bytes] of units) {
    const small = unit.repeat(bytes / unit.length);
    const large = unit.repeat((8 * bytes) / unit.length);
    const [one, eight] = interleave([() => detect(small), () => detect(large)], { rounds: 7, warmup: 2 });
    report(`detect: 8 times the ${name}`, eight / one, { most: 16 }, `${eight.toFixed(0)} ms / ${one.toFixed(0)} ms`);
  }
}
