import { describe, expect, it } from 'vitest';
import type { NewTask } from '../../../src/core/laws/messages.ts';
import type { Task, TaskStatus } from '../../../src/core/task.ts';
import { type Finding, type LookOptions, look, type TreeState } from '../../../src/store/fs/tree/reader.ts';
import { scan } from '../../../src/store/fs/tree/scan.ts';
import { digestOf } from '../../../src/store/fs/tree/stamp.ts';
import { taskText } from '../../../src/store/fs/tree/text.ts';
import { type MemoryDisk, memoryDisk } from '../memory-disk.ts';
import { id, NOW, run, stateOf, task } from './samples.ts';

const ROOT = '/data';
const BODY = '# Login\n\nIt fails.\n';
const at = (status: TaskStatus, name = `${id(1)}.md`): string => `${ROOT}/tasks/${status}/${name}`;

function diskWith(files: Readonly<Record<string, string | Uint8Array>>): MemoryDisk {
  const disk = memoryDisk();
  for (const [path, content] of Object.entries(files)) {
    disk.mkdir(path.slice(0, path.lastIndexOf('/')));
    disk.write(path, content);
  }
  return disk;
}

/** What a file with this text means, where the state has this task. */
function meaning(
  text: string | Uint8Array,
  known: Task | null = task(),
  path = at('ready'),
  options: LookOptions = {},
  state: Partial<TreeState> = {},
): Finding {
  const tasks = known === null ? [] : [known];
  return look(diskWith({ [path]: text }), ROOT, path, { ...stateOf(tasks, { [id(1)]: BODY }), ...state }, options);
}

const written = taskText(task(), BODY, 5);
const found = (text: string | Uint8Array, folder: TaskStatus = 'ready') => ({
  id: id(1),
  path: at(folder),
  folder,
  digest: digestOf(text),
});

