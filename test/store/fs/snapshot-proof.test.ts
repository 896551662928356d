/** Nothing on disk is believed without proof: a damaged snapshot, graph file, mark of the tree or long text is noticed, and built again or named. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { realDisk } from '../../../src/store/fs/disk.ts';
import { layoutOf } from '../../../src/store/fs/layout.ts';
import { makeFolder } from '../../../src/store/fs/marker.ts';
import { sealed } from '../../../src/store/fs/seal.ts';
import { type FsOptions, openFsStore } from '../../../src/store/fs/store.ts';
import { type Random, seeded } from '../../helpers/random.ts';
import { everything, story } from '../conformance-graph.ts';
import { add, all, claim, move, RUNTIME, sent, temporaryFolder } from './folder.ts';

const SECRET = 'the secret of this folder';
const LONG = 'A long text, line after line.\n'.repeat(1_000);
let dir: string;
const file = (name: string): string => join(dir, name);
const snapshot = (): string => file('snapshot.jsonl');
const now = (): number => Date.UTC(2026, 2, 1, 9);
const open = (options: FsOptions = {}) => openFsStore(dir, { now, ...options });

/** A bit of everything, with a snapshot of it and a tail behind it. */
beforeEach(async () => {
  dir = temporaryFolder();
  makeFolder(realDisk, layoutOf(dir), SECRET);
  const store = await open({ snapshotEvery: 1 });
  await story(store);
  for (let i = 0; i < 12; i++) await add(store, { title: `Task ${i}` });
  const { id } = await add(store, { title: 'Long', session: 'other', texts: { body: LONG } });
  const { run } = await claim(store, id);
  await sent(store, { type: 'run.report', run: run?.id as string, outcome: 'done', summary: 'It is done.' });
  await sent(store, { type: 'run.judge', run: run?.id as string, passed: true }, RUNTIME);
  const speaker = { agent: 'emma', run: null, priority: 'P2', leads: true } as const;
  const save = { type: 'session.save', session: 'other', key: 'db', value: 'postgres', persistent: true } as const;
  await store.send({ message: { ...save, speaker }, by: { kind: 'person', name: 'ann' } });
  for (let i = 0; i < 20; i++) await sent(store, { type: 'note', event: 'seen', detail: { i } });
  await store.settled();
  await move(store, 'TASK-2026-03-01-002', 'blocked');
  await store.close();
  expect(readFileSync(snapshot(), 'utf8')).toMatch(/\n"end"\n"seal \w{64}"\n$/);
});

interface Looked {
  readonly state: unknown;
  readonly warnings: readonly string[];
  readonly events: readonly string[];
}

/** All that the store says, what it warned of, and what it wrote down meanwhile. */
async function look(options: FsOptions = {}): Promise<Looked> {
  const warnings: string[] = [];
  const store = await open({ onWarning: (sentence) => warnings.push(sentence), ...options });
  const state = { tasks: await all(store.tasks()), sessions: await store.sessions(), graph: await everything(store) };
  await store.settled();
  const records = await all(store.eventsAfter({ after: 0 }));
  await store.close();
  const told = records.flatMap(({ events }) => events).filter(({ type }) => type === 'store.distrusted');
  return { state, warnings, events: told.map(({ detail }) => String(detail?.['file'])) };
}

async function verified() {
  const store = await open();
  const [proof, checks] = [await store.verify(), await store.examine()];
  await store.close();
  return { proof, checks };
}

const DAMAGE: readonly ((bytes: Buffer, random: Random) => Buffer)[] = [
  function flipBit(bytes, random) {
    const at = random.below(bytes.length);
    return Buffer.concat([
      bytes.subarray(0, at),
      Buffer.of((bytes[at] as number) ^ (1 << random.below(8))),
      bytes.subarray(at + 1),
    ]);
  },
  function otherByte(bytes, random) {
    const at = random.below(bytes.length);
    return Buffer.concat([bytes.subarray(0, at), Buffer.of(((bytes[at] as number) + 1) % 256), bytes.subarray(at + 1)]);
  },
  function cutOff(bytes, random) {
    return bytes.subarray(0, random.below(bytes.length));
  },
  function lineGone(bytes, random) {
    const lines = bytes.toString('latin1').split('\n');
    return Buffer.from(lines.toSpliced(random.below(lines.length - 1), 1).join('\n'), 'latin1');
  },
  function lineDoubled(bytes, random) {
    const lines = bytes.toString('latin1').split('\n');
    const at = random.below(lines.length - 1);
    return Buffer.from(lines.toSpliced(at, 0, lines[at] as string).join('\n'), 'latin1');
  },
  function linesSwapped(bytes, random) {
    const lines = bytes.toString('latin1').split('\n');
    const at = random.below(lines.length - 2);
    const [one, two] = [lines[at] as string, lines[at + 1] as string];
    return Buffer.from(
      lines
        .with(at, two)
        .with(at + 1, one)
        .join('\n'),
      'latin1',
    );
  },
  () => Buffer.alloc(0),
  (bytes) => Buffer.concat([bytes, bytes]),
  (bytes) => Buffer.concat([bytes, Buffer.from('\n')]),
  (bytes) => Buffer.from(bytes.toString('latin1').replace(/"seal \w+"\n$/, ''), 'latin1'),
  (bytes) => Buffer.from(bytes.toString('latin1').replace('"status":"done"', '"status":"dane"'), 'latin1'),
  (bytes) => Buffer.from(bytes.toString('latin1').replace('"status":"ready"', '"status":"done"'), 'latin1'),
  (bytes) => Buffer.from(bytes.toString('latin1').replace(/"seq":\d+/, '"seq":3'), 'latin1'),
  // As another folder's Baton seals it.
  (bytes) => Buffer.from([...sealed([bytes.toString('utf8').replace(/"seal \w+"\n$/, '')], 'another secret')].join('')),
];

