/**
 * What the port of stores promises (`src/core/store.ts`), as tests that every store passes. What tasks may do is the laws' matter and is tested
 * there; here it is about answers, records, texts, followers, many at once, and what is there after a restart.
 */
import { afterEach, describe, expect, test } from 'vitest';
import type { Actor, NewTask, TaskMessage } from '../../src/core/laws/messages.ts';
import type { Answer, EventQuery, Store, StoredRecord, TaskFilter } from '../../src/core/store.ts';
import type { Task } from '../../src/core/task.ts';

export interface Opened {
  readonly store: Store;
  /** Closes the store, where that has not been done, and opens the same one again. */
  readonly reopen?: () => Promise<Store>;
  /** Closes the store, where that has not been done, and leaves nothing of it behind. */
  readonly destroy: () => Promise<void>;
}

export type OpenStore = (options: { readonly now: () => number }) => Promise<Opened>;

const START = Date.UTC(2026, 2, 1, 9);
const LEASE = 60_000;
const PERSON: Actor = { kind: 'person', name: 'ann' };
const RUNTIME: Actor = { kind: 'runtime', name: 'baton' };
const id = (number: number): string => `TASK-2026-03-01-${String(number).padStart(3, '0')}`;
const CLAIM = { type: 'task.claim', claimer: { agent: 'emma' }, leaseMs: LEASE } as const;

/** Sends what must be taken, and gives the tasks of the answer. */
async function send(store: Store, message: TaskMessage, by: Actor = PERSON, request?: string): Promise<Task[]> {
  const answer = await store.send({ message, by, ...(request === undefined ? {} : { request }) });
  if (answer.kind === 'refused') throw new Error(`refused: ${answer.refusal.message}`);
  return [...answer.tasks];
}

const add = async (store: Store, ...tasks: readonly Partial<NewTask>[]): Promise<string[]> =>
  (await send(store, { type: 'task.add', tasks: tasks.map((task) => ({ title: 'a task', ...task })) })).map(
    (task) => task.id,
  );

async function claim(store: Store, more: Partial<typeof CLAIM & { id: string }> = {}): Promise<string> {
  const [task] = await send(store, { ...CLAIM, ...more }, RUNTIME);
  return task?.run?.id as string;
}

