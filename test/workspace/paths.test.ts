import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isBelow } from '../../src/process/files.ts';
import { plainBelow, rebase, resolveIn, resolveParentIn, withinReal } from '../../src/workspace/paths.ts';
import { tempFolder, write } from './helpers.ts';

function place(): { ws: string; outside: string } {
  const top = tempFolder();
  const [ws, outside] = [join(top, 'ws'), join(top, 'outside')];
  mkdirSync(join(outside, 'deep'), { recursive: true });
  write(ws, { 'src/a.txt': 'a' });
  return { ws, outside };
}

test('a path is resolved against the workspace, whichever way it is written', async () => {
  const { ws } = place();
  expect(await resolveIn(ws, 'src/a.txt')).toBe(join(ws, 'src/a.txt'));
  expect(await resolveIn(ws, 'src\\a.txt')).toBe(join(ws, 'src/a.txt'));
  expect(await resolveIn(ws, './src/../new\\er/x')).toBe(join(ws, 'new/er/x'));
  expect(await resolveIn(ws, join(ws, 'src'))).toBe(join(ws, 'src'));
  expect(await resolveIn(ws, '.')).toBe(ws);
  expect(await resolveIn(ws, '../../../../../../../../..')).toBe('/');
  expect(await resolveIn(ws, 'C:/windows/x')).toBe('/C:/windows/x');
});

test('links are followed as the kernel follows them, also to what is not there', async () => {
  const { ws, outside } = place();
  symlinkSync(join(outside, 'deep'), join(ws, 'link'));
  symlinkSync('../outside/none', join(ws, 'dangling'));
  symlinkSync('circle', join(ws, 'circle'));
  expect(await resolveIn(ws, 'link/new.txt')).toBe(join(outside, 'deep/new.txt'));
  // Not `ws`: the folder above what the link leads to.
  expect(await resolveIn(ws, 'link/../x')).toBe(join(outside, 'x'));
  expect(await resolveIn(ws, 'dangling/x')).toBe(join(outside, 'none/x'));
  expect(await resolveParentIn(ws, 'link')).toBe(join(ws, 'link'));
  expect(await resolveParentIn(ws, 'link/')).toBe(join(ws, 'link'));
  expect(await resolveParentIn(ws, 'link/x')).toBe(join(outside, 'deep/x'));
  await expect(resolveIn(ws, 'circle/x')).rejects.toMatchObject({ code: 'E_FILE_NOT_FOUND' });
  await expect(resolveIn(ws, 'a\0b')).rejects.toMatchObject({ code: 'E_SCHEMA_VALIDATION' });
});

test('within is by segments and where things really are', async () => {
  const { ws, outside } = place();
  symlinkSync(outside, join(ws, 'out'));
  symlinkSync(ws, join(outside, 'in'));
  expect(await withinReal(join(ws, 'src/x'), [ws])).toBe(true);
  expect(await withinReal(ws, [ws])).toBe(true);
  expect(await withinReal(`${ws}-evil`, [ws])).toBe(false);
  expect(await withinReal(join(ws, 'out/x'), [ws])).toBe(false);
  expect(await withinReal(join(outside, 'in/x'), [ws])).toBe(true);
  expect(await withinReal(join(ws, 'src'), [join(outside, 'in')])).toBe(true);
  expect(await withinReal(join(ws, '..'), [ws])).toBe(false);
  expect(await withinReal(ws, [])).toBe(false);
  expect(isBelow('/ws/..x', ['/ws'])).toBe(true);
  expect(isBelow('/ws\\x', ['/ws'])).toBe(false);
});

test('a plain path has no link between it and its root', async () => {
  const { ws, outside } = place();
  symlinkSync('src', join(ws, 'inner'));
  symlinkSync(ws, join(outside, 'alias'));
  symlinkSync('.', join(ws, 'self'));
  expect(await plainBelow(ws, 'self/x', [ws])).toBe(null);
  expect(await plainBelow(ws, join(outside, 'alias/src/y'), [ws])).toBe(join(ws, 'src/y'));
  expect(await plainBelow(ws, join(outside, 'alias/inner/y'), [ws])).toBe(null);
  expect(await plainBelow(ws, 'src/.snap/x', [ws])).toBe(join(ws, 'src/.snap/x'));
  expect(await plainBelow(ws, 'inner/x', [ws])).toBe(null);
  expect(await plainBelow(ws, '../x', [ws])).toBe(null);
  // The root itself may be written with a link.
  expect(await plainBelow(ws, join(outside, 'alias/src/x'), [join(outside, 'alias')])).toBe(join(ws, 'src/x'));
});

test('a path for one folder is found in the one that stands in for it', () => {
  expect(rebase('/home/p/src/a', '/home/p', '/wt')).toBe('/wt/src/a');
  expect(rebase('src/a', '/home/p', '/wt')).toBe('src/a');
  expect(rebase('src/a', '/home/p', '/home/p/.baton/wt')).toBe('src/a');
  expect(rebase('/home/p/src/a', '/home/p', '/home/p/.baton/wt')).toBe('/home/p/.baton/wt/src/a');
  expect(rebase('/home/p-other/a', '/home/p', '/wt')).toBe('/home/p-other/a');
});
