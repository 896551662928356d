/**
 * Which files changed between two looks. Nothing is read but what the file system says of each: size, times, inode and mode, so that
 * a write that puts the time back is seen by the change time all the same. Where the looks are far apart, the content is read too: what was
 * put back has not changed.
 */
import { resolveIn } from './paths.ts';
import { at, type Bytes, eachOf, type Found, hashFile, toBytes, toText, walkTree } from './tree.ts';

export interface Census {
  readonly workspace: string;
  readonly except: readonly string[];
  /** Path below the workspace → what the file system says of it. */
  readonly entries: ReadonlyMap<Bytes, string>;
  /** The content of files, by its hash, where it was asked for and is not too long. */
  readonly hashes: ReadonlyMap<Bytes, string>;
  /** Folders that could not be looked into: of what is in them nothing is known. */
  readonly unreadable: readonly string[];
}

/** A census as JSON can hold it. */
type WrittenCensus = Omit<Census, 'entries' | 'hashes'> & {
  readonly entries: readonly (readonly [Bytes, string])[];
  readonly hashes: readonly (readonly [Bytes, string])[];
};

export const writtenCensus = (census: Census): WrittenCensus => ({
  ...census,
  entries: [...census.entries],
  hashes: [...census.hashes],
});

export const readCensus = (written: WrittenCensus): Census => ({
  ...written,
  entries: new Map(written.entries),
  hashes: new Map(written.hashes),
});

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
export async function takeCensus(
  workspace: string,
  except: readonly string[],
  { withContent = false }: { readonly withContent?: boolean } = {},
): Promise<Census> {
  const left = await Promise.all(except.map((path) => resolveIn(workspace, path)));
  const { found, unreadable } = await walkTree(toBytes(workspace), left.map(toBytes));
  const entries = new Map<Bytes, string>();
  for (const one of found) if (one.below !== '') entries.set(one.below, signature(one));
  const hashes = withContent ? await hashesOf(workspace, found) : new Map<Bytes, string>();
  return {
    workspace,
    except,
    entries,
    hashes,
    unreadable: unreadable.map((below) => toText(inside(workspace, below))),
  };
}

/** A longer file counts as changed when it was written, whatever is in it; and so do all files behind this many bytes. */
const LONGEST = 1024n * 1024n;
const MOST_BYTES = 64n * 1024n * 1024n;

async function hashesOf(workspace: string, found: readonly Found[]): Promise<Map<Bytes, string>> {
  const hashes = new Map<Bytes, string>();
  let room = MOST_BYTES;
  const files = found.filter(({ kind, stat }) => {
    if (kind !== 'file' || stat.size > LONGEST || stat.size > room) return false;
    room -= stat.size;
    return true;
  });
  await eachOf(files, 16, async ({ below, stat }) => {
    const hash = await contentOf(at(toBytes(workspace), below), stat.mode);
    if (hash !== null) hashes.set(below, hash);
  });
  return hashes;
}

/** Null where it cannot be read: it is then known by its signature only. */
async function contentOf(path: Bytes, mode: bigint): Promise<string | null> {
  try {
    const file = await hashFile(path);
    return file === null ? null : `${mode} ${file.hash}`;
  } catch {
    return null;
  }
}

/** Whether a file that was written has the content and the mode that it had. */
async function isPutBack(census: Census, below: Bytes, is: string): Promise<boolean> {
  const was = census.hashes.get(below);
  if (was === undefined || !is.startsWith('f')) return false;
  const mode = /^f(\d+)/.exec(is)?.[1];
  return was === (await contentOf(at(toBytes(census.workspace), below), BigInt(mode ?? 0)));
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
    if (was !== undefined && (await isPutBack(census, below, is))) continue;
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
