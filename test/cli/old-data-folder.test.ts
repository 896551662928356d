/** The data folder that 0.1.0 made (test/fixtures/data-folder-0.1.0): every later version opens it, finds all of it and goes on with it. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Disk, realDisk } from '../../src/store/fs/disk.ts';
import { openFsStore } from '../../src/store/fs/store.ts';
import type { Ran } from './baton.ts';
import { batonHere } from './here.ts';

type Json = Record<string, unknown>;
interface Expected {
  readonly tasks: readonly (Json & { readonly id: string; readonly status: string })[];
  readonly inbox: readonly Json[];
  readonly nodes: readonly (Json & { readonly node_id: string })[];
  readonly graph: { readonly nodes: readonly Json[]; readonly edges: readonly Json[] };
  readonly sessions: readonly (Json & { readonly id: string })[];
  readonly audit: { readonly records: number };
}

const OLD = fileURLToPath(new URL('../fixtures/data-folder-0.1.0', import.meta.url));
const expected = JSON.parse(readFileSync(join(OLD, 'expected.json'), 'utf8')) as Expected;

let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-old-')));
  execFileSync('tar', ['-xzf', join(OLD, 'data-folder.tar.gz'), '--no-same-owner', '-C', dir]);
});
afterEach(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));

const run = async (...args: string[]): Promise<Ran> => {
  const ran = await batonHere(args, '', dir);
  expect([args, ran.exit, ran.err]).toEqual([args, 0, ran.err]);
  return ran;
};
const json = async <T = Json>(...args: string[]): Promise<T> =>
  JSON.parse((await run(...args, '--json')).out) as unknown as T;
const named = (title: string): string => expected.tasks.find((task) => task['title'] === title)?.id as string;
const journal = (): string => {
  const days = realDisk.list(join(dir, '.baton/events')).sort();
  return days.map((day) => readFileSync(join(dir, '.baton/events', day), 'utf8')).join('');
};

/** What may be told otherwise one day: unknown costs, and what ends by itself. */
const lasting = ({ cost: _, locks: __, ...rest }: Json): Json => rest;

async function expectAllThere(): Promise<void> {
  const tasks = await json<Json[]>('task', 'list');
  expect(tasks).toMatchObject(expected.tasks.map(lasting));
  expect(await json<Json[]>('inbox')).toEqual(
    expect.arrayContaining(expected.inbox.map(({ id, kind }) => expect.objectContaining({ id, kind }))),
  );
  expect(await json<Json[]>('graph', 'list')).toMatchObject(expected.nodes);
  expect(await json('graph', 'export', '--as', 'json')).toMatchObject(expected.graph);
  expect(await json<Json[]>('session', 'list')).toMatchObject(expected.sessions.map(lasting));
}

