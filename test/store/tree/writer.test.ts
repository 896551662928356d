import { describe, expect, it } from 'vitest';
import type { Task, TaskStatus } from '../../../src/core/task.ts';
import { readRunFile } from '../../../src/protocol/aof/index.ts';
import { removeExactly, tidy } from '../../../src/store/fs/tree/aside.ts';
import { digestOf, oursOf } from '../../../src/store/fs/tree/stamp.ts';
import { taskText } from '../../../src/store/fs/tree/text.ts';
import { applyJobs, type Job, type JobResult } from '../../../src/store/fs/tree/writer.ts';
import { type MemoryDisk, memoryDisk } from '../memory-disk.ts';
import { id, run, task } from './samples.ts';

const ROOT = '/data';
const at = (status: TaskStatus, name = `${id(1)}.md`): string => `${ROOT}/tasks/${status}/${name}`;
const text = (disk: MemoryDisk, path: string): string | null => {
  const bytes = disk.read(path);
  return bytes === null ? null : Buffer.from(bytes).toString('utf8');
};
const files = (disk: MemoryDisk): string[] =>
  [...disk.nodes].filter(([, node]) => node.kind !== 'folder').map(([path]) => path.slice(ROOT.length + 1));

const job = (status: TaskStatus, from: Job['from'], more: Partial<Job> & { task?: Task } = {}): Job => ({
  task: task({ status }),
  seq: 1,
  from,
  texts: { body: 'Please.\n' },
  ...more,
});
const one = (disk: MemoryDisk, each: Job): JobResult => applyJobs(disk, ROOT, [each])[0] as JobResult;
const done = { id: id(1), seq: 1, kind: 'done', file: expect.objectContaining({ kind: 'file' }) };