/** Through review to done. */
async function finish(store: Store, of: string): Promise<void> {
  const run = await claim(store, { id: of });
  await send(store, { type: 'run.report', run, outcome: 'done' });
  await send(store, { type: 'run.judge', run, passed: true }, RUNTIME);
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** The first records of a query, and then no more. */
async function first(count: number, items: AsyncIterable<StoredRecord>): Promise<StoredRecord[]> {
  const list: StoredRecord[] = [];
  if (count === 0) return list;
  for await (const item of items) {
    list.push(item);
    if (list.length === count) break;
  }
  return list;
}

const seqs = (records: readonly StoredRecord[]): number[] => records.map(({ seq }) => seq);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
const refusalOf = (answer: Answer): string => (answer.kind === 'refused' ? answer.refusal.code : answer.kind);

export function storeConformance(name: string, open: OpenStore): void {
  let clock = START;
  const opened: Opened[] = [];

  const openOne = async (): Promise<Opened> => {
    clock = START;
    const one = await open({ now: () => clock });
    opened.push(one);
    return one;
  };
  const openStore = async (): Promise<Store> => (await openOne()).store;

  afterEach(async () => {
    for (const one of opened.splice(0)) await one.destroy();
  });

  describe(`${name}: answers`, () => {
    test('a change, with the tasks as they are after it', async () => {
      const store = await openStore();
      const ask = { message: { type: 'task.add', tasks: [{ title: 'a' }, { title: 'b' }] }, by: PERSON } as const;
      const answer = await store.send(ask);
      expect(answer).toMatchObject({
        kind: 'changed',
        tasks: [
          { id: id(1), title: 'a', status: 'ready', createdBy: 'ann', createdAt: START },
          { id: id(2), title: 'b' },
        ],
      });
      expect(await store.find(id(2))).toEqual(answer.kind === 'changed' ? answer.tasks[1] : null);
    });

    test('the events of an answer are those of its record, and what made no record has none', async () => {
      const store = await openStore();
      const messages: TaskMessage[] = [
        { type: 'task.add', tasks: [{ title: 'a' }, { title: 'b' }] },
        { type: 'task.cancel', id: id(1) },
        { type: 'note', event: 'seen', detail: { x: 1 } },
      ];
      for (const message of messages) {
        const answer = await store.send({ message, by: PERSON });
        const [record] = await all(store.eventsAfter({ after: (await store.lastRecord()) - 1 }));
        expect(answer).toMatchObject({ kind: 'changed', events: record?.events });
        expect(record?.events.length).toBeGreaterThan(0);
      }
      const again = await store.send({ message: { type: 'task.cancel', id: id(1) }, by: PERSON });
      expect(again).toMatchObject({ kind: 'same' });
      expect(again).not.toHaveProperty('events');
    });

    test('what is so already is the same, and is not written down', async () => {
      const store = await openStore();
      await add(store, {});
      const answer = await store.send({ message: { type: 'task.move', id: id(1), to: 'ready' }, by: PERSON });
      expect(answer).toEqual({ kind: 'same', tasks: [await store.find(id(1))] });
      expect(await all(store.eventsAfter({ after: 0 }))).toHaveLength(1);
    });

    test('the last record is the one that nothing comes after', async () => {
      const store = await openStore();
      expect(await store.lastRecord()).toBe(0);
      await add(store, {}, {});
      await add(store, {});
      expect(await store.lastRecord()).toBe(2);
      expect(await all(store.eventsAfter({ after: await store.lastRecord() }))).toEqual([]);
    });

    test('a refusal says why, and leaves nothing behind', async () => {
      const store = await openStore();
      const answer = await store.send({ message: { type: 'task.move', id: id(1), to: 'ready' }, by: PERSON });
      expect(answer).toEqual({
        kind: 'refused',
        refusal: { code: 'E_NOT_FOUND', message: `there is no task ${id(1)}`, hint: 'see: baton task list' },
      });
      const cycle = [
        { title: 'a', externalId: 'A', dependsOn: ['B'] },
        { title: 'b', externalId: 'B', dependsOn: ['A'] },
      ];
      const add: TaskMessage = { type: 'task.add', tasks: cycle };
      expect(refusalOf(await store.send({ message: add, by: PERSON }))).toBe('E_CYCLE');
      expect(await all(store.tasks())).toEqual([]);
      expect(await all(store.eventsAfter({ after: 0 }))).toEqual([]);
      expect(await store.verify()).toMatchObject({ ok: true, records: 0, brokenAt: null });
    });

    test('time is that of the clock it was given', async () => {
      const store = await openStore();
      clock = START + 24 * 60 * 60 * 1000;
      expect(await add(store, {})).toEqual(['TASK-2026-03-02-001']);
      const [record] = await all(store.eventsAfter({ after: 0 }));
      expect(record?.at).toBe(clock);
    });

    test('a record holds who asked, for what, and what changed', async () => {
      const store = await openStore();
      const message: TaskMessage = {
        type: 'task.add',
        tasks: [{ title: 'a', session: 'S', texts: { body: 'the body' } }],
      };
      await send(store, message, PERSON, 'q1');
      const [record] = await all(store.eventsAfter({ after: 0 }));
      expect(record).toMatchObject({
        seq: 1,
        at: START,
        session: 'S',
        by: PERSON,
        request: 'q1',
        about: [id(1)],
        events: [{ type: 'task.created', task: id(1), detail: { title: 'a' } }],
        changes: [{ task: id(1), set: { title: 'a', session: 'S' }, texts: { body: 'the body' } }],
      });
    });

    test('a note is a record that changes nothing', async () => {
      const store = await openStore();
      await add(store, {});
      const before = await store.find(id(1));
      const note: TaskMessage = { type: 'note', event: 'tree.refused', task: id(1), detail: { file: 'x' } };
      expect(await store.send({ message: note, by: RUNTIME })).toMatchObject({ kind: 'changed', tasks: [before] });
      const history = await store.history(id(1));
      expect(history.at(-1)).toMatchObject({ seq: 2, changes: [], events: [{ type: 'tree.refused', task: id(1) }] });
    });
  });

  describe(`${name}: requests`, () => {
    const ADD: TaskMessage = { type: 'task.add', tasks: [{ title: 'a' }] };

    test('the same id twice acts once, and is answered with the same tasks', async () => {
      const store = await openStore();
      const once = await store.send({ message: ADD, by: PERSON, request: 'q1' });
      const twice = await store.send({ message: ADD, by: PERSON, request: 'q1' });
      expect([once.kind, twice.kind]).toEqual(['changed', 'same']);
      expect(twice).toEqual({ ...once, kind: 'same', events: undefined });
      expect(await all(store.tasks())).toHaveLength(1);
    });

    test('also when all of them are under way at the same time', async () => {
      const store = await openStore();
      const sent = Array.from({ length: 10 }, () => store.send({ message: ADD, by: PERSON, request: 'q1' }));
      const answers = await Promise.all(sent);
      expect(answers.map(({ kind }) => kind).sort()).toEqual(['changed', ...Array.from({ length: 9 }, () => 'same')]);
      for (const answer of answers) expect(answer).toMatchObject({ tasks: [{ id: id(1) }] });
      expect(await all(store.eventsAfter({ after: 0 }))).toHaveLength(1);
    });

    test('a claim that is asked again gets its run, not another', async () => {
      const store = await openStore();
      await add(store, {}, {});
      const [task] = await send(store, CLAIM, RUNTIME, 'q1');
      const [again] = await send(store, CLAIM, RUNTIME, 'q1');
      expect(again?.run).toEqual(task?.run);
      expect((await store.find(id(2)))?.status).toBe('ready');
    });

    test('what was refused may be asked again, and then acts', async () => {
      const store = await openStore();
      const ask = { message: CLAIM, by: RUNTIME, request: 'q1' };
      expect(refusalOf(await store.send(ask))).toBe('E_NOTHING_READY');
      await add(store, {});
      expect((await store.send(ask)).kind).toBe('changed');
      expect((await store.send(ask)).kind).toBe('same');
    });

    test('other ids are other requests', async () => {
      const store = await openStore();
      for (const request of ['q1', 'q2', undefined, undefined]) await send(store, ADD, PERSON, request);
      expect(await all(store.tasks())).toHaveLength(4);
    });
  });

  describe(`${name}: signs of life`, () => {
    test('are of the current run alone', async () => {
      const store = await openStore();
      await add(store, { retry: { maxRetries: 1, backoffSeconds: [] } });
      expect(await store.alive(`${id(1)}-r1`)).toBe(false);
      const run = await claim(store);
      expect(await store.alive(run)).toBe(true);
      expect(await store.alive(`${id(1)}-r2`)).toBe(false);
      expect(await store.alive(id(1))).toBe(false);
      expect(await store.alive(`${id(9)}-r1`)).toBe(false);
      await send(store, { type: 'run.fail', run, code: 'E_TIMEOUT', message: 'slow' });
      expect(await store.alive(run)).toBe(false);
      expect(await store.alive(await claim(store))).toBe(true);
      expect(await store.alive(run)).toBe(false);
    });

    test('move the end of the lease, and are not written down', async () => {
      const store = await openStore();
      await add(store, {});
      const run = await claim(store);
      const resume = { message: { type: 'run.resume', run, result: 'none' }, by: RUNTIME } as const;
      clock += LEASE - 1;
      expect(refusalOf(await store.send(resume))).toBe('E_RUN_ALIVE');
      await store.alive(run);
      clock += LEASE - 1;
      expect(refusalOf(await store.send(resume))).toBe('E_RUN_ALIVE');
      expect(await all(store.eventsAfter({ after: 0 }))).toHaveLength(2);
      clock += 1;
      expect(await store.send(resume)).toMatchObject({ kind: 'changed', tasks: [{ status: 'ready' }] });
    });
  });

  describe(`${name}: finding`, () => {
    test('by id, and by external id of a session or of the only one that has it', async () => {
      const store = await openStore();
      await add(store, { session: 'S', externalId: 'A' }, { session: 'T', externalId: 'A' }, { externalId: 'B' });
      const found = async (...args: Parameters<Store['find']>) => (await store.find(...args))?.id;
      expect(await found(id(1))).toBe(id(1));
      expect(await found(id(1), 'T')).toBe(id(1));
      expect(await found('A', 'S')).toBe(id(1));
      expect(await found('A', 'T')).toBe(id(2));
      expect(await found('A', 'U')).toBeUndefined();
      expect(await found('A')).toBeUndefined();
      expect(await found('B')).toBe(id(3));
      expect(await found('B', 'S')).toBeUndefined();
      for (const nothing of [id(4), '', 'constructor', '__proto__']) expect(await found(nothing)).toBeUndefined();
    });

    test('tasks come in the order of their ids, whatever the order in which they were made', async () => {
      const store = await openStore();
      const own = ['TASK-2026-03-01-1000', id(999), 'TASK-2025-12-31-002', 'TASK-2026-03-01-10000'];
      await add(store, ...own.map((one) => ({ id: one })), {});
      const order = [2, 1, 0, 3].map((i) => own[i]);
      expect((await all(store.tasks())).map((task) => task.id)).toEqual([...order, 'TASK-2026-03-01-10001']);
    });

    test('tasks by status and session', async () => {
      const store = await openStore();
      await add(store, { session: 'S' }, { session: 'S', status: 'backlog' }, {}, { status: 'backlog' });
      await send(store, { type: 'task.cancel', id: id(3) });
      const found = async (filter?: TaskFilter) => (await all(store.tasks(filter))).map((task) => task.id);
      expect(await found()).toEqual([1, 2, 3, 4].map(id));
      expect(await found({})).toEqual([1, 2, 3, 4].map(id));
      expect(await found({ status: ['backlog'] })).toEqual([2, 4].map(id));
      expect(await found({ status: ['cancelled', 'ready'] })).toEqual([1, 3].map(id));
      expect(await found({ status: [] })).toEqual([]);
      expect(await found({ session: 'S' })).toEqual([1, 2].map(id));
      expect(await found({ session: 'S', status: ['backlog'] })).toEqual([id(2)]);
      expect(await found({ session: 'nobody' })).toEqual([]);
    });
  });

  const TEXTS: Readonly<Record<string, string>> = {
    body: '# Title\r\n\r\nLine ends\rof every kind\n\n---\nstatus: done\n---\n',
    'inputs/empty.md': '',
    'inputs/unicode.txt': '\u{1F3C3}\u200D\u2640\uFE0F naïve 走る \u0000 \u2028 \uFEFF end',
    'inputs/task.json': `{"objective":"${'ü'.repeat(20_000)}"}`,
    'inputs/a b/c.txt': 'x'.repeat(16 * 1024),
    'outputs/log.txt': `${'0123456789abcde\n'.repeat(70_000)}the end`,
  };

  const expectTexts = async (store: Store, of: string, texts = TEXTS): Promise<void> => {
    for (const [name, text] of Object.entries(texts)) {
      const found = await store.text(of, name);
      // Not by toBe alone: a difference of a megabyte is no help to anybody.
      expect([name, found?.length]).toEqual([name, text.length]);
      expect(found === text, name).toBe(true);
    }
  };

  describe(`${name}: texts`, () => {
    test('come back as they were given: empty, of any script, long, and very long', async () => {
      const store = await openStore();
      await add(store, { texts: TEXTS }, {});
      await expectTexts(store, id(1));
    });

    test('are not there where nobody gave them', async () => {
      const store = await openStore();
      await add(store, { texts: { 'inputs/a.md': 'a' } }, { texts: { body: 'b' } });
      for (const [of, text] of [
        [id(1), 'body'],
        [id(2), 'inputs/a.md'],
        [id(1), 'constructor'],
        [id(2), '__proto__'],
        [id(1), ''],
        [id(9), 'body'],
        ['', 'body'],
      ] as const) {
        expect(await store.text(of, text)).toBeNull();
      }
    });

    test('are replaced one by one, by edits and by reports', async () => {
      const store = await openStore();
      await add(store, { texts: { body: 'one', 'inputs/a.md': 'a' } });
      await send(store, { type: 'task.edit', id: id(1), texts: { body: 'two' } });
      await send(store, { type: 'task.edit', id: id(1), title: 'new title' });
      const run = await claim(store);
      const texts = { 'outputs/summary.md': 's'.repeat(30_000) };
      await send(store, { type: 'run.report', run, outcome: 'done', texts });
      await expectTexts(store, id(1), { body: 'two', 'inputs/a.md': 'a', ...texts });
      await send(store, { type: 'task.edit', id: id(1), texts: { body: '' } });
      expect(await store.text(id(1), 'body')).toBe('');
    });

    test('stand whole in the records', async () => {
      const store = await openStore();
      await add(store, { texts: TEXTS });
      const [record] = await store.history(id(1));
      const texts = record?.changes[0]?.texts ?? {};
      expect(Object.keys(texts).sort()).toEqual(Object.keys(TEXTS).sort());
      for (const [name, text] of Object.entries(TEXTS)) expect(texts[name] === text, name).toBe(true);
    });
  });

  describe(`${name}: records`, () => {
    /** Six records: two tasks, one of which depends on the other, and a third in another session. */
    const story = async (store: Store): Promise<void> => {
      await add(store, {});
      await add(store, { dependsOn: [id(1)] });
      await add(store, { session: 'S' });
      await send(store, { type: 'task.edit', id: id(3), title: 'new' });
      await send(store, { type: 'task.cancel', id: id(1) });
      await send(store, { type: 'note', event: 'noted', session: 'S', detail: {} });
    };

    test('a history has all that touched a task, oldest first, also what another one did to it', async () => {
      const store = await openStore();
      await story(store);
      expect(seqs(await store.history(id(1)))).toEqual([1, 5]);
      expect(seqs(await store.history(id(2)))).toEqual([2, 5]);
      expect(seqs(await store.history(id(3)))).toEqual([3, 4]);
      expect(await store.history(id(4))).toEqual([]);
      const [made, cancelled] = await store.history(id(2));
      expect(made?.changes[0]?.set).toMatchObject({ id: id(2), dependsOn: [id(1)] });
      const change = cancelled?.changes.find(({ task }) => task === id(2));
      expect(change?.set).toMatchObject({ status: 'blocked', cause: { code: 'E_DEPENDENCY_FAILED', task: id(1) } });
    });

    test.each<[string, EventQuery, readonly number[]]>([
      ['from the beginning', { after: 0 }, [1, 2, 3, 4, 5, 6]],
      ['after one', { after: 4 }, [5, 6]],
      ['after the last', { after: 6 }, []],
      ['after what is not there yet', { after: 100 }, []],
      ['of a task', { after: 0, task: id(2) }, [2, 5]],
      ['of a task, after one', { after: 2, task: id(2) }, [5]],
      ['of a task that is not there', { after: 0, task: id(4) }, []],
      ['of a session', { after: 0, session: 'S' }, [3, 4, 6]],
      ['of a session, after one', { after: 3, session: 'S' }, [4, 6]],
      ['of another', { after: 0, session: 'default' }, [1, 2, 5]],
      ['of a session and a task', { after: 0, session: 'S', task: id(3) }, [3, 4]],
      ['of a task, but another’s session', { after: 0, session: 'S', task: id(1) }, []],
    ])('%s', async (_what, query, wanted) => {
      const store = await openStore();
      await story(store);
      expect(seqs(await all(store.eventsAfter(query)))).toEqual(wanted);
    });

    test('of one that stopped reading nothing is kept', async () => {
      const store = await openStore();
      await story(store);
      expect(seqs(await first(2, store.eventsAfter({ after: 0 })))).toEqual([1, 2]);
      expect(seqs(await all(store.eventsAfter({ after: 2 })))).toEqual([3, 4, 5, 6]);
    });

    test('hold together', async () => {
      const store = await openStore();
      await story(store);
      await store.settled();
      expect(await store.verify()).toMatchObject({ ok: true, records: 6, brokenAt: null });
      expect(await store.verify('S')).toMatchObject({ ok: true, brokenAt: null });
      expect((await store.examine()).filter(({ ok }) => !ok)).toEqual([]);
    });
  });

  describe(`${name}: followers`, () => {
    test('get what was there and what comes, and end when they are told to', async () => {
      const store = await openStore();
      await add(store, {}, {});
      const stop = new AbortController();
      const got: number[] = [];
      const follower = (async () => {
        for await (const { seq } of store.eventsAfter({ after: 0, follow: stop.signal })) {
          got.push(seq);
          // Each is asked for by the one before it, so nothing here depends on time.
          if (seq < 5) await add(store, {});
          else stop.abort();
        }
      })();
      await follower;
      expect(got).toEqual(upTo(5));
    });

    test('that were told to stop before they began, or while they wait', async () => {
      const store = await openStore();
      await add(store, {});
      const before = await all(store.eventsAfter({ after: 1, follow: AbortSignal.abort() }));
      expect(before).toEqual([]);
      const stop = new AbortController();
      const waiting = all(store.eventsAfter({ after: 1, follow: stop.signal }));
      // One more follower shows that the store has got as far as waiting.
      await first(1, store.eventsAfter({ after: 0, follow: stop.signal }));
      stop.abort();
      expect(await waiting).toEqual([]);
    });

    test('may be several, each with its own question', async () => {
      const store = await openStore();
      const { signal } = new AbortController();
      const everything = first(6, store.eventsAfter({ after: 0, follow: signal }));
      const again = first(6, store.eventsAfter({ after: 0, follow: signal }));
      const later = first(2, store.eventsAfter({ after: 4, follow: signal }));
      const ofTask = first(2, store.eventsAfter({ after: 0, task: id(2), follow: signal }));
      const ofSession = first(3, store.eventsAfter({ after: 0, session: 'S', follow: signal }));
      for (let i = 0; i < 5; i++) await add(store, { session: i % 2 === 0 ? 'S' : 'T' });
      await send(store, { type: 'task.edit', id: id(2), title: 'new' });
      expect(seqs(await everything)).toEqual(upTo(6));
      expect(seqs(await again)).toEqual(upTo(6));
      expect(seqs(await later)).toEqual([5, 6]);
      expect(seqs(await ofTask)).toEqual([2, 6]);
      expect(seqs(await ofSession)).toEqual([1, 3, 5]);
    });

    test('that begin in the middle of writes see each record once, in order', async () => {
      const store = await openStore();
      const count = 200;
      const { signal } = new AbortController();
      const followers: Promise<StoredRecord[]>[] = [];
      const sent: Promise<unknown>[] = [];
      for (let i = 0; i < count; i++) {
        sent.push(add(store, { title: `task ${i}` }));
        if (i % 20 === 10) {
          followers.push(first(count, store.eventsAfter({ after: 0, follow: signal })));
          followers.push(first(count - i, store.eventsAfter({ after: i, follow: signal })));
          await sent[i - 5];
        }
      }
      await Promise.all(sent);
      for (const follower of followers) {
        const got = seqs(await follower);
        expect(got).toEqual(upTo(count).slice(count - got.length));
      }
    });

    test('see only what has been answered or is about to be: every record they get can be found', async () => {
      const store = await openStore();
      const { signal } = new AbortController();
      const sent = Array.from({ length: 50 }, () => add(store, {}));
      for (const record of await first(50, store.eventsAfter({ after: 0, follow: signal }))) {
        expect(await store.find(record.about[0] as string)).toBeDefined();
      }
      await Promise.all(sent);
    });

    test('end with the store', async () => {
      const store = await openStore();
      await add(store, {});
      const { signal } = new AbortController();
      const got = all(store.eventsAfter({ after: 0, follow: signal }));
      await first(1, store.eventsAfter({ after: 0, follow: signal }));
      await store.close();
      expect(seqs(await got)).toEqual([1]);
    });
  });

  describe(`${name}: many at once`, () => {
    test('two hundred sends: as many tasks and records, each once, without gaps', async () => {
      const store = await openStore();
      const made = await Promise.all(Array.from({ length: 200 }, (_, i) => add(store, { title: `task ${i}` })));
      expect(made.flat().sort()).toEqual(upTo(200).map(id));
      const records = await all(store.eventsAfter({ after: 0 }));
      expect(seqs(records)).toEqual(upTo(200));
      expect(records.map(({ about }) => about[0]).sort()).toEqual(upTo(200).map(id));
      expect(new Set((await all(store.tasks())).map(({ title }) => title)).size).toBe(200);
    });

    test('changes of one task come one after another', async () => {
      const store = await openStore();
      await add(store, {});
      const claims = await Promise.all(Array.from({ length: 20 }, () => store.send({ message: CLAIM, by: RUNTIME })));
      expect(claims.map(refusalOf).sort()).toEqual(
        ['E_NOTHING_READY', 'changed'].flatMap((code, i) => Array.from({ length: i === 0 ? 19 : 1 }, () => code)),
      );
      const run = `${id(1)}-r1`;
      const outcomes = ['done', 'partial', 'blocked', 'failed'] as const;
      const reports = await Promise.all(
        outcomes.map((outcome) => store.send({ message: { type: 'run.report', run, outcome }, by: PERSON })),
      );
      expect(reports.map(refusalOf).sort()).toEqual(['E_STALE_RUN', 'E_STALE_RUN', 'E_STALE_RUN', 'changed']);
    });

    test('twenty claimers of a thousand tasks: each task once, the most urgent first', async () => {
      const store = await openStore();
      const priorities = ['low', 'critical', 'normal', 'high'] as const;
      await add(store, ...Array.from({ length: 1000 }, (_, i) => ({ priority: priorities[i % 4] as 'low' })));
      const got: Task[] = [];
      const claimer = async (agent: string): Promise<void> => {
        for (;;) {
          const answer = await store.send({ message: { ...CLAIM, claimer: { agent } }, by: RUNTIME });
          if (answer.kind === 'refused') {
            expect(answer.refusal.code).toBe('E_NOTHING_READY');
            return;
          }
          got.push(...answer.tasks);
          expect(answer.tasks[0]).toMatchObject({ status: 'in-progress', attempts: 1, run: { agent } });
        }
      };
      await Promise.all(Array.from({ length: 20 }, (_, i) => claimer(`agent-${i}`)));
      expect(new Set(got.map((task) => task.id)).size).toBe(1000);
      expect(got).toHaveLength(1000);
      const started = (await all(store.eventsAfter({ after: 1 }))).map(({ about }) => about[0] as string);
      const ranks = started.map((of) => [1, 3, 2, 0].indexOf((Number(of.slice(16)) - 1) % 4));
      expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
    });
  });

  describe(`${name}: the end`, () => {
    test('nothing is taken after it, and it may be said twice', async () => {
      const store = await openStore();
      await add(store, {});
      await store.close();
      await store.close();
      await expect(
        store.send({ message: { type: 'task.add', tasks: [{ title: 'late' }] }, by: PERSON }),
      ).rejects.toThrow();
    });
  });

  describe(`${name}: after a restart`, () => {
    /** A store that forgets has nothing to show here. */
    const restartable = (what: string, check: (store: Store, reopen: () => Promise<Store>) => Promise<void>): void =>
      test(what, async ({ skip }) => {
        const { store, reopen } = await openOne();
        if (reopen === undefined) return skip('it forgets');
        await check(store, reopen);
      });

    restartable('everything is there again: tasks, texts, records', async (store, reopen) => {
      await add(store, { externalId: 'A', session: 'S', texts: TEXTS, metadata: { deep: { a: [1, null, 'ü'] } } });
      await add(store, { id: id(77), dependsOn: [id(1)], routing: { role: 'r', tags: ['t'] }, reviewRequired: true });
      await add(store, { parentId: id(1), status: 'backlog', retry: { maxRetries: 2, backoffSeconds: [0.5] } });
      await add(store, {});
      await finish(store, id(1));
      await send(store, { type: 'task.cancel', id: id(79) });
      await send(store, { type: 'task.edit', id: id(77), texts: { body: 'new body' } });
      const run = await claim(store, { id: id(77), claimer: { agent: 'emma', roles: ['r'], tags: ['t'] } } as never);
      const cost = { usd: 0.25, tokensInput: 3 };
      await send(store, { type: 'run.report', run, outcome: 'partial', summary: 's', cost, messageId: 'm1' });
      const before = {
        tasks: await all(store.tasks()),
        records: await all(store.eventsAfter({ after: 0 })),
        history: await store.history(id(77)),
      };
      const again = await reopen();
      expect(await all(again.tasks())).toEqual(before.tasks);
      expect(await all(again.eventsAfter({ after: 0 }))).toEqual(before.records);
      expect(await again.history(id(77))).toEqual(before.history);
      expect((await again.find('A', 'S'))?.id).toBe(id(1));
      await expectTexts(again, id(1));
      expect(await again.text(id(77), 'body')).toBe('new body');
      expect(await again.verify()).toMatchObject({ ok: true, records: before.records.length, brokenAt: null });
    });

    restartable('records and ids are counted on', async (store, reopen) => {
      await add(store, { id: id(41) }, {}, { externalId: 'A' });
      const again = await reopen();
      expect(await add(again, {})).toEqual([id(44)]);
      expect(seqs(await all(again.eventsAfter({ after: 0 })))).toEqual([1, 2]);
      const clash: TaskMessage = { type: 'task.add', tasks: [{ title: 'a', externalId: 'A' }] };
      expect(refusalOf(await again.send({ message: clash, by: PERSON }))).toBe('E_DUPLICATE');
    });

    restartable('requests and messages that were taken are known', async (store, reopen) => {
      const ask = { message: { type: 'task.add', tasks: [{ title: 'a' }] }, by: PERSON, request: 'q1' } as const;
      await store.send(ask);
      const report = { type: 'run.report', run: await claim(store), outcome: 'done', messageId: 'm1' } as const;
      await send(store, report);
      const again = await reopen();
      expect(await again.send(ask)).toMatchObject({ kind: 'same', tasks: [{ id: id(1), status: 'review' }] });
      expect((await again.send({ message: report, by: PERSON })).kind).toBe('same');
      expect(await all(again.tasks())).toHaveLength(1);
    });

    restartable('the queue is in the same order, with its backoffs and what waits for what', async (store, reopen) => {
      await add(
        store,
        { priority: 'low' },
        { retry: { maxRetries: 1, backoffSeconds: [10] }, priority: 'critical' },
        { dependsOn: [id(1)], priority: 'high' },
        {},
        { routing: { agent: 'zed' }, priority: 'critical' },
        { status: 'backlog', priority: 'critical' },
      );
      await send(store, { type: 'run.fail', run: await claim(store), code: 'E_TIMEOUT', message: 'slow' });
      await send(store, { type: 'task.edit', id: id(1), priority: 'normal' });
      const again = await reopen();
      expect(await claim(again)).toBe(`${id(1)}-r1`);
      await send(again, { type: 'run.report', run: `${id(1)}-r1`, outcome: 'done' });
      clock += 9_999;
      expect(await claim(again)).toBe(`${id(4)}-r1`);
      expect(refusalOf(await again.send({ message: CLAIM, by: RUNTIME }))).toBe('E_NOTHING_READY');
      await send(again, { type: 'run.judge', run: `${id(1)}-r1`, passed: true }, RUNTIME);
      clock += 1;
      expect(await claim(again)).toBe(`${id(2)}-r2`);
      expect(await claim(again)).toBe(`${id(3)}-r1`);
      expect(refusalOf(await again.send({ message: CLAIM, by: RUNTIME }))).toBe('E_NOTHING_READY');
    });

    restartable('a run goes on', async (store, reopen) => {
      await add(store, {});
      const run = await claim(store);
      const again = await reopen();
      expect(await again.alive(run)).toBe(true);
      expect(refusalOf(await again.send({ message: { ...CLAIM, id: id(1) }, by: RUNTIME }))).toBe('E_NOT_CLAIMABLE');
      expect(await send(again, { type: 'run.report', run, outcome: 'done' })).toMatchObject([{ status: 'review' }]);
    });

    restartable('again and again, with what was sent just before', async (store, reopen) => {
      let now = store;
      for (let i = 1; i <= 5; i++) {
        await Promise.all(Array.from({ length: 20 }, () => add(now, { texts: { body: `round ${i}` } })));
        now = await reopen();
        expect(await all(now.tasks())).toHaveLength(i * 20);
        expect(await now.text(id(i * 20), 'body')).toBe(`round ${i}`);
      }
      expect(seqs(await all(now.eventsAfter({ after: 0 })))).toEqual(upTo(100));
      expect(await now.verify()).toMatchObject({ ok: true, records: 100 });
    });

    restartable('followers go on from where they were', async (store, reopen) => {
      await add(store, {});
      await add(store, {});
      const again = await reopen();
      const { signal } = new AbortController();
      const got = first(3, again.eventsAfter({ after: 1, follow: signal }));
      await add(again, {});
      await add(again, {});
      expect(seqs(await got)).toEqual([2, 3, 4]);
    });
  });
}
