/**
 * Where a run works that does not work in the folder of its TASK: in a worktree of its own, or in that of its parent. The agent starts
 * only after the store knows from which commit.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BatonError } from '../../core/errors.ts';
import type { Run, Task, Workspace } from '../../core/task.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import { type GitInfo, gitInfo, gitText, whyNotPlain } from '../../workspace/git.ts';
import { asRepository, makePrivate, ownGitDir, type PrivateWorktree } from '../../workspace/private-worktree.ts';
import { slugOf } from '../../workspace/worktree.ts';
import { RUNTIME } from '../actor.ts';
import type { Host } from '../host.ts';
import { type Base, baseFor, commitAt } from './base.ts';
import { worktreeOf, worktreePath } from './find-worktree.ts';
import { takeLinked } from './linked.ts';
import { movedTo } from './moved.ts';
import { dropSnapshot, snapshotOfParent } from './parent-state.ts';
import { takeLeft } from './take-run.ts';

export interface RunPlace {
  /** The TASK with all its paths where the run works. */
  readonly message: TaskMessage;
  /** The repository as Baton may look at it, which is never by the agent's own git directory. */
  readonly git: GitInfo;
  /** Null where it works in its parent's. */
  readonly worktree: PrivateWorktree | null;
  /** What its agent has to know of it; null where that is nothing. */
  readonly note: string | null;
}

/** Whether the branch of a task need not be the one that is checked out. */
export const worksApart = ({ isolation }: Workspace): boolean => isolation === 'worktree' || isolation === 'parent';

/** Null where the run works in the folder of its TASK. */
export async function placeRun(host: Host, task: Task, run: Run, message: TaskMessage): Promise<RunPlace | null> {
  const { workspace } = task;
  if (workspace === null || workspace.repository === null) return null;
  if (workspace.isolation === 'parent') return inParent(host, task, run, message, workspace);
  return workspace.isolation === 'worktree' ? ownWorktree(host, task, run, message, workspace) : null;
}

async function ownWorktree(
  host: Host,
  task: Task,
  run: Run,
  message: TaskMessage,
  ordered: Workspace,
): Promise<RunPlace> {
  const info = await repositoryAt(task, ordered);
  const path = worktreePath(host.dir, task.id);
  await takeLinked(host, task, info, path);
  await takeLeft(host, task, run, path);
  const snapshot = await snapshotOfParent(host, task, run, info);
  // What a child does in a worktree of its own is its parent's to merge.
  const workspace: Workspace = snapshot === null ? ordered : { ...ordered, merge: 'never' };
  const found = await baseFor(host, task, info, workspace, snapshot);
  const { base, start } = found;
  const branch = `baton/${slugOf(task.id)}`;
  const worktree = await makePrivate({ run: run.id, repo: info, path, branch, base, start });
  await dropSnapshot(info, run);
  const hidden = snapshot === null ? await uncommitted(info, workspace) : [];
  await tell(host, run, { ...workspace, base }, worktree, found, hidden);
  if (hidden.length > 0) host.warn(`${task.id}: its agent does not see what is not committed: ${named(hidden)}`);
  return {
    message: movedTo(message, workspace.path, join(path, workspace.folder)),
    git: asRepository(worktree),
    worktree,
    note: noteOf(found, workspace),
  };
}

async function repositoryAt(task: Task, { path, repository }: Workspace): Promise<GitInfo> {
  const info = await gitInfo(path);
  if (info === null || info.head === null) {
    const what = info === null ? 'is in no git repository any more' : 'is in a repository without a commit';
    throw new BatonError('E_FILE_NOT_FOUND', `${task.id} was ordered for a repository at ${path}, which ${what}`);
  }
  const why = whyNotPlain(info);
  if (why !== null) throw new BatonError('E_PERMISSION_DENIED', `${why}; an agent may have written that`, 'look at it');
  if (repository !== null && (await commitAt(info.root, repository)) === null) {
    throw new BatonError('E_FILE_NOT_FOUND', `${info.root} is not the repository that ${task.id} was ordered for`);
  }
  return info;
}

