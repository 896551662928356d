/** What a person does in the tree while no Baton runs, or while the disk takes nothing: it is found later, and once. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Store } from '../../../src/core/store.ts';
import type { Disk } from '../../../src/store/fs/disk.ts';
import { type FsOptions, openFsStore } from '../../../src/store/fs/store.ts';
import { PATIENCE_MS } from '../../helpers/until.ts';
import { failingDisk } from './failing-disk.ts';
import { add, all, temporaryFolder } from './folder.ts';

const OLD = new Date('2026-01-01T00:00:00Z');
const eventually = <T>(check: () => Promise<T> | T): Promise<T> =>
  vi.waitFor(check, { timeout: PATIENCE_MS, interval: 20 });
const titles = async (store: Store): Promise<string[]> => (await all(store.tasks())).map(({ title }) => title);
const ready = (dir: string): string => join(dir, 'tasks', 'ready');

async function opened(dir: string, options: FsOptions = {}): Promise<Store> {
  const store = await openFsStore(dir, options);
  onTestFinished(() => store.close());
  return store;
}

/** Opens, looks and closes, like a command. */
async function command(dir: string, options: FsOptions = {}): Promise<string[]> {
  const store = await openFsStore(dir, options);
  const found = await titles(store);
  await store.close();
  return found;
}

/** Writes into the file where it is, and gives it a time of long ago, as `cp -p` does. */
function edit(dir: string, from: string, to: string): void {
  const name =
    readdirSync(ready(dir)).find((each) => readFileSync(join(ready(dir), each), 'utf8').includes(from)) ?? '';
  const path = join(ready(dir), name);
  writeFileSync(path, readFileSync(path, 'utf8').replace(`title: ${from}`, `title: ${to}`));
  utimesSync(path, OLD, OLD);
}

