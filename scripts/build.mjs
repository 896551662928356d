// Builds dist/, which is what is packed: the library and its types with tsc, file by file, and only what its doors reach
// (tsconfig.build.json names them); the command line with esbuild, so that a cold start
// opens a handful of files and not two hundred (npm run bench shows what that is worth).
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
process.chdir(root);
// Made beside it and put in its place at the end: a build that fails leaves the one before, and nobody meets half of one.
const NEXT = 'dist.next';
rmSync(NEXT, { recursive: true, force: true });

const tsc = spawnSync(
  process.execPath,
  [join('node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.build.json', '--outDir', NEXT],
  { stdio: 'inherit' },
);
if (tsc.status !== 0) process.exit(tsc.status ?? 1);

const { metafile } = await build({
  entryPoints: [
    { in: 'src/cli/main.ts', out: 'main' },
    // Runs in a thread, so it has to be a file of its own, beside the command line or above its chunks.
    { in: 'src/store/fs/tree/worker-main.ts', out: 'worker-main' },
  ],
  outdir: join(NEXT, 'cli'),
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  chunkNames: 'chunks/[name]-[hash]',
  external: ['gpt-tokenizer'],
  // The build of yaml for browsers is the same code in ES modules: smaller here, and quicker to compile.
  alias: { yaml: './node_modules/yaml/browser/index.js' },
  // Bundled CommonJS (commander) asks for Node's own modules with require.
  banner: {
    js: "import { createRequire as batonRequire } from 'node:module'; const require = batonRequire(import.meta.url);",
  },
  plugins: [
    {
      // Commander starts programs for subcommands that are files of their own. Baton has none, and loading what starts
      // programs would cost every command a tenth of its cold start.
      name: 'commander-starts-nothing',
      setup({ onResolve, onLoad }) {
        onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
          importer.includes('commander') ? { path: 'nothing', namespace: 'nothing' } : null,
        );
        onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({ contents: 'module.exports = {};' }));
      },
    },
  ],
  // A quarter less to read at every start. Names stay, so that a stack trace says something.
  minifyWhitespace: true,
  minifySyntax: true,
  metafile: true,
  legalComments: 'none',
  logLevel: 'warning',
});
chmodSync(join(NEXT, 'cli', 'main.js'), 0o755);
// Runs by itself inside a sandbox, where nothing else of Baton is: one file, as it is.
copyFileSync('src/process/relay.mjs', join(NEXT, 'cli', 'relay.mjs'));
writeFileSync(join(NEXT, 'cli', 'LICENSES.md'), licenses(metafile));

if (existsSync('dist')) renameSync('dist', 'dist.last');
renameSync(NEXT, 'dist');
rmSync('dist.last', { recursive: true, force: true });

/** Whose code is inside the bundle, and on what terms: their licenses ask to go where the code goes. */
function licenses({ inputs }) {
  const packages = new Set(
    Object.keys(inputs).flatMap((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []),
  );
  const parts = [...packages].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} is bundled and has no file with its license`);
    return `## ${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  });
  return `# Code of others in this folder\n\n${parts.join('\n')}`;
}
