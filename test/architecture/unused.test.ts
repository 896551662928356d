/** Nothing lies about: every file of `src` is reached, every export is used by another file, every dependency is imported. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  exports: Record<string, { default: string } | string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};

/** What the package shows to others; whatever these export is for them. */
const DOORS = Object.values(manifest.exports)
  .flatMap((entry) => (typeof entry === 'string' ? [] : [entry.default]))
  .map((file) => file.replace('./dist/', 'src/').replace(/\.js$/, '.ts'));
/** Started, not imported. */
const PROGRAMS = ['src/cli/main.ts', 'src/store/fs/tree/worker-main.ts'];

const SOURCE = /(?<!\.d)\.(?:ts|mjs|js)$/;
const filesIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules') return [];
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesIn(path) : SOURCE.test(path) ? [path] : [];
  });

/** Comments end no statement and import nothing. */
const COMMENTS = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;
const texts = new Map(
  ['src', 'test', 'bench', 'scripts', 'docs']
    .flatMap(filesIn)
    .concat('vitest.config.ts')
    .map((file) => [file, readFileSync(join(ROOT, file), 'utf8').replace(COMMENTS, '')]),
);

/** The file that a specifier names, as a source; null for a package. */
const targetOf = (file: string, specifier: string): string | null =>
  specifier.startsWith('.')
    ? relative(ROOT, join(ROOT, dirname(file), specifier)).replace(/^dist\/(.*)\.js$/, 'src/$1.ts')
    : null;

interface Use {
  readonly from: string;
  readonly specifier: string;
  /** Null for all there are. */
  readonly names: readonly string[] | null;
}

/** The names of `{ a, type B, c as d }`: what they are called where they come from. */
const namesOf = (list: string): string[] =>
  list
    .split(',')
    .map((item) => item.trim().replace(/^type\s+/, ''))
    .filter((item) => item !== '')
    .map((item) => item.split(/\s+as\s+|\s*:\s*/)[0] as string);

function usesIn(file: string, text: string): Use[] {
  const uses: Use[] = [];
  const add = (specifier: string, names: readonly string[] | null): void => {
    uses.push({ from: file, specifier, names });
  };
  const membersOf = (space: string): string[] =>
    [...text.matchAll(new RegExp(`\\b${space}\\s*\\.\\s*(\\w+)`, 'g'))].map((m) => m[1] ?? '');
  for (const [, list = '', specifier = ''] of text.matchAll(
    /^(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from\s+'([^']+)'/gm,
  ))
    add(specifier, namesOf(list));
  // A door that passes it on as a whole shows all of it.
  for (const [, space = '', specifier = ''] of text.matchAll(
    /^import\s+(?:type\s+)?\*\s+as\s+(\w+)\s+from\s+'([^']+)'/gm,
  ))
    add(specifier, DOORS.includes(file) ? null : membersOf(space));
  for (const [, specifier = ''] of text.matchAll(/^import\s+(?:\w+\s+from\s+)?'([^']+)'/gm))
    add(specifier, ['default']);
  for (const [, specifier = ''] of text.matchAll(/^import\s+\w+,\s*\{[^}]*\}\s+from\s+'([^']+)'/gm))
    add(specifier, null);
  for (const [, specifier = '', member] of text.matchAll(/\bimport\(\s*'([^']+)'\s*\)(?:\)\s*\.\s*(\w+)|\.(\w+))?/g))
    add(specifier, member === undefined ? null : [member]);
  for (const [, specifier = ''] of text.matchAll(/\b(?:importActual|require|resolve)(?:<[^>]*>)?\('([^']+)'/g))
    add(specifier, null);
  // A thing that is required by another's own road: `createRequire(…)('gpt-tokenizer/…')`.
  for (const [, specifier = ''] of text.matchAll(/createRequire\([^)]*\)\('([^']+)'\)/g)) add(specifier, null);
  return uses;
}

const uses = [...texts].flatMap(([file, text]) => usesIn(file, text));

const DECLARED = /^export\s+(?:declare\s+)?(?:async\s+)?(?:function\*?|const|let|class|interface|type|enum)\s+(\w+)/gm;
const exportsOf = (text: string): string[] => [
  ...[...text.matchAll(DECLARED)].map((m) => m[1] ?? ''),
  ...[...text.matchAll(/^export\s+(?:type\s+)?\{([^}]*)\}/gm)].flatMap(([, list = '']) =>
    list
      .split(',')
      .map((item) => item.trim().replace(/^type\s+/, ''))
      .filter((item) => item !== '')
      .map((item) => item.split(/\s+as\s+/).at(-1) as string),
  ),
];

/** By file: the names that other files take from it. */
const taken = new Map<string, Set<string> | 'all'>();
for (const { from, specifier, names } of uses) {
  const target = targetOf(from, specifier);
  if (target === null || target === from) continue;
  const before = taken.get(target) ?? new Set<string>();
  if (names === null || before === 'all') taken.set(target, 'all');
  else taken.set(target, new Set([...before, ...names]));
}

const sources = [...texts.keys()].filter((file) => file.startsWith('src/'));

test('every file of src is imported by another, is a door of the package, or is started', () => {
  const known = [...DOORS, ...PROGRAMS, 'src/process/relay.mjs'];
  expect(sources.filter((file) => !taken.has(file) && !known.includes(file))).toEqual([]);
});

test('every export of src is used by another file', () => {
  const unused = sources
    .filter((file) => !DOORS.includes(file) && taken.get(file) !== 'all')
    .flatMap((file) => {
      const names = taken.get(file) as Set<string> | undefined;
      return exportsOf(texts.get(file) ?? '')
        .filter((name) => names?.has(name) !== true)
        .map((name) => `${file}: ${name}`);
    });
  expect(unused, 'what only its own file uses is not exported; what nobody uses is not there').toEqual([]);
});

test('every dependency is imported somewhere', () => {
  const imported = new Set(uses.map(({ specifier }) => specifier));
  const isImported = (name: string): boolean =>
    [...imported].some((specifier) => specifier === name || specifier.startsWith(`${name}/`));
  /** Used by their commands, or by what the compiler is told. */
  const tools = ['@biomejs/biome', '@types/node', 'typescript'];
  const bySource = (name: string): boolean =>
    uses.some(
      ({ from, specifier }) => from.startsWith('src/') && (specifier === name || specifier.startsWith(`${name}/`)),
    );
  expect(Object.keys(manifest.dependencies).filter((name) => !bySource(name))).toEqual([]);
  expect(Object.keys(manifest.devDependencies).filter((name) => !isImported(name) && !tools.includes(name))).toEqual(
    [],
  );
});

test('the reader of exports sees all the ways of exporting', () => {
  expect(
    exportsOf("export const a = 1;\nexport async function b() {}\nexport { c, type D as E } from './x.ts';"),
  ).toEqual(['a', 'b', 'c', 'E']);
  expect(taken.get('src/cli/check.ts')).toContain('check');
  expect(sources.length).toBeGreaterThan(400);
});
