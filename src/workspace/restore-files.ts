/**
 * Single files made what a checkpoint holds. Each is looked at once more before it is replaced or removed: only what is kept somewhere is given up.
 * It is made aside and renamed into place, so that it is the old one or the new one, whole. No symlink is followed.
 */
import { createHash } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { chmod, mkdir, open, rename, rmdir, symlink, unlink } from 'node:fs/promises';
import { gitBytes } from './git.ts';
import type { BlobReader } from './git-objects.ts';
import { asideOf, finish } from './put-back.ts';
import type { Change } from './restore-plan.ts';
import { at, type Bytes, kindOf, namesIn, raw, removeTree, statAt, targetOf, toBytes, toText } from './tree.ts';
import { LINK, type Scope, type TreeEntry } from './working-tree.ts';

/** Refuses where a folder above the path is none by now. */
async function checkWay(root: Bytes, name: Bytes): Promise<void> {
  for (let i = name.indexOf('/'); i > 0; i = name.indexOf('/', i + 1)) {
    const folder = at(root, name.slice(0, i));
    const found = await statAt(folder);
    if (found === null) return;
    if (!found.isDirectory()) throw new Error(`${toText(folder)} is a ${kindOf(found)}; nothing beyond it is touched`);
  }
}

const PIECE = 1 << 18;

/** The id that git gives to what a file or a link holds, as it stands; null where it is neither. */
async function idAt(path: Bytes, found: BigIntStats, { length }: string): Promise<string | null> {
  const hash = createHash(length === 40 ? 'sha1' : 'sha256');
  if (found.isSymbolicLink()) {
    const target = raw(await targetOf(path));
    return hash.update(`blob ${target.length}\0`).update(target).digest('hex');
  }
  if (!found.isFile()) return null;
  const file = await open(raw(path), constants.O_RDONLY | constants.O_NONBLOCK | (constants.O_NOFOLLOW ?? 0));
  try {
    hash.update(`blob ${(await file.stat()).size}\0`);
    const piece = Buffer.allocUnsafe(PIECE);
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, piece.length, null);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(piece.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

/** What was looked at when it was kept has to be what is there still. */
async function checkStill(path: Bytes, is: TreeEntry | null): Promise<BigIntStats | null> {
  const found = await statAt(path);
  const isSame =
    is === null
      ? found === null || found.isDirectory()
      : found !== null && found.isSymbolicLink() === (is.mode === LINK) && (await idAt(path, found, is.id)) === is.id;
  if (!isSame) throw new Error('it was changed in this moment by somebody else');
  return found;
}

/** Removes what was made since, and the folders that are empty by that; the workspace itself stays. */
export async function removeMade({ info, prefix }: Scope, { name, is }: Change): Promise<void> {
  const root = toBytes(info.root);
  await checkWay(root, name);
  await checkStill(at(root, name), is);
  await unlink(raw(at(root, name)));
  for (let i = name.lastIndexOf('/'); i > prefix.length; i = name.lastIndexOf('/', i - 1)) {
    if (!(await removedIfEmpty(at(root, name.slice(0, i))))) return;
  }
}

async function removedIfEmpty(folder: Bytes): Promise<boolean> {
  try {
    await rmdir(raw(folder));
    return true;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    // Something else is in it, or it is somebody's working folder, or it is gone already: it is no more than a folder.
    if (['ENOTEMPTY', 'EEXIST', 'EBUSY', 'ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'].includes(code ?? '')) return false;
    throw cause;
  }
}

/** Folders only; the system itself removes none that is not empty. */
async function removeEmpty(folder: Bytes): Promise<void> {
  for (const name of await namesIn(folder)) {
    if ((await statAt(at(folder, name)))?.isDirectory() === true) await removeEmpty(at(folder, name));
  }
  await rmdir(raw(folder));
}

/** Puts back what the checkpoint holds of a path. */
export async function putEntry({ info }: Scope, { name, was, is }: Change, blobs: BlobReader): Promise<void> {
  if (was === null) throw new Error('the checkpoint does not hold it');
  const root = toBytes(info.root);
  const path = at(root, name);
  await checkWay(root, name);
  const found = await checkStill(path, is);
  const isFile = found?.isFile() === true;
  if (isFile && was.id === is?.id && was.mode !== LINK) {
    await chmod(raw(path), modeFor(was, found));
    return;
  }
  const folder = path.slice(0, path.lastIndexOf('/'));
  await mkdir(raw(folder), { recursive: true });
  const aside = asideOf(path);
  try {
    if (was.mode === LINK) await symlink(await gitBytes(info.root, ['cat-file', 'blob', was.id]), raw(aside));
    else {
      await blobs.read({ below: name, blob: was.id }, aside);
      await finish(aside, modeFor(was, isFile ? found : null));
    }
    if (found?.isDirectory() === true) await removeEmpty(path);
    await rename(raw(aside), raw(path));
  } catch (cause) {
    await removeTree(aside);
    throw cause;
  }
}

/** Git knows one bit of it. The others are as they are, or as for any new file. */
function modeFor({ mode }: TreeEntry, found: BigIntStats | null): number {
  const isProgram = mode === '100755';
  const now = found === null ? 0o666 & ~process.umask() : Number(found.mode & 0o777n);
  // Whoever may read a program may run it.
  return isProgram ? now | ((now & 0o444) >> 2) : now & ~0o111;
}
