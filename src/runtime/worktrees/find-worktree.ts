/** The folder of a task's worktree, and whose work is in it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Task } from '../../core/task.ts';
import { gitInfo } from '../../workspace/git.ts';
import { ownGitDir, type PrivateWorktree } from '../../workspace/private-worktree.ts';
import { slugOf } from '../../workspace/worktree.ts';
import type { Host } from '../host.ts';
import { worktreeFolder } from '../places.ts';
import { placesIn } from './told-places.ts';

export const worktreePath = (dir: string, taskId: string): string => join(worktreeFolder(dir), slugOf(taskId));

/** The worktree of a run, if its folder is there and is that run's. */
export async function worktreeOf(host: Host, task: Task, run: string): Promise<PrivateWorktree | null> {
  const told = placesIn(await host.store.history(task.id), task.id).at(-1);
  const path = worktreePath(host.dir, task.id);
  if (told === undefined || told.run !== run || !existsSync(ownGitDir(path))) return null;
  const repo = await gitInfo(told.root);
  if (repo === null) return null;
  const branch = `baton/${slugOf(task.id)}`;
  return { run, repo, path, own: ownGitDir(path), branch, base: told.base, start: told.start };
}