describe('a file of a known task', () => {
  it('is the same', () => {
    expect(meaning(written)).toEqual({ kind: 'same', id: id(1), path: at('ready') });
    const odd = task({ title: 'a\ud800' });
    const disk = diskWith({ [at('ready')]: taskText(odd, 'b\ud800', 1) });
    expect(look(disk, ROOT, at('ready'), stateOf([odd], { [id(1)]: 'b\ud800' })).kind).toBe('same');
  });

  it('is stale: ours, but of an older record', () => {
    expect(meaning(written, task({ title: 'New' }))).toEqual({ kind: 'stale', ...found(written) });
    expect(meaning(written, task({ status: 'done' }))).toEqual({ kind: 'stale', ...found(written) });
    expect(meaning(taskText(task(), 'old body', 5))).toMatchObject({ kind: 'stale' });
  });

  it('was moved: ours, but not in the folder for which it was written', () => {
    const moved = { kind: 'moved', to: 'cancelled', changes: {}, putBack: [], ...found(written, 'cancelled') };
    expect(meaning(written, task(), at('cancelled'))).toEqual(moved);
    expect(meaning(written, task({ status: 'in-progress' }), at('cancelled'))).toEqual(moved);
    // Where the task has gone by itself in the meantime, nothing is left to do but to write it again.
    expect(meaning(written, task({ status: 'cancelled' }), at('cancelled'))).toMatchObject({ kind: 'stale' });
  });

  it.each<[string, (text: string) => string, object]>([
    ['title', (t) => t.replace('Fix the login page', '"Fix: all"'), { title: 'Fix: all' }],
    ['priority', (t) => t.replace('priority: normal', 'priority: high'), { priority: 'high' }],
    ['agent', (t) => t.replace('  agent: emma', '  agent: otto'), { routing: { agent: 'otto' } }],
    ['no agent', (t) => t.replace('  agent: emma\n', ''), { routing: { agent: null } }],
    ['tags', (t) => t.replace('tags: [a]', 'tags: [b, c]'), { routing: { tags: ['b', 'c'] } }],
    ['no routing', (t) => t.replace(/routing:\n.*\n.*\n/, ''), { routing: { agent: null, tags: [] } }],
    ['dependencies', (t) => t.replace(`[${id(2)}]`, `[${id(3)}, X]`), { dependsOn: [id(3), 'X'] }],
    ['no dependencies', (t) => t.replace(/dependsOn.*\n/, ''), { dependsOn: [] }],
    ['review', (t) => t.replace('  sprint: 1', '  sprint: 1\n  reviewRequired: true'), { reviewRequired: true }],
    ['review, as a field', (t) => t.replace('session:', 'reviewRequired: true\nsession:'), { reviewRequired: true }],
    ['metadata', (t) => t.replace('  sprint: 1', '  sprint: 2\n  who: me'), { metadata: { sprint: 2, who: 'me' } }],
    ['no metadata', (t) => t.replace(/metadata:\n.*\n/, ''), { metadata: {} }],
    ['an unknown field', (t) => t.replace('priority:', 'sla: 5\npriority:'), { metadata: { sprint: 1, sla: 5 } }],
    [
      'an unknown route',
      (t) => t.replace('  agent:', '  via: x\n  agent:'),
      { metadata: { sprint: 1, 'routing.via': 'x' } },
    ],
    ['body', (t) => `${t}More.\n`, { body: `${BODY}More.\n` }],
    ['only its form', (t) => t.replace('tags: [a]', 'tags:\n    - "a"'), {}],
    ['no title', (t) => t.replace(/title.*\n/, ''), {}],
    ['no priority', (t) => t.replace(/priority.*\n/, ''), {}],
    ['its line ends', (t) => t.replace(/\n/g, '\r\n'), { body: BODY.replace(/\n/g, '\r\n') }],
    ['nothing but a body', () => 'All new.\n', { body: 'All new.\n' }],
  ])('was edited: %s', (_, change, changes) => {
    const known = task({
      routing: { agent: 'emma', role: null, team: null, tags: ['a'] },
      dependsOn: [id(2)],
      metadata: { sprint: 1 },
    });
    const text = change(taskText(known, BODY, 5));
    expect(meaning(text, known)).toEqual({ kind: 'edited', changes, putBack: [], ...found(text) });
  });

  it.each<[string, (text: string) => string]>([
    ['id', (t) => t.replace(`id: ${id(1)}`, `id: ${id(9)}`)],
    ['externalId', (t) => t.replace('title:', 'externalId: X\ntitle:')],
    ['session', (t) => t.replace('session: default', 'session: other')],
    ['parentId', (t) => t.replace('session:', `parentId: ${id(3)}\nsession:`)],
    ['createdAt', (t) => t.replace(/createdAt: 2026/, 'createdAt: 2025')],
    ['createdBy', (t) => t.replace('createdBy: user', 'createdBy: boss')],
    ['updatedAt', (t) => t.replace(/updatedAt: 2026/, 'updatedAt: 2027')],
    ['lastTransitionAt', (t) => t.replace(/lastTransitionAt: 2026/, 'lastTransitionAt: 2027')],
    ['lease', (t) => t.replace('runId: ', 'runId: x')],
    ['metadata.attempts', (t) => t.replace('attempts: 2', 'attempts: 0')],
    ['metadata.summary', (t) => t.replace('attempts: 2', 'attempts: 2\n  summary: All is well')],
    ['attempts', (t) => t.replace('session:', 'attempts: 0\nsession:')],
    ['metadata.reviewRequired', (t) => t.replace('attempts: 2', 'attempts: 2\n  reviewRequired: perhaps')],
  ])('is put back where it is not for people to change: %s', (field, change) => {
    const known = task({ status: 'in-progress', run: run(), attempts: 2 });
    const text = change(taskText(known, BODY, 5));
    expect(text).not.toBe(taskText(known, BODY, 5));
    const expected = { kind: 'edited', changes: {}, putBack: [field], ...found(text, 'in-progress') };
    expect(meaning(text, known, at('in-progress'))).toEqual(expected);
  });

  it('keeps metadata of the task that its file does not show', () => {
    const known = task({ metadata: { a: 1, attempts: 'mine' } });
    const text = taskText(known, BODY, 5).replace('a: 1', 'a: 2');
    expect(meaning(text, known)).toMatchObject({ changes: { metadata: { a: 2, attempts: 'mine' } } });
  });

  it('was moved by its status field, or by both, and edited besides', () => {
    const text = written.replace('status: ready', 'status: cancelled');
    expect(meaning(text)).toMatchObject({ kind: 'moved', to: 'cancelled', changes: {}, folder: 'ready' });
    expect(meaning(text, task(), at('cancelled'))).toMatchObject({ kind: 'moved', to: 'cancelled' });
    expect(meaning(text, task(), at('blocked'))).toMatchObject({ kind: 'moved', to: 'blocked' });
    expect(meaning(`${text}x`)).toMatchObject({ kind: 'moved', to: 'cancelled', changes: { body: `${BODY}x` } });
    expect(meaning(`${written}x`, task(), at('done'))).toMatchObject({ kind: 'moved', to: 'done', folder: 'done' });
  });

  it('that was edited while its task went on was not moved by anybody', () => {
    const later = task({ status: 'review', updatedAt: NOW + 5, lastTransitionAt: NOW + 5 });
    const edited = { kind: 'edited', folder: 'ready', changes: { body: `${BODY}x` }, putBack: [] };
    expect(meaning(`${written}x`, later)).toMatchObject(edited);
    expect(meaning(`${written}x`, later, at('review'))).toMatchObject({ ...edited, folder: 'review' });
    expect(meaning(`${written}x`, later, at('done'))).toMatchObject({ kind: 'moved', to: 'done' });
  });

  it('that was edited while its task was changed says only what was edited, where its record is known', () => {
    const later = task({ title: 'New', status: 'review', updatedAt: NOW + 5, lastTransitionAt: NOW + 5 });
    const asOf = (_: string, seq: number) => (seq === 5 ? { task: task(), body: BODY } : undefined);
    const text = written.replace('priority: normal', 'priority: low');
    const edited = { kind: 'edited', changes: { priority: 'low' }, putBack: [], ...found(text) };
    expect(meaning(text, later, at('ready'), {}, { asOf })).toEqual(edited);
    const moved = text.replace('status: ready', 'status: blocked');
    expect(meaning(moved, later, at('ready'), {}, { asOf })).toMatchObject({ kind: 'moved', to: 'blocked' });
  });

  it('is torn only after a loss of power, if nothing of a person can be in it', () => {
    const unclean = { unclean: true };
    const bytes = Buffer.from(written);
    for (let length = 0; length < bytes.length; length++) {
      const start = bytes.subarray(0, length);
      const zeros = Buffer.concat([start, Buffer.alloc(bytes.length - length)]);
      expect(meaning(start, task(), at('ready'), unclean).kind, `${length}`).toBe('torn');
      expect(meaning(zeros, task(), at('ready'), unclean).kind, `${length} and zeros`).toBe('torn');
      expect(meaning(start).kind === 'torn', `${length}, clean`).toBe(length === 0);
    }
    expect(meaning(`${written}x`, task(), at('ready'), unclean).kind).toBe('edited');
    expect(meaning('my words', task(), at('ready'), unclean).kind).toBe('edited');
    expect(meaning(written.slice(0, -5).replace('login', 'logon'), task(), at('ready'), unclean).kind).toBe('edited');
  });

  it.each<[string, string | Uint8Array, RegExp]>([
    ['broken YAML', written.replace('title:', 'title: ['), /expected YAML/],
    ['a wrong value', written.replace('priority: normal', 'priority: urgent'), /\/priority: expected one of/],
    ['no end of its frontmatter', '---\nid: x\n', /closing ---/],
    ['bytes that are no text', Buffer.concat([Buffer.from(written), Buffer.from([0xff])]), /expected UTF-8/],
    ['too many bytes', Buffer.alloc(10 * 1024 * 1024 + 1, 32), /expected at most 10485760 bytes/],
  ])('is unreadable with %s', (_, text, reason) => {
    const finding = meaning(text);
    expect(finding).toEqual({
      kind: 'unreadable',
      id: id(1),
      path: at('ready'),
      reason: expect.stringMatching(reason),
    });
  });

  it('is not followed where it is a link', () => {
    const disk = diskWith({ [at('ready', 'x')]: '' });
    disk.putOther(at('ready'));
    expect(look(disk, ROOT, at('ready'), stateOf([task()]))).toMatchObject({ kind: 'unreadable', id: id(1) });
  });

  it('is a duplicate where another one counts', () => {
    const newer = taskText(task(), BODY, 6);
    const state = stateOf([task()], { [id(1)]: BODY });
    const both = (there: string, here: string): Finding =>
      look(diskWith({ [at('ready')]: there, [at('done')]: here }), ROOT, at('done'), state);
    const duplicate = { kind: 'duplicate', counts: at('ready'), ...found(written, 'done') };
    expect(both(newer, written)).toEqual({ ...duplicate, isOurs: true });
    expect(both(written, written)).toEqual({ ...duplicate, isOurs: true });
    expect(both(newer, `${written}x`)).toMatchObject({ kind: 'duplicate', isOurs: false });
    expect(both(newer, 'my words')).toMatchObject({ kind: 'duplicate', isOurs: false });
    expect(both(newer, written.replace('title:', 'title: ['))).toMatchObject({ kind: 'duplicate', isOurs: false });
    expect(both(written, `${newer}x`)).toMatchObject({ kind: 'moved', to: 'done' });
  });

  it('is an edit, and no duplicate, where its task went on while somebody wrote to it', () => {
    const later = task({ status: 'review', updatedAt: NOW + 5, lastTransitionAt: NOW + 5 });
    const disk = diskWith({ [at('ready')]: `${written}x`, [at('review')]: taskText(later, BODY, 6) });
    const state = stateOf([later], { [id(1)]: BODY });
    expect(look(disk, ROOT, at('ready'), state)).toMatchObject({ kind: 'edited', changes: { body: `${BODY}x` } });
    disk.write(at('ready'), written);
    expect(look(disk, ROOT, at('ready'), state)).toMatchObject({ kind: 'duplicate', isOurs: true });
  });

  it('is missing when it is nowhere', () => {
    const disk = diskWith({ [at('done', 'x.md')]: '' });
    expect(look(disk, ROOT, at('ready'), stateOf([task()]))).toEqual({ kind: 'missing', id: id(1) });
    disk.write(at('done'), written);
    expect(look(disk, ROOT, at('ready'), stateOf([task()]))).toEqual({ kind: 'gone', path: at('ready') });
    expect(look(disk, ROOT, at('ready', 'y.md'), stateOf([task()]))).toEqual({
      kind: 'gone',
      path: at('ready', 'y.md'),
    });
  });
});

