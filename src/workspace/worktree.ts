/**
 * A git worktree for a run, merged back when it is done and clean. The user's own tree is changed by one fast-forward only, to a
 * commit that was made beforehand, so that no conflict can ever stand in it. What is in no commit that the user's branch holds is
 * never removed.
 */
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { BatonError } from '../core/errors.ts';
import { type GitAnswer, type GitInfo, git, gitInfo, gitText, whyNotPlain } from './git.ts';
import { underWay } from './git-state.ts';
import { at, raw, removeTree, toBytes } from './tree.ts';

export interface Worktree {
  readonly taskId: string;
  /** The top of the user's working tree. */
  readonly repo: string;
  readonly path: string;
  /** The folder in it that stands for the one that was asked for, which may be below the top of the repository. */
  readonly workspace: string;
  /** `baton/<task id>`. */
  readonly branch: string;
  /** The commit that it began at, or has in common with the user's branch. */
  readonly base: string;
  /** The worktree's own folder in the repository. */
  readonly gitDir: string;
  /** It was there already. */
  readonly reused: boolean;
}

export interface Closed {
  /** All of it is in the user's branch now. */
  readonly merged: boolean;
  /** The worktree and its branch are still there. */
  readonly kept: boolean;
  /** There may be work that the user's branch does not have. */
  readonly unmerged: boolean;
  readonly reason: string;
}

interface CloseOptions {
  readonly merge: boolean;
  /** Ignored files (build results, packages) are in no commit. They keep a worktree alive unless this is set. */
  readonly dropIgnored?: boolean;
}

/** A task's id as the last part of a branch and of a folder; what neither can hold is replaced, and then a hash keeps it apart. */
export function slugOf(taskId: string): string {
  const slug = taskId
    .replace(/[^A-Za-z0-9._-]/g, '-')
    .replace(/\.{2,}/g, '.')
    .replace(/^[-.]+|\.+$/g, '')
    .replace(/\.lock$/i, '')
    .slice(0, 100);
  if (slug === taskId && slug !== '') return slug;
  return `${slug || 'task'}-${hash('sha256', taskId, 'hex').slice(0, 8)}`;
}

/** Makes the worktree of a task from HEAD, or finds the one that it has. */
export async function openWorktree(input: {
  readonly repo: string;
  readonly taskId: string;
  readonly folder: string;
}): Promise<Worktree> {
  const info = await gitInfo(input.repo);
  if (info === null)
    throw new BatonError('E_FILE_NOT_FOUND', `a worktree needs a git repository, and ${input.repo} is in none`);
  const why = whyNotPlain(info);
  if (why !== null) throw new BatonError('E_PERMISSION_DENIED', `${why}; an agent may have written that`, 'look at it');
  if (info.head === null) {
    throw new BatonError('E_FILE_NOT_FOUND', `a worktree needs a commit to begin at, and ${info.root} has none yet`);
  }
  const busy = underWay(info.gitDir);
  if (busy !== null) {
    throw new BatonError(
      'E_PERMISSION_DENIED',
      `no worktree is made of ${info.root} while ${busy} is under way there`,
      'finish it first',
    );
  }
  await mkdir(input.folder, { recursive: true });
  const slug = slugOf(input.taskId);
  const path = join(await realpath(input.folder), slug);
  const branch = `baton/${slug}`;
  const reused = await addWorktree(info, path, branch);
  const made = await gitInfo(path);
  if (made === null || made.root !== path || made.commonDir !== info.commonDir) {
    throw new BatonError('E_UNKNOWN', `${path} should be a worktree of ${info.root} and is not`);
  }
  const base = reused ? await gitText(info.root, ['merge-base', info.head, `refs/heads/${branch}`]) : info.head;
  const workspace = join(path, relative(info.root, await realpath(input.repo)));
  // A folder that is in no commit is not in the worktree by itself.
  await mkdir(workspace, { recursive: true });
  return { taskId: input.taskId, repo: info.root, path, workspace, branch, base, gitDir: made.gitDir, reused };
}

