/** Where the owner is found, and what holds where the lock does not reach: other users, namespaces, machines, paths, read-only folders. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { statOf } from '../../../src/process/identity.ts';
import { takeLock } from '../../../src/store/shared/lock.ts';
import { readOwner, writeOwnerFile } from '../../../src/store/shared/owner-file.ts';
import { findPlace } from '../../../src/store/shared/place.ts';
import { stateOf, thisProcess } from '../../../src/store/shared/system.ts';
import { cleanUp, isOwner, newFolder, removeFolders, start, until } from './crew.ts';
import type { Member } from './together.ts';
import { closeAll, member, placeOf } from './together.ts';

afterEach(async () => {
  vi.unstubAllEnvs();
  await closeAll();
  await cleanUp();
});
afterAll(removeFolders);

const isRoot = process.getuid?.() === 0;
const never = new AbortController().signal;

test('the runtime folder is made for its user alone', () => {
  const { dir, runtimeDir } = newFolder();
  findPlace({ dir, secret: 'a', runtimeDir });
  expect(lstatSync(runtimeDir).mode & 0o777).toBe(0o700);
});

test('a runtime folder that others can enter, or that is not ours, is refused', () => {
  const folder = newFolder();
  const refusal = (runtimeDir: string, came: RegExp): void =>
    expect(() => findPlace({ dir: folder.dir, secret: 'a', runtimeDir })).toThrow(
      expect.objectContaining({ code: 'E_PERMISSION_DENIED', message: expect.stringMatching(came) }),
    );
  mkdirSync(folder.runtimeDir);
  chmodSync(folder.runtimeDir, 0o755);
  refusal(
    folder.runtimeDir,
    /run to belong to user \d+ alone \(mode 700\), but it belongs to user \d+ and has mode 755$/,
  );
  const real = join(folder.dir, 'real');
  mkdirSync(real, { mode: 0o700 });
  symlinkSync(real, join(folder.dir, 'link'));
  refusal(join(folder.dir, 'link'), /but it is not a folder$/);
  if (!isRoot) return;
  chownSync(real, 12345, 12345);
  refusal(real, /but it belongs to user 12345 and has mode 700$/);
});

test('a path that is too long for a socket is refused, not cut off', () => {
  const { dir } = newFolder();
  expect(() => findPlace({ dir, secret: 'a', runtimeDir: join(dir, 'x'.repeat(90)) })).toThrow(
    expect.objectContaining({ code: 'E_USAGE', message: expect.stringContaining('at most 103 bytes') }),
  );
});

test('the names come from the real path, the lock and the key also from the secret', () => {
  const { dir, runtimeDir } = newFolder();
  const link = join(dir, 'link');
  symlinkSync(dir, link);
  const one = findPlace({ dir, secret: 'a', runtimeDir });
  expect(findPlace({ dir: link, secret: 'a', runtimeDir })).toEqual(one);
  const other = findPlace({ dir, secret: 'b', runtimeDir });
  expect(other.socket).toBe(one.socket);
  expect(other.lockName).not.toBe(one.lockName);
  expect(other.key).not.toBe(one.key);
  expect(one.lockName).not.toContain(one.key);
});

test('XDG_RUNTIME_DIR is used where it is this user’s; else the folder for temporary files', () => {
  const { dir } = newFolder();
  const own = join(dir, 'xdg');
  mkdirSync(own);
  vi.stubEnv('TMPDIR', dir);
  vi.stubEnv('XDG_RUNTIME_DIR', own);
  expect(findPlace({ dir, secret: 'a' }).socket.startsWith(join(own, 'baton/'))).toBe(true);
  const fallback = join(dir, `baton-${process.getuid?.()}/`);
  for (const given of [join(dir, 'missing'), '', ...(isRoot ? [own] : [])]) {
    if (given === own) chownSync(own, 12345, 12345);
    vi.stubEnv('XDG_RUNTIME_DIR', given);
    expect(findPlace({ dir, secret: 'a' }).socket.startsWith(fallback)).toBe(true);
  }
});

test('an owner with another runtime folder is found by what it says of itself', async () => {
  const folder = newFolder();
  const owner = await member(folder);
  const client = await member({ ...folder, runtimeDir: join(folder.dir, 'elsewhere') });
  expect(client.roles).toEqual(['client']);
  await owner.close();
  await until('it is the owner', () => client.roles.at(-1) === 'owner');
  expect(readOwner(folder.dir)?.socket).toContain('elsewhere');
  await client.close();
  expect(readdirSync(folder.dir)).not.toContain('owner.json');
});

test('a process in another network namespace is refused while the owner lives, and not after', async (context) => {
  if (spawnSync('unshare', ['-n', 'true']).status !== 0) {
    console.warn('SKIPPED: unshare -n is not permitted here, so two network namespaces were not tested');
    return context.skip();
  }
  const folder = newFolder();
  const owner = await start(folder);
  await until('it is open', () => isOwner(owner));
  const stranger = await start(folder, { under: ['unshare', '-n'] });
  await until('it is refused', () => stranger.isGone);
  expect(stranger.failures).toEqual([
    expect.objectContaining({
      code: 'E_STORE_OWNED',
      message: expect.stringContaining(`is in use by process ${owner.process.pid} on `),
    }),
  ]);
  expect(stranger.roles).toEqual([]);
  owner.order('close');
  await until('it is gone', () => owner.isGone);
  const next = await start(folder, { under: ['unshare', '-n'] });
  await until('it is open', () => isOwner(next));
});

/** `owner.json` as an owner would have written it whom the lock does not reach. */
function writeForeign(dir: string, ageMs: number, changes: object = { netns: 'net:[1]' }): string {
  const path = join(dir, 'owner.json');
  const mine = { pid: 4711, started: null, host: 'far', boot: 'b', netns: null, dir, socket: '/nowhere' };
  writeFileSync(path, JSON.stringify({ ...mine, ...changes }));
  const then = new Date(Date.now() - ageMs);
  utimesSync(path, then, then);
  return path;
}

