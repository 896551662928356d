/** The graph on files: read when it is asked for, from a file of its own that may be missing, broken, old or of another journal. */
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { Store } from '../../../src/core/store.ts';
import { type Disk, realDisk } from '../../../src/store/fs/disk.ts';
import { examine } from '../../../src/store/fs/doctor.ts';
import { layoutOf } from '../../../src/store/fs/layout.ts';
import { makeFolder, secretOf } from '../../../src/store/fs/marker.ts';
import { sealed } from '../../../src/store/fs/seal.ts';
import { type FsOptions, openFsStore } from '../../../src/store/fs/store.ts';
import { adding, apply, everything, story, taken, updating } from '../conformance-graph.ts';
import { failingDisk } from './failing-disk.ts';
import { add, all, temporaryFolder } from './folder.ts';

const START = Date.UTC(2026, 2, 1, 9);
let dir = '';
const open = (options: FsOptions = {}): Promise<Store> => openFsStore(dir, { now: () => START, ...options });
const graphFile = (): string => join(dir, 'graph.jsonl');
const snapshot = (): string => join(dir, 'snapshot.jsonl');
const journal = (): string => join(dir, 'events', readdirSync(join(dir, 'events'))[0] as string);
const header = (file: string): Record<string, unknown> =>
  JSON.parse(readFileSync(file, 'utf8').split('\n')[0] as string) as Record<string, unknown>;
const note = (store: Store): Promise<unknown> => taken(store, { type: 'note', event: 'noted', detail: {} });

/** The real disk, and how many bytes of a file were read from where. */
function watchedDisk(): { disk: Disk; reads: { path: string; offset: number }[] } {
  const reads: { path: string; offset: number }[] = [];
  const disk: Disk = {
    ...realDisk,
    readAt(path, offset, length) {
      reads.push({ path, offset });
      return realDisk.readAt(path, offset, length);
    },
  };
  return { disk, reads };
}

/** The story, and a snapshot of all of it and of the graph. */
async function written(): Promise<unknown> {
  const store = await open({ snapshotEvery: 1 });
  await story(store);
  const before = await everything(store);
  for (let i = 0; i < 40 && header(snapshot())['seq'] !== header(graphFile())['seq']; i++) {
    await apply(store, updating('unsure', { i }));
    await store.settled();
  }
  await store.settled();
  await store.close();
  return before;
}

/** What the store says, whatever has been written since. */
async function told(options: FsOptions = {}): Promise<unknown> {
  const store = await open(options);
  const found = await everything(store);
  await store.close();
  return found;
}

beforeEach(() => {
  dir = temporaryFolder();
  makeFolder(realDisk, layoutOf(dir), 'secret');
});

test('a start, and work on tasks, do not read the graph; the first question about it does', async () => {
  await written();
  const { disk, reads } = watchedDisk();
  const store = await open({ disk });
  await add(store);
  await all(store.tasks());
  await store.questions();
  await all(store.eventsAfter({ after: 0 }));
  await store.settled();
  expect(reads.filter(({ path }) => path === graphFile())).toEqual([]);
  expect(await store.node('fix_a')).toBeDefined();
  expect(reads.filter(({ path }) => path === graphFile())).not.toEqual([]);
  await store.close();
});

test('the graph is in its file, and what came behind it in the journal', async () => {
  await written();
  expect(readFileSync(graphFile(), 'utf8')).toMatch(/\n"end"\n"seal \w{64}"\n$/);
  const store = await open({ snapshotEvery: 1000 });
  await apply(store, adding('more', { sources: ['fix_a'] }), updating('fix_a', { again: 1 }));
  const before = await everything(store);
  await store.close();
  expect(header(graphFile())['seq']).toBeLessThan((header(snapshot())['seq'] as number) + 2);
  expect(await told()).toEqual(before);
});

test('records of tasks alone move on what is known of the file, so that they are not read for the graph', async () => {
  await written();
  rmSync(graphFile());
  const mending = await open();
  await mending.examine();
  await mending.close();
  const store = await open({ snapshotEvery: 5 });
  for (let i = 0; i < 60; i++) await note(store);
  await store.settled();
  await store.close();
  const { base, size } = header(snapshot())['graph'] as { base: number; size: number };
  expect(base).toBe(header(graphFile())['seq']);
  expect(size).toBeGreaterThan(header(graphFile())['size'] as number);
  const { disk, reads } = watchedDisk();
  const again = await open({ disk });
  reads.length = 0;
  await again.lineage('fix_a');
  const { day, size: end } = header(graphFile()) as { day: string; size: number };
  const offsets = reads.filter(({ path }) => path.endsWith(`${day}.jsonl`)).map(({ offset }) => offset);
  // One look shows that the file is of this journal.
  expect(offsets.filter((offset) => offset < size)).toEqual([end - 67]);
  await again.close();
});