describe('the writer', () => {
  it('writes a new task', () => {
    const disk = memoryDisk();
    expect(one(disk, job('ready', null))).toEqual(done);
    expect(text(disk, at('ready'))).toBe(taskText(task(), 'Please.\n', 1));
    expect(files(disk)).toEqual([`tasks/ready/${id(1)}.md`]);
  });

  it('moves it, with its folder', () => {
    const disk = memoryDisk();
    one(disk, job('ready', null, { texts: { body: '', 'inputs/task.json': '{}' } }));
    expect(one(disk, job('review', 'ready'))).toEqual(done);
    expect(files(disk)).toEqual([`tasks/review/${id(1)}.md`, `tasks/review/${id(1)}/inputs/task.json`]);
  });

  it('finds it where nobody knows where it is', () => {
    const disk = memoryDisk();
    one(disk, job('backlog', null, { texts: { body: '', 'inputs/a.txt': 'a' } }));
    disk.mkdir(at('blocked', id(1)));
    disk.write(`${at('blocked', id(1))}/b.txt`, 'b');
    expect(one(disk, job('done', 'unknown'))).toEqual(done);
    expect(files(disk).sort()).toEqual([
      `tasks/done/${id(1)}.md`,
      `tasks/done/${id(1)}/b.txt`,
      `tasks/done/${id(1)}/inputs/a.txt`,
    ]);
  });

  it('can do the same job again', () => {
    const disk = memoryDisk();
    one(disk, job('ready', null));
    const move = job('in-progress', 'ready', { task: task({ status: 'in-progress', run: run() }) });
    one(disk, move);
    const before = files(disk);
    expect(one(disk, move)).toEqual(done);
    expect(files(disk)).toEqual(before);
  });

  it('makes the folders of a run, and its files', () => {
    const disk = memoryDisk();
    one(disk, job('in-progress', null, { task: task({ status: 'in-progress', run: run() }) }));
    expect(disk.list(at('in-progress', id(1)))).toEqual(['inputs', 'work', 'outputs']);
    const running = readRunFile('run.json', text(disk, `${ROOT}/runs/${id(1)}/run.json`) ?? '');
    expect(running).toMatchObject({ ok: true, value: { runId: `${id(1)}-r1`, status: 'running', agentId: 'emma' } });
    const ended = run({ status: 'cancelled', endedAt: 5, outcome: 'done', supervisor: { pid: 7, started: 'x' } });
    const result = `{"runId":"${id(1)}-r1","more":1}\n`;
    one(disk, job('review', 'in-progress', { task: task({ status: 'review', run: ended }), result }));
    expect(text(disk, `${ROOT}/runs/${id(1)}/run_result.json`)).toBe(result);
    expect(readRunFile('run.json', text(disk, `${ROOT}/runs/${id(1)}/run.json`) ?? '')).toMatchObject({
      ok: true,
      problems: [],
      value: { resultRef: 'run_result.json', metadata: { status: 'cancelled', outcome: 'done' } },
    });
  });

  it("puts a pointer to a child into its parent's folder, wherever that is", () => {
    const disk = memoryDisk();
    const child = task({ id: id(2), parentId: id(1), title: 'Child' });
    one(disk, job('in-progress', null));
    one(disk, job('ready', null, { task: child }));
    const pointer = `${at('in-progress', id(1))}/children/${id(2)}.json`;
    expect(JSON.parse(text(disk, pointer) ?? '')).toEqual({ taskId: id(2), title: 'Child' });
    one(disk, job('done', 'in-progress'));
    expect(disk.stat(pointer)).toBeNull();
    expect(disk.stat(`${at('done', id(1))}/children/${id(2)}.json`)).not.toBeNull();
    // The parent has no file yet; its status says where it will be.
    const orphan = task({ id: id(3), parentId: id(4) });
    applyJobs(disk, ROOT, [job('ready', null, { task: orphan, parent: 'backlog' })]);
    expect(disk.stat(`${at('backlog', id(4))}/children/${id(3)}.json`)).not.toBeNull();
  });

  it('merges folders, and keeps both where two files have one name', () => {
    const disk = memoryDisk();
    one(disk, job('ready', null, { texts: { body: '', 'inputs/a.md': 'ours', 'inputs/b': 'b', 'work/x': 'x' } }));
    disk.mkdir(`${at('done', id(1))}/inputs`);
    disk.write(`${at('done', id(1))}/inputs/a.md`, 'theirs');
    disk.write(`${at('done', id(1))}/work`, 'a file');
    expect(one(disk, job('done', 'ready'))).toEqual(done);
    const found = Object.fromEntries(files(disk).map((path) => [path, text(disk, `${ROOT}/${path}`)]));
    expect(found).toMatchObject({
      [`tasks/done/${id(1)}/inputs/a.md`]: 'theirs',
      [`tasks/done/${id(1)}/inputs/a (2).md`]: 'ours',
      [`tasks/done/${id(1)}/inputs/b`]: 'b',
      [`tasks/done/${id(1)}/work`]: 'a file',
      [`tasks/done/${id(1)}/work (2)/x`]: 'x',
    });
    expect(disk.stat(at('ready', id(1)))).toBeNull();
  });

  it('keeps what somebody wrote into a file of its folder', () => {
    const disk = memoryDisk();
    const texts = { body: '', 'inputs/task.json': '1' };
    one(disk, job('ready', null, { texts }));
    one(disk, job('ready', 'ready', { texts }));
    expect(files(disk)).toHaveLength(2);
    disk.write(`${at('ready', id(1))}/inputs/task.json`, 'mine');
    one(disk, job('ready', 'ready', { texts }));
    expect(text(disk, `${at('ready', id(1))}/inputs/task (2).json`)).toBe('mine');
    expect(text(disk, `${at('ready', id(1))}/inputs/task.json`)).toBe('1');
  });

  it.each([
    ['where it is', 'ready' as const],
    ['where it goes', 'review' as const],
  ])('does not touch an edited file %s', (_, where) => {
    const disk = memoryDisk();
    one(disk, job('ready', null));
    if (where === 'review') disk.mkdir(`${ROOT}/tasks/review`);
    disk.write(at(where), 'my own words');
    const before = files(disk);
    const result = one(disk, job('review', 'ready', { seq: 2 }));
    const digest = digestOf('my own words');
    expect(result).toEqual({ id: id(1), seq: 2, kind: 'foreign', path: at(where), text: 'my own words', digest });
    expect(text(disk, at(where))).toBe('my own words');
    expect(files(disk)).toEqual(before);
    // Once it was taken in, it may be replaced.
    const replaces = [{ path: at(where), digest }];
    expect(one(disk, job('review', 'ready', { replaces }))).toEqual(done);
    expect(files(disk)).toEqual([`tasks/review/${id(1)}.md`]);
  });

  it('hears of a move by hand before it makes its own', () => {
    const disk = memoryDisk();
    one(disk, job('ready', null));
    disk.mkdir(`${ROOT}/tasks/done`);
    disk.rename(at('ready'), at('done'));
    expect(one(disk, job('in-progress', 'ready'))).toMatchObject({ kind: 'foreign', path: at('done') });
    expect(one(disk, job('done', 'ready'))).toEqual(done);
    expect(one(disk, job('ready', 'done'))).toEqual(done);
    expect(files(disk)).toEqual([`tasks/ready/${id(1)}.md`]);
  });

  it('writes a file again that somebody removed', () => {
    const disk = memoryDisk();
    one(disk, job('ready', null));
    disk.remove(at('ready'));
    expect(one(disk, job('review', 'ready'))).toEqual(done);
    expect(files(disk)).toEqual([`tasks/review/${id(1)}.md`]);
  });

  it('removes the file of which a task was made, if it is still the same', () => {
    const disk = memoryDisk();
    disk.mkdir(`${ROOT}/tasks/ready`);
    for (const [now, left] of [
      ['idea', 1],
      ['better idea', 2],
    ] as const) {
      disk.write(at('ready', 'my idea.md'), now);
      const replaces = [{ path: at('ready', 'my idea.md'), digest: digestOf('idea') }];
      expect(one(disk, job('ready', null, { replaces }))).toEqual(done);
      expect(files(disk)).toHaveLength(left);
    }
    expect(one(disk, job('ready', null, { replaces: [{ path: '/etc/passwd', digest: 'x' }] }))).toEqual(done);
  });

  it('removes a copy only as long as it is one', () => {
    const disk = memoryDisk();
    one(disk, job('ready', null));
    const digest = digestOf(disk.read(at('ready')) ?? '');
    const exactly = { path: at('ready'), digest };
    expect(removeExactly(disk, ROOT, { ...exactly, digest: 'x' }, 'ready', id(1))).toBe('changed');
    expect(removeExactly(disk, ROOT, exactly, 'ready', id(1))).toBe('removed');
    expect(removeExactly(disk, ROOT, exactly, 'ready', id(1))).toBe('gone');
    expect(files(disk)).toEqual([]);
  });

  it.each([
    [`tasks`, 'tasks'],
    [`tasks/done`, 'tasks/done'],
    [`tasks/ready`, 'tasks/ready'],
    [`tasks/done/${id(1)}.md`, 'the file'],
    [`tasks/ready/${id(1)}.md`, 'the old file'],
    [`tasks/done/${id(1)}`, 'the folder'],
    [`tasks/ready/${id(1)}`, 'the old folder'],
    [`tasks/ready/${id(1)}/inputs`, 'a folder in it'],
    [`tasks/ready/${id(1)}/inputs/task.json`, 'a file in it'],
    [`runs`, 'runs'],
    [`runs/${id(1)}`, 'the run'],
    [`runs/${id(1)}/run.json`, 'its file'],
    [`tmp`, 'tmp'],
  ])('refuses to write through a link: %s', (path) => {
    const disk = memoryDisk();
    const parts = `${ROOT}/${path}`.split('/');
    disk.mkdir(parts.slice(0, -1).join('/'));
    if (!path.startsWith('tasks/ready'))
      disk.mkdir(`${ROOT}/tasks/ready/${id(1)}`.replace(/\/tasks.*/, path === 'tasks' ? '' : '$&'));
    disk.putOther(`${ROOT}/${path}`);
    const running = task({ status: 'done', run: run({ status: 'completed' }) });
    const texts = { body: '', 'inputs/task.json': '{}' };
    const result = one(disk, job('done', 'ready', { task: running, texts }));
    expect(result).toMatchObject({ kind: 'refused', path: `${ROOT}/${path}` });
    expect(disk.stat(`${ROOT}/${path}`)?.kind).toBe('other');
  });

  it.each(['../x', '/x', 'a//b', './a', 'a/..', 'a\\b', ''])('refuses a text called %j', (name) => {
    const disk = memoryDisk();
    expect(one(disk, job('ready', null, { texts: { body: '', [name]: 'x' } }))).toMatchObject({ kind: 'refused' });
    expect(files(disk)).toEqual([]);
  });

  it('says what the disk refused, leaves nothing behind, and goes on with the others', () => {
    const disk = memoryDisk();
    const full: MemoryDisk = {
      ...disk,
      write(path, bytes) {
        if (path.includes(id(2))) {
          disk.write(path, 'ha');
          throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
        }
        disk.write(path, bytes);
      },
    };
    const jobs = [1, 2, 3].map((n) => job('ready', null, { task: task({ id: id(n) }) }));
    expect(applyJobs(full, ROOT, jobs)).toMatchObject([
      { kind: 'done' },
      { kind: 'failed', code: 'ENOSPC', reason: 'no space left' },
      { kind: 'done' },
    ]);
    expect(files(disk)).toEqual([`tasks/ready/${id(1)}.md`, `tasks/ready/${id(3)}.md`]);
  });
});

