/** Owner or client: the caller cannot tell, not by an answer, not by an error, not by a hand-over. */
import { afterAll, afterEach, expect, test } from 'vitest';
import type { Ask, Store } from '../../../src/core/store.ts';
import { takeLock } from '../../../src/store/shared/lock.ts';
import { newFolder, removeFolders, until } from './crew.ts';
import { adding, openDurable, readLines } from './durable.ts';
import { closeAll, member, placeOf } from './together.ts';

afterEach(closeAll);
afterAll(removeFolders);

const range = (length: number): number[] => Array.from({ length }, (_, i) => i);
const titled = (count: number): Ask => ({
  message: { type: 'task.add', tasks: range(count).map((i) => ({ title: `task ${i + 1}` })) },
  by: { kind: 'person', name: 'tester' },
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const outcome = async (answer: Promise<unknown>): Promise<unknown> =>
  answer.then(
    (value) => ({ value }),
    (cause) => ({ name: cause.name, code: cause.code, message: cause.message, hint: cause.hint }),
  );

test('every question has the same answer in both roles', async () => {
  const folder = newFolder();
  const owner = await member(folder);
  const client = await member(folder);
  expect([owner.roles, client.roles]).toEqual([['owner'], ['client']]);
  await client.send(titled(3));
  const id = 'TASK-2026-01-01-002';
  const by = { kind: 'person', name: 'tester' } as const;
  const questions: readonly ((store: Store) => Promise<unknown>)[] = [
    (store) => store.find(id),
    (store) => store.find(id, 'default'),
    (store) => store.find('TASK-2026-01-01-999'),
    (store) => store.alive('there'),
    (store) => store.alive('elsewhere'),
    (store) => store.text(id, 'body'),
    (store) => store.text(id, 'nothing'),
    (store) => store.history(id),
    (store) => store.verify(),
    (store) => store.verify('default'),
    (store) => store.examine(),
    (store) => store.settled(),
    (store) => all(store.tasks()),
    (store) => all(store.tasks({ status: ['done'] })),
    (store) => all(store.eventsAfter({ after: 0 })),
    (store) => all(store.eventsAfter({ after: 1 })),
    (store) => store.send(adding('once', 'r1')),
    (store) => store.send({ message: { type: 'task.cancel', id }, by }),
    (store) => store.send({ message: { type: 'note', event: 'x', detail: {} }, by }),
  ];
  for (const question of questions) {
    expect(await outcome(question(client))).toEqual(await outcome(question(owner)));
  }
  expect(await outcome(questions.at(-1)?.(client) as Promise<unknown>)).toEqual({
    name: 'BatonError',
    code: 'E_NOT_FOUND',
    message: 'There is no such note.',
    hint: 'Write one.',
  });
  // What no code was given to is told all the same.
  const odd = client.send({ message: { type: 'task.retry', id }, by });
  await expect(odd).rejects.toMatchObject({ code: 'E_UNKNOWN', message: 'only task.add here' });
});

test('the same request twice acts once, whoever is asked', async () => {
  const folder = newFolder();
  const owner = await member(folder);
  const client = await member(folder);
  const first = await client.send(adding('one', 'mine'));
  expect(await owner.send(adding('one', 'mine'))).toEqual(first);
  await client.send(adding('two'));
  await client.send(adding('two'));
  expect(readLines(folder.file).map(({ request }) => request === 'mine')).toEqual([true, false, false]);
});

test('50 sends of one client are under way at the same time', async () => {
  const folder = newFolder();
  let count = 0;
  let isFull = (): void => {};
  const full = new Promise<void>((resolve) => {
    isFull = resolve;
  });
  const openOwner = async (): Promise<Store> => {
    const store = await openDurable(folder.file);
    const send = async (ask: Ask) => {
      count += 1;
      if (count === 50) isFull();
      await full; // nobody is answered before all have come
      return store.send(ask);
    };
    return { ...store, send };
  };
  await member(folder, { openOwner });
  const client = await member(folder);
  const answers = await Promise.all(range(50).map((i) => client.send(adding(`task ${i}`))));
  expect(answers.map(({ kind }) => kind)).toEqual(range(50).map(() => 'changed'));
  expect(readLines(folder.file)).toHaveLength(50);
});

test('far more requests than the owner takes at a time are all answered', async () => {
  const folder = newFolder();
  await member(folder, { slowMs: 1 });
  const client = await member(folder);
  const answers = await Promise.all(range(5000).map((i) => client.find(`TASK-2026-01-01-${i}`)));
  expect(answers).toHaveLength(5000);
  await Promise.all(range(3000).map((i) => client.send(adding(`task ${i}`))));
  expect(readLines(folder.file)).toHaveLength(3000);
});

test('an owner that closes finishes what it was asked, closes its store, and only then is there another', async () => {
  const folder = newFolder();
  const log: string[] = [];
  let letGo = (): void => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const openOwner = async (): Promise<Store> => {
    log.push('open');
    const store = await openDurable(folder.file);
    const close = async (): Promise<void> => {
      const lock = await takeLock(placeOf(folder), 'abstract');
      log.push(lock === null ? 'close' : 'close without the lock');
      lock?.release();
    };
    const send = async (ask: Ask) => {
      log.push('asked');
      await held;
      const answer = await store.send(ask);
      log.push('answered');
      return answer;
    };
    return { ...store, send, close };
  };
  const owner = await member(folder, { openOwner });
  const client = await member(folder, { openOwner });
  const idle = await member(folder, { openOwner });
  const before = client.send(adding('before'));
  await until('it is under way', () => log.includes('asked'));
  const closed = owner.close();
  await expect(owner.find('x')).rejects.toMatchObject({ code: 'E_STORE_FAILED' });
  await expect(all(owner.tasks())).rejects.toMatchObject({ code: 'E_STORE_FAILED' });
  const during = client.send(adding('during'));
  letGo();
  await closed;
  expect((await before).kind).toBe('changed');
  expect((await during).kind).toBe('changed');
  expect(log).toEqual(['open', 'asked', 'answered', 'close', 'open', 'asked', 'answered']);
  await until('both have found their role', () => client.roles.length + idle.roles.length === 4);
  expect([client.roles.at(-1), idle.roles.at(-1)].sort()).toEqual(['client', 'owner']);
  const titles = readLines(folder.file).flatMap(({ tasks }) => tasks.map(({ title }) => title));
  expect(titles).toEqual(['before', 'during']);
});

test('a client that has nothing to ask takes over too', async () => {
  const folder = newFolder();
  const owner = await member(folder);
  const client = await member(folder);
  await owner.close();
  await until('it is the owner', () => client.roles.at(-1) === 'owner');
});

test('closing is for good, and twice is once', async () => {
  const folder = newFolder();
  let closes = 0;
  const owner = await member(folder, { onClose: () => (closes += 1) });
  const client = await member(folder);
  const pending = client.send(adding('last'));
  await Promise.all([client.close(), client.close()]);
  expect((await pending).kind).toBe('changed');
  await expect(client.send(adding('late'))).rejects.toMatchObject({ code: 'E_STORE_FAILED' });
  await Promise.all([owner.close(), owner.close()]);
  expect(closes).toBe(1);
});

test('a slow reader is waited for, and nobody waits for it', async () => {
  const folder = newFolder();
  let reads = 0;
  await member(folder, { onRead: () => (reads += 1) });
  const client = await member(folder);
  await client.send(titled(20_000));
  const tasks = client.tasks()[Symbol.asyncIterator]();
  const seen = [(await tasks.next()).value.id];
  for (let i = 0; i < 100; i += 1) expect(await client.find(seen[0])).toMatchObject({ title: 'task 1' });
  // A page being read, one ahead of it, and the beginning of nothing else.
  expect(reads).toBeLessThanOrEqual(1001);
  for (let item = await tasks.next(); !item.done; item = await tasks.next()) seen.push(item.value.id);
  expect(seen).toEqual(range(20_000).map((i) => `TASK-2026-01-01-${String(i + 1).padStart(3, '0')}`));
});

test('a reader that leaves early is not read for', async () => {
  const folder = newFolder();
  let reads = 0;
  let ends = 0;
  await member(folder, { onRead: () => (reads += 1), onEnd: () => (ends += 1) });
  const client = await member(folder);
  await client.send(titled(5000));
  for (let i = 0; i < 30; i += 1) for await (const task of client.tasks()) if (task.title) break;
  await until('all are let go of', () => ends === 30);
  expect(reads).toBeLessThanOrEqual(30 * 1001);
});

test('a list goes on after a hand-over, nothing twice and nothing left out', async () => {
  const folder = newFolder();
  let next = await member(folder);
  const reader = await member(folder);
  await reader.send(titled(4000));
  const seen: string[] = [];
  for await (const { id } of reader.tasks()) {
    seen.push(id);
    if (seen.length === 700) await next.close();
    // Now the reader is the owner itself; a list that a client began goes on in it.
    if (seen.length === 1400) next = await member(folder);
  }
  expect(seen).toEqual((await all(next.tasks())).map(({ id }) => id));
  expect(seen).toHaveLength(4000);
  expect(reader.roles).toEqual(['client', 'owner']);
});

test('who follows goes on following when the owner closes, though nothing happens meanwhile', async () => {
  const folder = newFolder();
  const owner = await member(folder);
  const client = await member(folder);
  const stop = new AbortController();
  const seen: number[] = [];
  const following = (async () => {
    for await (const { seq } of client.eventsAfter({ after: 0, follow: stop.signal })) seen.push(seq);
  })();
  await client.send(adding('before'));
  await until('it has followed', () => seen.length === 1);
  await owner.close();
  await client.send(adding('after'));
  await until('it has followed', () => seen.length === 2);
  stop.abort();
  await following;
  expect(seen).toEqual([1, 2]);
});

test.each([0, 1])('following ends when it is told to, and at the close (member %i)', async (at) => {
  const folder = newFolder();
  const members = [await member(folder), await member(folder)];
  const store = members[at] as Store;
  await store.send(titled(1));
  const stop = new AbortController();
  const seen: number[] = [];
  const following = (async () => {
    for await (const { seq } of store.eventsAfter({ after: 0, follow: stop.signal })) seen.push(seq);
  })();
  await until('it has caught up', () => seen.length === 1);
  await store.send(adding('more'));
  await until('it has followed', () => seen.length === 2);
  stop.abort();
  await following;

  const forever = all(store.eventsAfter({ after: 0, follow: new AbortController().signal }));
  const list = store.tasks()[Symbol.asyncIterator]();
  await store.send(titled(2000));
  await list.next();
  await store.close();
  expect((await forever).length).toBeLessThanOrEqual(3);
  // Half a list must not look like a whole one.
  await expect(
    (async () => {
      for (let item = await list.next(); !item.done; item = await list.next());
    })(),
  ).rejects.toMatchObject({ code: 'E_STORE_FAILED' });
});

test('many follow at once, without a warning', async () => {
  const folder = newFolder();
  await member(folder);
  const client = await member(folder);
  const warnings: Error[] = [];
  const warn = (warning: Error): void => void warnings.push(warning);
  process.on('warning', warn);
  const stop = new AbortController();
  let count = 0;
  const followers = range(40).map(async () => {
    for await (const { seq } of client.eventsAfter({ after: 0, follow: stop.signal })) count += seq;
  });
  await client.send(adding('seen by all'));
  await until('all have seen it', () => count === 40);
  stop.abort();
  await Promise.all(followers);
  process.off('warning', warn);
  expect(warnings).toEqual([]);
});

test('a client waits for an owner that is still opening, and asks nobody again and again', async () => {
  const folder = newFolder();
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  let opens = 0;
  const openOwner = async (): Promise<Store> => {
    opens += 1;
    await gate;
    return openDurable(folder.file);
  };
  const first = member(folder, { openOwner });
  await until('it is opening', () => opens === 1);
  const second = member(folder, { openOwner });
  open();
  expect([(await first).roles, (await second).roles]).toEqual([['owner'], ['client']]);
  expect(opens).toBe(1);
});

test('a store that cannot be opened is the error of each who tries, and the folder stays free', async () => {
  const folder = newFolder();
  const openOwner = (): Promise<Store> => Promise.reject(new Error('the disk is broken'));
  await expect(member(folder, { openOwner })).rejects.toThrow('the disk is broken');
  const owner = await member(folder);
  const client = await member(folder, { openOwner });
  await client.send(adding('fine'));
  await owner.close();
  await expect(client.find('x')).rejects.toThrow('the disk is broken');
  const next = await member(folder);
  expect(next.roles).toEqual(['owner']);
  expect(await client.verify()).toMatchObject({ records: 1 });
});
