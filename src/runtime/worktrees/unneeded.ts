/** Whether the folder of a task that is over may go: its work has to be in the repository. Only looks. */
import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import type { Store } from '../../core/store.ts';
import type { Task } from '../../core/task.ts';
import { gitInfo } from '../../workspace/git.ts';
import { ownGitDir, removePrivate } from '../../workspace/private-worktree.ts';
import { runRef } from '../../workspace/run-refs.ts';
import { commitAt } from './base.ts';
import { placesIn } from './told-places.ts';

/** Whether a folder below `worktrees` has a git directory of Baton's own, as 0.1.0 made none. */
export const isPrivate = (path: string): boolean => existsSync(ownGitDir(path));

/** Null where all of its work is kept elsewhere; else why it is needed. */
export async function whyNeeded(store: Store, task: Task): Promise<string | null> {
  const history = await store.history(task.id);
  const last = placesIn(history, task.id).at(-1);
  // No agent was ever let into it.
  if (last === undefined) return null;
  const isMerged = history.some(({ events }) =>
    events.some(({ type, task: of, run }) => type === 'merge.done' && of === task.id && run === last.run),
  );
  if (isMerged) return null;
  const info = await gitInfo(last.root);
  if (info === null) return `${last.root} is no git repository any more, and its work may be nowhere else`;
  const ref = runRef(last.run);
  return (await commitAt(info.root, ref)) === null ? `its work was not taken into ${info.root} as ${ref}` : null;
}

/** Gives folder and git directory another name, which no task has. */
export async function setPrivateAside(path: string, aside: string): Promise<void> {
  await rename(path, aside);
  if (existsSync(ownGitDir(path))) await rename(ownGitDir(path), ownGitDir(aside));
}

export const dropPrivate = (path: string): Promise<null> => removePrivate(path).then(() => null);
