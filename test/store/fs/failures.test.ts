/** Full disk, read-only folder, a file for a folder, a newer version: one clear error, nothing damaged, and it goes on when the cause is gone. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { BatonError } from '../../../src/core/errors.ts';
import { openFsStore } from '../../../src/store/fs/store.ts';
import { openStore } from '../../../src/store/open.ts';
import { PATIENCE_MS } from '../../helpers/until.ts';
import { ALL_WRITES, failingDisk } from './failing-disk.ts';
import { add, all, temporaryFolder } from './folder.ts';

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (cause) {
    return cause instanceof BatonError ? cause.code : `${cause}`;
  }
  return 'nothing failed';
};

test.each([
  ['ENOSPC', 'append', 'E_STORE_FULL'],
  ['EDQUOT', 'append', 'E_STORE_FULL'],
  ['ENOSPC', 'fdatasync', 'E_STORE_FULL'],
  ['EIO', 'fdatasync', 'E_STORE_FAILED'],
  ['EIO', 'append', 'E_STORE_FAILED'],
] as const)(
  '%s at %s: refused with %s, nothing of it is kept, and then it goes on',
  async (code, operation, expected) => {
    const dir = temporaryFolder();
    const { disk, fail } = failingDisk();
    const store = await openFsStore(dir, { disk });
    const first = await add(store, { title: 'before' });
    fail(code, [operation]);
    const failures = await Promise.all([1, 2, 3].map((i) => codeOf(add(store, { title: `lost ${i}` }))));
    expect(failures).toEqual([expected, expected, expected]);
    expect(await codeOf(add(store, { title: 'lost too' }))).toBe(expected);
    expect((await all(store.tasks())).map(({ title }) => title)).toEqual(['before']);
    fail(null);
    const second = await add(store, { title: 'after' });
    expect(second.id > first.id).toBe(true);
    expect(await store.verify()).toEqual({ ok: true, records: 2, texts: 0, brokenAt: null, problems: [] });
    await store.close();
    const again = await openFsStore(dir);
    expect((await all(again.tasks())).map(({ title }) => title)).toEqual(['before', 'after']);
    await again.close();
  },
);

test('a long text that finds no place is refused before anything is recorded', async () => {
  const dir = temporaryFolder();
  const { disk, fail } = failingDisk();
  const store = await openFsStore(dir, { disk });
  fail('ENOSPC', ['write']);
  expect(await codeOf(add(store, { texts: { body: 'x'.repeat(20_000) } }))).toBe('E_STORE_FULL');
  fail(null);
  expect(await all(store.tasks())).toEqual([]);
  await add(store, { texts: { body: 'x'.repeat(20_000) } });
  await store.close();
});

test('a folder that cannot be written can be read', async () => {
  const dir = temporaryFolder();
  const writer = await openFsStore(dir);
  const { id } = await add(writer);
  await writer.close();
  const { disk, fail } = failingDisk();
  fail('EROFS', ALL_WRITES);
  const store = await openFsStore(dir, { disk });
  expect((await store.find(id))?.title).toBe('Mend the parser');
  expect(await store.text(id, 'body')).toBe('It drops a line.\n');
  expect(await codeOf(add(store))).toBe('E_STORE_UNWRITABLE');
  fail(null);
  await add(store);
  await store.close();
});

test('a torn tail in a folder that cannot be written is read over, and cut off when it can', async () => {
  const dir = temporaryFolder();
  const writer = await openFsStore(dir);
  await add(writer);
  await writer.close();
  const journal = join(dir, 'events', readdirSync(join(dir, 'events'))[0] as string);
  writeFileSync(journal, '{"seq":2,"at":"2026', { flag: 'a' });
  const { disk, fail } = failingDisk();
  fail('EROFS', ALL_WRITES);
  const store = await openFsStore(dir, { disk });
  expect(await all(store.tasks())).toHaveLength(1);
  fail(null);
  await add(store);
  expect((await store.verify()).ok).toBe(true);
  await store.close();
});

test('a file where the data folder should be', async () => {
  const dir = join(temporaryFolder(), 'data');
  writeFileSync(dir, 'mine');
  expect(await codeOf(openStore(dir, { create: true }))).toBe('E_STORE_FORM');
  expect(readFileSync(dir, 'utf8')).toBe('mine');
});

test('a file where the journal should be: refused, and it goes on when it is gone', async () => {
  const dir = temporaryFolder();
  writeFileSync(join(dir, 'events'), 'mine');
  const store = await openFsStore(dir);
  expect(await codeOf(add(store))).toBe('E_STORE_FORM');
  expect(readFileSync(join(dir, 'events'), 'utf8')).toBe('mine');
  rmSync(join(dir, 'events'));
  await add(store);
  await store.close();
});

test('a file where the tree should be harms nothing but the tree, and is said', async () => {
  const dir = temporaryFolder();
  writeFileSync(join(dir, 'tasks'), 'mine');
  const store = await openFsStore(dir);
  await add(store);
  const checks = await store.examine();
  expect(checks.filter(({ ok }) => !ok).map(({ detail }) => detail)).toEqual([expect.stringMatching(/folder/)]);
  expect(readFileSync(join(dir, 'tasks'), 'utf8')).toBe('mine');
  await store.close();
});

test('a data folder of a newer version is refused, and nothing in it is touched', async () => {
  const dir = temporaryFolder();
  writeFileSync(join(dir, 'baton.json'), JSON.stringify({ format: 2, version: '9.0.0', secret: 'x' }));
  await expect(openStore(dir, { create: true })).rejects.toMatchObject({
    code: 'E_STORE_VERSION',
    message: expect.stringMatching(/format 2 of Baton 9\.0\.0/),
  });
  expect(readdirSync(dir)).toEqual(['baton.json']);
});

test('a marker that says nothing is refused', async () => {
  const dir = temporaryFolder();
  writeFileSync(join(dir, 'baton.json'), 'hello');
  expect(await codeOf(openStore(dir, { create: true }))).toBe('E_STORE_FORM');
});

test('without create, a missing folder is not made', async () => {
  const dir = join(temporaryFolder(), 'none');
  expect(await codeOf(openStore(dir))).toBe('E_NOT_FOUND');
  expect(existsSync(dir)).toBe(false);
});

test('a folder that somebody made is taken, and kept out of git', async () => {
  const dir = join(temporaryFolder(), 'data');
  mkdirSync(dir);
  const store = await openStore(dir, { create: true });
  await store.close();
  expect(readFileSync(join(dir, '.gitignore'), 'utf8')).toBe('*\n');
});

test.runIf(process.platform === 'linux')('a place where nothing can be made is refused at once', async () => {
  expect(await codeOf(openStore('/proc/baton/data', { create: true }))).toMatch(/^E_STORE_/);
});

test('a journal that is replaced under a running store is noticed before anything is acknowledged', async () => {
  const dir = temporaryFolder();
  const store = await openFsStore(dir);
  await add(store);
  const journal = join(dir, 'events', readdirSync(join(dir, 'events'))[0] as string);
  const text = readFileSync(journal);
  rmSync(journal);
  writeFileSync(journal, text);
  expect(await codeOf(add(store, { title: 'into nowhere' }))).toBe('E_STORE_FORM');
  // What is there is taken up, and it goes on.
  await add(store, { title: 'after' });
  await store.close();
  const again = await openFsStore(dir);
  expect((await all(again.tasks())).map(({ title }) => title)).toEqual(['Mend the parser', 'after']);
  await again.close();
});

test('a data folder that is thrown away does not come back', async () => {
  const dir = join(temporaryFolder(), 'data');
  const store = await openFsStore(dir, { watch: true });
  await add(store);
  await store.settled();
  await vi.waitFor(() => expect(existsSync(join(dir, 'tasks', 'done'))).toBe(true), { timeout: PATIENCE_MS });
  rmSync(dir, { recursive: true });
  expect(await codeOf(add(store))).toMatch(/^E_STORE_/);
  await store.close().catch(() => {});
  expect(existsSync(dir)).toBe(false);
});

test('a folder with other things in it is not made into a data folder', async () => {
  const dir = temporaryFolder();
  writeFileSync(join(dir, 'main.ts'), 'mine');
  expect(await codeOf(openStore(dir, { create: true }))).toBe('E_STORE_FORM');
  expect(readdirSync(dir)).toEqual(['main.ts']);
});

test('a text that is gone keeps nobody from the rest', async () => {
  const dir = temporaryFolder();
  const store = await openFsStore(dir);
  const { id } = await add(store, { texts: { body: 'x'.repeat(20_000) } });
  await add(store, { title: 'another' });
  await store.settled();
  rmSync(join(dir, 'content'), { recursive: true });
  expect(await codeOf(store.text(id, 'body'))).toBe('E_STORE_DAMAGED');
  expect(await store.history(id)).toHaveLength(1);
  expect(await all(store.eventsAfter({ after: 0 }))).toHaveLength(2);
  expect((await store.examine()).some(({ ok }) => !ok)).toBe(true);
  await store.close();
});

test('a text over ten million characters is refused', async () => {
  const store = await openFsStore(temporaryFolder());
  await expect(add(store, { texts: { body: 'x'.repeat(11_000_000) } })).rejects.toThrow('E_CONTEXT_OVERFLOW');
  await store.close();
});
