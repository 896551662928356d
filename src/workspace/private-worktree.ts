/**
 * A folder of its own for a run, with a git directory of its own. The agent may do with that directory what it likes, so Baton never runs
 * git in it: Baton has a second one for the same folder (`<folder>.git`, beside it), which no agent sees and whose settings no agent writes.
 * The objects of the user's repository are read by both and written by neither.
 */
import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { copyFile, cp, mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type GitInfo, gitBytes, gitText } from './git.ts';
import { privateSettings } from './private-settings.ts';
import { baseRef } from './run-refs.ts';
import { removeTree, toBytes } from './tree.ts';

export interface PrivateWorktree {
  readonly run: string;
  /** The user's repository. */
  readonly repo: GitInfo;
  /** The folder that stands for the top of the repository. */
  readonly path: string;
  /** Baton's own git directory for it. */
  readonly own: string;
  /** The branch that the agent is on in there. */
  readonly branch: string;
  /** What the work is compared with: the tip of the target branch, with the unmerged work that it builds upon. */
  readonly base: string;
  /** What the agent finds: the base, with its own earlier work where that could be carried over. */
  readonly start: string;
}

/** The git directory of Baton's own for the folder of a run. */
export const ownGitDir = (path: string): string => `${path}.git`;

/** Makes the folder anew. Whatever was there is gone, so whoever calls has made sure that it is kept elsewhere. */
export async function makePrivate(input: Omit<PrivateWorktree, 'own'>): Promise<PrivateWorktree> {
  const { repo, path, branch, start, run } = input;
  const made: PrivateWorktree = { ...input, own: ownGitDir(path) };
  await removePrivate(path);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // The objects it starts from must outlive a `git gc` of the user's, also where the branch is rewritten meanwhile.
  await gitText(repo.root, ['update-ref', baseRef(run), start]);
  await writeGitDir(made, await refsOf(repo, branch));
  await mkdir(path, { mode: 0o700 });
  await gitBytes(path, ['read-tree', '--reset', '-u', start], { env: ownEnvironment(made) });
  await cp(made.own, join(path, '.git'), { recursive: true, errorOnExist: true, force: false });
  // A copy must not look younger than it is: git reads again what may have changed in the moment in which its index was written.
  await copyIndex(join(made.own, 'index'), join(path, '.git', 'index'));
  return made;
}

/** Removes the folder of a run and Baton's git directory for it. */
export async function removePrivate(path: string): Promise<void> {
  await removeTree(toBytes(path));
  await rm(ownGitDir(path), { recursive: true, force: true });
}

/** For git commands of Baton's about this folder. */
export const ownEnvironment = ({ own, path }: Pick<PrivateWorktree, 'own' | 'path'>): Record<string, string> => ({
  GIT_DIR: own,
  GIT_WORK_TREE: path,
  GIT_INDEX_FILE: join(own, 'index'),
});

/** The folder as a repository that Baton may look at. */
export const asRepository = ({ own, path, branch, start }: PrivateWorktree): GitInfo => ({
  root: path,
  branch,
  head: start,
  gitDir: own,
  commonDir: own,
});

export async function copyIndex(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  const { mtimeMs } = await stat(from);
  const seconds = Math.floor(mtimeMs / 1000) - 1;
  await utimes(to, seconds, seconds);
}

async function writeGitDir({ own, repo, branch, start }: PrivateWorktree, refs: string): Promise<void> {
  const settings = await privateSettings(repo);
  const files: Record<string, string> = {
    HEAD: `ref: refs/heads/${branch}\n`,
    config: settings.config,
    'info/exclude': settings.exclude,
    'info/attributes': settings.attributes,
    'objects/info/alternates': `${join(repo.commonDir, 'objects')}\n`,
    [`refs/heads/${branch}`]: `${start}\n`,
    'packed-refs': refs,
  };
  for (const [name, text] of Object.entries(files)) {
    const file = join(own, name);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, text);
  }
  const shallow = join(repo.commonDir, 'shallow');
  if (existsSync(shallow)) await copyFile(shallow, join(own, 'shallow'));
}

/** The branches, tags and remote branches of the user, and the work of earlier runs: to be read and merged by the agent. */
async function refsOf(repo: GitInfo, branch: string): Promise<string> {
  const format = '--format=%(objectname) %(refname)';
  const patterns = ['refs/heads', 'refs/tags', 'refs/remotes', 'refs/baton/runs'];
  const lines = (await gitText(repo.root, ['for-each-ref', format, ...patterns])).split('\n');
  const own = `refs/heads/${branch}`;
  const clashes = (ref: string): boolean => ref === own || own.startsWith(`${ref}/`) || ref.startsWith(`${own}/`);
  const kept = lines.filter((line) => line !== '' && !clashes(line.slice(line.indexOf(' ') + 1)));
  return kept.map((line) => `${line}\n`).join('');
}

/** The folders that objects of a repository are read from: its own, and those that it borrows from. */
export function objectFolders(commonDir: string): string[] {
  const found: string[] = [];
  const look = (folder: string): void => {
    if (found.includes(folder)) return;
    found.push(folder);
    const list = join(folder, 'info/alternates');
    if (!existsSync(list)) return;
    for (const line of readFileSync(list, 'utf8').split('\n')) {
      if (line !== '' && !line.startsWith('#')) look(resolve(folder, line));
    }
  };
  look(join(commonDir, 'objects'));
  return found;
}

/** The commit that the agent's own git directory is at, read as a file: null where that names none. */
export function privateHead(path: string): string | null {
  const folder = join(path, '.git');
  const text = (name: string): string => {
    const file = join(folder, name);
    const found = lstatSync(file, { throwIfNoEntry: false });
    // Whatever is no small file was not written by git.
    return found?.isFile() === true && found.size < MOST_BYTES ? readFileSync(file, 'utf8') : '';
  };
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return null;
  let at = text('HEAD').trim();
  for (let i = 0; i < MOST_LINKS && at.startsWith('ref: '); i += 1) {
    const ref = at.slice(5).trim();
    if (!/^refs\/[^\0\n]+$/.test(ref) || ref.split('/').includes('..')) return null;
    at = text(ref).trim() || packed(text('packed-refs'), ref);
  }
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(at) ? at : null;
}

const MOST_BYTES = 64 * 1024 * 1024;
const MOST_LINKS = 5;

const packed = (text: string, ref: string): string =>
  text
    .split('\n')
    .find((line) => line.endsWith(` ${ref}`) && !line.startsWith('#'))
    ?.split(' ')[0] ?? '';
