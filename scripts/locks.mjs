// Many agents in several processes on few locks: npm run locks [-- --processes 5 --agents 20 --locks 10 --seconds 60]. Exits 1 where two had the
// same lock, or somebody waited for one that was free.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

const option = (value) => ({ type: 'string', default: value });
const { values } = parseArgs({
  options: { processes: option('5'), agents: option('20'), locks: option('10'), seconds: option('60') },
});
const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), 'baton-locks-script-'));
try {
  await build({
    entryPoints: ['worker', 'run'].map((name) => join(root, 'test/session/stress', `${name}.ts`)),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    banner: { js: "import{createRequire as $r}from'node:module';const require=$r(import.meta.url);" },
  });
  const { stress } = await import(pathToFileURL(join(folder, 'run.mjs')).href);
  const outcome = await stress({ script: join(folder, 'worker.mjs'), ...numbers });
  console.log(JSON.stringify({ ...numbers, ...outcome, problems: outcome.problems.slice(0, 20) }, null, 2));
  // A waiter whom nobody wakes looks by itself after four seconds.
  process.exitCode = outcome.problems.length > 0 || outcome.longestFree >= 3_500 ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