test('an owner out of reach that has been silent for long is ignored', async () => {
  const folder = newFolder();
  writeForeign(folder.dir, 16_000);
  expect((await member(folder)).roles).toEqual(['owner']);
  expect(readOwner(folder.dir)?.pid).toBe(process.pid);
});

test('one that was there a moment ago is waited for: silent, it is dead; else it is refused', async () => {
  const folder = newFolder();
  const place = placeOf(folder);
  const times = { refreshMs: 50, staleMs: 400 };
  writeForeign(folder.dir, 0);
  const file = await writeOwnerFile(place, never, times);
  expect(readOwner(folder.dir)?.pid).toBe(process.pid);
  file.remove();
  expect(existsSync(join(folder.dir, 'owner.json'))).toBe(false);

  const path = writeForeign(folder.dir, 0);
  const text = readFileSync(path, 'utf8');
  const beat = setInterval(() => writeFileSync(path, text), 50);
  await expect(writeOwnerFile(place, never, times)).rejects.toMatchObject({
    code: 'E_STORE_OWNED',
    message: expect.stringContaining('in use by process 4711 on far'),
  });
  clearInterval(beat);
  expect(readFileSync(path, 'utf8')).toBe(text);
  expect(readdirSync(folder.dir).filter((name) => name.startsWith('owner'))).toEqual(['owner.json']);
});

test('an owner that is dying is waited for: its lock is free a moment before it is gone', async () => {
  const folder = newFolder();
  const place = placeOf(folder);
  const dying = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  try {
    const first = await writeOwnerFile(place, never);
    const mine = JSON.parse(readFileSync(join(folder.dir, 'owner.json'), 'utf8')) as object;
    first.remove();
    const pid = dying.pid as number;
    await until('it runs', () => statOf(pid) !== null);
    writeFileSync(
      join(folder.dir, 'owner.json'),
      JSON.stringify({ ...mine, pid, started: statOf(pid)?.started ?? null }),
    );
    const second = writeOwnerFile(place, never);
    setImmediate(() => dying.kill('SIGKILL'));
    (await second).remove();
  } finally {
    dying.kill('SIGKILL');
  }
});