/** True where it was there already. */
async function addWorktree(info: GitInfo, path: string, branch: string): Promise<boolean> {
  const known = await worktreesOf(info.root);
  const holder = known.find((one) => one.branch === `refs/heads/${branch}`);
  if (holder !== undefined && holder.path !== path) {
    throw new BatonError(
      'E_DUPLICATE',
      `the branch ${branch} is checked out in ${holder.path} already, and not in ${path}`,
    );
  }
  const isThere = existsSync(path);
  if (isThere && known.some((one) => one.path === path)) return true;
  const hasBranch = (await git(info.root, ['show-ref', '--verify', '--quiet', `refs/heads/${branch}`])).code === 0;
  // `-f`: its folder may be gone while git still has it on its list.
  const args = hasBranch
    ? ['-f', '--', path, branch]
    : ['-f', '--no-track', '-b', branch, '--', path, info.head ?? 'HEAD'];
  await gitText(info.root, ['worktree', 'add', '-q', ...args]);
  return hasBranch;
}

async function worktreesOf(
  root: string,
): Promise<{ readonly path: string; readonly branch: string | null; readonly isLocked: boolean }[]> {
  const text = await gitText(root, ['worktree', 'list', '--porcelain', '-z']);
  return text.split('\0\0').flatMap((block) => {
    const lines = block.split('\0');
    const value = (key: string): string | null =>
      lines.find((line) => line.startsWith(`${key} `))?.slice(key.length + 1) ?? null;
    const path = value('worktree');
    const isLocked = lines.includes('locked') || value('locked') !== null;
    return path === null ? [] : [{ path, branch: value('branch'), isLocked }];
  });
}

/** Commits what was left uncommitted, merges where that is asked for and safe, and removes what is not needed any more. */
export async function closeWorktree(worktree: Worktree, options: CloseOptions): Promise<Closed> {
  const kept = (reason: string, more: Partial<Closed> = {}): Closed => ({
    merged: false,
    kept: true,
    unmerged: true,
    ...more,
    reason: `${reason}; the work is on the branch ${worktree.branch} in ${worktree.path}`,
  });
  const user = await gitInfo(worktree.repo);
  if (user === null || user.head === null) return kept(`${worktree.repo} is no git repository with a commit any more`);
  if (!existsSync(worktree.path)) return kept('the folder of the worktree is gone');
  const uncommitted = await commitRest(worktree);
  if (uncommitted !== null) return kept(uncommitted);
  const tip = await gitText(worktree.repo, ['rev-parse', '--verify', `refs/heads/${worktree.branch}^{commit}`]);

  const isIn = async (head: string): Promise<boolean> =>
    (await git(worktree.repo, ['merge-base', '--is-ancestor', tip, head])).code === 0;
  let said = 'there was nothing to merge';
  let merged = false;
  if (!(await isIn(user.head))) {
    if (!options.merge) return kept('it was not to be merged');
    const refused = await mergeInto(user, worktree, tip);
    if (refused !== null) return kept(refused);
    const now = await gitInfo(worktree.repo);
    if (now?.head === null || now === null || !(await isIn(now.head))) return kept('the merge is not in the branch');
    merged = true;
    said = `merged into ${user.branch}`;
  }
  const leftOver = await removeWorktree(worktree, tip, options.dropIgnored === true);
  if (leftOver !== null) return kept(`${said}, but ${leftOver}`, { merged, unmerged: false });
  return { merged, kept: false, unmerged: false, reason: said };
}

/** Git for the worktree, told where it is: a `.git` file that the agent wrote has no say. */
const inWorktree = (worktree: Worktree, args: readonly string[]): Promise<GitAnswer> =>
  git(worktree.path, args, { env: { GIT_DIR: worktree.gitDir, GIT_WORK_TREE: worktree.path } });

const NESTED = 'there is a repository inside the worktree whose content would not be committed';

/** Null where what is in it can be told by git alone; else why not. */
async function whyUnclear(worktree: Worktree): Promise<string | null> {
  const run = (args: readonly string[]): Promise<GitAnswer> => inWorktree(worktree, args);
  const busy = underWay(worktree.gitDir);
  if (busy !== null) return `${busy} is under way in the worktree`;
  const on = await run(['symbolic-ref', '-q', 'HEAD']);
  if (on.stdout.toString('utf8').trim() !== `refs/heads/${worktree.branch}`)
    return 'the worktree is not on its branch any more';
  if ((await run(['ls-files', '-u'])).stdout.length > 0) return 'there are unresolved conflicts in the worktree';
  const known = (await run(['ls-files', '-s', '-z'])).stdout.toString('latin1').split('\0');
  // Git would ask it what has changed in it, and so start what its settings name; those may be an agent's.
  const isFilled = (line: string): boolean =>
    line.startsWith('160000 ') &&
    existsSync(raw(at(toBytes(worktree.path), `${line.slice(line.indexOf('\t') + 1)}/.git`)));
  return known.some(isFilled) ? NESTED : null;
}

