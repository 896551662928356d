/**
 * Which files changed between two looks. Nothing is read but what the file system says of each: size, times, inode and mode, so that
 * a write that puts the time back is seen by the change time all the same.
 */
import { resolveIn } from './paths.ts';
import { type Bytes, type Found, toBytes, toText, walkTree } from './tree.ts';

export interface Census {
  readonly workspace: string;
  readonly except: readonly string[];
  /** Path below the workspace → what the file system says of it. */
  readonly entries: ReadonlyMap<Bytes, string>;
  /** Folders that could not be looked into: of what is in them nothing is known. */
  readonly unreadable: readonly string[];
}

interface Change {
  /** Absolute. */
  readonly path: string;
  readonly status: 'CREATED' | 'UPDATED' | 'DELETED';
}

const FOLDER = 'd';

/** A folder's own times change with every name in it, which is told of the names already; only its mode counts. */
const signature = ({ kind, stat }: Found): string =>
  kind === 'folder'
    ? `${FOLDER}${stat.mode}`
    : `${kind[0]}${stat.mode},${stat.size},${stat.mtimeNs},${stat.ctimeNs},${stat.ino}`;

/** Looks at all that is in the workspace (its real path) but for `except` (absolute paths: the data folder, `.git`, what may be written). */
export async function takeCensus(workspace: string, except: readonly string[]): Promise<Census> {
  const left = await Promise.all(except.map((path) => resolveIn(workspace, path)));
  const { found, unreadable } = await walkTree(toBytes(workspace), left.map(toBytes));
  const entries = new Map<Bytes, string>();
  for (const one of found) if (one.below !== '') entries.set(one.below, signature(one));
  return { workspace, except, entries, unreadable: unreadable.map((below) => toText(inside(workspace, below))) };
}

const inside = (workspace: string, below: Bytes): Bytes => `${toBytes(workspace)}/${below}`;

function* above(path: Bytes): Generator<Bytes> {
  for (let i = path.lastIndexOf('/'); i > 0; i = path.lastIndexOf('/', i - 1)) yield path.slice(0, i);
}

/** What is different now. A folder is told only where nothing in it is. */
export async function changesSince(census: Census): Promise<Change[]> {
  const now = await takeCensus(census.workspace, census.except);
  const hidden = (below: Bytes, folders: ReadonlySet<string>): boolean =>
    folders.size > 0 && [...above(below)].some((folder) => folders.has(toText(inside(census.workspace, folder))));
  const [hiddenBefore, hiddenNow] = [new Set(census.unreadable), new Set(now.unreadable)];
  const changed: { readonly below: Bytes; readonly status: Change['status']; readonly isFolder: boolean }[] = [];
  for (const [below, is] of now.entries) {
    const was = census.entries.get(below);
    if (was === is) continue;
    // In a folder that could not be looked into before, it may have been there.
    if (was === undefined && hidden(below, hiddenBefore)) continue;
    changed.push({ below, status: was === undefined ? 'CREATED' : 'UPDATED', isFolder: is.startsWith(FOLDER) });
  }
  for (const [below, was] of census.entries) {
    if (now.entries.has(below)) continue;
    // In a folder that can't be looked into any more, it may still be there.
    if (hidden(below, hiddenNow)) continue;
    changed.push({ below, status: 'DELETED', isFolder: was.startsWith(FOLDER) });
  }
  const told = new Set(changed.filter(({ isFolder }) => !isFolder).flatMap(({ below }) => [...above(below)]));
  // Whoever may write in a folder that is not there yet may make the way to it.
  const ways = new Set(census.except.flatMap((path) => [...above(toBytes(path))]));
  return changed
    .filter(({ below, status, isFolder }) => !isFolder || status === 'UPDATED' || !told.has(below))
    .filter(
      ({ below, status, isFolder }) => !isFolder || status !== 'CREATED' || !ways.has(inside(census.workspace, below)),
    )
    .map(({ below, status }) => ({ path: toText(inside(census.workspace, below)), status }))
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}