/** A disk that calls `before` ahead of each of its operations. */
function watched(disk: MemoryDisk, before: (operation: string, path: string) => void): MemoryDisk {
  const wrapped: Record<string, unknown> = { ...disk };
  for (const [name, method] of Object.entries(disk)) {
    if (typeof method !== 'function' || name === 'putOther') continue;
    wrapped[name] = (...args: string[]) => {
      before(name, args[0] as string);
      return (method as (...args: unknown[]) => unknown)(...args);
    };
  }
  return wrapped as unknown as MemoryDisk;
}

const EDIT = 'A line by hand.\n';

/** Two ways in which editors save; both change the file where it is at that moment, if it is anywhere. */
const SAVES = {
  'in its place': (disk: MemoryDisk, path: string, old: string) => disk.write(path, old + EDIT),
  'by a new file': (disk: MemoryDisk, path: string, old: string) => {
    disk.write(`${path}~`, old + EDIT);
    disk.rename(`${path}~`, path);
  },
};
const JOBS = {
  'moves the file': job('review', 'ready', { seq: 2 }),
  'looks for the file': job('review', 'unknown', { seq: 2 }),
  'writes it again': job('ready', 'ready', { seq: 2, task: task({ title: 'Other' }) }),
};
const CASES = Object.keys(SAVES).flatMap((save) => Object.keys(JOBS).map((what) => [save, what] as const));

