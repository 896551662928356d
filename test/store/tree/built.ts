/** Programs made of the sources, for tests that need a thread or a process of their own. */
import { join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';

const TREE = new URL('../../../src/store/fs/tree/', import.meta.url).pathname;

/** Bundles code that stands as if in the folder of the tree, and gives the path of the program. */
export const program = (folder: string, name: string, code: string): Promise<string> =>
  bundle(join(folder, `${name}.mjs`), {
    stdin: { contents: code, resolveDir: TREE, loader: 'ts', sourcefile: `${name}.ts` },
  });

/** Bundles a file of the tree. */
export const entry = (folder: string, name: string): Promise<string> =>
  bundle(join(folder, `${name}.mjs`), { entryPoints: [join(TREE, `${name}.ts`)] });

async function bundle(outfile: string, source: BuildOptions): Promise<string> {
  await build({
    ...source,
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    // Bundled CommonJS (yaml) asks for Node's own modules with require.
    banner: { js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);` },
    logLevel: 'warning',
  });
  return outfile;
}
