/**
 * What a run sees in its sandbox otherwise than its access says: the history of its worktree, and of a repository what names
 * programs for git to start outside.
 */
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isWithin } from '../core/policy.ts';
import type { Bind } from '../process/types.ts';
import type { GitInfo } from '../workspace/git.ts';
import { objectFolders, ownGitDir } from '../workspace/private-worktree.ts';

/** In a worktree of ours: its own git directory, in which git works fully, and the objects of the user's repository to be read. */
export function privateGit(git: GitInfo | null): readonly Bind[] {
  if (git === null || git.gitDir !== ownGitDir(git.root)) return [];
  const objects = objectFolders(git.commonDir).filter((folder) => !isWithin(folder, [git.commonDir]));
  return [
    { path: join(git.root, '.git'), writable: true, fixed: true },
    ...objects.map((path) => ({ path, writable: false })),
  ];
}

/**
 * An agent may commit, and may not say which programs the git of its user starts: settings, hooks and attributes stay as they are, and so
 * does the folder that they are in.
 *
 * @param writable what the agent can really write, wider perhaps than what was granted
 */
export function gitGuards(git: GitInfo | null, writable: readonly string[]): readonly Bind[] {
  if (git === null) return [];
  const pointer = join(git.root, '.git');
  const isPointer = statSync(pointer, { throwIfNoEntry: false })?.isFile() === true;
  const repositories = [git.commonDir, ...repositoriesIn(join(git.commonDir, 'modules'))];
  return [
    ...(isPointer && isWithin(pointer, writable) ? [{ path: pointer, writable: false, fixed: true }] : []),
    ...repositories.filter((folder) => isWithin(folder, writable)).flatMap(guarded),
  ];
}

function guarded(folder: string): Bind[] {
  try {
    // What is not there cannot be bound, and could be made.
    for (const name of ['hooks', 'info', 'worktrees']) mkdirSync(join(folder, name), { recursive: true });
    const own = join(folder, 'config.worktree');
    const isRead = /worktreeconfig/i.test(readFileSync(join(folder, 'config'), 'utf8'));
    if (isRead && !existsSync(own)) writeFileSync(own, '', { flag: 'wx' });
  } catch {
    // What we may not make there, an agent of the same user may not either.
  }
  return [
    { path: folder, writable: true, fixed: true },
    ...['config', 'config.worktree', 'hooks', 'info', 'worktrees'].map((name) => ({
      path: join(folder, name),
      writable: false,
    })),
  ];
}

/** The repositories of submodules; their names may have slashes in them. */
function repositoriesIn(folder: string): string[] {
  const names = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
  return names
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => {
      const path = join(folder, name);
      const isOne = existsSync(join(path, 'HEAD')) && existsSync(join(path, 'config'));
      return isOne ? [path, ...repositoriesIn(join(path, 'modules'))] : repositoriesIn(path);
    });
}

/** A file that no main repository has, and that would give it the settings of another folder: there is nothing to bind in its place. */
export function dropPlanted(git: GitInfo | null, warn: (text: string) => void): void {
  if (git === null || git.gitDir !== git.commonDir) return;
  const planted = join(git.gitDir, 'commondir');
  if (lstatSync(planted, { throwIfNoEntry: false }) === undefined) return;
  rmSync(planted, { recursive: true, force: true });
  warn(`${planted} was made during a run, and is removed: git would have taken its settings from elsewhere`);
}
