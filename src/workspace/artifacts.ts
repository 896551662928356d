/** What is at a path, by its hash, before a run and after it; and what became of it between. */
import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { resolveIn } from './paths.ts';
import { at, type Bytes, eachOf, hashFile, statAt, targetOf, toBytes, walkTree } from './tree.ts';

export interface Look {
  /** `sha256:…` of the file, or of the folder's sorted listing; null where there is nothing, or nothing that can be read. */
  readonly hash: `sha256:${string}` | null;
  /** Of the file, or of all files in the folder. */
  readonly sizeBytes: number;
  readonly exists: boolean;
  readonly isFolder: boolean;
  /** The path itself is a symlink; the rest is told of what it leads to. */
  readonly isLink: boolean;
}

type ArtifactChange = 'CREATED' | 'UPDATED' | 'DELETED' | 'UNCHANGED';

const NOTHING: Look = { hash: null, sizeBytes: 0, exists: false, isFolder: false, isLink: false };
const UNREADABLE = ['EACCES', 'EPERM'];

async function hashOrNull(path: string): Promise<{ hash: string; size: number } | null> {
  try {
    return await hashFile(path);
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    // Unreadable, a link by now, or gone again: it has no hash.
    if ([...UNREADABLE, 'ELOOP', 'ENOENT', 'ENXIO'].includes(code)) return null;
    throw cause;
  }
}

async function lookAtFolder(folder: string, except: readonly string[]): Promise<Omit<Look, 'isLink'>> {
  const { found, unreadable } = await walkTree(folder, except);
  const listing = createHash('sha256');
  let sizeBytes = 0;
  const files = new Map<Bytes, Awaited<ReturnType<typeof hashOrNull>>>();
  await eachOf(found, 16, async ({ below, kind }) => {
    if (kind === 'file') files.set(below, await hashOrNull(at(folder, below)));
  });
  for (const { below, kind, stat } of found) {
    const path = at(folder, below);
    const file = files.get(below) ?? null;
    sizeBytes += file?.size ?? 0;
    const content = kind === 'link' ? await targetOf(path) : (file?.hash ?? '');
    const runs = kind === 'file' && (stat.mode & 0o111n) !== 0n;
    listing.update(`${kind}${runs ? '*' : ''}\0${below}\0${content}\0`, 'latin1');
  }
  const hash = unreadable.length === 0 ? (`sha256:${listing.digest('hex')}` as const) : null;
  return { hash, sizeBytes, exists: true, isFolder: true };
}

async function lookAtOne(path: string, except: readonly string[]): Promise<Look> {
  const own = toBytes(path);
  let isLink = false;
  try {
    let stat = await statAt(own);
    if (stat === null) return NOTHING;
    let real = own;
    if (stat.isSymbolicLink()) {
      isLink = true;
      real = (await realpath(path, { encoding: 'buffer' })).toString('latin1');
      stat = await statAt(real);
      if (stat === null) return { ...NOTHING, isLink };
    }
    if (stat.isDirectory()) return { ...(await lookAtFolder(real, except)), isLink };
    const file = stat.isFile() ? await hashOrNull(real) : null;
    const hash = file === null ? null : (file.hash as `sha256:${string}`);
    return { hash, sizeBytes: file?.size ?? Number(stat.size), exists: true, isFolder: false, isLink };
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    // A link that leads nowhere or in a circle, or a folder above that may not be entered: nothing that can be seen.
    if (['ENOENT', 'ENOTDIR', 'ELOOP', ...UNREADABLE].includes(code)) return { ...NOTHING, isLink };
    throw cause;
  }
}

/** Looks at absolute paths, one after the other; `except` is left out of folders (the data folder, `.git`). */
export async function lookAt(paths: readonly string[], except: readonly string[] = []): Promise<Map<string, Look>> {
  const looks = new Map<string, Look>();
  const left = (await Promise.all(except.map((path) => resolveIn(process.cwd(), path)))).map(toBytes);
  for (const path of paths) looks.set(path, await lookAtOne(path, left));
  return looks;
}

/** What became of one artifact. Without a hash on both sides, what is there counts as changed: it can't be shown that it is not. */
export function compare(before: Look | undefined, after: Look | undefined): ArtifactChange {
  const [was, is] = [before?.exists ?? false, after?.exists ?? false];
  if (!was && !is) return 'UNCHANGED';
  if (!was) return 'CREATED';
  if (!is) return 'DELETED';
  return before?.hash !== null && before?.hash === after?.hash && before?.isFolder === after?.isFolder
    ? 'UNCHANGED'
    : 'UPDATED';
}
