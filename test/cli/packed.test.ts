/** The package as a user meets it: packed, installed in an empty folder without a network, and used. */
import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VERSION } from '../../src/core/version.ts';

const ROOT = join(import.meta.dirname, '../..');
const TSC = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
  exports: Record<string, unknown>;
};

/**
 * What it weighed when this was last set, and a tenth more. Where the test says it has grown: look with `npm pack --dry-run`
 * at what came in. If it belongs there, set these to what the test says it is now.
 */
const WEIGHED = { packed: 1_089_730, unpacked: 3_725_328 };
const MOST = 1.1;

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

const folder = mkdtempSync(join(tmpdir(), 'baton-packed-'));
const home = join(folder, 'home');
const modules = join(home, 'node_modules');
const installed = join(modules, 'baton-run');
let packed: Packed;

function use(args: readonly string[], input = ''): SpawnSyncReturns<string> {
  const env = { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined, BATON_DIR: undefined };
  return spawnSync(join(modules, '.bin', 'baton'), args, { cwd: home, encoding: 'utf8', input, env });
}

/** As npm has it: npm fetches a module anew whose programs are not linked. */
function placeModule(name: string): void {
  cpSync(join(ROOT, 'node_modules', name), join(modules, name), { recursive: true });
  const { bin = {} } = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')) as { bin?: object };
  mkdirSync(join(modules, '.bin'), { recursive: true });
  for (const [program, file] of Object.entries(typeof bin === 'string' ? { [name]: bin } : bin)) {
    symlinkSync(join('..', name, String(file)), join(modules, '.bin', program));
  }
}

beforeAll(() => {
  const npm = (args: readonly string[], cwd: string): string =>
    execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  // dist is there: whoever runs the tests has built it.
  const said = npm(['pack', '--ignore-scripts', '--json', '--pack-destination', folder], ROOT);
  packed = (JSON.parse(said) as [Packed])[0];
  // Without a network: of all that is installed here, just what the package asks for is there for npm to find.
  mkdirSync(modules, { recursive: true });
  writeFileSync(join(home, 'package.json'), '{ "private": true, "type": "module" }');
  for (const name of Object.keys(manifest.dependencies)) placeModule(name);
  // An empty cache: what npm has kept of earlier installs depends on the machine and the user.
  const cache = join(folder, 'cache');
  npm(
    [
      'install',
      '--cache',
      cache,
      '--offline',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      join(folder, packed.filename),
    ],
    home,
  );
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('holds the build, the docs and its papers, and nothing else', () => {
  const paths = packed.files.map(({ path }) => path);
  const papers = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'];
  expect(paths.filter((path) => !/^(?:dist|docs)\//.test(path)).toSorted()).toEqual(papers);
  expect(
    paths.filter((path) => path.startsWith('docs/') && !/^docs\/(?:[a-z-]+\.md|openclaw-plugin\/)/.test(path)),
  ).toEqual([]);
  // Of the rooms behind the library's doors: only what the doors reach. The command line is a bundle of its own.
  const rooms = new Set(paths.flatMap((path) => /^dist\/([a-z]+)\//.exec(path)?.[1] ?? []));
  expect([...rooms].toSorted()).toEqual(['cli', 'core', 'process', 'protocol', 'store']);
  expect(paths.filter((path) => /\.map$|(?<!\.d)\.ts$|\.test\.|tsbuildinfo/.test(path))).toEqual([]);
});

test('no file names a place on the machine it was made on', () => {
  // The checkout may be in a folder as short as /src, whose name alone is in every file.
  const checkout = ['src', 'dist', 'test', 'node_modules'].map((name) => join(ROOT, name));
  const places = [...checkout, tmpdir() === '/tmp' ? folder : tmpdir()];
  const telling = packed.files.filter(({ path }) => {
    const text = readFileSync(join(installed, path), 'utf8');
    // An example in a text for people may have the name of this user.
    const isBuilt = path.startsWith('dist/');
    return [...places, ...(isBuilt ? [`${homedir()}/`] : [])].some((place) => text.includes(place));
  });
  expect(telling.map(({ path }) => path)).toEqual([]);
});

test('weighs what it did', () => {
  expect(packed.size, 'packed').toBeLessThan(WEIGHED.packed * MOST);
  expect(packed.unpackedSize, 'unpacked').toBeLessThan(WEIGHED.unpacked * MOST);
});

test('says whose code is in the bundle', () => {
  const licenses = readFileSync(join(installed, 'dist/cli/LICENSES.md'), 'utf8');
  for (const name of ['@modelcontextprotocol/sdk', 'commander', 'hono', 'yaml', 'zod']) {
    expect(licenses).toMatch(new RegExp(`^## ${name} \\d`, 'm'));
  }
});

test('baton --version, check and demo', () => {
  expect(use(['--version']).stdout).toBe(`${VERSION}\n`);
  const checked = use(['check', '--json', '-'], '#VERSION\n');
  expect(checked.stderr).toBe('');
  expect(JSON.parse(checked.stdout)).toMatchObject({ messages: [{ kind: 'VERSION', valid: true }] });
  // Long enough for its tokens to be counted: the vocabulary is the one dependency of the command line that the bundle does not hold.
  const counted = use(['check', '-'], `#STATE:save:key:${'word '.repeat(20)}\n`);
  expect(counted.status, counted.stderr).toBe(0);
  const demo = use(['demo']);
  expect(demo.status, demo.stderr).toBe(0);
  expect(demo.stdout).toContain('handed to the parent');
});

test('a program imports every door, and its types are there', () => {
  const doors = Object.keys(manifest.exports).filter((door) => door !== './package.json');
  const names = doors.map((door) => door.replace('.', 'baton-run'));
  const lines = names.map((name, i) => `import * as door${i} from '${name}';`);
  const program = `${lines.join('\n')}
import { detect, type Message } from 'baton-run';
const first: Message | undefined = detect('#VERSION')[0];
export const said: string | null | undefined = first?.kind;
console.log(said, ${names.map((_, i) => `Object.keys(door${i}).length > 0`).join(', ')});
// @ts-expect-error: where types are missing, this would be no error.
export const wrong = (): unknown => detect(42);
`;
  writeFileSync(join(home, 'user.ts'), `declare const console: { log(...said: unknown[]): void };\n${program}`);
  const options = [
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--types',
    '',
    '--outDir',
    'out',
    'user.ts',
  ];
  const tsc = spawnSync(process.execPath, [TSC, ...options], { cwd: home, encoding: 'utf8' });
  expect(tsc.stdout).toBe('');
  const ran = spawnSync(process.execPath, [join(home, 'out', 'user.js')], { cwd: home, encoding: 'utf8' });
  expect(`${ran.stdout}${ran.stderr}`.trim()).toBe(['VERSION', ...names.map(() => true)].join(' '));
});
