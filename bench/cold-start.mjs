// What it costs to start: against an empty Node program.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { interleave, report } from './measure.mjs';

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const fixture = (name) => fileURLToPath(new URL(`../test/fixtures/documents/${name}`, import.meta.url));
const node =
  (...args) =>
  () => {
    const { status, stderr } = spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
  };

export function coldStart() {
  const cases = [
    ['baton --version', 1.5, node(MAIN, '--version')],
    ['baton check (a TASK)', 2.5, node(MAIN, 'check', fixture('aop2-task-full.json'))],
    ['baton check (an aop1 report)', 2.5, node(MAIN, 'check', fixture('aop1-search.txt'))],
    ['baton check (a node and an OUTPUT)', 2.5, node(MAIN, 'check', fixture('output-uncertainty.yaml'))],
  ];
  const [floor, ...times] = interleave([node('-e', '0'), ...cases.map(([, , run]) => run)], { rounds: 21 });
  for (const [i, [name, most]] of cases.entries()) {
    report(`${name} / node -e 0`, times[i] / floor, { most }, `${times[i].toFixed(0)} ms / ${floor.toFixed(0)} ms`);
  }
}