/** Recorded before the agent starts: after a crash, recovery knows by it whose work is in the folder. */
async function tell(
  host: Host,
  run: Run,
  workspace: Workspace,
  { path, start, repo }: PrivateWorktree,
  { upon, earlier }: Base,
  hidden: readonly string[],
): Promise<void> {
  const answer = await host.store.send({
    message: {
      type: 'run.workspace',
      run: run.id,
      workspace,
      detail: { folder: path, root: repo.root, start, upon, earlier, uncommitted: hidden.slice(0, MOST_TOLD) },
    },
    by: RUNTIME,
  });
  if (answer.kind === 'refused') throw new BatonError(answer.refusal.code, answer.refusal.message);
}

const MOST_TOLD = 100;
const MOST_NAMED = 5;
const named = (paths: readonly string[]): string =>
  paths.length <= MOST_NAMED
    ? paths.join(', ')
    : `${paths.slice(0, MOST_NAMED).join(', ')} and ${paths.length - MOST_NAMED} more`;

/** Files of the user's checkout that a worktree does not have, since they are in no commit. */
async function uncommitted({ root, branch: on }: GitInfo, { branch }: Workspace): Promise<string[]> {
  // Another branch is another state of all files.
  if (on !== branch) return [];
  const args = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=normal', '--ignore-submodules=all'];
  return (await gitText(root, args))
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => line.slice(3));
}

function noteOf({ earlier }: Base, { branch }: Workspace): string | null {
  if (earlier === null) return null;
  if (earlier.carried) return `Your earlier work on this task is in the files already (git log ${earlier.ref}).`;
  return [
    `You start from the newest ${branch ?? 'commit'}, without your earlier work on this task: ${earlier.why}.`,
    `That work is the commit ${earlier.ref} (git show ${earlier.ref}, git merge ${earlier.ref}).`,
  ].join(' ');
}

/** In the folder in which its parent works, or has worked as long as that is there. */
async function inParent(
  host: Host,
  task: Task,
  run: Run,
  message: TaskMessage,
  workspace: Workspace,
): Promise<RunPlace | null> {
  let parent = task.parentId === null ? undefined : await host.store.find(task.parentId);
  while (parent?.workspace?.isolation === 'parent')
    parent = parent.parentId === null ? undefined : await host.store.find(parent.parentId);
  if (parent?.workspace?.isolation !== 'worktree') return null;
  const path = worktreePath(host.dir, parent.id);
  if (!existsSync(ownGitDir(path))) {
    // The folder of its parent is gone with its parent: it goes on from what that has made.
    const own: Workspace = {
      ...workspace,
      isolation: 'worktree',
      merge: parent.workspace.merge,
      branch: parent.workspace.branch,
    };
    const from: Task = { ...task, workspace: own, metadata: { ...task.metadata, handedFrom: parent.id } };
    return ownWorktree(host, from, run, message, own);
  }
  const head = parent.workspace.base;
  const own = ownGitDir(path);
  return {
    message: movedTo(message, workspace.path, join(path, workspace.folder)),
    git: { root: path, branch: `baton/${slugOf(parent.id)}`, head, gitDir: own, commonDir: own },
    worktree: null,
    note: null,
  };
}

/** The place of a run, from the journal, to judge or merge it later. Null where it had none or its folder is gone. */
export async function reopenPlace(host: Host, task: Task, run: Run, message: TaskMessage): Promise<RunPlace | null> {
  const { workspace } = task;
  if (workspace === null) return null;
  if (workspace.isolation === 'parent') return inParent(host, task, run, message, workspace);
  const worktree = await worktreeOf(host, task, run.id);
  if (worktree === null) return null;
  const moved = movedTo(message, workspace.path, join(worktree.path, workspace.folder));
  return { message: moved, git: asRepository(worktree), worktree, note: null };
}