describe('an edit at any moment', () => {
  it.each(Object.keys(JOBS))('is told from what was written, while it %s', (what) => {
    let isOver = false;
    for (let moment = 0; !isOver; moment++) {
      const disk = memoryDisk();
      one(disk, job('ready', null));
      const { task: after } = JOBS[what as keyof typeof JOBS];
      const path = at(after.status);
      let count = 0;
      const spy = watched(disk, () => {
        const bytes = disk.read(path);
        if (count++ !== moment || bytes === null) return;
        // The same length, so that only its time tells.
        disk.write(path, Buffer.from(bytes).toString('utf8').replace('Please', 'PLEASE'));
      });
      const result = one(spy, JOBS[what as keyof typeof JOBS]);
      isOver = count <= moment;
      const isEdited = text(disk, path)?.includes('PLEASE') ?? false;
      if (result.kind === 'done') expect(isEdited).toBe(disk.stat(path)?.mtimeMs !== result.file?.mtimeMs);
    }
  });

  it.each(CASES)('saved %s while the writer %s is never lost', (save, what) => {
    let isOver = false;
    for (let moment = 0; !isOver; moment++) {
      const disk = memoryDisk();
      one(disk, job('ready', null));
      let count = 0;
      let isTold = false;
      let operation = '';
      const spy = watched(disk, (name, path) => {
        if (count++ !== moment) return;
        operation = `${name} ${path}`;
        const now = (['ready', 'review'] as const).map((each) => at(each)).find((each) => disk.stat(each) !== null);
        const old = text(disk, now ?? '');
        if (now === undefined || old === null) return;
        isTold = true;
        SAVES[save as keyof typeof SAVES](disk, now, old);
      });
      const result = one(spy, JOBS[what as keyof typeof JOBS]);
      isOver = count <= moment;
      const isKept = files(disk).some((path) => text(disk, `${ROOT}/${path}`)?.includes(EDIT));
      // The one gap that is left: a new file renamed over the old one between the look at it and our own renaming.
      const isGap = save === 'by a new file' && what === 'writes it again' && /^rename .*\.new$/.test(operation);
      if (isTold && !isGap) {
        expect(isKept, `${operation}: ${result.kind}`).toBe(true);
        const where = (['ready', 'review'] as const).filter((each) => disk.stat(at(each)) !== null);
        expect(where.length, operation).toBeGreaterThan(0);
        // If it was done, the edit came after it and is in the task's file; else its text is told, or is in the file.
        if (result.kind === 'foreign') expect(result.text, operation).toContain(EDIT);
        else
          expect(
            where.some((each) => text(disk, at(each))?.includes(EDIT)),
            operation,
          ).toBe(true);
      }
    }
  });

  it.each(Object.keys(JOBS))(
    'a reader of any moment while it %s sees whole files, and the task in one or two folders',
    (what) => {
      let moments = 0;
      const disk = memoryDisk();
      one(disk, job('ready', null));
      const spy = watched(disk, () => {
        moments++;
        const seen = (['ready', 'review'] as const)
          .map((each) => disk.read(at(each)))
          .filter((bytes) => bytes !== null);
        expect(seen.length).toBeGreaterThan(0);
        for (const bytes of seen) expect(oursOf(bytes)).not.toBeNull();
      });
      expect(one(spy, JOBS[what as keyof typeof JOBS]).kind).toBe('done');
      expect(moments).toBeGreaterThan(5);
      expect(files(disk)).toHaveLength(1);
    },
  );

  it.each(CASES)('saved %s and then stopped while the writer %s is put back at the next start', (save, what) => {
    let isOver = false;
    for (let moment = 0; !isOver; moment++) {
      const disk = memoryDisk();
      one(disk, job('ready', null));
      let count = 0;
      let isTold = false;
      const spy = watched(disk, () => {
        if (++count <= moment) return;
        if (count === moment + 1) {
          for (const [path, node] of disk.nodes) {
            // Whoever has the file open writes to it wherever it is.
            if (node.kind === 'file' && save === 'in its place' && path.endsWith('.old')) {
              disk.write(path, text(disk, path) + EDIT);
              isTold = true;
            }
          }
        }
        throw new Error('stopped');
      });
      try {
        one(spy, JOBS[what as keyof typeof JOBS]);
      } catch (cause) {
        expect((cause as Error).message).toBe('stopped');
      }
      isOver = count <= moment;
      tidy(disk, ROOT);
      expect(files(disk).filter((path) => path.startsWith('tmp/'))).toEqual([]);
      const where = (['ready', 'review'] as const).filter((each) => disk.stat(at(each)) !== null);
      expect(where.length).toBeGreaterThan(0);
      if (isTold) expect(where.some((each) => text(disk, at(each))?.includes(EDIT))).toBe(true);
    }
  });
});

it('what has no place to go back to stays, and is told', () => {
  const disk = memoryDisk();
  one(disk, job('ready', null));
  disk.write(at('ready'), 'one edit');
  disk.write(`${ROOT}/tmp/tree-${id(1)}-ready-1.0.0.old`, 'another');
  disk.write(`${ROOT}/tmp/content-x`, 'not ours to clear');
  expect(tidy(disk, ROOT)).toEqual([`${ROOT}/tmp/tree-${id(1)}-ready-1.0.0.old`]);
  expect(files(disk)).toHaveLength(3);
});
