/** Several processes, many agents, few locks: a short version of `npm run locks`, which is 100 agents on 10 locks for a minute. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, type PluginBuild } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stress } from './stress/run.ts';

/** A waiter whom nobody wakes looks by itself, here so late that no busy machine is mistaken for it. */
const LOOKS_AFTER_MS = 12_000;

function patientWaiters({ onLoad }: PluginBuild): void {
  onLoad({ filter: /session\/commands\/locks\.ts$/ }, ({ path }) => {
    const [code, often] = [readFileSync(path, 'utf8'), 'AGAIN_MS = 4_000;'];
    expect(code).toContain(often);
    return { contents: code.replace(often, `AGAIN_MS = ${LOOKS_AFTER_MS};`), loader: 'ts' };
  });
}

let folder = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'baton-locks-worker-'));
  await build({
    entryPoints: [join(import.meta.dirname, 'stress', 'worker.ts')],
    outfile: join(folder, 'worker.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    banner: { js: "import{createRequire as $r}from'node:module';const require=$r(import.meta.url);" },
    plugins: [{ name: 'patient-waiters', setup: patientWaiters }],
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('never two owners, and nobody waits for a lock that is free', async () => {
  const script = join(folder, 'worker.mjs');
  const { problems, turns, waits, longestFree } = await stress({
    script,
    processes: 3,
    agents: 8,
    locks: 3,
    seconds: 6,
  });
  expect(problems).toEqual([]);
  // Each agent has at least one turn, and of those of one process that ask at once most have to wait.
  expect(turns).toBeGreaterThanOrEqual(24);
  expect(waits).toBeGreaterThan(10);
  expect(longestFree).toBeLessThan(LOOKS_AFTER_MS - 2_000);
});