describe('a file of nobody', () => {
  const dropped = (
    text: string,
    name = 'my idea.md',
    known: Task | null = null,
    status: TaskStatus = 'ready',
  ): Finding => meaning(text, known, at(status, name));

  it.each<[string, string, object]>([
    ['plain words', 'Fix the login\n\nNow.', { title: 'Fix the login', texts: { body: 'Fix the login\n\nNow.' } }],
    ['a heading', '\n\nHello\n## Fix  it ##\nx', { title: 'Fix it' }],
    ['a frontmatter only', '---\npriority: high\n---\n', { title: 'my idea', priority: 'high' }],
    ['a title', '---\ntitle: T\n---\n# H\n', { title: 'T', texts: { body: '# H\n' } }],
    ['terminal escapes', '\x1b[31mred\x1b[0m', { title: 'red' }],
    ['a long line', 'x'.repeat(500), { title: 'x'.repeat(200) }],
  ])('becomes a task: %s', (_, text, expected) => {
    const finding = dropped(text);
    expect(finding).toMatchObject({ kind: 'dropped', path: at('ready', 'my idea.md'), digest: digestOf(text) });
    expect(finding).toMatchObject({ task: { status: 'ready', ...expected } });
  });

  it('says all that a new task can say', () => {
    const text = `---
externalId: T-1
title: Title
status: done
priority: low
routing: { agent: emma, tags: [a] }
dependsOn: [${id(1)}, T-0]
parentId: ${id(1)}
session: s
createdAt: 2026-07-01T10:00:00.000Z
sla: 5
metadata:
  reviewRequired: true
  retry: { maxRetries: 2, backoffSeconds: [5] }
  attempts: 3
  sprint: 1
---
Body
`;
    expect(dropped(text, 'x.md', null, 'backlog')).toMatchObject({
      kind: 'dropped',
      folder: 'backlog',
      task: {
        externalId: 'T-1',
        title: 'Title',
        status: 'backlog',
        priority: 'low',
        routing: { agent: 'emma', role: null, team: null, tags: ['a'] },
        dependsOn: [id(1), 'T-0'],
        parentId: id(1),
        session: 's',
        retry: { maxRetries: 2, backoffSeconds: [5] },
        reviewRequired: true,
        metadata: { sprint: 1, sla: 5 },
        texts: { body: 'Body\n' },
      },
    });
  });

  it('may say its alternatives and what it writes, and is read without them where they are no such thing', () => {
    const asked = (metadata: string): NewTask | null => {
      const finding = dropped(`---\nmetadata: ${metadata}\n---\nx`);
      return finding.kind === 'dropped' ? finding.task : null;
    };
    const alternatives = '[{ provider: GEMINI, model: g-1, trigger: TIMEOUT }]';
    expect(
      asked(
        `{ retry: { maxRetries: 1, backoffSeconds: [5], alternatives: ${alternatives}, stopOnCritical: true }, writes: [/w] }`,
      ),
    ).toMatchObject({
      retry: {
        maxRetries: 1,
        backoffSeconds: [5],
        alternatives: [{ provider: 'GEMINI', model: 'g-1', trigger: 'TIMEOUT' }],
        stopOnCritical: true,
      },
      writes: ['/w'],
    });
    const broken = asked(
      '{ retry: { maxRetries: 1, backoffSeconds: [5], alternatives: [{ model: g-1 }] }, writes: [1] }',
    );
    expect(broken?.retry).toEqual({ maxRetries: 1, backoffSeconds: [5] });
    expect(broken).not.toHaveProperty('writes');
  });

  it('keeps an id that is free', () => {
    const idOf = (finding: Finding): string | undefined => (finding.kind === 'dropped' ? finding.task.id : 'no');
    expect(idOf(dropped(`---\nid: ${id(2)}\n---\nx`))).toBe(id(2));
    expect(idOf(dropped('x', `${id(3)}.md`))).toBe(id(3));
    expect(idOf(dropped('x'))).toBeUndefined();
    expect(idOf(dropped(`---\nid: ${id(1)}\n---\nx`, 'copy.md', task()))).toBeUndefined();
    expect(idOf(dropped(`${written}x`, 'copy.md', task()))).toBeUndefined();
  });

  it('is a copy to be left alone, where nobody has changed it yet', () => {
    expect(dropped(written, `${id(1)} copy.md`, task({ status: 'done' }))).toMatchObject({ kind: 'foreign' });
  });

  it('is left where it is and reported, where a new task cannot be or cannot be read', () => {
    const reason = 'expected a new task in backlog or ready, got one in done';
    expect(dropped('x', 'x.md', null, 'done')).toEqual({
      kind: 'unreadable',
      id: null,
      path: at('done', 'x.md'),
      reason,
    });
    expect(dropped('---\nid: TASK-1\n---\nx')).toMatchObject({ kind: 'unreadable', reason: /^\/id: expected/ });
    expect(dropped('---\nx')).toMatchObject({ kind: 'unreadable', id: null });
  });

  it.each(['.x.md', '.#x.md', 'x.md~', '#x.md#', '.x.md.swp', 'x.txt', 'x.md.tmp', '.md', '~$x.md', '4913', id(1)])(
    'is passed by: %s',
    (name) => {
      expect(dropped('x', name)).toEqual({ kind: 'foreign', path: at('ready', name) });
    },
  );

  it('is passed by as long as it is empty, and where it is a folder or in none of ours', () => {
    expect(dropped('')).toMatchObject({ kind: 'foreign' });
    expect(dropped(' \r\n\t')).toMatchObject({ kind: 'foreign' });
    const disk = diskWith({ [`${at('ready', 'x.md')}/y.md`]: 'y' });
    for (const path of [at('ready', 'x.md'), `${at('ready', 'x.md')}/y.md`, '/etc/x.md', `${ROOT}/tasks/x.md`, ROOT]) {
      expect(look(disk, ROOT, path, stateOf([]))).toEqual({ kind: 'foreign', path });
    }
  });
});

