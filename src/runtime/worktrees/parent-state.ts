/** A child with a worktree of its own: it starts from a snapshot of its parent's files, and its branch is its parent's to merge. */
import { join } from 'node:path';
import type { Run, Task } from '../../core/task.ts';
import { probeSandbox } from '../../process/sandbox.ts';
import { takeCheckpoint } from '../../workspace/checkpoint.ts';
import { type GitInfo, git } from '../../workspace/git.ts';
import { objectFolders, type PrivateWorktree } from '../../workspace/private-worktree.ts';
import { baseRef, runRef } from '../../workspace/run-refs.ts';
import { takeWork } from '../../workspace/take-work.ts';
import type { Host } from '../host.ts';
import { worktreeOf } from './find-worktree.ts';
import { oneByOne } from './one-by-one.ts';

const snapshotName = (run: Run): string => `${run.id}.start`;

/** The parent of a task that works in files of its own, as far as children can be started from them. */
async function parentOf({ store }: Host, task: Task): Promise<Task | null> {
  let parent = task.parentId === null ? undefined : await store.find(task.parentId);
  while (parent?.workspace?.isolation === 'parent')
    parent = parent.parentId === null ? undefined : await store.find(parent.parentId);
  return parent ?? null;
}

/** The worktree that the parent of a task works in; null where that is the user's checkout, or gone. */
async function parentsWorktree(host: Host, task: Task): Promise<PrivateWorktree | null> {
  const parent = await parentOf(host, task);
  return parent === null || parent.run === null ? null : worktreeOf(host, parent, parent.run.id);
}

/** A commit of what the parent's files are now, committed or not; null where the task has no parent whose files are there. */
export async function snapshotOfParent(host: Host, task: Task, run: Run, info: GitInfo): Promise<string | null> {
  const parent = await parentOf(host, task);
  if (parent === null || parent.workspace === null || parent.workspace.repository === null) return null;
  const message = `Files of ${parent.id}, for ${task.id}`;
  const worktree = await parentsWorktree(host, task);
  if (worktree !== null) {
    const taken = await oneByOne(() => takeWork({ ...worktree, run: snapshotName(run) }, { message }));
    return taken.commit;
  }
  if (parent.workspace.isolation === 'worktree') return null;
  const ref = baseRef(snapshotName(run));
  return (await takeCheckpoint({ workspace: info.root, exclude: [host.dir], ref, message })).commit;
}

/** The worktree of the child keeps the snapshot by a ref of its own. */
export async function dropSnapshot({ root }: GitInfo, run: Run): Promise<void> {
  for (const ref of [runRef(snapshotName(run)), baseRef(snapshotName(run))]) await git(root, ['update-ref', '-d', ref]);
}

/**
 * Makes the branch of a child known in the git directory of its parent's agent, for that agent to merge. By git inside a sandbox that shows
 * only that directory; without one the commit can be merged by its id, since its objects are there.
 */
export async function showParent(host: Host, task: Task, branch: string, commit: string): Promise<void> {
  const worktree = await parentsWorktree(host, task);
  if (worktree === null || !(await probeSandbox()).ok) return;
  const { path, repo } = worktree;
  const sandbox = {
    readPaths: [path, ...objectFolders(repo.commonDir)],
    writePaths: [],
    binds: [{ path: join(path, '.git'), writable: true }],
    hide: [],
    network: 'none',
    home: '/home/nobody',
  } as const;
  const env = { GIT_DIR: join(path, '.git'), GIT_WORK_TREE: path };
  const { code, stderr } = await git(path, ['update-ref', `refs/heads/${branch}`, commit], { env, sandbox });
  if (code !== 0) host.warn(`${task.id}: its parent's git does not know the branch ${branch}: ${stderr}`);
}
