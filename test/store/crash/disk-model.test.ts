/** What the disk of the crash tests may lose, and what it may not. */
import { describe, expect, it } from 'vitest';
import { seeded } from '../../helpers/random.ts';
import { openCrashDisk } from './crash-disk.ts';
import { applyOp, copyModel, type DiskModel, type DiskOp, emptyModel, killed, powerLost } from './disk-model.ts';

function onDisk(work: (disk: ReturnType<typeof openCrashDisk>) => void): DiskModel {
  const model = emptyModel();
  work(openCrashDisk({ model, random: seeded(1), onOp: () => {} }));
  return model;
}

const read = (model: DiskModel, path: string): string | null => {
  const disk = openCrashDisk({ model: copyModel(model), random: seeded(1), onOp: () => {} });
  const bytes = disk.read(path);
  return bytes === null ? null : Buffer.from(bytes).toString('latin1');
};

/** All that a loss of power can make of a file. */
const outcomes = (model: DiskModel, ...paths: string[]): Set<string> =>
  new Set(
    Array.from({ length: 2000 }, (_, i) => {
      const left = powerLost(model, seeded(i));
      return paths.map((path) => read(left, path)).join('|');
    }),
  );

describe('the disk of the crash tests', () => {
  it('keeps what was synced, name and text', () => {
    const model = onDisk((disk) => {
      disk.write('/a', 'text');
      disk.sync('/a');
      disk.sync('/');
    });
    expect(outcomes(model, '/a')).toEqual(new Set(['text']));
  });

  it('may lose a name whose folder was not synced, with all that was synced into the file', () => {
    const model = onDisk((disk) => {
      disk.write('/a', 'text');
      disk.sync('/a');
    });
    expect(outcomes(model, '/a')).toEqual(new Set(['', 'text']));
  });

  it('may keep any part of a text that was not synced, and zeros in it', () => {
    const model = onDisk((disk) => {
      disk.write('/a', 'abc');
      disk.sync('/');
    });
    const found = outcomes(model, '/a');
    for (const text of ['', 'a', 'ab', 'abc', '\0bc', 'a\0c', 'a\0\0', '\0\0\0']) expect(found).toContain(text);
  });

  it('may bring back what was cut off', () => {
    const model = onDisk((disk) => {
      disk.write('/a', 'abcdef');
      disk.sync('/a');
      disk.sync('/');
      disk.truncate('/a', 2);
    });
    expect(outcomes(model, '/a')).toEqual(new Set(['abcdef', 'ab']));
  });

  it('shows the old file or the new one after a rename in one folder, never none', () => {
    const model = onDisk((disk) => {
      for (const name of ['/a', '/b']) {
        disk.write(name, name);
        disk.sync(name);
      }
      disk.sync('/');
      disk.rename('/b', '/a');
    });
    expect(outcomes(model, '/a', '/b')).toEqual(new Set(['/a|/b', '/b|']));
  });

  it('may show a file under both names after a rename to another folder, never under none', () => {
    const model = onDisk((disk) => {
      disk.mkdir('/x');
      disk.mkdir('/y');
      disk.write('/x/a', 'text');
      disk.sync('/x/a');
      for (const folder of ['/', '/x', '/y']) disk.sync(folder);
      disk.rename('/x/a', '/y/b');
    });
    expect(outcomes(model, '/x/a', '/y/b')).toEqual(new Set(['text|', '|text', 'text|text']));
  });

  it('shows a folder in one place', () => {
    const model = onDisk((disk) => {
      disk.mkdir('/x/sub');
      disk.mkdir('/y');
      for (const folder of ['/', '/x', '/y']) disk.sync(folder);
      disk.write('/x/sub/a', 'text');
      disk.sync('/x/sub/a');
      disk.sync('/x/sub');
      disk.rename('/x/sub', '/y/sub');
    });
    expect(outcomes(model, '/x/sub/a', '/y/sub/a')).toEqual(new Set(['text|', '|text']));
  });

  it('covers with a sync what was written before it began, and nothing after', async () => {
    const model = emptyModel();
    const disk = openCrashDisk({ model, random: seeded(3), onOp: () => {} });
    const file = disk.appender('/a');
    disk.sync('/');
    await file.append(Buffer.from('one'));
    const synced = file.sync();
    await file.append(Buffer.from('two'));
    await synced;
    const found = outcomes(model, '/a');
    expect([...found].every((text) => text.startsWith('one'))).toBe(true);
    expect(found).toContain('one');
    expect(found).toContain('onet');
  });

  it('keeps everything when only the process is killed, but does not take it for synced', () => {
    const log: DiskOp[] = [];
    const model = emptyModel();
    const disk = openCrashDisk({ model, random: seeded(1), onOp: (op) => log.push(op) });
    disk.write('/a', 'text');
    const left = killed(model, undefined, seeded(1));
    expect(read(left, '/a')).toBe('text');
    expect(outcomes(left, '/a')).toContain('');
    const again = emptyModel();
    for (const op of log) applyOp(again, op);
    expect(read(again, '/a')).toBe('text');
  });

  it('fails once where it is told to, and lets a part through', async () => {
    const model = emptyModel();
    const disk = openCrashDisk({ model, random: seeded(5), onOp: () => {} });
    disk.fail({ kinds: ['append'], after: 1, code: 'ENOSPC' });
    const file = disk.appender('/a');
    await file.append(Buffer.from('one'));
    await expect(file.append(Buffer.from('two'))).rejects.toMatchObject({ code: 'ENOSPC' });
    expect('onetwo'.startsWith(read(model, '/a') ?? 'x')).toBe(true);
    await file.append(Buffer.from('three'));
    expect(read(model, '/a')).toMatch(/three$/);
  });
});