test('a folder that was moved under a living owner does not get a second one', async () => {
  const folder = newFolder();
  const before = { ...folder, dir: join(folder.dir, 'before') };
  const after = { ...folder, dir: join(folder.dir, 'after') };
  mkdirSync(before.dir);
  await member(before);
  renameSync(before.dir, after.dir);
  const path = join(after.dir, 'owner.json');
  const text = readFileSync(path, 'utf8');
  const beat = setInterval(() => writeFileSync(path, text), 50);
  await expect(member(after)).rejects.toMatchObject({ code: 'E_STORE_OWNED' });
  clearInterval(beat);
  renameSync(after.dir, before.dir);
});

test('an owner keeps its name fresh, puts it back, and knows when another has taken its place', async () => {
  const folder = newFolder();
  const path = join(folder.dir, 'owner.json');
  const file = await writeOwnerFile(placeOf(folder), never, { refreshMs: 20, staleMs: 400 });
  const text = readFileSync(path, 'utf8');
  expect(JSON.parse(text)).toMatchObject({ ...thisProcess(), host: expect.any(String), dir: folder.dir });
  utimesSync(path, 1, 1);
  await until('it is fresh', () => statSync(path).mtimeMs > 10_000);
  for (const damage of ['', '{"pid":', `${text}${text}`]) {
    writeFileSync(path, damage);
    await until('it is back', () => readFileSync(path, 'utf8') === text);
  }
  expect(file.lostTo()).toBe(null);
  writeForeign(folder.dir, 0);
  await until('it has noticed', () => file.lostTo() !== null);
  expect(file.lostTo()).toMatchObject({ pid: 4711 });
  file.remove();
  expect(readOwner(folder.dir)?.pid).toBe(4711);
});

test('the name of an owner that came after the folder was replaced is not written over', async () => {
  const folder = newFolder();
  const file = await writeOwnerFile(placeOf(folder), never, { refreshMs: 20, staleMs: 400 });
  const path = join(folder.dir, 'owner.json');
  const other = JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), pid: process.ppid, started: null });
  writeFileSync(path, other);
  await until('it has noticed', () => file.lostTo() !== null);
  file.remove();
  expect(readFileSync(path, 'utf8')).toBe(other);
});

test('an owner that lost its place refuses, for itself and for its clients', async () => {
  const folder = newFolder();
  const owner = await member(folder);
  const client = await member(folder);
  const refusal = (store: Member): Promise<unknown> =>
    store.find('x').then(
      () => null,
      (cause) => cause,
    );
  writeForeign(folder.dir, 0);
  let refused: unknown = null;
  for (const end = Date.now() + 40_000; refused === null && Date.now() < end; ) refused = await refusal(client);
  expect(refused).toMatchObject({ code: 'E_STORE_OWNED', message: expect.stringContaining('process 4711 on far') });
  expect(await refusal(owner)).toMatchObject({ code: 'E_STORE_OWNED' });
});

test('a folder that cannot be written is opened all the same', async () => {
  const folder = newFolder();
  const data = join(folder.dir, 'data');
  mkdirSync(data);
  chmodSync(data, 0o555);
  chmodSync(folder.dir, 0o755);
  mkdirSync(folder.runtimeDir, { mode: 0o700 });
  // Root may write anywhere, so it lets somebody else try.
  const uid = isRoot ? 65534 : undefined;
  if (uid !== undefined) chownSync(folder.runtimeDir, uid, uid);
  const options = { dir: data, file: join(data, 'records.jsonl'), runtimeDir: folder.runtimeDir };
  const workers = await Promise.all([0, 1].map(() => start(options, uid === undefined ? {} : { uid })));
  await until('both are open', () => workers.every(({ roles, failures }) => roles.length + failures.length > 0));
  expect(workers.flatMap(({ failures }) => failures)).toEqual([]);
  expect(workers.flatMap(({ roles }) => roles).sort()).toEqual(['client', 'owner']);
  expect(readdirSync(data)).toEqual([]);
});

