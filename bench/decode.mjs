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
  const units = {
    'lines of prose': 'A line of prose, as agents print it.\n',
    'open braces': '{\n',
    'JSON lines': `${JSON.stringify(JSON.parse(task))}\n`,
  };
  for (const [name, unit] of Object.entries(units)) {
    const text = (bytes) => unit.repeat(bytes / unit.length);
    const [small, large] = [text(500_000), text(4_000_000)];
    const [one, eight] = interleave([() => detect(small), () => detect(large)], { rounds: 5, warmup: 1 });
    report(`detect: 8 times the ${name}`, eight / one, { most: 16 }, `${eight.toFixed(0)} ms / ${one.toFixed(0)} ms`);
  }
}
