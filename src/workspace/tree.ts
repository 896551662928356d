/**
 * Walking folders without following symlinks. Names are kept as byte strings (latin1: one character, one byte), so that a name that
 * is no valid UTF-8 stays itself.
 */

import { createHash } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { chmod, lstat, open, readdir, readlink, rmdir, unlink } from 'node:fs/promises';
import { isMissing } from '../core/errors.ts';

/** A path or a name, byte for byte. */
export type Bytes = string;

export const toBytes = (path: string): Bytes => Buffer.from(path, 'utf8').toString('latin1');
export const toText = (path: Bytes): string => Buffer.from(path, 'latin1').toString('utf8');
/** What the functions of `node:fs` take. */
export const raw = (path: Bytes): Buffer => Buffer.from(path, 'latin1');

/** `below` may be empty: then it is the folder itself. */
export const at = (folder: Bytes, below: Bytes): Bytes =>
  below === '' ? folder : folder.endsWith('/') ? folder + below : `${folder}/${below}`;

type Kind = 'file' | 'folder' | 'link' | 'other';

export const kindOf = (stat: Pick<BigIntStats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): Kind =>
  stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : stat.isSymbolicLink() ? 'link' : 'other';

/** Null where there is nothing. */
export async function statAt(path: Bytes): Promise<BigIntStats | null> {
  try {
    return await lstat(raw(path), { bigint: true });
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw cause;
  }
}

export async function namesIn(folder: Bytes): Promise<Bytes[]> {
  const names = await readdir(raw(folder), { encoding: 'buffer' });
  return names.map((name) => name.toString('latin1'));
}

export const targetOf = async (path: Bytes): Promise<Bytes> =>
  (await readlink(raw(path), { encoding: 'buffer' })).toString('latin1');

/** Does something for each, at most `limit` at a time. */
export async function eachOf<T>(items: readonly T[], limit: number, act: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const item = items[next] as T;
      next += 1;
      await act(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}

export interface Found {
  /** From the start of the walk; empty for the start itself. */
  readonly below: Bytes;
  readonly stat: BigIntStats;
  readonly kind: Kind;
}

interface Walk {
  /** Every folder comes before what is in it, names in the order of their bytes. */
  readonly found: readonly Found[];
  /** Folders that could not be looked into. */
  readonly unreadable: readonly Bytes[];
  /** There are more than `most` entries, and not all of them are listed. */
  readonly isCut: boolean;
}

/** All that is at and below a path, but for `except` (absolute) and what is below those. */
export async function walkTree(
  start: Bytes,
  except: readonly Bytes[],
  most: number = Number.POSITIVE_INFINITY,
): Promise<Walk> {
  const left = new Set(except);
  const found: Found[] = [];
  const unreadable: Bytes[] = [];
  const top = left.has(start) ? null : await statAt(start);
  if (top === null) return { found, unreadable, isCut: false };
  let folders: Bytes[] = [];
  const note = (below: Bytes, stat: BigIntStats): void => {
    const kind = kindOf(stat);
    found.push({ below, stat, kind });
    if (kind === 'folder') folders.push(below);
  };
  note('', top);
  while (folders.length > 0 && found.length <= most) {
    const level = folders;
    folders = [];
    const paths: Bytes[] = [];
    await eachOf(level, 16, async (folder) => {
      try {
        for (const name of await namesIn(at(start, folder))) paths.push(folder === '' ? name : `${folder}/${name}`);
      } catch (cause) {
        // It went away meanwhile: as good as never there.
        if (isMissing(cause)) return;
        const { code } = cause as NodeJS.ErrnoException;
        if (code !== 'EACCES' && code !== 'EPERM') throw cause;
        unreadable.push(folder);
      }
    });
    await eachOf(paths, 64, async (below) => {
      const path = at(start, below);
      if (left.has(path)) return;
      try {
        const stat = await statAt(path);
        if (stat !== null) note(below, stat);
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code !== 'EACCES') throw cause;
        // A folder that can be listed but not entered: its names are known, no more.
        unreadable.push(below);
      }
    });
  }
  found.sort((a, b) => (a.below < b.below ? -1 : a.below > b.below ? 1 : 0));
  return { found, unreadable: unreadable.sort(), isCut: folders.length > 0 || found.length > most };
}

const PIECE = 1 << 18;

/** The sha256 of a regular file, without following a link and without waiting for a pipe; null where it is no regular file. */
export async function hashFile(path: Bytes): Promise<{ hash: string; size: number } | null> {
  const file = await open(raw(path), constants.O_RDONLY | constants.O_NONBLOCK | (constants.O_NOFOLLOW ?? 0));
  try {
    const stat = await file.stat();
    if (!stat.isFile()) return null;
    const hash = createHash('sha256');
    // Most files are small: no more is set aside than they need, and one byte to see their end.
    const piece = Buffer.allocUnsafe(Math.min(stat.size + 1, PIECE));
    let size = 0;
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, piece.length, null);
      if (bytesRead === 0) break;
      hash.update(piece.subarray(0, bytesRead));
      size += bytesRead;
    }
    return { hash: `sha256:${hash.digest('hex')}`, size };
  } finally {
    await file.close();
  }
}

/** Removes whatever is there, links as links. Nothing happens where there is nothing. */
export async function removeTree(path: Bytes): Promise<void> {
  const stat = await statAt(path);
  if (stat === null) return;
  if (!stat.isDirectory()) {
    await unlink(raw(path));
    return;
  }
  // What is in a folder that its owner may not write can't be removed otherwise.
  if ((stat.mode & 0o700n) !== 0o700n) await chmod(raw(path), Number(stat.mode & 0o7777n) | 0o700);
  for (const name of await namesIn(path)) await removeTree(at(path, name));
  await rmdir(raw(path));
}
