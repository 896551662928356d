/** ARCHITECTURE.md ends with recipes for a new dialect, agent, command and error. They are true to the files, and no second list makes them longer. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AGENT_KINDS } from '../../src/core/agent-kinds.ts';
import { COMMANDS } from '../../src/protocol/command/table.ts';
import { DIALECT_NAMES } from '../../src/protocol/dialects.ts';
import * as protocol from '../../src/protocol/index.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const recipes = read('ARCHITECTURE.md').split('\n## Four recipes\n')[1] ?? '';
/** A step, with the lines that it goes on in. */
const steps = recipes.split(/\n(?=\d+\. |### |\n)/).filter((text) => /^\d+\. /.test(text));
const quoted = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);
const isPath = (word: string): boolean => /^(?:src|test|docs)\/|^[A-Z]+\.md$/.test(word);
const filesOf = (path: string): string[] => {
  if (path.includes('<dialect>')) return DIALECT_NAMES.map((name) => path.replace('<dialect>', name));
  if (path.includes('<kind>')) return AGENT_KINDS.map((kind) => path.replace('<kind>', kind));
  return path.includes('<file>') ? [path.replace('/<file>.ts', '')] : [path];
};

describe('the recipes', () => {
  test('are five, in numbered steps', () => {
    expect(recipes.match(/^1\. /gm)).toHaveLength(5);
    expect(steps.length).toBeGreaterThan(15);
  });

  test('name files that are there', () => {
    const missing = quoted(recipes)
      .filter(isPath)
      .flatMap(filesOf)
      .filter((file) => !existsSync(join(ROOT, file)));
    expect(missing).toEqual([]);
  });

  test('name what stands in those files', () => {
    const missing = steps.flatMap((step) => {
      const words = quoted(step);
      const files = words.filter(isPath).flatMap(filesOf);
      const texts = files.filter((file) => /\.(?:ts|md)$/.test(file)).map(read);
      return words
        .filter((word) => /^[A-Z_]{2,}$|^[A-Z][a-z]+[A-Z]\w+$/.test(word) && !isPath(word))
        .filter((word) => !texts.some((text) => new RegExp(`\\b${word}\\b`).test(text)))
        .map((word) => `${word} in ${files.join(', ')}`);
    });
    expect(missing).toEqual([]);
  });
});

test('every dialect has its folder, its namespace and its line in the README', () => {
  const folders = readdirSync(join(ROOT, 'src/protocol'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(ROOT, 'src/protocol', entry.name, 'dialect.ts')))
    .map(({ name }) => name);
  expect(folders.sort()).toEqual([...DIALECT_NAMES].sort());
  expect(Object.keys(protocol)).toEqual(expect.arrayContaining(DIALECT_NAMES));
  const readme = read('README.md');
  expect(DIALECT_NAMES.filter((name) => !readme.includes(`[${name}](src/protocol/${name})`))).toEqual([]);
});

test('every kind of agent is in the tables of docs/running.md and of its folder', () => {
  const [running, folder] = [read('docs/running.md'), read('src/agents/README.md')];
  expect(AGENT_KINDS.filter((kind) => !new RegExp(`^\\|[^|]*\`${kind}\``, 'm').test(running))).toEqual([]);
  expect(AGENT_KINDS.filter((kind) => !new RegExp(`^\\| ${kind} `, 'm').test(folder))).toEqual([]);
});

/** Code without its comments and imports; what help says in prose is not a list. */
const code = (file: string): string => read(file).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|^import [^;]*;/gm, '');
const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => `src/${file.replaceAll('\\', '/')}`);

/** Two of the names side by side: in a list, a union, a chain of comparisons, as keys of a table, or as names of modules. */
function listsOf(names: readonly string[], file: string): string | null {
  const name = `(?:${names.join('|')})`;
  const pairs = [
    `'${name}'\\s*[,|]\\s*'${name}'`,
    `[!=]== '${name}'\\s*(?:\\|\\||&&)\\s*[\\w.]+ [!=]== '${name}'`,
    `case '${name}':\\s*case '${name}':`,
    `^\\s*'?${name}'?: (?:[^\\n]*,|\\{[^}]*\\},|\\[[^\\]]*\\],)\\s*\\n\\s*'?${name}'?: `,
    `[{,]\\s*${name},\\s*${name}\\s*[,}]`,
    `\\(\\?:${name}\\b[^)]*\\|${name}\\b`,
  ];
  return new RegExp(pairs.join('|'), 'm').exec(code(file))?.[0] ?? null;
}

const found = (names: readonly string[], tables: readonly string[]): string[] =>
  sources.flatMap((file) => {
    const list = tables.some((table) => file.startsWith(table)) ? null : listsOf(names, file);
    return list === null ? [] : [`${file}: ${list}`];
  });

describe('there is no second list', () => {
  test('of dialects', () => {
    const tables = ['src/protocol/dialects.ts', 'src/protocol/parts.ts', 'src/protocol/index.ts'];
    expect(found(DIALECT_NAMES, tables)).toEqual([]);
  });

  test('of kinds of agents', () => {
    // Hooks are few programs' own; their table is in the recipe.
    const tables = ['src/core/agent-kinds.ts', 'src/agents/index.ts', 'src/cli/hooks-settings.ts'];
    expect(found(AGENT_KINDS, tables)).toEqual([]);
  });

  test('of commands', () => {
    // How an answer is told in a sentence is the one thing that the table does not say; what is not there is told as it is.
    const tables = ['src/protocol/command/table.ts', 'src/session/handlers.ts', 'src/session/spoken.ts'];
    expect(found(Object.keys(COMMANDS), tables)).toEqual([]);
  });

  test('and one would be seen', () => {
    for (const table of ['src/protocol/parts.ts', 'src/core/agent-kinds.ts', 'src/session/handlers.ts']) {
      const names = [...DIALECT_NAMES, ...AGENT_KINDS, ...Object.keys(COMMANDS)];
      expect(listsOf(names, table)).not.toBeNull();
    }
  });
});