describe('the snapshot', () => {
  test('of 120 that are damaged all are noticed, told of and built again', async () => {
    const before = await look();
    expect(before.warnings).toEqual([]);
    for (let i = 0; i < 120; i++) {
      const bytes = readFileSync(snapshot());
      const damaged = (DAMAGE[i % DAMAGE.length] as (typeof DAMAGE)[number])(bytes, seeded(i));
      expect([i, damaged.equals(bytes)]).toEqual([i, false]);
      writeFileSync(snapshot(), damaged);
      const { state, warnings, events } = await look();
      expect([i, warnings]).toEqual([i, [expect.stringContaining('snapshot.jsonl was not believed')]]);
      expect([i, state]).toEqual([i, before.state]);
      expect(events.at(-1)).toBe('snapshot.jsonl');
      expect(readFileSync(snapshot(), 'utf8')).toMatch(/\n"end"\n"seal \w{64}"\n$/);
    }
    const { proof } = await verified();
    expect(proof).toMatchObject({ ok: true, problems: [] });
    expect((await look()).warnings).toEqual([]);
  }, 120_000);

  test('that is damaged under a running store is named by verify, and built again by the doctor', async () => {
    const before = await look();
    const store = await open();
    const text = readFileSync(snapshot(), 'utf8');
    writeFileSync(snapshot(), text.replace('"status":"done"', '"status":"dane"'));
    expect(await store.verify()).toMatchObject({
      ok: false,
      brokenAt: { where: 'snapshot.jsonl', reason: 'its checksum does not fit what it says' },
    });
    const checks = await store.examine();
    expect(checks.find(({ name }) => name === 'snapshot')?.detail).toMatch(/not believed \(.*built again/);
    expect(await store.verify()).toMatchObject({ ok: true });
    await add(store);
    await store.close();
    const after = await look();
    expect((after.state as { tasks: unknown[] }).tasks).toHaveLength(
      (before.state as { tasks: unknown[] }).tasks.length + 1,
    );
  });

  test('that somebody forged who knows the secret is found by verify and by the doctor, which builds it again', async () => {
    const before = await look();
    const forge = (): void => {
      const text = readFileSync(snapshot(), 'utf8').replace(/"seal \w+"\n$/, '');
      const forged = text.replace('"title":"Task 3"', '"title":"Task 3, and more"');
      expect(forged).not.toBe(text);
      writeFileSync(snapshot(), [...sealed([forged], SECRET)].join(''));
    };
    forge();
    const store = await open();
    expect((await store.verify()).brokenAt).toMatchObject({
      where: 'snapshot.jsonl',
      reason: expect.stringMatching(/the task TASK-2026-03-01-\d+ is not as the journal says/),
    });
    expect((await store.examine()).find(({ name }) => name === 'snapshot')).toMatchObject({ ok: false });
    expect((await all(store.tasks())).map(({ title }) => title)).not.toContain('Task 3, and more');
    await store.close();
    expect((await look()).state).toEqual(before.state);
    expect((await verified()).checks.filter(({ ok }) => !ok)).toEqual([]);
  });

  test('of another time of the same journal is noticed by the record that it ends with', async () => {
    const text = readFileSync(snapshot(), 'utf8').replace(/"seal \w+"\n$/, '');
    const other = text.replace(/"hash":"\w{4}/, '"hash":"0000');
    writeFileSync(snapshot(), [...sealed([other], SECRET)].join(''));
    expect((await look()).warnings).toEqual([expect.stringContaining('it does not fit the journal')]);
  });

  test('of 0.1.0, which has no checksum, is not believed either, and nothing is said of it', async () => {
    const before = await look();
    const text = readFileSync(snapshot(), 'utf8').replace(/"seal \w+"\n$/, '');
    const old = text.replace(/"hash":"\w{64}",/, '').replace('"title":"Task 3"', '"title":"Task 4"');
    writeFileSync(snapshot(), old);
    const { state, warnings } = await look();
    expect([state, warnings]).toEqual([before.state, []]);
    expect(readFileSync(snapshot(), 'utf8')).toMatch(/"seal \w{64}"\n$/);
  });

  test('one that is not there is nothing to warn of', async () => {
    const before = await look();
    rmSync(snapshot());
    expect(await look()).toEqual({ ...before, events: before.events });
  });

  test('in a folder that cannot be written, one that is damaged is told of, and all is there', async () => {
    const before = await look();
    writeFileSync(snapshot(), readFileSync(snapshot()).subarray(0, -9));
    const no = (): never => {
      throw Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' });
    };
    const disk = {
      ...realDisk,
      mkdir: no,
      write: no,
      create: no,
      rename: no,
      link: no,
      remove: no,
      truncate: no,
      appender: no,
    };
    const { state, warnings } = await look({ disk });
    expect(state).toEqual(before.state);
    expect(warnings).toHaveLength(1);
  });
});

test('a few large records make a snapshot due as many small ones do, so that the next start reads little', async () => {
  dir = temporaryFolder();
  const store = await open();
  for (let i = 0; i < 12; i++) {
    const tasks = Array.from({ length: 400 }, (_, n) => ({
      title: `Task ${n} of batch ${i}`,
      texts: { body: 'Do it.' },
    }));
    await sent(store, { type: 'task.add', tasks });
  }
  await store.close();
  const [header = ''] = readFileSync(snapshot(), 'utf8').split('\n', 1);
  expect(JSON.parse(header)).toMatchObject({ seq: 12, tasks: 4_800 });
});

describe('a damage that a repair has passed over', () => {
  test('is not damage once more when the snapshot behind it is of no use', async () => {
    const day = file(`events/${readdirSync(file('events'))[0]}`);
    const lines = readFileSync(day, 'utf8').split('\n');
    writeFileSync(day, lines.with(20, 'x'.repeat((lines[20] as string).length)).join('\n'));
    rmSync(snapshot());
    await expect(open()).rejects.toMatchObject({ code: 'E_STORE_DAMAGED' });
    const repaired = await open({ repair: true });
    const tasks = await all(repaired.tasks());
    await repaired.close();
    writeFileSync(snapshot(), readFileSync(snapshot()).subarray(0, -9));
    const again = await open();
    expect(await all(again.tasks())).toEqual(tasks);
    await again.close();
  });
});

describe('long texts', () => {
  const content = (): string => {
    const [folder = ''] = readdirSync(file('content')).sort();
    return file(`content/${folder}/${readdirSync(file(`content/${folder}`))[0]}`);
  };

  test('are counted, and each is what its record names', async () => {
    const { proof, checks } = await verified();
    expect(proof).toMatchObject({ ok: true, texts: 2 });
    expect(checks.find(({ name }) => name === 'content')).toMatchObject({ ok: true });
  });

  test.each([
    ['missing', () => rmSync(content()), /is missing/],
    ['damaged', () => writeFileSync(content(), LONG.replace('line', 'lime')), /is damaged/],
  ])('one that is %s is named, with the record that names it', async (_, harm, reason) => {
    const path = content();
    harm();
    const { proof, checks } = await verified();
    expect(proof).toMatchObject({ ok: false, brokenAt: { where: path.slice(dir.length + 1) } });
    expect(proof.brokenAt?.reason).toMatch(reason);
    expect(proof.brokenAt?.seq).toBeGreaterThan(0);
    expect(checks.filter(({ ok }) => !ok)).toMatchObject([{ name: 'content' }]);
  });

  test('of another session are not asked about with one', async () => {
    for (const folder of readdirSync(file('content'))) rmSync(file(`content/${folder}`), { recursive: true });
    const store = await open();
    expect((await store.verify()).problems).toHaveLength(2);
    expect((await store.verify('other')).problems).toHaveLength(1);
    await store.close();
  });
});

describe("the mark of the tree's files", () => {
  test.each([
    ['a record that never was', (text: string) => text.replace(/"seq":\d+/, '"seq":99999')],
    ['an earlier record', (text: string) => text.replace(/"seq":\d+/, '"seq":1')],
    ['rubbish', () => 'rubbish'],
  ])('with %s in it is not believed, and the folder opens', async (_, how) => {
    const before = await look();
    writeFileSync(file('tree.json'), how(readFileSync(file('tree.json'), 'utf8')));
    expect((await look()).state).toEqual(before.state);
  });

  test('of 0.1.0 still says what was durable', async () => {
    const { seal: _, ...old } = JSON.parse(readFileSync(file('tree.json'), 'utf8')) as Record<string, unknown>;
    writeFileSync(file('tree.json'), JSON.stringify(old));
    await look();
    const { seal: __, ...more } = JSON.parse(readFileSync(file('tree.json'), 'utf8')) as Record<string, unknown>;
    writeFileSync(file('tree.json'), JSON.stringify({ ...more, seq: 99_999 }));
    await expect(open()).rejects.toMatchObject({ code: 'E_STORE_DAMAGED' });
  });
});
