/**
 * A checkpoint of a working tree: a commit object of all that is in it and not ignored, which only a ref of ours leads to. It is made with a
 * private index, so that the user's branch, index and hooks are untouched.
 */
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { BatonError } from '../core/errors.ts';
import { type GitInfo, git, gitInfo, gitText, whyNotPlain } from './git.ts';
import { isBelow } from './paths.ts';
import { at, raw, toBytes } from './tree.ts';
import { slugOf } from './worktree.ts';

export interface Checkpoint {
  /** `cp_001` and so on, within its session. */
  readonly id: string;
  readonly ref: string;
  readonly commit: string;
}

const MOST_TRIES = 20;

/** The refs of a session's checkpoints are below this. */
export const checkpointRefs = (session: string): string => `refs/baton/${slugOf(session)}`;

/** Takes the next checkpoint of a session. Throws where the folder is in no repository. */
export async function takeCheckpoint(
  workspace: string,
  session: string,
  exclude: readonly string[],
  message?: string,
): Promise<Checkpoint> {
  const info = await repositoryOf(workspace);
  const commit = await commitOfTree(info, exclude, message ?? `Baton's checkpoint of ${session}`);
  let number = await lastCheckpoint(info.root, session);
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    number += 1;
    const id = `cp_${String(number).padStart(3, '0')}`;
    const ref = `${checkpointRefs(session)}/${id}`;
    // Somebody else may have taken the number meanwhile: then it is refused, and the next one is tried.
    if ((await git(info.root, ['update-ref', ref, commit, ''])).code === 0) return { id, ref, commit };
  }
  throw new BatonError('E_UNKNOWN', `no ref could be made below ${checkpointRefs(session)} in ${info.root}`);
}

/** A commit of the tree as it is, under a ref that is not there yet; HEAD is its parent. Returns its id. */
export async function commitTree(
  workspace: string,
  exclude: readonly string[],
  ref: string,
  message: string,
): Promise<string> {
  const info = await repositoryOf(workspace);
  const commit = await commitOfTree(info, exclude, message);
  await gitText(info.root, ['update-ref', ref, commit, '']);
  return commit;
}

/** The number of the session's latest checkpoint; 0 where it has none. */
export async function lastCheckpoint(root: string, session: string): Promise<number> {
  const { stdout } = await git(root, ['show-ref']);
  const start = `${checkpointRefs(session)}/cp_`;
  const numbers = stdout
    .toString('utf8')
    .split('\n')
    .map((line) => line.slice(line.indexOf(' ') + 1))
    .filter((ref) => ref.startsWith(start))
    .map((ref) => Number(ref.slice(start.length)))
    .filter(Number.isInteger);
  return Math.max(0, ...numbers);
}

async function repositoryOf(workspace: string): Promise<GitInfo> {
  const info = await gitInfo(workspace);
  if (info === null) {
    throw new BatonError('E_FILE_NOT_FOUND', `a checkpoint needs a git repository, and ${workspace} is in none`);
  }
  const why = whyNotPlain(info);
  if (why !== null) throw new BatonError('E_PERMISSION_DENIED', `${why}; an agent may have written that`, 'look at it');
  return info;
}

async function commitOfTree(info: GitInfo, exclude: readonly string[], message: string): Promise<string> {
  const { root, gitDir, head } = info;
  const folder = await mkdtemp(join(tmpdir(), 'baton-index-'));
  try {
    const index = join(folder, 'index');
    // The user's own knows which files have not changed since; without it all of them would be read again.
    if (existsSync(join(gitDir, 'index'))) await copyFile(join(gitDir, 'index'), index);
    // Where it is, said outright. Only what we name is a pattern, and that as it stands.
    const env = { GIT_INDEX_FILE: index, GIT_DIR: gitDir, GIT_WORK_TREE: root, GIT_LITERAL_PATHSPECS: '0' };
    const left = [...exclude.filter((path) => isBelow(path, [root]) && path !== root), ...(await nestedIn(root, env))];
    const patterns: string[] = [];
    for (const name of left.map((path) => relative(root, path))) {
      // Git refuses to be told of an ignored path, even that it is left out; and it leaves it out anyway.
      const { code } = await git(root, ['check-ignore', '-q', '--', name], { env });
      if (code !== 0) patterns.push(`:(top,literal,exclude)${name}`);
    }
    await gitText(root, ['add', '-A', '--', ':(top)', ...patterns], { env });
    const tree = await gitText(root, ['write-tree'], { env });
    const parents = head === null ? [] : ['-p', head];
    return await gitText(root, ['commit-tree', ...parents, '-m', message, tree], { env });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Repositories inside this one: git would ask them what has changed, and so start what their settings name. They stay as the index has them. */
async function nestedIn(root: string, env: Readonly<Record<string, string>>): Promise<string[]> {
  const known = (await gitText(root, ['ls-files', '-s', '-z'], { env })).split('\0');
  const modules = known.filter((line) => line.startsWith('160000 ')).map((line) => line.slice(line.indexOf('\t') + 1));
  // Of what is not known yet, a folder that is named with a slash at its end is looked at as a whole: a repository of its own.
  const other = (await gitText(root, ['ls-files', '-z', '--others', '--exclude-standard'], { env })).split('\0');
  const folders = other.filter((name) => name.endsWith('/')).map((name) => name.slice(0, -1));
  return [...modules, ...folders]
    .filter((name) => existsSync(raw(at(toBytes(root), toBytes(`${name}/.git`)))))
    .map((name) => join(root, name));
}