describe('a scan', () => {
  const tasks = [
    task(),
    task({ id: id(2), status: 'done' }),
    task({ id: id(3), status: 'review' }),
    task({ id: id(4) }),
    task({ id: id(5) }),
  ];
  const disk = (): MemoryDisk =>
    diskWith({
      [at('ready')]: taskText(tasks[0] as Task, '', 1),
      [at('ready', `${id(2)}.md`)]: taskText(task({ id: id(2) }), '', 1),
      [`${at('ready', id(3))}/inputs/x`]: 'x',
      [at('review', `${id(3)}.md`)]: taskText(tasks[2] as Task, 'edited', 1).replace('edited', 'by hand'),
      [at('cancelled', `${id(5)}.md`)]: taskText(tasks[4] as Task, '', 1),
      [at('backlog', 'idea.md')]: 'An idea',
      [at('backlog', '.idea.md.swp')]: 'x',
    });
  const odd = [
    { kind: 'dropped', path: at('backlog', 'idea.md') },
    { kind: 'stale', id: id(2), folder: 'ready' },
    { kind: 'astray', id: id(3), path: at('ready', id(3)), folder: 'ready' },
    { kind: 'moved', id: id(5), to: 'cancelled' },
    { kind: 'missing', id: id(4) },
  ];
  const sorted = (findings: Iterable<object>): object[] =>
    [...findings].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

  it('by names finds what is not in its place', () => {
    const findings = [...scan(disk(), ROOT, stateOf(tasks))];
    expect(findings).toHaveLength(odd.length);
    for (const each of odd) expect(findings).toContainEqual(expect.objectContaining(each));
  });

  it('by names reads no file that is in its place, and lists each folder once', () => {
    const real = disk();
    const read: string[] = [];
    const listed: string[] = [];
    const spy = {
      ...real,
      read(path: string) {
        read.push(path);
        return real.read(path);
      },
      list(path: string) {
        listed.push(path);
        return real.list(path);
      },
    };
    expect([...scan(spy, ROOT, stateOf(tasks))]).toHaveLength(odd.length);
    expect(read).not.toContain(at('ready'));
    expect(new Set(listed).size).toBe(listed.length);
  });

  it('in full finds what was changed in its place too', () => {
    const findings = [...scan(disk(), ROOT, stateOf(tasks), { full: true })];
    expect(findings).toHaveLength(odd.length + 1);
    expect(findings).toContainEqual(
      expect.objectContaining({ kind: 'edited', id: id(3), changes: { body: 'by hand' } }),
    );
    expect(sorted(scan(disk(), ROOT, stateOf(tasks), { full: true }))).toEqual(sorted(findings));
  });

  it('misses a file where there is a folder in its place', () => {
    const blocked = diskWith({ [`${at('ready')}/x`]: 'x' });
    expect([...scan(blocked, ROOT, stateOf([task()]), { full: true })]).toEqual([{ kind: 'missing', id: id(1) }]);
  });

  it('goes into no link', () => {
    const linked = memoryDisk();
    linked.mkdir(`${ROOT}/tasks`);
    linked.putOther(`${ROOT}/tasks/ready`);
    expect([...scan(linked, ROOT, stateOf([task()]))]).toMatchObject([
      { kind: 'unreadable', path: `${ROOT}/tasks/ready` },
      { kind: 'missing', id: id(1) },
    ]);
  });
});
