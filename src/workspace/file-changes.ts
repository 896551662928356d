/**
 * Which files of a folder changed between two moments, by what the file system says of each (size, times, inode, mode). In a repository these are
 * the files that git tracks and the new ones that it does not ignore; elsewhere all files. Nothing is read, and nothing that a repository names
 * is started.
 */
import { type GitInfo, git } from './git.ts';
import { at, type Bytes, eachOf, statAt, toBytes, toText, walkTree } from './tree.ts';

export interface FileChange {
  /** From the workspace, with `/` between its parts. */
  readonly path: string;
  readonly status: 'CREATED' | 'UPDATED' | 'DELETED';
}

export interface FileChanges {
  /** By path. */
  readonly list: readonly FileChange[];
  /** Whether a change of this file would be in the list: git does not ignore it. */
  isWatched(path: string): boolean;
}

export interface FileWatch {
  /** What has changed since; null where that cannot be known. */
  changed(): Promise<FileChanges | null>;
}

interface Watched {
  /** Its real path. */
  readonly workspace: string;
  readonly git: GitInfo | null;
  /** Absolute paths that are left out: the data folder and `.git`. */
  readonly except: readonly string[];
}

/** A folder with more files is not watched: looking at it would take longer than many a run. */
const MOST_FILES = 200_000;
/** Outside of a repository all files count, also those of a home folder. */
const MOST_WITHOUT_GIT = 20_000;

type Signatures = ReadonlyMap<Bytes, string>;

export async function watchFiles(watched: Watched): Promise<FileWatch> {
  const before = await signatures(watched);
  return {
    async changed() {
      const now = before === null ? null : await signatures(watched, [...before.keys()]);
      if (before === null || now === null) return null;
      const changes: FileChange[] = [];
      for (const [below, is] of now) {
        const was = before.get(below);
        if (was !== is) changes.push({ path: toText(below), status: was === undefined ? 'CREATED' : 'UPDATED' });
      }
      for (const below of before.keys()) if (!now.has(below)) changes.push({ path: toText(below), status: 'DELETED' });
      return {
        list: changes.sort((a, b) => (a.path < b.path ? -1 : 1)),
        isWatched: (path) => before.has(toBytes(path)) || now.has(toBytes(path)),
      };
    },
  };
}

/** @param also files that were there before: a new ignore rule must not hide that they changed */
async function signatures(
  { workspace, git: repository, except }: Watched,
  also: readonly Bytes[] = [],
): Promise<Signatures | null> {
  const start = toBytes(workspace);
  const left = except.map(toBytes);
  const isLeftOut = (below: Bytes): boolean =>
    left.some((path) => at(start, below) === path || at(start, below).startsWith(`${path}/`));
  const found = new Map<Bytes, string>();
  if (repository === null) {
    const walk = await walkTree(start, left, MOST_WITHOUT_GIT);
    if (walk.isCut || walk.unreadable.length > 0) return null;
    for (const { below, kind, stat } of walk.found) if (kind !== 'folder') found.set(below, signature(stat));
    return found;
  }
  const env = { GIT_DIR: repository.gitDir, GIT_WORK_TREE: repository.root };
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { code, stdout } = await git(workspace, list, { env });
  const names = new Set([...also, ...stdout.toString('latin1').split('\0')]);
  // A repository that git does not read, or one that is too large.
  if (code !== 0 || names.size > MOST_FILES) return null;
  // A name that ends with a slash is a repository of its own.
  const files = [...names].filter((name) => name !== '' && !name.endsWith('/') && !isLeftOut(name));
  await eachOf(files, 16, async (below) => {
    const stat = await statAt(at(start, below));
    if (stat !== null && !stat.isDirectory()) found.set(below, signature(stat));
  });
  return found;
}

const signature = ({ mode, size, mtimeNs, ctimeNs, ino }: NonNullable<Awaited<ReturnType<typeof statAt>>>): string =>
  `${mode},${size},${mtimeNs},${ctimeNs},${ino}`;
