// Reads texts made to break the decoders, for as long as one likes: npm run fuzz -- --minutes 10 [--seed S]. What breaks a rule is made small and kept in
// test/fixtures/found, where test/protocol/found.test.ts reads it ever after. Exits 1 where something was found.
import { mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { build } from 'esbuild';

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '1' }, seed: { type: 'string', default: String(Date.now() % 1e8) } },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
if (!(minutes > 0) || !Number.isSafeInteger(seed) || seed < 0) {
  console.error('expected --minutes to be a number above 0 and --seed a whole number');
  process.exit(2);
}
// So that what is still in use can be told from what only has not been taken away yet.
setFlagsFromString('--expose-gc');
globalThis.gc = runInNewContext('gc');

const root = dirname(dirname(fileURLToPath(import.meta.url)));
// Within the project, since the tokenizer is found from there.
const folder = mkdtempSync(join(root, 'node_modules', '.baton-fuzz-'));
try {
  const script = join(folder, 'main.mjs');
  await build({
    entryPoints: [join(root, 'test/protocol/fuzz/main.ts')],
    outfile: script,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    sourcemap: 'inline',
    banner: { js: "import{createRequire as $r}from'node:module';const require=$r(import.meta.url);" },
    logLevel: 'error',
  });
  const { main } = await import(pathToFileURL(script).href);
  process.exitCode = main({ minutes, seed, fixtures: pathToFileURL(join(root, 'test/fixtures/')) });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
