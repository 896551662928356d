/** What was acknowledged and then changed on disk: named by verify, refused at the start, passed over only when asked to. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { Store } from '../../../src/core/store.ts';
import { examine } from '../../../src/store/fs/doctor.ts';
import { openFsStore } from '../../../src/store/fs/store.ts';
import { openStore } from '../../../src/store/open.ts';
import { add, all, move, temporaryFolder } from './folder.ts';

let dir = '';
const journal = (): string => join(dir, 'events', readdirSync(join(dir, 'events'))[0] as string);
const lines = (): string[] => readFileSync(journal(), 'utf8').trimEnd().split('\n');
const write = (changed: readonly string[]): void => writeFileSync(journal(), `${changed.join('\n')}\n`);

/** Six records of two sessions. */
async function fill(store: Store): Promise<void> {
  const one = await add(store, { title: 'one' });
  const two = await add(store, { title: 'two', session: 'other' });
  await add(store, { title: 'three' });
  await move(store, one.id, 'blocked');
  await move(store, two.id, 'blocked');
  await add(store, { title: 'four' });
}

beforeEach(async () => {
  dir = temporaryFolder();
  const store = await openFsStore(dir);
  await fill(store);
  await store.close();
});

/** Verifies what is on disk without loading it first: the store is opened before the change is made. */
async function verified(change: (text: string[]) => string[], session?: string) {
  const store = await openFsStore(dir);
  write(change(lines()));
  const proof = await store.verify(session);
  await store.close();
  return proof;
}

test('an untouched journal is whole', async () => {
  expect(await verified((text) => text)).toEqual({ ok: true, records: 6, texts: 0, brokenAt: null, problems: [] });
  expect(await verified((text) => text, 'other')).toEqual({
    ok: true,
    records: 2,
    texts: 0,
    brokenAt: null,
    problems: [],
  });
});

