/** What the steps of the writer share: the disk, the folders that were looked at, and the ways in which a job cannot be done. */
import type { Disk } from '../disk.ts';
import { freshPath } from './aside.ts';

export interface Batch {
  readonly disk: Disk;
  readonly root: string;
  /** Known to be folders, and not links to some: looked at once a batch. */
  readonly folders: Set<string>;
}

/** Why a job is not done. */
export type Obstacle =
  /** A file that would be replaced or removed is not what Baton wrote; it is to be taken in first. */
  | { readonly kind: 'foreign'; readonly path: string; readonly text: string; readonly digest: string }
  /** It would be written through a link, or over something that is not a file. */
  | { readonly kind: 'refused'; readonly path: string; readonly reason: string };

export const refuse = (path: string, reason: string): Obstacle => ({ kind: 'refused', path, reason });

export const NOT_A_FOLDER = 'expected a folder, got a link or a file; nothing is written through it';
export const NOT_A_FILE = 'expected a file, got a link or a folder; it is not replaced';

/** One of the folders that all tasks share; made where it is not there. */
export function sharedFolder(batch: Batch, path: string): Obstacle | null {
  if (batch.folders.has(path)) return null;
  const obstacle = folderAt(batch, path);
  if (obstacle === null) batch.folders.add(path);
  return obstacle;
}

/** Makes a folder where there is none; the folder above it is known to be real. */
export function folderAt({ disk }: Batch, path: string): Obstacle | null {
  const kind = disk.stat(path)?.kind;
  if (kind === undefined) disk.mkdir(path);
  else if (kind !== 'folder') return refuse(path, NOT_A_FOLDER);
  return null;
}

/** A reader sees the old text or the new one, whole. */
export const writeWhole = (batch: Batch, id: string, path: string, text: string): void =>
  withFresh(batch, id, text, (fresh) => batch.disk.rename(fresh, path));

/** Writes a new file aside, to be put in its place; where that fails, nothing is left of it. */
export function withFresh<T>({ disk, root }: Batch, id: string, text: string, place: (fresh: string) => T): T {
  const fresh = freshPath(root, id);
  try {
    disk.write(fresh, text);
    return place(fresh);
  } catch (cause) {
    disk.remove(fresh);
    throw cause;
  }
}