test.each([
  ['missing', () => rmSync(graphFile()), /gone/],
  ['cut off', () => damage((text) => text.slice(0, -7)), /checksum/],
  ['without its seal, as 0.1.0 wrote it', () => damage(unsealed), /no checksum/],
  ['empty', () => writeFileSync(graphFile(), ''), /checksum/],
  ['rubbish', () => writeFileSync(graphFile(), '\0\0\0\n'), /checksum/],
  ['cut off and sealed', () => change((text) => text.slice(0, -7)), /cut off/],
  ['cut in a line and sealed', () => change((text) => text.slice(0, -60)), /cannot be read|cut off/],
  ['empty and sealed', () => change(() => ''), /empty/],
  ['rubbish and sealed', () => change(() => '\0\0\0\n'), /cannot be read/],
  ['of another format', () => change((text) => text.replace('"format":1', '"format":99')), /format 99/],
  ['of another journal', () => change((text) => text.replace(/"hash":"\w{4}/, '"hash":"0000')), /does not fit/],
  ['of a later time', () => change((text) => text.replace(/"seq":\d+/, '"seq":99999')), /does not fit/],
  [
    'short of a node',
    () => change((text) => text.replace(/"nodes":(\d+)/, (_, n) => `"nodes":${Number(n) + 1}`)),
    /cut off/,
  ],
])('a file that is %s: the whole journal is read, and the doctor says so and mends it', async (_, harm, reason) => {
  await written();
  const before = await told();
  harm();
  expect(await told()).toEqual(before);
  harm();
  const checks = await examine(dir);
  expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  expect(checks.find(({ name }) => name === 'graph')?.detail).toMatch(reason);
  expect(readFileSync(graphFile(), 'utf8')).toMatch(/\n"end"\n"seal [0-9a-f]{64}"\n$/);
  expect((await examine(dir)).find(({ name }) => name === 'graph')?.detail).toMatch(/^\d+ nodes$/);
  expect(await told()).toEqual(before);
});

const damage = (how: (text: string) => string): void =>
  writeFileSync(graphFile(), how(readFileSync(graphFile(), 'utf8')));
const unsealed = (text: string): string => text.replace(/"seal \w+"\n$/, '');
/** As somebody does who knows the secret: the seal fits. */
const change = (how: (text: string) => string): void =>
  damage((text) => [...sealed([how(unsealed(text))], secretOf(realDisk, layoutOf(dir)))].join(''));

test('an older or a newer file than the snapshot speaks of is read for what it is', async () => {
  await written();
  for (const file of ['graph.jsonl', 'snapshot.jsonl']) copyFileSync(join(dir, file), join(dir, `${file}.old`));
  const store = await open({ snapshotEvery: 1 });
  for (let i = 0; i < 30; i++) {
    await apply(store, ...(i === 0 ? [adding('more')] : []), updating('fix_a', { i }));
    await store.settled();
  }
  const before = await everything(store);
  await store.close();
  expect(header(graphFile())['seq']).not.toBe(header(`${graphFile()}.old`)['seq']);
  for (const file of ['graph.jsonl', 'snapshot.jsonl']) {
    copyFileSync(join(dir, file), join(dir, `${file}.new`));
    copyFileSync(join(dir, `${file}.old`), join(dir, file));
    expect(await told()).toEqual(before);
    copyFileSync(join(dir, `${file}.new`), join(dir, file));
  }
  expect(await told()).toEqual(before);
});

test('a folder of a Baton that knew no graph opens, and takes one', async () => {
  const store = await open({ snapshotEvery: 1 });
  for (let i = 0; i < 6; i++) await add(store, { title: `t${i}` });
  for (let i = 0; i < 12; i++) await note(store);
  await store.settled();
  await store.close();
  const [first = '', ...rest] = readFileSync(snapshot(), 'utf8').split('\n');
  const { questions: _, graph: __, ...old } = JSON.parse(first) as Record<string, unknown>;
  writeFileSync(snapshot(), [JSON.stringify(old), ...rest].join('\n'));
  expect(existsSync(graphFile())).toBe(false);
  const again = await open({ snapshotEvery: 1 });
  expect(await again.questions()).toEqual([]);
  expect(await all(again.nodes())).toEqual([]);
  await apply(again, adding('a', { confidence: 0.2 }));
  await note(again);
  await again.settled();
  const before = await everything(again);
  await again.close();
  expect(await told()).toEqual(before);
});

test('a graph that nobody reads is not lost by snapshots of tasks', async () => {
  const store = await open();
  await story(store);
  const before = await everything(store);
  await store.close();
  expect(existsSync(graphFile())).toBe(false);
  for (let round = 0; round < 3; round++) {
    const tasks = await open({ snapshotEvery: 2 });
    for (let i = 0; i < 20; i++) await note(tasks);
    await tasks.settled();
    await tasks.close();
  }
  expect(header(snapshot())['seq']).toBeGreaterThan(50);
  expect(existsSync(graphFile())).toBe(false);
  expect(await told()).toEqual(before);
});

test('damage that only the graph meets is refused there, and passed over only on request', async () => {
  const store = await open();
  for (let i = 0; i < 4; i++) await apply(store, adding(`n${i}`));
  await store.close();
  const tasks = await open({ snapshotEvery: 2 });
  for (let i = 0; i < 12; i++) await note(tasks);
  await tasks.settled();
  await tasks.close();
  const lines = readFileSync(journal(), 'utf8').trimEnd().split('\n');
  writeFileSync(journal(), `${lines.with(2, 'x'.repeat((lines[2] as string).length)).join('\n')}\n`);

  const again = await open();
  await expect(again.node('n0')).rejects.toMatchObject({ code: 'E_STORE_DAMAGED' });
  await expect(apply(again, adding('more'))).rejects.toMatchObject({ code: 'E_STORE_DAMAGED' });
  await add(again);
  expect((await again.examine()).find(({ name }) => name === 'graph')).toMatchObject({ ok: false });
  await again.close();

  const checks = await examine(dir, { fix: true });
  expect(checks.find(({ name }) => name === 'graph')?.detail).toMatch(/damaged records were passed over/);
  const mended = await open();
  expect((await all(mended.nodes())).map(({ id }) => id)).toEqual(['n0', 'n1', 'n3']);
  await apply(mended, adding('n2'));
  await mended.close();
  expect(JSON.stringify(await told())).toContain('"n2"');
});

test('a long document that is gone is damage; the rest is told', async () => {
  const store = await open();
  await apply(store, adding('long', {}, { text: 'x'.repeat(50_000) }), adding('short'));
  rmSync(join(dir, 'content'), { recursive: true });
  await expect(store.node('long')).rejects.toMatchObject({ code: 'E_STORE_DAMAGED' });
  expect(await store.node('short')).toBeDefined();
  expect(await store.lineage('long')).toBeDefined();
  await store.close();
});

test('a write that fails leaves nothing of it in the graph, and the store goes on', async () => {
  const { disk, fail } = failingDisk();
  const store = await open({ disk });
  await apply(store, adding('a'));
  fail('ENOSPC');
  await expect(apply(store, adding('b'), updating('a', { x: 1 }))).rejects.toMatchObject({ code: 'E_STORE_FULL' });
  fail(null);
  expect(await store.node('b')).toBeUndefined();
  expect((await store.node('a'))?.document['data']).toEqual({ summary: 'about a' });
  await apply(store, adding('b'));
  const before = await everything(store);
  await store.close();
  expect(await told()).toEqual(before);
});

test('a file that cannot be written costs nothing but reading the journal', async () => {
  const { disk, fail } = failingDisk();
  const store = await open({ disk, snapshotEvery: 1 });
  await apply(store, adding('a'));
  fail('EIO', ['rename']);
  for (let i = 0; i < 10; i++) await apply(store, adding(`b${i}`, { sources: ['a'] }), updating('a', { i }));
  await store.settled();
  expect((await store.examine()).find(({ name }) => name === 'snapshot')).toMatchObject({ ok: false });
  fail(null);
  const before = await everything(store);
  await store.close();
  expect(await told()).toEqual(before);
});

test('what is on its way to the disk does not hide what is there', async () => {
  const store = await open();
  const { id } = await add(store, { texts: { body: 'round 0' } });
  await apply(store, adding('a', {}, { round: 0 }));
  const found: unknown[] = [];
  const sent: Promise<unknown>[] = [];
  for (let round = 1; round <= 70; round++) {
    sent.push(
      taken(store, { type: 'task.edit', id, texts: { body: `round ${round}` } }),
      apply(store, updating('a', { round })),
    );
    sent.push(store.text(id, 'body').then((text) => found.push(text)));
    sent.push(store.history(id).then(({ length }) => found.push(length > 0)));
    sent.push(store.node('a').then((node) => found.push(typeof (node?.document['data'] as { round?: number })?.round)));
    if (round % 9 === 0) await new Promise(setImmediate);
  }
  await Promise.all(sent);
  expect(found.filter((each) => each === null || each === false || each === 'undefined')).toEqual([]);
  await store.close();
});