test.each([
  ['a changed word', (text: string[]) => text.with(2, (text[2] as string).replace('three', 'drei')), 3],
  ['a changed time', (text: string[]) => text.with(3, (text[3] as string).replace(/"at":"\d{4}/, '"at":"1999')), 4],
  ['a record that is gone', (text: string[]) => text.toSpliced(1, 1), 2],
  ['two records swapped', (text: string[]) => text.with(2, text[3] as string).with(3, text[2] as string), 3],
  ['a record twice', (text: string[]) => text.toSpliced(2, 0, text[2] as string), 4],
  ['the last records gone', (text: string[]) => text.slice(0, 4), 5],
  ['a line of rubbish', (text: string[]) => text.toSpliced(4, 0, 'rubbish'), 5],
] as const)('verify names %s', async (_, change, seq) => {
  const proof = await verified(change as (text: string[]) => string[]);
  expect(proof.ok).toBe(false);
  expect(proof.brokenAt?.seq).toBe(seq);
});

test('who changes a record and its own hash is found at the next record of the session', async () => {
  const { hash } = await import('node:crypto');
  const { genesis } = await import('../../../src/store/fs/record.ts');
  const proof = await verified((text) => {
    const body = (text[0] as string).replace('"one"', '"eins"').replace(/,"hash":"\w+"\}$/, '}');
    const sum = hash('sha256', genesis('default') + body, 'hex');
    return text.with(0, `${body.slice(0, -1)},"hash":"${sum}"}`);
  });
  expect(proof.brokenAt?.seq).toBe(3);
});

test('a damaged record is refused at the start, and passed over only on request', async () => {
  write(lines().with(2, 'rubbish'));
  await expect(openFsStore(dir)).rejects.toMatchObject({ code: 'E_STORE_DAMAGED' });
  const before = readFileSync(journal(), 'utf8');
  expect(await examine(dir)).toMatchObject([{ name: 'data folder', ok: false }]);
  expect(readFileSync(journal(), 'utf8')).toBe(before);
  const made = await openStore(dir, { create: true }).catch((cause) => cause);
  expect(made).toMatchObject({ code: 'E_STORE_DAMAGED' });

  const checks = await examine(dir, { fix: true });
  expect(checks.find(({ name }) => name === 'damage')).toMatchObject({ ok: true });
  const store = await openFsStore(dir);
  // Its file was still in the tree, so that the task is there again.
  expect((await all(store.tasks())).map(({ title }) => title)).toEqual(['one', 'two', 'three', 'four']);
  expect((await store.verify()).brokenAt?.seq).toBe(3);
  await add(store, { title: 'five' });
  await store.close();
  const again = await openFsStore(dir);
  expect(await all(again.tasks())).toHaveLength(5);
  await again.close();
});

test('a torn last record is cut off and reported', async () => {
  writeFileSync(journal(), '{"seq":7,"at":"2026-01-01T00:00:00.000Z","session":"def', { flag: 'a' });
  const store = await openFsStore(dir);
  expect(await all(store.tasks())).toHaveLength(4);
  const events = (await all(store.eventsAfter({ after: 6 }))).flatMap(({ events }) => events);
  expect(events).toMatchObject([{ type: 'store.recovered', detail: { bytes: 55 } }]);
  expect(await store.verify()).toEqual({ ok: true, records: 7, texts: 0, brokenAt: null, problems: [] });
  await store.close();
});

test('a last record that was acknowledged is not taken for a torn one', async () => {
  const text = lines();
  write(text.with(5, (text[5] as string).replace('four', 'five')));
  await expect(openFsStore(dir)).rejects.toMatchObject({ code: 'E_STORE_DAMAGED' });
  write(text.slice(0, 5));
  await expect(openFsStore(dir)).rejects.toMatchObject({ code: 'E_STORE_DAMAGED' });
  const store = await openFsStore(dir, { repair: true });
  await add(store, { title: 'more' });
  await store.close();
  const again = await openFsStore(dir);
  await again.settled();
  // Its file was still there.
  expect((await all(again.tasks())).map(({ title }) => title)).toEqual(['one', 'two', 'three', 'four', 'more']);
  await again.close();
});

test.each([
  ['made unreadable', (text: string) => text.replace(/.{20}\n$/, 'rubbish\n')],
  ['cut short', (text: string) => text.slice(0, -10)],
])('what is written behind a last record that was %s is whole', async (_, change) => {
  writeFileSync(journal(), change(readFileSync(journal(), 'utf8')));
  const repaired = await openFsStore(dir, { repair: true });
  await repaired.settled();
  const { id } = await add(repaired, { title: 'more', texts: { body: 'a body\n' } });
  const look = async (store: Store): Promise<void> => {
    for (const task of await all(store.tasks())) {
      expect(await store.text(task.id, 'body'), task.title).not.toBeNull();
      expect(await store.history(task.id), task.title).not.toEqual([]);
    }
    expect(await store.text(id, 'body')).toBe('a body\n');
    const told = (await all(store.eventsAfter({ after: 5 }))).flatMap(({ events }) => events.map(({ type }) => type));
    expect(told).toEqual(['store.repaired', 'task.created', 'task.created']);
  };
  await look(repaired);
  await repaired.close();
  const again = await openFsStore(dir);
  await look(again);
  await again.close();
  // Without the snapshot as well, once that is asked for.
  rmSync(join(dir, 'snapshot.jsonl'));
  const from = await openFsStore(dir, { repair: true });
  expect((await all(from.tasks())).map(({ title }) => title)).toEqual(['one', 'two', 'three', 'four', 'more']);
  await from.close();
});

test('a snapshot that is broken is not needed', async () => {
  const store = await openFsStore(dir, { snapshotEvery: 1 });
  await add(store, { title: 'five' });
  await add(store, { title: 'six' });
  await add(store, { title: 'seven' });
  await store.settled();
  await store.close();
  const snapshot = join(dir, 'snapshot.jsonl');
  expect(readFileSync(snapshot, 'utf8')).toMatch(/\n"end"\n"seal \w{64}"\n$/);
  writeFileSync(snapshot, readFileSync(snapshot, 'utf8').slice(0, -20));
  const again = await openFsStore(dir);
  expect(await all(again.tasks())).toHaveLength(7);
  await again.close();
});

test('a journal that ends before the snapshot is damage', async () => {
  const store = await openFsStore(dir, { snapshotEvery: 1 });
  for (let i = 0; i < 8; i++) await add(store, { title: `more ${i}` });
  await store.settled();
  await store.close();
  write(lines().slice(0, 3));
  await expect(openFsStore(dir)).rejects.toMatchObject({ code: 'E_STORE_DAMAGED' });
  rmSync(join(dir, 'snapshot.jsonl'));
  await expect(openFsStore(dir)).rejects.toMatchObject({ code: 'E_STORE_DAMAGED' });
  rmSync(join(dir, 'tree.json'));
  rmSync(join(dir, 'tasks'), { recursive: true });
  const again = await openFsStore(dir);
  expect(await all(again.tasks())).toHaveLength(3);
  await again.close();
});