/** Null where all that can be committed is; else why it could not be. */
export async function commitRest(worktree: Worktree): Promise<string | null> {
  const run = (args: readonly string[]): Promise<GitAnswer> => inWorktree(worktree, args);
  const unclear = await whyUnclear(worktree);
  if (unclear !== null) return unclear;
  const added = await run(['add', '-A', '--', '.']);
  if (added.code !== 0) return `what is in the worktree could not be added (${added.stderr})`;
  const staged = (await run(['diff-index', '--cached', '--raw', '-z', '--no-renames', 'HEAD', '--'])).stdout.toString(
    'latin1',
  );
  if (staged === '') return null;
  if (/(^|\0):[0-7]{6} 160000 /.test(staged)) {
    // Git would note its commit only, and nothing of what is in it.
    await run(['reset', '-q']);
    return NESTED;
  }
  const done = await run(['commit', '-q', '--no-verify', '-m', `Baton: task ${worktree.taskId}`]);
  return done.code === 0 ? null : `what is in the worktree could not be committed (${done.stderr})`;
}

/** Null where the user's branch has it now; else why not, and then nothing was changed. */
async function mergeInto(user: GitInfo, worktree: Worktree, tip: string): Promise<string | null> {
  const { root, head, branch } = user;
  if (head === null || branch === null) return `no branch is checked out in ${root}`;
  if (branch === worktree.branch) return `${branch} itself is checked out in ${root}`;
  const busy = underWay(user.gitDir);
  if (busy !== null) return `${busy} is under way in ${root}`;
  const status = await git(root, ['status', '--porcelain', '-z', '--untracked-files=no', '--ignore-submodules=dirty']);
  if (status.code !== 0) return `git status failed in ${root} (${status.stderr})`;
  if (status.stdout.length > 0) return `there are uncommitted changes in ${root}`;
  const commit = await commitFor(root, head, tip, branch, worktree);
  if (typeof commit !== 'string') return commit.refused;
  const merge = await git(root, [
    'merge',
    '-q',
    '--ff-only',
    '--no-overwrite-ignore',
    '--no-verify-signatures',
    commit,
  ]);
  return merge.code === 0 ? null : `git does not merge it into ${branch} (${firstLines(merge.stderr)})`;
}

/**
 * The worktree of a task that is over, where all of it is in the branch that the user has checked out and nothing else is in it; else why
 * it is needed. Only looks.
 */
export async function mergedWorktree(input: {
  readonly repo: string;
  readonly taskId: string;
  readonly folder: string;
}): Promise<{ readonly worktree: Worktree } | { readonly needed: string }> {
  const info = await gitInfo(input.repo);
  if (info === null || info.head === null)
    return { needed: `${input.repo} is no git repository with a commit any more` };
  const odd = whyNotPlain(info);
  if (odd !== null) return { needed: `${odd}; an agent may have written that` };
  const slug = slugOf(input.taskId);
  const path = join(await realpath(input.folder), slug);
  const branch = `baton/${slug}`;
  const known = (await worktreesOf(info.root)).find(
    (one) => one.path === path && one.branch === `refs/heads/${branch}`,
  );
  if (known?.isLocked === true) return { needed: 'somebody has locked it (git worktree unlock)' };
  const made = known === undefined ? null : await gitInfo(path);
  if (made === null || made.root !== path || made.commonDir !== info.commonDir || made.head === null)
    return { needed: `git does not know it as the worktree of ${branch} in ${info.root}` };
  const { gitDir, head: tip } = made;
  const worktree = {
    taskId: input.taskId,
    repo: info.root,
    path,
    workspace: path,
    branch,
    base: tip,
    gitDir,
    reused: true,
  };
  const why = (await whyUnclear(worktree)) ?? (await whyUnclean(worktree, false));
  if (why !== null) return { needed: why };
  const isIn = (await git(info.root, ['merge-base', '--is-ancestor', tip, info.head])).code === 0;
  if (!isIn) return { needed: `${branch} is not merged into ${info.branch ?? 'what is checked out'} in ${info.root}` };
  return { worktree };
}

/** Gives it another name, which no task has: what is half removed is not taken for a task's work. Returns it as it is there. */
export async function setWorktreeAside(worktree: Worktree, path: string): Promise<Worktree> {
  await gitText(worktree.repo, ['worktree', 'move', '--', worktree.path, path]);
  return { ...worktree, path, workspace: path };
}

