/** What a person does in the tree: moved, edited and dropped files are taken in within moments, or put back, and the refusal is recorded. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Store } from '../../../src/core/store.ts';
import type { Task, TaskStatus } from '../../../src/core/task.ts';
import { openFsStore } from '../../../src/store/fs/store.ts';
import { PATIENCE_MS } from '../../helpers/until.ts';
import { add, all, claim, move, RUNTIME, sent, temporaryFolder } from './folder.ts';

const eventually = <T>(check: () => Promise<T> | T): Promise<T> =>
  vi.waitFor(check, { timeout: PATIENCE_MS, interval: 20 });

async function opened(watch = true): Promise<{ dir: string; store: Store }> {
  const dir = temporaryFolder();
  const store = await openFsStore(dir, { watch });
  onTestFinished(() => store.close());
  return { dir, store };
}

const file = (dir: string, status: TaskStatus, name: string): string => join(dir, 'tasks', status, `${name}.md`);
const find = async (store: Store, id: string): Promise<Task> => (await store.find(id)) as Task;
const events = async (store: Store): Promise<string[]> =>
  (await all(store.eventsAfter({ after: 0 }))).flatMap(({ events }) => events.map(({ type }) => type));

async function inReview(store: Store): Promise<Task> {
  const { run } = await claim(store, (await add(store)).id);
  return sent(store, { type: 'run.report', run: run?.id ?? '', outcome: 'needs_review' }, RUNTIME);
}

test('a task dragged from review to done is done, by a person', async () => {
  const { dir, store } = await opened();
  const { id } = await inReview(store);
  await store.settled();
  mkdirSync(join(dir, 'tasks', 'done'), { recursive: true });
  renameSync(file(dir, 'review', id), file(dir, 'done', id));
  await eventually(async () => expect((await find(store, id)).status).toBe('done'));
  const last = (await store.history(id)).at(-1);
  expect(last?.by).toEqual({ kind: 'person', name: 'user, in the file tree' });
  await store.settled();
  expect(readFileSync(file(dir, 'done', id), 'utf8')).toMatch(/^status: done$/m);
  expect(readdirSync(join(dir, 'tasks', 'review')).filter((name) => name.endsWith('.md'))).toEqual([]);
});

test('its folder comes along', async () => {
  const { dir, store } = await opened();
  const { id } = await inReview(store);
  await store.settled();
  const outputs = join(dir, 'tasks', 'review', id, 'outputs');
  mkdirSync(outputs, { recursive: true });
  writeFileSync(join(outputs, 'summary.md'), 'what I did');
  mkdirSync(join(dir, 'tasks', 'done'), { recursive: true });
  renameSync(file(dir, 'review', id), file(dir, 'done', id));
  const moved = join(dir, 'tasks', 'done', id, 'outputs', 'summary.md');
  await eventually(() => expect(readFileSync(moved, 'utf8')).toBe('what I did'));
});

test('an illegal move is put back, and the refusal recorded', async () => {
  const { dir, store } = await opened();
  const { id } = await add(store);
  await store.settled();
  mkdirSync(join(dir, 'tasks', 'done'), { recursive: true });
  renameSync(file(dir, 'ready', id), file(dir, 'done', id));
  await eventually(() => expect(existsSync(file(dir, 'ready', id))).toBe(true));
  await eventually(() => expect(existsSync(file(dir, 'done', id))).toBe(false));
  expect((await find(store, id)).status).toBe('ready');
  expect(await events(store)).toContain('tree.refused');
});

test('while an agent is at work nobody can tell who moved it, and that approves nothing', async () => {
  const { dir, store } = await opened();
  const { id } = await inReview(store);
  await add(store, { title: 'another' });
  await claim(store);
  await store.settled();
  mkdirSync(join(dir, 'tasks', 'done'), { recursive: true });
  renameSync(file(dir, 'review', id), file(dir, 'done', id));
  await eventually(async () => expect(await events(store)).toContain('tree.refused'));
  expect((await find(store, id)).status).toBe('review');
  await eventually(() => expect(existsSync(file(dir, 'review', id))).toBe(true));
});

test('a file dropped into ready becomes a task', async () => {
  const { dir, store } = await opened();
  await add(store);
  await store.settled();
  writeFileSync(join(dir, 'tasks', 'ready', 'my idea.md'), '# Write the manual\n\nAll of it.\n');
  const [, made] = await eventually(async () => {
    const tasks = await all(store.tasks());
    expect(tasks).toHaveLength(2);
    return tasks;
  });
  expect(made).toMatchObject({ title: 'Write the manual', status: 'ready' });
  expect(await store.text(made?.id ?? '', 'body')).toBe('# Write the manual\n\nAll of it.\n');
  await eventually(() => expect(existsSync(join(dir, 'tasks', 'ready', 'my idea.md'))).toBe(false));
  expect(existsSync(file(dir, 'ready', made?.id ?? ''))).toBe(true);
  await store.settled();
  expect(await all(store.tasks())).toHaveLength(2);
});

test('a file that was dropped while nobody looked becomes one task at the next start, and only one', async () => {
  const { dir, store } = await opened(false);
  await add(store);
  await store.close();
  writeFileSync(join(dir, 'tasks', 'ready', 'later.md'), '---\ntitle: Later\npriority: high\n---\nBody.\n');
  for (let i = 0; i < 3; i++) {
    const again = await openFsStore(dir);
    await again.settled();
    expect((await all(again.tasks())).map(({ title, priority }) => [title, priority])).toEqual([
      ['Mend the parser', 'normal'],
      ['Later', 'high'],
    ]);
    await again.close();
  }
});

test('an edit by hand is taken in', async () => {
  const { dir, store } = await opened();
  const { id } = await add(store);
  await store.settled();
  const text = readFileSync(file(dir, 'ready', id), 'utf8');
  const edited = text
    .replace('title: Mend the parser', 'title: Mend both parsers')
    .replace('priority: normal', 'priority: critical');
  writeFileSync(file(dir, 'ready', id), `${edited}And the other one.\n`);
  await eventually(async () =>
    expect(await find(store, id)).toMatchObject({ title: 'Mend both parsers', priority: 'critical' }),
  );
  expect(await store.text(id, 'body')).toBe('It drops a line.\nAnd the other one.\n');
});

test('an edit in place while nobody looked is found by a process that stays', async () => {
  const { dir, store } = await opened(false);
  const { id } = await add(store);
  await store.close();
  const text = readFileSync(file(dir, 'ready', id), 'utf8');
  writeFileSync(file(dir, 'ready', id), text.replace('title: Mend the parser', 'title: Other'));
  const again = await openFsStore(dir, { watch: true });
  onTestFinished(() => again.close());
  await eventually(async () => expect((await find(again, id)).title).toBe('Other'));
});

test('an edit that is refused is put back, and its text is kept', async () => {
  const { dir, store } = await opened();
  const { id } = await add(store);
  await store.settled();
  const before = readFileSync(file(dir, 'ready', id), 'utf8');
  writeFileSync(file(dir, 'ready', id), before.replace('priority: normal', 'priority: normal\ndependsOn: [nobody]'));
  await eventually(async () => expect(await events(store)).toContain('tree.refused'));
  await eventually(() => expect(readFileSync(file(dir, 'ready', id), 'utf8')).not.toMatch(/nobody/));
  const kept = readdirSync(join(dir, 'refused'));
  expect(readFileSync(join(dir, 'refused', kept[0] as string), 'utf8')).toMatch(/nobody/);
  expect((await find(store, id)).dependsOn).toEqual([]);
});

test('a file that cannot be read is left where it is, and harms nothing else', async () => {
  const { dir, store } = await opened();
  const { id } = await add(store);
  await store.settled();
  const broken = '---\ntitle: [\n---\nbody\n';
  writeFileSync(join(dir, 'tasks', 'ready', 'broken.md'), broken);
  writeFileSync(join(dir, 'tasks', 'ready', 'good.md'), 'Do it.\n');
  await eventually(async () => expect(await all(store.tasks())).toHaveLength(2));
  await eventually(async () => expect(await events(store)).toContain('tree.unreadable'));
  await store.settled();
  expect(readFileSync(join(dir, 'tasks', 'ready', 'broken.md'), 'utf8')).toBe(broken);
  await move(store, id, 'blocked');
  await store.settled();
  expect(existsSync(file(dir, 'blocked', id))).toBe(true);
  expect((await store.examine()).find(({ ok }) => !ok)?.name).toMatch(/broken\.md$/);
});

test('a task file that is thrown away is written again', async () => {
  const { dir, store } = await opened();
  const { id } = await add(store);
  await store.settled();
  renameSync(file(dir, 'ready', id), join(dir, 'gone'));
  await eventually(() => expect(existsSync(file(dir, 'ready', id))).toBe(true));
});

test.each([
  ['session', /^session: default$/m, 'session: other'],
  ['createdBy', /^createdBy: .*$/m, 'createdBy: somebody'],
  ['id', /^id: .*$/m, 'id: TASK-2020-01-01-001'],
  ['parentId', /^session: default$/m, 'session: default\nparentId: TASK-2020-01-01-001'],
])('%s cannot be changed by hand: it is put back, and the refusal recorded', async (field, line, other) => {
  const { dir, store } = await opened();
  const task = await add(store);
  await store.settled();
  const path = file(dir, 'ready', task.id);
  const before = readFileSync(path, 'utf8');
  expect(before).toMatch(line);
  writeFileSync(path, before.replace(line, other).replace('title: Mend the parser', 'title: Mend it'));
  await eventually(async () => expect(await events(store)).toContain('tree.refused'));
  await store.settled();
  const refused = (await store.history(task.id))
    .flatMap((record) => record.events)
    .find(({ type }) => type === 'tree.refused');
  expect(refused?.detail).toMatchObject({ reason: `${field} cannot be changed by hand; it was put back` });
  expect(readFileSync(join(dir, String(refused?.detail?.['kept'])), 'utf8')).toContain(other);
  // What may be changed was.
  expect(await find(store, task.id)).toMatchObject({ title: 'Mend it', session: 'default', parentId: null });
  await eventually(() => expect(readFileSync(path, 'utf8')).not.toContain(other));
});