test('a process is known by its number and its start', async () => {
  const mine = thisProcess();
  expect(stateOf(mine)).toBe('alive');
  expect(stateOf({ ...mine, started: 'at another time' })).toBe('gone');
  expect(stateOf({ ...mine, started: null })).toBe('unsure');
  const folder = newFolder();
  const other = await start(folder);
  await until('it is open', () => other.told.has('opened'));
  const mark = readOwner(folder.dir);
  if (mark === null) throw new Error('the owner left no name');
  expect(stateOf(mark)).toBe('alive');
  await other.kill();
  expect(stateOf(mark)).toBe('gone');
});

test('a zombie has a number still, but is gone', async () => {
  // The shell becomes a program that never asks after the child that the shell had. The child ends only after that.
  const parent = spawn('sh', ['-c', 'cat <&3 & echo $!; exec sleep 100'], {
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
  });
  const [line] = (await once(parent.stdout as Readable, 'data')) as [Buffer];
  await until('it is another program', () => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n');
  parent.stdio[3]?.destroy();
  const pid = Number(line.toString());
  const fields = (): string[] => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  await until('it is a zombie', () => fields()[0] === 'Z');
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  expect(stateOf({ pid, started: `${boot}/${fields()[19]}` })).toBe('gone');
  parent.kill('SIGKILL');
});

test.each([
  ['of a process that is gone', { pid: 2 ** 22 + 1, started: null }, true],
  ['of a number that was used again', { ...thisProcess(), started: 'long ago' }, true],
  ['of a process that lives', thisProcess(), false],
  ['that is no lock of ours', 'nonsense', true],
])('a lock file %s', async (_, holder, isTaken) => {
  const place = placeOf(newFolder());
  writeFileSync(place.lockFile, JSON.stringify(holder));
  const tries = await Promise.all(Array.from({ length: 10 }, () => takeLock(place, 'file')));
  const locks = tries.filter((lock) => lock !== null);
  expect(locks).toHaveLength(isTaken ? 1 : 0);
  for (const lock of locks) lock.release();
  expect(existsSync(place.lockFile)).toBe(!isTaken);
});

test('of those who find a dead holder, only the one with the second lock takes its place', async () => {
  const place = placeOf(newFolder());
  const dead = JSON.stringify({ pid: 2 ** 22 + 1, started: null });
  writeFileSync(place.lockFile, dead);
  writeFileSync(`${place.lockFile}.next`, JSON.stringify(thisProcess()));
  expect(await takeLock(place, 'file')).toBe(null);
  expect(readFileSync(place.lockFile, 'utf8')).toBe(dead);
  // And when that one died in the middle of it, another one does.
  writeFileSync(`${place.lockFile}.next`, dead);
  expect(await takeLock(place, 'file')).not.toBe(null);
  expect(readdirSync(dirname(place.lockFile))).toEqual([basename(place.lockFile)]);
});

test('a lock file whose holder nobody can tell is left alone while it is new, or somebody listens', async () => {
  const place = placeOf(newFolder());
  writeFileSync(place.lockFile, JSON.stringify({ pid: process.pid, started: null }));
  expect(await takeLock(place, 'file')).toBe(null);
  const then = new Date(Date.now() - 20_000);
  utimesSync(place.lockFile, then, then);
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(place.socket, resolve));
  expect(await takeLock(place, 'file')).toBe(null);
  server.close();
  expect(await takeLock(place, 'file')).not.toBe(null);
});
