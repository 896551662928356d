/** What the package promises about itself. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ERRORS } from '../../src/core/errors.ts';
import { VERSION } from '../../src/core/version.ts';
import { DIALECT_NAMES } from '../../src/protocol/dialects.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const manifest = JSON.parse(read('package.json')) as {
  version: string;
  bin: Record<string, string>;
  exports: Record<string, { types: string; default: string } | string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};

test('the version is the version', () => {
  expect(VERSION).toBe(manifest.version);
});

test('every dependency is pinned exactly', () => {
  const loose = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }).filter(
    ([, v]) => !/^\d+\.\d+\.\d+$/.test(v),
  );
  expect(loose).toEqual([]);
});

test('every export and the bin are there after a build, with types', () => {
  const promised = Object.values(manifest.exports).flatMap((entry) =>
    typeof entry === 'string' ? [entry] : [entry.types, entry.default],
  );
  expect([...promised, manifest.bin['baton'] ?? ''].filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});

test('docs/errors.md lists exactly the codes of the error table, with their meaning and exit code', () => {
  const rows = [
    ...read('docs/errors.md').matchAll(/^\| `(E[A-Z0-9_]+)` +\| (.+?) +\| (\d) +\| (\d{3}) +\| (yes|no) +\|$/gm),
  ];
  const documented = Object.fromEntries(
    rows.map(([, code, meaning, exit, http, retry]) => [
      code,
      { meaning, exit: Number(exit), http: Number(http), retryable: retry === 'yes' },
    ]),
  );
  expect(documented).toEqual(
    Object.fromEntries(Object.entries(ERRORS).map(([code, { traits: _, ...told }]) => [code, told])),
  );
});

test('.ci/run calls the test command of the README', () => {
  const command = /```sh\n(npm ci && npm test)\n```/.exec(read('README.md'))?.[1];
  expect(command).toBeDefined();
  expect(read('.ci/run')).toContain(command);
});

test('each dialect has a README that says what the dialect loses', () => {
  for (const dialect of DIALECT_NAMES) {
    expect(read(`src/protocol/${dialect}/README.md`)).toMatch(/## What (?:this|the) dialect loses/i);
  }
});