describe('read', () => {
  test('the fixture has a task in every status, a snapshot and records behind it', () => {
    expect(new Set(expected.tasks.map(({ status }) => status)).size).toBe(8);
    const [header = ''] = readFileSync(join(dir, '.baton/snapshot.jsonl'), 'utf8').split('\n');
    const { seq } = JSON.parse(header) as { seq: number };
    expect(seq).toBeGreaterThan(100);
    expect(expected.audit.records).toBeGreaterThan(seq + 10);
  });

  test('tasks, questions, nodes, edges and sessions are what 0.1.0 said of them', expectAllThere);

  test('each task is shown and explained, with its texts, runs and logs', async () => {
    for (const { id, status } of expected.tasks) {
      const shown = await json('task', 'show', id);
      expect(shown).toMatchObject({ id, status });
      expect((shown['events'] as Json[]).length).toBeGreaterThan(0);
      expect((await json('why', id))['because']).not.toEqual([]);
    }
    const long = await json('task', 'show', named('A long order'));
    expect(String(long['body']).length).toBeGreaterThan(16 * 1024);
    expect(long['body']).toContain('Line 899 of the order.');
    expect(long['runs']).toMatchObject([{ attempt: 1, agent: 'good', status: 'completed' }]);
    const handed = await json('task', 'show', named('Buy a chair'));
    expect(handed).toMatchObject({ parentId: named('Furnish the shop'), depth: 1 });
    expect((await json('task', 'show', 'SPRING-2'))['runs']).toMatchObject([
      { status: 'failed' },
      { status: 'failed' },
    ]);
    const waiting = await json('task', 'show', named('Wait for the postman'));
    expect(waiting['runs']).toMatchObject([{ status: 'expired' }, { status: 'running' }]);
    expect((await run('logs', named('Write the price list'))).out).toContain('working\n');
  });

  test('nodes, sessions, reports, the audit trail and the journal can be read', async () => {
    for (const { node_id: id } of expected.nodes)
      expect(await json('graph', 'show', id)).toMatchObject({ node_id: id });
    expect((await run('graph', 'lineage', 'adr_by_agent_20260101_100000')).out).toContain('adr_till_20260101_100000');
    for (const { id } of expected.sessions) {
      expect(await json('report', id)).toMatchObject({ event: 'SESSION_FINAL_REPORT', session_id: id });
    }
    expect(await json('do', '--session', 'billing', '#STATE:load:currency')).toMatchObject({ reply: 'euro' });
    expect(await json('do', '--session', 'billing', '#STATE:load:till')).toMatchObject({ reply: 'red' });
    expect((await run('do', '--session', 'billing', '#CHECKPOINT:list')).out).toContain('cp_001');
    expect(await json('audit', 'verify')).toMatchObject({ ok: true, broken_at: null });
    expect((await run('audit', '--json')).out.split('\n').length).toBeGreaterThan(20);
    expect((await run('events', '--json')).out.split('\n').length).toBeGreaterThan(expected.audit.records);
  });

  test('doctor finds nothing that is wrong with it', async () => {
    const { checks } = await json<{ checks: { name: string; ok: boolean; detail: string }[] }>('doctor');
    const store = checks.filter(({ name }) => /folder|journal|snapshot|graph|tree|content|last write/.test(name));
    expect(store.length).toBeGreaterThan(3);
    expect(store.filter(({ ok }) => !ok)).toEqual([]);
  });

  test('in a folder that cannot be written, all of it is there too', async () => {
    const no = (): never => {
      throw Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' });
    };
    const readOnly: Disk = {
      ...realDisk,
      mkdir: no,
      write: no,
      create: no,
      rename: no,
      link: no,
      remove: no,
      removeFolder: no,
      truncate: no,
      appender: no,
    };
    const before = journal();
    const store = await openFsStore(join(dir, '.baton'), { disk: readOnly });
    try {
      const ids: string[] = [];
      for await (const { id, status } of store.tasks()) ids.push(`${id} ${status}`);
      expect(ids).toEqual(expected.tasks.map(({ id, status }) => `${id} ${status}`));
      expect((await store.text(named('A long order'), 'body'))?.length).toBeGreaterThan(16 * 1024);
      expect((await store.node('report_long_20260101_100000'))?.document).toMatchObject({ node_type: 'Report' });
      expect((await store.questions({ open: true })).map(({ id }) => id)).toEqual(['ask-2']);
    } finally {
      await store.close();
    }
    expect(journal()).toBe(before);
  });
});

describe('gone on with', () => {
  test('ready tasks are run, and the task whose worker was killed is ready again', async () => {
    const before = journal();
    await run('work', '--until-empty', '--agent', 'good');
    expect(await json('task', 'show', named('Greet the customers'))).toMatchObject({ status: 'done' });
    expect(await json('task', 'show', named('Close the shop'))).toMatchObject({ status: 'done' });
    expect(await json('task', 'show', named('Wait for the postman'))).toMatchObject({ status: 'ready' });
    expect(journal().startsWith(before)).toBe(true);
    expect(await json('audit', 'verify')).toMatchObject({ ok: true, broken_at: null });
  });

  test('what was said to it is kept, and everything else is as it was', async () => {
    const at = named('Name the shop well');
    await run('task', 'edit', at, '--priority', 'low');
    await run('task', 'move', at, 'ready');
    await run('approve', named('Check the till again'));
    await run('answer', 'ask-2', 'accept');
    await run('answer', named('Ship to the moon'), 'retry');
    await run('do', '--session', 'billing', '#STATE:save:till:green');
    const { id } = await json<{ id: string }>('task', 'add', '--title', 'Begin anew', '--depends-on', 'SPRING-1');
    await run('doctor', '--fix');
    const statuses = new Map((await json<Json[]>('task', 'list')).map((task) => [task['id'], task['status']]));
    expect(statuses.get(at)).toBe('ready');
    expect(statuses.get(named('Check the till again'))).toBe('done');
    expect(statuses.get(named('Ship to the moon'))).toBe('ready');
    expect(statuses.get(named('Count the moon parcels'))).toBe('ready');
    expect(statuses.get(id)).toBe('ready');
    expect(await json('do', '--session', 'billing', '#STATE:load:till')).toMatchObject({ reply: 'green' });
    expect((await json<Json[]>('inbox')).map((item) => item['id'])).not.toContain('ask-2');
    const changed = new Set([at, named('Check the till again'), named('Ship to the moon')]);
    changed.add(named('Count the moon parcels'));
    for (const task of expected.tasks) {
      if (!changed.has(task.id)) expect(statuses.get(task.id)).toBe(task.status);
    }
    expect(await json('audit', 'verify')).toMatchObject({ ok: true, broken_at: null });
  });
});