/** How many writes to the journal began, and how many failed; and a write that takes its time. */
function countedWrites(disk: Disk): { counting: Disk; begun(): number; failed(): number; hold(): () => void } {
  const count = { begun: 0, failed: 0 };
  let gate: Promise<void> = Promise.resolve();
  const appender: Disk['appender'] = (path) => {
    const file = disk.appender(path);
    return {
      ...file,
      async append(bytes) {
        count.begun++;
        await gate;
        await file.append(bytes).catch((cause: unknown) => {
          count.failed++;
          throw cause;
        });
      },
    };
  };
  return {
    counting: { ...disk, appender },
    begun: () => count.begun,
    failed: () => count.failed,
    hold() {
      let release = (): void => {};
      gate = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
  };
}

async function withTasks(...names: string[]): Promise<string> {
  const dir = temporaryFolder();
  const store = await openFsStore(dir);
  for (const title of names) await add(store, { title });
  await store.close();
  return dir;
}

test('a file that is dropped again, the same in name, text and time, is another task', async () => {
  const dir = await withTasks('one');
  const template = join(temporaryFolder(), 'weekly.md');
  writeFileSync(template, '# weekly\n\ndo it\n');
  const drop = (): void => {
    copyFileSync(template, join(ready(dir), 'weekly.md'));
    utimesSync(join(ready(dir), 'weekly.md'), OLD, OLD);
  };
  drop();
  expect(await command(dir)).toEqual(['one', 'weekly']);
  expect(await command(dir)).toEqual(['one', 'weekly']);
  drop();
  expect(await command(dir)).toEqual(['one', 'weekly', 'weekly']);
});

test('an edit is found by the next command, whatever time the file has', async () => {
  const dir = await withTasks('one');
  await new Promise((resolve) => setTimeout(resolve, 30)); // a clock's step
  edit(dir, 'one', 'eins');
  expect(await command(dir)).toEqual(['eins']);
});

test('an edit is found by the next command though the clock was set back', async () => {
  const dir = await withTasks('one');
  const mark = JSON.parse(readFileSync(join(dir, 'tree.json'), 'utf8')) as { at: number };
  writeFileSync(join(dir, 'tree.json'), JSON.stringify({ ...mark, at: mark.at + 3_600_000 }));
  edit(dir, 'one', 'eins');
  expect(await command(dir)).toEqual(['eins']);
});

test('of many tasks, an edit that a command does not look for is found by a process that stays', async () => {
  const dir = await withTasks('one', 'two', 'three');
  await new Promise((resolve) => setTimeout(resolve, 30));
  edit(dir, 'two', 'zwei');
  await new Promise((resolve) => setTimeout(resolve, 30));
  for (let i = 0; i < 2; i++) expect(await command(dir, { few: 2 })).toEqual(['one', 'two', 'three']);
  const store = await opened(dir, { few: 2, watch: true });
  await eventually(async () => expect(await titles(store)).toEqual(['one', 'zwei', 'three']));
});

test('an edit that a full disk keeps from being recorded is taken in when there is room', async () => {
  const dir = temporaryFolder();
  const { disk, fail } = failingDisk();
  const { counting, failed } = countedWrites(disk);
  const store = await opened(dir, { disk: counting, watch: true });
  await add(store, { title: 'one' });
  await store.settled();
  await eventually(() => expect(existsSync(join(dir, 'tasks', 'done'))).toBe(true)); // it watches
  fail('ENOSPC');
  edit(dir, 'one', 'eins');
  await eventually(() => expect(failed()).toBeGreaterThan(0));
  fail(null);
  await eventually(async () => expect(await titles(store)).toEqual(['eins']));
});

test('a task whose turn came while the journal failed still gets its file', async () => {
  const dir = temporaryFolder();
  const { disk, fail } = failingDisk();
  const { counting, begun, hold } = countedWrites(disk);
  const store = await opened(dir, { disk: counting });
  mkdirSync(ready(dir), { recursive: true });
  const { id } = await add(store, { title: 'one' });
  fail('ENOSPC');
  const release = hold();
  const before = begun();
  const failing = expect(add(store, { title: 'two' })).rejects.toMatchObject({ code: 'E_STORE_FULL' });
  await eventually(() => expect(begun()).toBeGreaterThan(before));
  await new Promise((resolve) => setTimeout(resolve, 500)); // the first one's file is due, and waits for this write
  release();
  await failing;
  fail(null);
  await eventually(() => expect(readdirSync(ready(dir))).toEqual([`${id}.md`]));
});

test('a long text is kept anew where its file was damaged, and leaves nothing where there is no room', async () => {
  const dir = temporaryFolder();
  const { disk, fail } = failingDisk();
  const store = await opened(dir, { disk });
  const body = 'a long text\n'.repeat(2_000);
  await add(store, { texts: { body } });
  const [folder = ''] = readdirSync(join(dir, 'content'));
  const [name = ''] = readdirSync(join(dir, 'content', folder));
  writeFileSync(join(dir, 'content', folder, name), body.replaceAll('long', 'lame'));
  const { id } = await add(store, { texts: { body } });
  expect(await store.text(id, 'body')).toBe(body);
  await store.settled();
  fail('ENOSPC', ['sync']);
  await expect(add(store, { texts: { body: `another ${body}` } })).rejects.toMatchObject({ code: 'E_STORE_FULL' });
  fail(null);
  expect(readdirSync(join(dir, 'tmp'))).toEqual([]);
});

/** Adds tasks for a time, too many for the tree to catch up; how far it had looked when it was closed, in milliseconds after the start. */
async function lookedWhileBusy(ms: number): Promise<number> {
  const dir = temporaryFolder();
  const store = await openFsStore(dir, { watch: true });
  const began = Date.now();
  const worker = async (): Promise<void> => {
    for (let i = 0; Date.now() - began < ms; i++) await add(store, { title: `Task ${i}` });
  };
  await Promise.all(Array.from({ length: 200 }, worker));
  await store.close();
  return (JSON.parse(readFileSync(join(dir, 'tree.json'), 'utf8')) as { at: number }).at - began;
}

test('whoever stays says how far it has looked, also when it never comes to rest', async () => {
  // The first is longer than it takes to begin to watch and to be sure of what was noticed; on a busy machine that takes longer.
  for (const ms of [2_600, 10_000]) if ((await lookedWhileBusy(ms)) > 300) return;
  expect(await lookedWhileBusy(30_000)).toBeGreaterThan(300);
});
