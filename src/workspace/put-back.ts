/**
 * Makes a path what a listing says it was. Each file is made aside and renamed into place, so that it is the old one or the new one,
 * whole. No symlink is followed: one in place of a folder above refuses, one inside is replaced as what it is.
 */
import { constants } from 'node:fs';
import { chmod, mkdir, open, rename, symlink, utimes } from 'node:fs/promises';
import { dirname, parse, sep } from 'node:path';
import { newSuffix } from '../process/new-id.ts';
import type { Entry, FileEntry } from './listing.ts';
import {
  at,
  type Bytes,
  hashFile,
  kindOf,
  namesIn,
  raw,
  removeTree,
  statAt,
  targetOf,
  toBytes,
  toText,
} from './tree.ts';

/** Gives the content of a file: writes it to the path, where nothing is yet. */
export type Contents = (entry: FileEntry, to: Bytes) => Promise<void>;

/** Refuses where a folder above the path is a symlink or no folder by now. The path was real when it was noted, so none should be. */
async function checkWay(path: string): Promise<void> {
  const { root } = parse(path);
  let way = root;
  for (const part of dirname(path).slice(root.length).split(sep)) {
    if (part === '') continue;
    way = way.endsWith(sep) ? way + part : way + sep + part;
    const found = await statAt(toBytes(way));
    if (found === null) return;
    if (!found.isDirectory()) {
      throw new Error(`${way} is a ${kindOf(found)} now and was a folder; nothing beyond it is touched`);
    }
  }
}

/** Throws where it can't be done; what was done until then stays done, and each single file is whole. */
export async function putBack(
  path: string,
  listing: readonly Entry[],
  except: readonly string[],
  contents: Contents,
): Promise<void> {
  await checkWay(path);
  const top = toBytes(path);
  const left = except.map(toBytes);
  if (listing.length === 0) {
    await remove(top, left);
    return;
  }
  await mkdir(dirname(path), { recursive: true });
  for (const entry of listing) {
    const own = at(top, entry.below);
    if (entry.kind === 'folder') await putFolder(own, entry.mode, left);
    else if (entry.kind === 'link') await putLink(own, entry.target, left);
    else await putFile(own, entry, left, contents);
  }
  const known = new Set(listing.map((entry) => at(top, entry.below)));
  for (const entry of listing.toReversed()) {
    if (entry.kind !== 'folder') continue;
    const folder = at(top, entry.below);
    for (const name of await namesIn(folder)) {
      const own = at(folder, name);
      if (!known.has(own) && !left.some((kept) => kept === own || kept.startsWith(`${own}/`))) await remove(own, left);
    }
    await chmod(raw(folder), entry.mode);
    await setTime(folder, entry.mtimeMs);
  }
}

/** Removes it, unless something is in it that is never touched. */
async function remove(path: Bytes, except: readonly Bytes[]): Promise<void> {
  if (except.some((kept) => kept === path || kept.startsWith(`${path}/`))) {
    throw new Error(`${toText(path)} would have to be removed, and it holds what is not to be touched`);
  }
  await removeTree(path);
}

async function putFolder(path: Bytes, mode: number, except: readonly Bytes[]): Promise<void> {
  const found = await statAt(path);
  if (found?.isDirectory() !== true) {
    await remove(path, except);
    await mkdir(raw(path));
  }
  // Its own mode comes in the end: files are put into it first.
  if (found === null || (Number(found.mode) & 0o700) !== 0o700) await chmod(raw(path), mode | 0o700);
}

/** A name in the same folder for what is to take the path's place. */
export const asideOf = (path: Bytes): Bytes => `${path.slice(0, path.lastIndexOf('/') + 1)}.baton-${newSuffix()}`;

async function putLink(path: Bytes, target: Bytes, except: readonly Bytes[]): Promise<void> {
  const found = await statAt(path);
  if (found?.isSymbolicLink() === true && (await targetOf(path)) === target) return;
  const aside = asideOf(path);
  await symlink(raw(target), raw(aside));
  await moveInto(aside, path, found?.isDirectory() === true, except);
}

async function putFile(path: Bytes, entry: FileEntry, except: readonly Bytes[], contents: Contents): Promise<void> {
  const found = await statAt(path);
  if (found?.isFile() === true && found.size === BigInt(entry.size) && (await sameContent(path, entry))) {
    if (Number(found.mode & 0o7777n) !== entry.mode) await chmod(raw(path), entry.mode);
    await setTime(path, entry.mtimeMs);
    return;
  }
  const aside = asideOf(path);
  try {
    await contents(entry, aside);
    await finish(aside, entry.mode, entry.mtimeMs);
  } catch (cause) {
    await removeTree(aside);
    throw cause;
  }
  await moveInto(aside, path, found?.isDirectory() === true, except);
}

/** Gives a new file its mode and its time, and has it on disk before it takes its place. */
export async function finish(aside: Bytes, mode: number, mtimeMs?: number): Promise<void> {
  const file = await open(raw(aside), constants.O_RDWR | (constants.O_NOFOLLOW ?? 0));
  try {
    await file.chmod(mode);
    if (mtimeMs !== undefined) await file.utimes(mtimeMs / 1000, mtimeMs / 1000);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function sameContent(path: Bytes, entry: FileEntry): Promise<boolean> {
  try {
    return (await hashFile(path))?.hash === entry.hash;
  } catch (cause) {
    // It may be unreadable by its mode, which is as good as different.
    if ((cause as NodeJS.ErrnoException).code === 'EACCES') return false;
    throw cause;
  }
}

async function moveInto(aside: Bytes, path: Bytes, isFolder: boolean, except: readonly Bytes[]): Promise<void> {
  try {
    // A rename replaces a file or a link, but no folder.
    if (isFolder) await remove(path, except);
    await rename(raw(aside), raw(path));
  } catch (cause) {
    await removeTree(aside);
    throw cause;
  }
}

async function setTime(path: Bytes, mtimeMs: number): Promise<void> {
  const found = await statAt(path);
  if (found === null || Math.abs(Number(found.mtimeNs / 1000n) / 1000 - mtimeMs) < 0.01) return;
  await utimes(raw(path), Number(found.atimeMs) / 1000, mtimeMs / 1000).catch((cause: NodeJS.ErrnoException) => {
    // The time is kept where that is possible; a file of somebody else's does not let us.
    if (cause.code !== 'EPERM' && cause.code !== 'EACCES') throw cause;
  });
}
