/** DESIGN: who may know whom. The folders are in order; an arrow goes only to an earlier one, and no two files import each other in a circle. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { expect, test } from 'vitest';
import { DIALECT_NAMES } from '../../src/protocol/dialects.ts';

const SRC = join(import.meta.dirname, '../../src');

/** Rooms on one floor do not know each other; each knows the floors below. */
const FLOORS = [
  ['core'],
  ['protocol'],
  ['process'],
  ['store', 'agents', 'workspace'],
  ['runtime'],
  ['session'],
  ['server'],
  ['cli'],
];
const PURE = ['core', 'protocol'];

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^'";]*?from\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|(?:^|\n)import\s+'([^']+)'/g;

const importsOf = (file: string): string[] =>
  [...readFileSync(join(SRC, file), 'utf8').matchAll(IMPORT)].map((m) => m[1] ?? m[2] ?? m[3] ?? '');

const graph = new Map(
  files.map((file) => [
    file,
    importsOf(file)
      .filter((target) => target.startsWith('.'))
      .map((target) => relative(SRC, normalize(join(SRC, dirname(file), target)))),
  ]),
);

const roomOf = (file: string): string | null => (file.includes('/') ? (file.split('/')[0] ?? null) : null);
const floorOf = (room: string): number => FLOORS.findIndex((rooms) => rooms.includes(room));

test('every file is in a room of the design, or is the front door', () => {
  const strays = files.filter((file) =>
    roomOf(file) === null ? file !== 'index.ts' : floorOf(roomOf(file) ?? '') < 0,
  );
  expect(strays).toEqual([]);
});

test('every import names a file that exists', () => {
  const missing = [...graph].flatMap(([file, targets]) =>
    targets.filter((t) => !graph.has(t)).map((t) => `${file} → ${t}`),
  );
  expect(missing).toEqual([]);
});

test('no import goes against the order of the folders', () => {
  const against = [...graph].flatMap(([file, targets]) =>
    targets
      .filter((target) => {
        const [from, to] = [roomOf(file), roomOf(target)];
        if (from === null) return to !== null && !PURE.includes(to); // the front door shows pure things only
        return to === null || (from !== to && floorOf(to) >= floorOf(from));
      })
      .map((target) => `${file} → ${target}`),
  );
  expect(against).toEqual([]);
});

test('a dialect does not know another dialect', () => {
  const dialectOf = (file: string): string | undefined =>
    DIALECT_NAMES.find((name) => file.startsWith(`protocol/${name}/`));
  const crossing = [...graph].flatMap(([file, targets]) =>
    targets
      .filter((t) => dialectOf(file) && dialectOf(t) && dialectOf(file) !== dialectOf(t))
      .map((t) => `${file} → ${t}`),
  );
  expect(crossing).toEqual([]);
});

test('there is no circle of imports', () => {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
    if (done.has(file) || path.includes(file)) return;
    for (const target of graph.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});

test('core and protocol know no Node, no clock, no randomness, no environment', () => {
  const IMPURE =
    /\bfrom 'node:|\bprocess\.|\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bperformance\.|\bBuffer\.|\brequire\(|\bsetTimeout\b|\bglobalThis\b/;
  const impure = files
    .filter((file) => PURE.includes(roomOf(file) ?? ''))
    .filter((file) => IMPURE.test(readFileSync(join(SRC, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')));
  expect(impure).toEqual([]);
});

test('the reader of imports sees all the ways of importing', () => {
  const all = files.flatMap(importsOf);
  expect(all).toContain('zod');
  expect(importsOf('cli/main.ts')).toContain('./program.ts');
  expect(graph.get('protocol/detect.ts')).toContain('protocol/scan/scanner.ts');
});

test('commands that look at the store or change one task load no runtime: it is half of all there is to load', () => {
  const light = [
    'task-list',
    'task-show',
    'task-change',
    'inbox',
    'report',
    'logs',
    'why',
    'events',
    'audit',
    'graph-list',
    'graph-show',
  ];
  // What is imported as a type is not loaded, and what is imported within a function is loaded only there.
  const loads = (file: string): string[] =>
    [
      ...readFileSync(join(SRC, file), 'utf8').matchAll(
        /(?:^|\n)(?:import|export)\s+(?!type\b)[^'";]*?from\s+'(\.[^']+)'/g,
      ),
    ].map((m) => relative(SRC, normalize(join(SRC, dirname(file), m[1] ?? ''))));
  const reached = new Set<string>();
  const follow = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const next of loads(file)) follow(next);
  };
  for (const name of light) follow(`cli/${name}.ts`);
  expect(reached.size).toBeGreaterThan(50);
  expect([...reached].filter((file) => /^runtime\/(?:index|host)\.ts$|^agents\//.test(file))).toEqual([]);
});
