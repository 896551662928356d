/** A room whose README lists its files lists all of them and no others; links of the documents lead somewhere. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const below = (folder: string, ending: RegExp): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => join(folder, name));
const rooms = below('src', /README\.md$/);

/** Every dialect has these two; the recipes of ARCHITECTURE.md say what they are. */
const EVERYWHERE = ['dialect.ts', 'index.ts'];

test.each(rooms)('%s lists the files of its room', (file) => {
  const folder = dirname(file);
  const named = [...read(file).matchAll(/`([a-z0-9-]+\.(?:ts|mjs))`/g)].map(([, name = '']) => name);
  const there = readdirSync(join(ROOT, folder)).filter((name) => /\.(ts|mjs)$/.test(name));
  expect(there.filter((name) => !named.includes(name) && !EVERYWHERE.includes(name))).toEqual([]);
  const listed = [...read(file).matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) => cell.match(/[a-z0-9-]+\.ts/g));
  expect(listed.filter((name) => name !== null && !there.includes(name))).toEqual([]);
});

test.each(['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', ...below('docs', /\.md$/), ...rooms])(
  'the links of %s lead somewhere',
  (file) => {
    const links = [...read(file).matchAll(/\]\(([^)#\s]+)/g)].map(([, link = '']) => link);
    const own = links.filter((link) => !link.startsWith('http'));
    expect(own.filter((link) => !existsSync(join(ROOT, dirname(file), link)))).toEqual([]);
  },
);
