/** Census and artifacts: what is different after a run. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compare, lookAt } from '../../src/workspace/artifacts.ts';
import { changesSince, takeCensus } from '../../src/workspace/census.ts';
import { tempFolder, write } from './helpers.ts';

const NON_UTF8 = Buffer.from([0x66, 0xff, 0x2e, 0x74]);

test('a census sees what was made, changed and removed, and nothing else', async () => {
  const ws = tempFolder();
  write(ws, {
    'same.txt': 's',
    'src/in.txt': 'i',
    'old/x': 'x',
    'gone/y': 'y',
    'back.txt': '1111',
    'data/journal': 'j',
  });
  write(ws, { 'odd \'" \n-name': 'o', '.git/HEAD': 'h' });
  symlinkSync('src', join(ws, 'link'));
  const then = new Date(1_600_000_000_000);
  utimesSync(join(ws, 'back.txt'), then, then);
  const except = [join(ws, 'data'), join(ws, '.git'), join(ws, 'src')];
  const census = await takeCensus(ws, except);
  expect(await changesSince(census)).toEqual([]);

  write(ws, {
    'new/deep/file': 'n',
    'src/in.txt': 'changed',
    'src/more': 'm',
    'data/journal': 'jj',
    '.git/index': 'i',
  });
  write(ws, { 'odd \'" \n-name': 'O' });
  mkdirSync(join(ws, 'empty'));
  rmSync(join(ws, 'gone'), { recursive: true });
  chmodSync(join(ws, 'old/x'), 0o755);
  rmSync(join(ws, 'link'));
  symlinkSync('old', join(ws, 'link'));
  writeFileSync(Buffer.concat([Buffer.from(`${ws}/`), NON_UTF8]), 'bytes');
  // The same length, and the time put back: the change time tells.
  writeFileSync(join(ws, 'back.txt'), '2222');
  utimesSync(join(ws, 'back.txt'), then, then);
  const changes = (await changesSince(census)).map(({ path, status }) => `${status} ${path.slice(ws.length + 1)}`);
  expect(changes.sort()).toEqual(
    [
      'CREATED empty',
      'CREATED new/deep/file',
      `CREATED ${NON_UTF8.toString('utf8')}`,
      'DELETED gone/y',
      'UPDATED back.txt',
      'UPDATED link',
      'UPDATED odd \'" \n-name',
      'UPDATED old/x',
    ].sort(),
  );
});

test('a file that takes the place of a folder, and the other way round', async () => {
  const ws = tempFolder();
  write(ws, { 'a/x': 'x', b: 'b' });
  const census = await takeCensus(ws, []);
  rmSync(join(ws, 'a'), { recursive: true });
  rmSync(join(ws, 'b'));
  write(ws, { a: 'file', 'b/y': 'y' });
  expect(await changesSince(census)).toEqual([
    { path: join(ws, 'a'), status: 'UPDATED' },
    { path: join(ws, 'a/x'), status: 'DELETED' },
    { path: join(ws, 'b'), status: 'UPDATED' },
    { path: join(ws, 'b/y'), status: 'CREATED' },
  ]);
});

test('artifacts are told by their hash', async () => {
  const ws = tempFolder();
  write(ws, { 'f.txt': 'hello', 'dir/a': '1', 'dir/sub/b': '2', 'dir/data/j': 'j' });
  symlinkSync('f.txt', join(ws, 'link'));
  symlinkSync('nowhere', join(ws, 'dangling'));
  execFileSync('mkfifo', [join(ws, 'pipe')]);
  const paths = ['f.txt', 'dir', 'none', 'link', 'dangling', 'pipe'].map((name) => join(ws, name));
  const before = await lookAt(paths, [join(ws, 'dir/data')]);
  const [file, dir, none, link, dangling, pipe] = paths.map((path) => before.get(path));
  const hello = 'sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
  expect(file).toEqual({ hash: hello, sizeBytes: 5, exists: true, isFolder: false, isLink: false });
  expect(dir).toMatchObject({ hash: expect.stringMatching(/^sha256:/), sizeBytes: 2, exists: true, isFolder: true });
  expect(none).toMatchObject({ hash: null, exists: false });
  expect(link).toMatchObject({ hash: hello, isLink: true });
  expect(dangling).toMatchObject({ exists: false, isLink: true });
  expect(pipe).toMatchObject({ hash: null, exists: true });

  write(ws, { none: 'now', 'dir/data/j': 'jj' });
  rmSync(join(ws, 'f.txt'));
  const again = await lookAt(paths, [join(ws, 'dir/data')]);
  const became = paths.map((path) => compare(before.get(path), again.get(path)));
  expect(became).toEqual(['DELETED', 'UNCHANGED', 'CREATED', 'DELETED', 'UNCHANGED', 'UPDATED']);
  renameSync(join(ws, 'dir/a'), join(ws, 'dir/c'));
  const later = await lookAt(paths, [join(ws, 'dir/data')]);
  expect(compare(again.get(paths[1] ?? ''), later.get(paths[1] ?? ''))).toBe('UPDATED');
});