/** Removes one that was set aside. What has come into it meanwhile brings it back: null where it is gone, else why it is not. */
export async function dropAside(worktree: Worktree, back: string): Promise<string | null> {
  const unclean = await whyUnclean(worktree, false);
  if (unclean === null) return removeAside(worktree.repo, worktree.path, worktree.branch);
  await gitText(worktree.repo, ['worktree', 'move', '--', worktree.path, back]);
  return unclean;
}

/** The same for one that was found to be needed by nobody before somebody died over it: parts of it may be gone. */
export async function removeAside(repo: string, path: string, branch: string): Promise<string | null> {
  const info = await gitInfo(repo);
  await removeTree(toBytes(path));
  if (info === null || info.head === null || whyNotPlain(info) !== null) return null;
  if ((await worktreesOf(info.root)).some((one) => one.path === path)) {
    const removed = await git(info.root, ['worktree', 'remove', '--force', '--', path]);
    if (removed.code !== 0) return `git does not forget it (${firstLines(removed.stderr)})`;
  }
  const tip = await git(info.root, ['rev-parse', '--verify', '-q', `refs/heads/${branch}^{commit}`]);
  const commit = tip.stdout.toString('utf8').trim();
  // One that has moved on is somebody's.
  if (tip.code !== 0 || (await git(info.root, ['merge-base', '--is-ancestor', commit, info.head])).code !== 0)
    return null;
  const gone = await git(info.root, ['update-ref', '-d', `refs/heads/${branch}`, commit]);
  return gone.code === 0 ? null : `its branch has moved on meanwhile (${firstLines(gone.stderr)})`;
}

const firstLines = (text: string): string => text.split('\n').slice(0, 4).join(' ').replace(/\s+/g, ' ');

/** A commit that the user's branch can be forwarded to. */
async function commitFor(
  root: string,
  head: string,
  tip: string,
  branch: string,
  worktree: Worktree,
): Promise<string | { readonly refused: string }> {
  if ((await git(root, ['merge-base', '--is-ancestor', head, tip])).code === 0) return tip;
  const tree = await git(root, ['merge-tree', '--write-tree', '--name-only', '-z', '--no-messages', head, tip]);
  const [id = '', ...names] = tree.stdout.toString('utf8').split('\0');
  if (tree.code === 1)
    return { refused: `it conflicts with ${branch} in ${names.filter((name) => name !== '').join(', ')}` };
  if (tree.code !== 0) return { refused: `git could not try the merge (${firstLines(tree.stderr)})` };
  const message = `Merge ${worktree.branch} into ${branch} (Baton)`;
  return gitText(root, ['commit-tree', '-p', head, '-p', tip, '-m', message, id]);
}

/** Null where all that is in it is in its branch; else what is not. */
async function whyUnclean(worktree: Worktree, dropIgnored: boolean): Promise<string | null> {
  const status = await inWorktree(worktree, [
    'status',
    '--porcelain',
    '-z',
    '--ignored',
    '--untracked-files=normal',
    '--ignore-submodules=dirty',
  ]);
  const names = status.stdout
    .toString('utf8')
    .split('\0')
    .filter((line) => line !== '');
  const tells = names.filter((line) => !(dropIgnored && line.startsWith('!! ')));
  if (status.code !== 0) return `git status failed in the worktree (${status.stderr})`;
  if (tells.length === 0) return null;
  const shown = tells
    .slice(0, 5)
    .map((line) => line.slice(3))
    .join(', ');
  return `it holds what is in no commit: ${shown}${tells.length > 5 ? ' and more' : ''}`;
}

/** Null where worktree and branch are gone; else what kept them. */
async function removeWorktree(worktree: Worktree, tip: string, dropIgnored: boolean): Promise<string | null> {
  const unclean = await whyUnclean(worktree, dropIgnored);
  if (unclean !== null) return unclean;
  // Ignored files do not stop git itself, so what came meanwhile is all that `remove` can stumble over.
  const removed = await git(worktree.repo, ['worktree', 'remove', '--', worktree.path]);
  if (removed.code !== 0) return `git does not remove it (${firstLines(removed.stderr)})`;
  const gone = await git(worktree.repo, ['update-ref', '-d', `refs/heads/${worktree.branch}`, tip]);
  return gone.code === 0 ? null : `its branch has moved on meanwhile (${firstLines(gone.stderr)})`;
}
