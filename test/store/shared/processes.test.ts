/** DESIGN, "The store": one process owns a data folder, two terminals just work, and whoever dies, nothing acknowledged is lost or done twice. */
import { existsSync, readdirSync as readNames, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import type { Worker } from './crew.ts';
import { cleanUp, isOwner, newFolder, removeFolders, start, until } from './crew.ts';
import { readLines } from './durable.ts';

// On a machine that is busy with other things, 50 processes take their time to start.
vi.setConfig({ testTimeout: 200_000 });

afterEach(cleanUp);
afterAll(removeFolders);

const range = (length: number): number[] => Array.from({ length }, (_, i) => i);
const opened = (worker: Worker) => () => worker.told.has('opened') || worker.failures.length > 0;

/** Every title once, and the numbers of the records without a gap: two owners at a time would have written some twice. */
function expectOnce(file: string, acked: readonly string[]): void {
  const lines = readLines(file);
  const titles = lines.flatMap(({ tasks }) => tasks.map(({ title }) => title));
  expect(new Set(titles).size).toBe(titles.length);
  expect(new Set(lines.map(({ request }) => request)).size).toBe(lines.length);
  expect(lines.map(({ record }) => record.seq)).toEqual(range(lines.length).map((i) => i + 1));
  expect(acked.filter((title) => !titles.includes(title))).toEqual([]);
}

test.each(['abstract', 'file'] as const)('50 processes at once, each adding one (%s lock)', async (lock) => {
  const folder = newFolder();
  const workers = await Promise.all(
    range(50).map((i) => start(folder, { lock, orders: [['add', `one ${i}`], ['close']] })),
  );
  await until('all are gone', () => workers.every(({ isGone }) => isGone));
  expect(workers.flatMap(({ failures }) => failures)).toEqual([]);
  const acked = workers.flatMap((worker) => worker.acked);
  expect(acked).toHaveLength(50);
  expectOnce(folder.file, acked);
  expect(readLines(folder.file)).toHaveLength(50);
  expect(existsSync(join(folder.dir, 'owner.json'))).toBe(false);
});

test.each([
  ['abstract', 20],
  ['file', 5],
] as const)('the owner is killed under load, again and again (%s lock, %i times)', async (lock, times) => {
  const folder = newFolder();
  const startOne = (): Promise<Worker> => start(folder, { lock, slowMs: 4, orders: [['load']] });
  const all = await Promise.all(range(11).map(startOne));
  for (let i = 0; i < times; i += 1) {
    const living = all.filter(({ isGone }) => !isGone);
    const before = living.map(({ acked }) => acked.length);
    await until('everybody has got on', () => living.every(({ acked }, at) => acked.length > (before[at] ?? 0) + 3));
    await until('there is an owner', () => living.some(isOwner));
    const [owner, ...others] = living.filter(isOwner);
    expect(others).toEqual([]);
    all.push(await startOne());
    await owner?.kill();
  }
  const living = all.filter(({ isGone }) => !isGone);
  await until('all have begun', () => living.every(({ acked }) => acked.length > 0));
  for (const worker of living) worker.order('rest');
  await until('all rest', () => living.every(({ told }) => told.has('resting')));
  for (const worker of living) worker.order('close');
  await until('all are gone', () => all.every(({ isGone }) => isGone));
  expect(all.flatMap(({ failures }) => failures)).toEqual([]);
  expectOnce(
    folder.file,
    all.flatMap(({ acked }) => acked),
  );
});

test('followers get every record once and in order, whoever owns the folder', async () => {
  const folder = newFolder();
  const workers = await Promise.all(range(4).map(() => start(folder, { slowMs: 2 })));
  await until('all are open', () => workers.every((worker) => opened(worker)()));
  for (const worker of workers) worker.order('follow');
  for (const worker of workers) worker.order('load');

  const isFollowed = (): boolean => {
    const count = readLines(folder.file).length;
    return workers.every(({ isGone, seqs }) => isGone || seqs.length >= count - 50);
  };
  const rounds: readonly ((owner: Worker) => unknown)[] = [
    (owner) => owner.kill(),
    (owner) => owner.order('close'),
    (owner) => owner.kill(),
  ];
  for (const end of rounds) {
    const count = readLines(folder.file).length;
    await until('more has happened', () => readLines(folder.file).length > count + 30 && isFollowed());
    await until('there is an owner', () => workers.some(isOwner));
    const owner = workers.find(isOwner);
    if (owner) await end(owner);
    await until('it is gone', () => owner?.isGone === true);
  }
  const left = workers.filter(({ isGone }) => !isGone);
  expect(left).toHaveLength(1);
  for (const worker of left) worker.order('rest');
  await until('it rests', () => left.every(({ told }) => told.has('resting')));
  const lines = readLines(folder.file);
  await until('it has seen all', () => left.every(({ seqs }) => seqs.length >= lines.length));
  for (const { seqs, failures } of workers) {
    expect(failures).toEqual([]);
    expect(seqs).toEqual(range(seqs.length).map((i) => i + 1));
  }
  expectOnce(
    folder.file,
    workers.flatMap(({ acked }) => acked),
  );
  expect(left[0]?.roles.at(-1)).toBe('owner');
});

test('what a dead owner left behind is in nobody’s way', async () => {
  const folder = newFolder();
  const first = await start(folder, { lock: 'file' });
  await until('it is open', opened(first));
  await first.kill();
  const names = ['sock', 'lock'].map((ending) =>
    join(folder.runtimeDir, readNames(folder.runtimeDir).find((name) => name.endsWith(ending)) ?? ''),
  );
  expect(names.map((name) => statSync(name).mode & 0o777)).toEqual([0o600, 0o600]);
  expect(existsSync(join(folder.dir, 'owner.json'))).toBe(true);

  const many = await Promise.all(range(12).map(() => start(folder, { lock: 'file' })));
  await until('all are open', () => many.every((worker) => opened(worker)()));
  expect(many.flatMap(({ failures }) => failures)).toEqual([]);
  expect(many.filter(isOwner)).toHaveLength(1);
  expect(statSync(folder.runtimeDir).mode & 0o777).toBe(0o700);
});
