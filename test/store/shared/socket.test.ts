/** The owner's socket: whatever comes in there, the others go on. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { takeLock } from '../../../src/store/shared/lock.ts';
import { LONGEST_LINE } from '../../../src/store/shared/wire.ts';
import { newFolder, removeFolders, until } from './crew.ts';
import { adding, readLines } from './durable.ts';
import { closeAll, member, placeOf, rawClient } from './together.ts';

afterEach(closeAll);
afterAll(removeFolders);

const codeOf = (line: Record<string, unknown> | undefined): unknown => (line?.['error'] as { code: string })?.code;

test('the first line is the hello; another version, or something else, is shown out', async () => {
  const folder = newFolder();
  const place = placeOf(folder);
  await member(folder);
  for (const [hello, code] of [
    [{ baton: 'store', version: 99, key: place.key }, 'E_OWNER_VERSION'],
    [{ baton: 'store', version: 1, key: 'guessed' }, 'E_SCHEMA_VALIDATION'],
    [{ n: 1, method: 'find', args: ['x'] }, 'E_SCHEMA_VALIDATION'],
  ] as const) {
    const raw = await rawClient(place);
    raw.say(hello, { n: 2, method: 'find', args: ['x'] });
    await once(raw.socket, 'close');
    expect(raw.lines[0]).toMatchObject({ baton: 'store', version: 1 });
    expect(raw.lines.slice(1).map(codeOf)).toEqual([code]);
  }
});

test('nonsense is answered, and harms nobody', async () => {
  const folder = newFolder();
  const place = placeOf(folder);
  await member(folder);
  const client = await member(folder);
  const raw = await rawClient(place);
  raw.say({ baton: 'store', version: 1, key: place.key });
  const query = { of: 'events', query: { after: 0 }, follow: true };
  const nonsense: readonly (readonly [string | object, number | null])[] = [
    ['{"n":1,', null],
    ['null', null],
    ['[1,2]', null],
    ['"text"', null],
    [{ n: 'one', method: 'find', args: [] }, null],
    [{ n: 1, method: 'constructor', args: [] }, 1],
    [{ n: 2, method: '__proto__', args: [] }, 2],
    [{ n: 3, method: 'close', args: [] }, 3],
    [{ n: 4, method: 'find', args: 'x' }, 4],
    [{ n: 5, method: 'send', args: [] }, 5],
    [{ n: 6, stream: { of: 'secrets' } }, 6],
    [{ n: 7, stream: null }, 7],
    [{ n: 8, next: true }, 8],
    [{ n: 9 }, 9],
  ];
  for (const [line, n] of nonsense) {
    const count = raw.lines.length;
    raw.say(line);
    await until('it is answered', () => raw.lines.length > count);
    expect(raw.lines.at(-1)).toMatchObject({ n, error: { message: expect.any(String) } });
  }
  // A stop of nothing is no matter; a stream has one page under way at a time; a number used again begins anew.
  raw.say({ n: 11, stop: true }, { n: 12, stream: query }, { n: 12, next: true }, { n: 12, stream: query });
  raw.say({ n: 13, method: 'verify', args: [] });
  await until('it goes on', () => raw.lines.some(({ n, ok }) => n === 13 && ok !== undefined));
  expect(raw.lines.filter(({ n }) => n === 12).map(codeOf)).toEqual(['E_SCHEMA_VALIDATION']);
  raw.socket.write(randomBytes(100_000));
  raw.socket.destroy();
  expect((await client.send(adding('fine'))).kind).toBe('changed');
});

test('a message that is too long is refused on either side, and the connection goes on', async () => {
  const folder = newFolder();
  const place = placeOf(folder);
  await member(folder);
  const client = await member(folder);
  await expect(client.send(adding('x'.repeat(LONGEST_LINE)))).rejects.toMatchObject({ code: 'E_CONTEXT_OVERFLOW' });
  await expect(client.text('x', 'huge')).rejects.toMatchObject({ code: 'E_CONTEXT_OVERFLOW' });
  expect((await client.send(adding('y'.repeat(1_000_000)))).kind).toBe('changed');

  const raw = await rawClient(place);
  raw.say({ baton: 'store', version: 1, key: place.key });
  const piece = Buffer.alloc(1024 * 1024, 'z');
  for (let i = 0; i < 65; i += 1) raw.socket.write(piece);
  raw.say('', { n: 1, method: 'verify', args: [] });
  await until('it is answered', () => raw.lines.length === 3);
  expect(raw.lines.slice(1)).toMatchObject([
    { n: null, error: { code: 'E_SCHEMA_VALIDATION' } },
    { n: 1, ok: {} },
  ]);
  raw.socket.destroy();
  expect(readLines(folder.file)).toHaveLength(1);
});

test('a reader that is dead costs the owner one page', async () => {
  const folder = newFolder();
  const place = placeOf(folder);
  let reads = 0;
  const owner = await member(folder, { onRead: () => (reads += 1) });
  const tasks = Array.from({ length: 10_000 }, (_, i) => ({ title: `task ${i}` }));
  await owner.send({ message: { type: 'task.add', tasks }, by: { kind: 'person', name: 'tester' } });
  const raw = await rawClient(place);
  raw.say({ baton: 'store', version: 1, key: place.key }, { n: 1, stream: { of: 'tasks', filter: {}, after: null } });
  raw.say({ n: 2, method: 'settled', args: [] });
  await until('the page has come', () => raw.lines.length === 3);
  raw.socket.pause();
  const client = await member(folder);
  for (let i = 0; i < 50; i += 1) await client.settled();
  expect(reads).toBeLessThanOrEqual(501);
  // And it does not hold up the end.
  await owner.close();
  await until('there is another owner', () => client.roles.at(-1) === 'owner');
  raw.socket.destroy();
});

test('an owner of another version is named', async () => {
  const folder = newFolder();
  const place = placeOf(folder);
  const lock = await takeLock(place, 'abstract');
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.write(`${JSON.stringify({ baton: 'store', version: 2, key: 'made otherwise', pid: 4711 })}\n`);
  });
  await new Promise<void>((resolve) => server.listen(place.socket, resolve));
  await expect(member(folder)).rejects.toMatchObject({
    code: 'E_OWNER_VERSION',
    message: expect.stringMatching(/process 4711 speaks version 2 .*, this one version 1/),
  });
  server.close();
  lock?.release();
});

test.each(['nobody listens', 'nobody answers', 'another program answers'])(
  'the lock is held and %s: one error, which names the holder',
  async (what) => {
    const folder = newFolder();
    const place = placeOf(folder);
    const lock = await takeLock(place, 'abstract');
    const server = createServer((socket) => {
      socket.on('error', () => {}); // who tried has given up
      if (what === 'another program answers') socket.write('220 ready\n');
    });
    if (what !== 'nobody listens') await new Promise<void>((resolve) => server.listen(place.socket, resolve));
    await expect(member(folder, { waitMs: 300 })).rejects.toMatchObject({
      code: 'E_STORE_OWNED',
      message: expect.stringContaining('a process that left no name, which did not answer within 0.3 s'),
    });
    writeFileSync(join(folder.dir, 'owner.json'), JSON.stringify({ pid: 4711, started: null, host: 'elsewhere' }));
    await expect(member(folder, { waitMs: 50 })).rejects.toMatchObject({
      code: 'E_STORE_OWNED',
      message: expect.stringContaining('process 4711 on elsewhere'),
      hint: expect.stringContaining('4711'),
    });
    server.close();
    lock?.release();
    rmSync(join(folder.dir, 'owner.json'));
    expect((await member(folder)).roles).toEqual(['owner']);
  },
);

test('who connects to the lock itself is shown out', async () => {
  const folder = newFolder();
  await member(folder);
  const socket = connect({ path: placeOf(folder).lockName });
  socket.resume();
  await once(socket, 'close');
});

test('a socket file of a dead owner is replaced, whatever it is', async () => {
  const folder = newFolder();
  const place = placeOf(folder);
  writeFileSync(place.socket, 'not even a socket');
  const owner = await member(folder);
  expect(statSync(place.socket).isSocket()).toBe(true);
  expect(statSync(place.socket).mode & 0o777).toBe(0o600);
  await owner.close();
  expect(statSync(place.socket, { throwIfNoEntry: false })).toBeUndefined();
});
