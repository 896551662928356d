/** A data folder that is moved, thrown away or replaced under the process that owns it: nothing is written where nobody would find it, and nothing of others is cut. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Store } from '../../../src/core/store.ts';
import { dayOf } from '../../../src/core/time.ts';
import { openFsStore } from '../../../src/store/fs/store.ts';
import { add, all, temporaryFolder } from './folder.ts';

const NOW = Date.parse('2026-03-04T05:06:07Z');
const open = (dir: string): Promise<Store> => openFsStore(dir, { now: () => NOW });
const journalOf = (dir: string): string => join(dir, 'events', `${dayOf(NOW)}.jsonl`);
const titles = async (store: Store): Promise<string[]> => (await all(store.tasks())).map(({ title }) => title);

async function filled(dir: string): Promise<Store> {
  const store = await open(dir);
  await add(store, { title: 'one' });
  await add(store, { title: 'two' });
  return store;
}

test.each([
  ['after its first write', filled],
  [
    'before its first write',
    async (dir: string): Promise<Store> => {
      await (await filled(dir)).close();
      return open(dir);
    },
  ],
])('a folder that was moved away %s is not made again', async (_, opened) => {
  const dir = join(temporaryFolder(), 'data');
  const store = await opened(dir);
  renameSync(dir, `${dir}-moved`);
  for (let i = 0; i < 3; i++)
    await expect(add(store, { title: 'lost' })).rejects.toMatchObject({ code: 'E_STORE_FORM' });
  await store.close();
  expect(existsSync(dir)).toBe(false);

  const there = await open(`${dir}-moved`);
  expect(await titles(there)).toEqual(['one', 'two']);
  expect(await there.verify()).toMatchObject({ ok: true });
  await there.close();
});

test('a folder that is put back is used again', async () => {
  const dir = join(temporaryFolder(), 'data');
  const store = await filled(dir);
  renameSync(dir, `${dir}-moved`);
  await expect(add(store, { title: 'lost' })).rejects.toMatchObject({ code: 'E_STORE_FORM' });
  renameSync(`${dir}-moved`, dir);
  await add(store, { title: 'three' });
  expect(await titles(store)).toEqual(['one', 'two', 'three']);
  expect(await store.verify()).toMatchObject({ ok: true, records: 3 });
  await store.close();
});

test('what another has written in its place is not cut off', async () => {
  const dir = join(temporaryFolder(), 'data');
  const old = await filled(dir);
  rmSync(dir, { recursive: true });
  const other = await open(dir);
  for (let i = 0; i < 6; i++) await add(other, { title: `new ${i}` });
  await other.settled();
  const before = readFileSync(journalOf(dir), 'utf8');
  for (let i = 0; i < 3; i++) await expect(add(old, { title: 'lost' })).rejects.toMatchObject({ code: 'E_STORE_FORM' });
  await old.close();
  expect(readFileSync(journalOf(dir), 'utf8')).toBe(before);
  await add(other, { title: 'last' });
  await other.close();

  const again = await open(dir);
  expect(await titles(again)).toEqual(['new 0', 'new 1', 'new 2', 'new 3', 'new 4', 'new 5', 'last']);
  expect(await again.verify()).toMatchObject({ ok: true, records: 7 });
  await again.close();
});

test('what another has written into the very same file is not cut off', async () => {
  const dir = temporaryFolder();
  const store = await filled(dir);
  const text = readFileSync(journalOf(dir), 'utf8');
  writeFileSync(journalOf(dir), 'of another\n', { flag: 'a' });
  for (let i = 0; i < 2; i++)
    await expect(add(store, { title: 'lost' })).rejects.toMatchObject({ code: 'E_STORE_FORM' });
  await store.close();
  expect(readFileSync(journalOf(dir), 'utf8')).toBe(`${text}of another\n`);
});
