/** What a run starts from: the tip of its branch, the unmerged work that it builds upon, and its own earlier work where that still fits. */
import { BatonError } from '../../core/errors.ts';
import { runId, type Task, type Workspace } from '../../core/task.ts';
import { type GitInfo, git, gitText } from '../../workspace/git.ts';
import { joinTrees } from '../../workspace/join-commits.ts';
import { asAuthor, authorOf } from '../../workspace/private-settings.ts';
import { runRef } from '../../workspace/run-refs.ts';
import type { Host } from '../host.ts';

export interface Base {
  /** What the work is compared with. */
  readonly base: string;
  /** What the agent finds. */
  readonly start: string;
  /** The tasks whose unmerged work is in it. */
  readonly upon: readonly string[];
  /** The ref of its own earlier work, and whether that is in the start. */
  readonly earlier: { readonly ref: string; readonly carried: boolean; readonly why: string | null } | null;
}

/** @param snapshot what a child starts from in place of the branch: the files of its parent */
export async function baseFor(
  host: Host,
  task: Task,
  info: GitInfo,
  { branch, path }: Workspace,
  snapshot: string | null,
): Promise<Base> {
  const tip = snapshot ?? (branch === null ? info.head : await commitAt(info.root, `refs/heads/${branch}`));
  if (tip === null) {
    throw new BatonError(
      'E_FILE_NOT_FOUND',
      `${task.id} was ordered for the branch ${branch} of ${path}, and it is gone`,
      `make it again: git branch ${branch}`,
    );
  }
  const { base, upon } = await withDependencies(host, task, info.root, tip);
  const earlier = await earlierWork(info.root, task);
  if (earlier === null) return { base, start: base, upon, earlier: null };
  const joined = await joinTrees(info.root, base, earlier.commit);
  if (joined.kind === 'conflict') {
    const why = `both changed ${joined.paths.join(', ')}`;
    return { base, start: base, upon, earlier: { ref: earlier.ref, carried: false, why } };
  }
  const start =
    joined.kind === 'held'
      ? joined.commit
      : await joinCommit(info.root, joined.tree, base, earlier.commit, `Earlier work of ${task.id}`);
  return { base, start, upon, earlier: { ref: earlier.ref, carried: true, why: null } };
}

export async function commitAt(root: string, ref: string): Promise<string | null> {
  const { code, stdout } = await git(root, ['rev-parse', '-q', '--verify', `${ref}^{commit}`]);
  return code === 0 ? stdout.toString('utf8').trim() : null;
}

const joinCommit = async (root: string, tree: string, ours: string, theirs: string, title: string): Promise<string> =>
  gitText(root, ['commit-tree', '-p', ours, '-p', theirs, '-m', title, tree], { env: asAuthor(await authorOf(root)) });

/** What a task waited for, or was handed on by, may be done and not merged: then it is in no branch yet. */
async function withDependencies(
  { store }: Host,
  task: Task,
  root: string,
  tip: string,
): Promise<{ readonly base: string; readonly upon: readonly string[] }> {
  let base = tip;
  const upon: string[] = [];
  for (const id of [...task.dependsOn, task.metadata['handedFrom']]) {
    const other = typeof id === 'string' ? await store.find(id) : undefined;
    if (other === undefined || other.run === null || !(other.status === 'done' || other.merging !== null)) continue;
    const work = await commitAt(root, runRef(other.run.id));
    if (work === null) continue;
    const joined = await joinTrees(root, base, work);
    if (joined.kind === 'conflict') {
      throw new BatonError(
        'E_MERGE_CONFLICT',
        `${task.id} builds upon ${other.id}, whose work is not merged and does not fit the rest: ${joined.paths.join(', ')}`,
        `merge ${runRef(other.run.id)} by hand, then: baton task retry ${task.id}`,
      );
    }
    const before = base;
    base =
      joined.kind === 'held' ? joined.commit : await joinCommit(root, joined.tree, base, work, `Work of ${other.id}`);
    if (base !== before) upon.push(other.id);
  }
  return { base, upon };
}

/** The work of the latest run before this one that left any. */
async function earlierWork(
  root: string,
  task: Task,
): Promise<{ readonly ref: string; readonly commit: string } | null> {
  for (let number = task.runs - 1; number > 0; number -= 1) {
    const ref = runRef(runId(task.id, number));
    const commit = await commitAt(root, ref);
    if (commit !== null) return { ref, commit };
  }
  return null;
}
