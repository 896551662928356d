/**
 * Worktrees as 0.1.0 made them: linked ones of git, on a branch `baton/<task>`. A task that is in review with one is still merged from it, and
 * one that is run again takes its work along.
 */
import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { BatonError } from '../../core/errors.ts';
import { runId, type Task } from '../../core/task.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import { type GitInfo, gitText } from '../../workspace/git.ts';
import { resolveIn } from '../../workspace/paths.ts';
import { runRef } from '../../workspace/run-refs.ts';
import { type Closed, closeWorktree, commitRest, openWorktree, slugOf } from '../../workspace/worktree.ts';
import { taskMessage } from '../child.ts';
import type { Finding } from '../evidence/claim.ts';
import { createFacts } from '../facts.ts';
import type { Host } from '../host.ts';
import { worktreeFolder } from '../places.ts';
import { failureOf } from '../work.ts';
import { movedTo } from './moved.ts';
import { oneByOne } from './one-by-one.ts';

const isLinked = (path: string): boolean => lstatSync(join(path, '.git'), { throwIfNoEntry: false })?.isFile() === true;

/** For a task of 0.1.0 that somebody accepts: what is still in its worktree is merged. What keeps it from that, else null. */
export async function mergeLinked(host: Host, task: Task): Promise<Finding | null> {
  const path = join(worktreeFolder(host.dir), slugOf(task.id));
  if (!existsSync(path) || !isLinked(path)) return null;
  const told = (await host.store.history(task.id)).flatMap(({ events }) =>
    events.filter(({ type, task: of }) => type === 'run.worktree' && of === task.id),
  );
  const { merged, unmerged } = told.at(-1)?.detail ?? {};
  if (merged === true || unmerged === false) return null;
  const facts = createFacts(host.store, task.id, task.run?.id ?? null);
  const repo = await folderOf(host, task);
  const result = await oneByOne(async () => {
    const worktree = await openWorktree({ repo, taskId: task.id, folder: worktreeFolder(host.dir) });
    return closeWorktree(worktree, { merge: true });
  }).catch((cause: unknown): Closed => {
    const reason = `${failureOf(cause).message}; the work is in ${path}`;
    return { merged: false, kept: true, unmerged: true, reason };
  });
  facts.tell('run.worktree', { branch: `baton/${slugOf(task.id)}`, path, ...result });
  host.warn(`${task.id}: ${result.reason}`);
  await facts.written();
  return result.unmerged ? { code: 'E_MERGE_REFUSED', message: `the work is not merged: ${result.reason}` } : null;
}

/** The TASK of a run that 0.1.0 let work in a linked worktree, with its paths there; null where that is not so. */
export async function inLinked(host: Host, task: Task, message: TaskMessage): Promise<TaskMessage | null> {
  const folder = worktreeFolder(host.dir);
  if (task.workspace !== null || !isLinked(join(folder, slugOf(task.id)))) return null;
  const real = await folderOf(host, task);
  return movedTo(message, real, (await openWorktree({ repo: real, taskId: task.id, folder })).workspace);
}

/** The folder that the worktree of a task of 0.1.0 was made of. */
export async function folderOf({ store, workspace }: Pick<Host, 'store' | 'workspace'>, task: Task): Promise<string> {
  if (task.workspace !== null) return task.workspace.path;
  const { environment } = (await taskMessage(store, task, workspace)).task;
  return resolveIn(workspace, environment.workspace_root);
}

/** Before a task of 0.1.0 is run again: its work goes under the ref of its last run, and the linked worktree goes. */
export async function takeLinked(host: Host, task: Task, info: GitInfo, path: string): Promise<void> {
  if (!existsSync(path) || !isLinked(path)) return;
  const worktree = await openWorktree({ repo: info.root, taskId: task.id, folder: worktreeFolder(host.dir) });
  const unclear = await commitRest(worktree);
  if (unclear !== null) throw new BatonError('E_EVIDENCE', `${unclear}; the work of ${task.id} is in ${path}`);
  const tip = await gitText(info.root, ['rev-parse', '--verify', `refs/heads/${worktree.branch}^{commit}`]);
  await gitText(info.root, ['update-ref', runRef(runId(task.id, Math.max(1, task.runs - 1))), tip]);
  await gitText(info.root, ['worktree', 'remove', '--force', '--', path]);
}
