/**
 * All that the store asks of a file system, in one place: the real one here, and in the tests one that can stop at every operation.
 * Appending to the journal is asynchronous, so that work goes on while the disk is busy; all else is short and is done at once.
 * Paths are absolute. Failures are Node's own (`ENOENT`, `ENOSPC`, …).
 */

import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { isMissing } from '../../core/errors.ts';
import { newSuffix } from '../../process/new-id.ts';

export interface Stat {
  readonly kind: 'file' | 'folder' | 'other';
  readonly size: number;
  readonly mtimeMs: number;
  /** When anything about it was changed last, its name included. Nobody can set this one, as `cp -p` and `rsync` do the other. */
  readonly ctimeMs: number;
}

/** A file that only grows. */
export interface Appender {
  append(bytes: Uint8Array): Promise<void>;
  /** What was appended survives a loss of power when this returns. */
  sync(): Promise<void>;
  /** How long it is; null where its path no longer leads to it: somebody may have removed or replaced it. */
  size(): number | null;
  close(): void;
}

export interface Disk {
  /** Null where there is nothing. */
  stat(path: string): Stat | null;
  /** Null where there is no such file. */
  read(path: string): Uint8Array | null;
  readAt(path: string, offset: number, length: number): Uint8Array;
  /** The names in a folder; empty where there is none. */
  list(path: string): string[];
  /** With all the folders above it; nothing happens where it is there. */
  mkdir(path: string): void;
  /** Creates the file or replaces what is in it. Not atomic, not synced: see `replaceFile`. */
  write(path: string, bytes: Uint8Array | string): void;
  /** A new file for its user alone, in one step, its text durable before it has its name; false where there is one already. */
  create(path: string, text: string): boolean;
  /** Makes what is in a file, or the names in a folder, survive a loss of power. */
  sync(path: string): void;
  rename(from: string, to: string): void;
  /** Gives a file a second name. Where the disk cannot, a write into a file in the moment in which it is replaced can be lost. */
  readonly link?: (from: string, to: string) => void;
  /** A file; nothing happens where it is not there. */
  remove(path: string): void;
  /** An empty folder; false where it is not there or not empty. */
  removeFolder(path: string): boolean;
  truncate(path: string, size: number): void;
  /** Opens for appending, created where it is not there. */
  appender(path: string): Appender;
}

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw cause;
  }
}

/** Not every file system has second names. */
export const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV'];

function createPlainly(path: string, text: string): boolean {
  try {
    fs.writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw cause;
  }
}

/** With those above it. Node's own way of doing this never ends where a folder can have no new ones in it, as in `/proc`. */
function makeFolders(path: string): void {
  try {
    fs.mkdirSync(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST' && fs.statSync(path).isDirectory()) return;
    const above = dirname(path);
    if (code !== 'ENOENT' || above === path || fs.existsSync(above)) throw cause;
    makeFolders(above);
    makeFolders(path);
  }
}

export const realDisk: Disk = {
  stat(path) {
    const found = orNull(() => fs.lstatSync(path, { throwIfNoEntry: false })) ?? null;
    if (found === null) return null;
    const kind = found.isFile() ? 'file' : found.isDirectory() ? 'folder' : 'other';
    return { kind, size: found.size, mtimeMs: found.mtimeMs, ctimeMs: found.ctimeMs };
  },
  read: (path) => orNull(() => fs.readFileSync(path)),
  readAt(path, offset, length) {
    const file = fs.openSync(path, 'r');
    try {
      const bytes = Buffer.allocUnsafe(length);
      let got = 0;
      while (got < length) {
        const n = fs.readSync(file, bytes, got, length - got, offset + got);
        if (n === 0) break;
        got += n;
      }
      return bytes.subarray(0, got);
    } finally {
      fs.closeSync(file);
    }
  },
  list: (path) => orNull(() => fs.readdirSync(path)) ?? [],
  mkdir: makeFolders,
  write: (path, bytes) => fs.writeFileSync(path, bytes),
  create(path, text) {
    const aside = `${path}.${process.pid}.${newSuffix(4)}`;
    // Else a loss of power could leave the name without the text.
    fs.writeFileSync(aside, text, { mode: 0o600, flag: 'wx', flush: true });
    try {
      fs.linkSync(aside, path);
      return true;
    } catch (cause) {
      const { code = '' } = cause as NodeJS.ErrnoException;
      if (code === 'EEXIST') return false;
      if (!NO_LINKS.includes(code)) throw cause;
      return createPlainly(path, text);
    } finally {
      fs.rmSync(aside);
    }
  },
  sync(path) {
    const file = fs.openSync(path, 'r');
    try {
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
  },
  rename: (from, to) => fs.renameSync(from, to),
  link: (from, to) => fs.linkSync(from, to),
  remove: (path) => void orNull(() => fs.unlinkSync(path)),
  removeFolder(path) {
    try {
      fs.rmdirSync(path);
      return true;
    } catch (cause) {
      const code = (cause as NodeJS.ErrnoException).code;
      if (code === 'ENOENT' || code === 'ENOTEMPTY' || code === 'EEXIST') return false;
      throw cause;
    }
  },
  truncate: (path, size) => fs.truncateSync(path, size),
  appender(path) {
    const file = fs.openSync(path, 'a', 0o600);
    return {
      append: (bytes) => writeAll(file, bytes),
      sync: () => new Promise((resolve, reject) => fs.fdatasync(file, (cause) => (cause ? reject(cause) : resolve()))),
      size() {
        const [open, there] = [fs.fstatSync(file), orNull(() => fs.statSync(path))];
        return open.ino === there?.ino && open.dev === there.dev ? open.size : null;
      },
      close: () => fs.closeSync(file),
    };
  },
};

function writeAll(file: number, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const more = (offset: number): void => {
      fs.write(file, bytes, offset, bytes.byteLength - offset, null, (cause, written) => {
        if (cause) reject(cause);
        else if (offset + written < bytes.byteLength) more(offset + written);
        else resolve();
      });
    };
    more(0);
  });
}

/** Replaces a file in one step: a reader sees the old text or the new one, whole. `aside` is a path on the same disk for the time between. */
export function replaceFile(disk: Disk, path: string, text: Uint8Array | string, aside: string): void {
  disk.write(aside, text);
  disk.rename(aside, path);
}

/** The same in pieces, and synced before it takes its place: it is there for good once its folder is synced as well. */
export async function replaceSynced(disk: Disk, path: string, pieces: Iterable<string>, aside: string): Promise<void> {
  disk.remove(aside);
  const file = disk.appender(aside);
  try {
    for (const piece of pieces) await file.append(Buffer.from(piece));
    await file.sync();
  } finally {
    file.close();
  }
  disk.rename(aside, path);
}
