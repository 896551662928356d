/**
 * Files taken out of the way, and looked at once more before they are gone for good: between reading a file and replacing it a person may
 * have written to it. What was taken lies in `tmp/` as `tree-<id>-<status>-….old` until then.
 */
import { threadId } from 'node:worker_threads';
import { isTaskId, TASK_STATUSES, type TaskStatus } from '../../../core/task.ts';
import { type Disk, NO_LINKS } from '../disk.ts';
import { taskFile, tmpFolder } from './paths.ts';
import { asBuffer, digestOf, oursOf } from './stamp.ts';

/** A file as it was read: it may be replaced or removed as long as it is still this. */
export interface Exactly {
  readonly path: string;
  readonly digest: string;
}

/** A file that is out of the way. */
export interface Taken {
  readonly aside: string;
  readonly origin: string;
  readonly bytes: Uint8Array;
}

let count = 0;

const uniqueName = (): string => `${process.pid}.${threadId}.${count++}`;

/** A path for what is being written. */
export const freshPath = (root: string, id: string): string => `${tmpFolder(root)}/tree-${id}-${uniqueName()}.new`;

const asidePath = (root: string, status: TaskStatus, id: string): string =>
  `${tmpFolder(root)}/tree-${id}-${status}-${uniqueName()}.old`;

/** Takes a file out of its folder. `bytes` is what it was when it was looked at. Null where it has gone. */
export function takeAway(
  disk: Disk,
  root: string,
  origin: string,
  status: TaskStatus,
  id: string,
  bytes: Uint8Array,
): Taken | null {
  const aside = asidePath(root, status, id);
  try {
    disk.rename(origin, aside);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw cause;
  }
  return { aside, origin, bytes };
}

/** Puts a new file in the place of an old one, which stays at hand where the disk can do that. */
export function replace(
  disk: Disk,
  root: string,
  fresh: string,
  path: string,
  status: TaskStatus,
  id: string,
  bytes: Uint8Array,
): Taken | null {
  const aside = asidePath(root, status, id);
  const isKept = secondName(disk, path, aside);
  try {
    disk.rename(fresh, path);
  } catch (cause) {
    disk.remove(aside);
    throw cause;
  }
  return isKept ? { aside, origin: path, bytes } : null;
}

function secondName(disk: Disk, path: string, aside: string): boolean {
  if (disk.link === undefined) return false;
  try {
    disk.link(path, aside);
    return true;
  } catch (cause) {
    if (NO_LINKS.includes((cause as NodeJS.ErrnoException).code ?? '')) return false;
    throw cause;
  }
}

/**
 * Lets go of a file that was taken, unless it has changed since it was looked at. Then it is put where the task's file is now, so that the
 * task has one file and the change is in it; or back where it was; or it stays where it is, and the path says so.
 */
export function release(disk: Disk, taken: Taken, place: string): { path: string; bytes: Uint8Array } | null {
  const bytes = disk.read(taken.aside);
  if (bytes === null) return null;
  if (asBuffer(bytes).equals(taken.bytes)) {
    disk.remove(taken.aside);
    return null;
  }
  return { path: putBack(disk, taken.aside, bytes, [place, taken.origin]), bytes };
}

/** To the first place where nothing is, or nothing but what Baton wrote, or the same. */
function putBack(disk: Disk, aside: string, bytes: Uint8Array, places: readonly string[]): string {
  for (const place of places) {
    const kind = disk.stat(place)?.kind;
    const there = kind === 'file' ? disk.read(place) : null;
    const isSame = there !== null && asBuffer(there).equals(bytes);
    if (kind !== undefined && !isSame && (there === null || oursOf(there) === null)) continue;
    // A second name of the very same file cannot be renamed over the first.
    if (isSame) disk.remove(aside);
    else disk.rename(aside, place);
    return place;
  }
  return aside;
}

/** Removes a file if it is still what it was: a second copy of a task's file, say. */
export function removeExactly(
  disk: Disk,
  root: string,
  { path, digest }: Exactly,
  status: TaskStatus,
  id: string,
): 'removed' | 'changed' | 'gone' {
  if (disk.stat(path)?.kind !== 'file') return 'gone';
  const bytes = disk.read(path);
  if (bytes === null) return 'gone';
  if (digestOf(bytes) !== digest) return 'changed';
  disk.mkdir(tmpFolder(root));
  const taken = takeAway(disk, root, path, status, id, bytes);
  if (taken === null) return 'gone';
  return release(disk, taken, path) === null ? 'removed' : 'changed';
}

const OLD = /^tree-(.+)-([a-z-]+)-\d+\.\d+\.\d+\.old$/;
const NEW = /^tree-.+\.new$/;

/**
 * Clears what a stopped writer left in `tmp/`: to be called once, before the first job. A file that was taken and is not what Baton wrote is
 * put back, to be found there as an edit, unless it is worth nothing: after a loss of power one of ours may be cut short. Returned are
 * those that have no place to go back to.
 */
export function tidy(
  disk: Disk,
  root: string,
  isWorthless: (id: string, bytes: Uint8Array) => boolean = () => false,
): string[] {
  const kept: string[] = [];
  for (const name of disk.list(tmpFolder(root))) {
    const path = `${tmpFolder(root)}/${name}`;
    const [, id = '', status] = OLD.exec(name) ?? [];
    if (NEW.test(name)) disk.remove(path);
    else if (status === undefined || disk.stat(path)?.kind !== 'file') continue;
    else {
      const bytes = disk.read(path);
      if (bytes === null) continue;
      if (oursOf(bytes) !== null || isWorthless(id, bytes)) disk.remove(path);
      else if (putBack(disk, path, bytes, placesFor(disk, root, id, status as TaskStatus)) === path) kept.push(path);
    }
  }
  return kept;
}

/** Where the task's file is now comes first. */
function placesFor(disk: Disk, root: string, id: string, status: TaskStatus): string[] {
  if (!isTaskId(id) || !TASK_STATUSES.includes(status)) return [];
  const places = TASK_STATUSES.map((each) => taskFile(root, each, id));
  return [...places.filter((path) => disk.stat(path) !== null), taskFile(root, status, id)];
}
