/**
 * Merges accepted work into its branch. Evidence, a person's approval and recovery all come here. Baton first takes the task in the store, so
 * that of several processes that merge or reject it one wins; then git merges; then the store records the result. A process that dies in
 * between leaves the work accepted: the next one finds it merged, or merges it.
 */
import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Run, Task } from '../../core/task.ts';
import { git, gitInfo, gitText } from '../../workspace/git.ts';
import { type Merged, mergeBranch } from '../../workspace/merge-branch.ts';
import { ownEnvironment, ownGitDir, type PrivateWorktree, removePrivate } from '../../workspace/private-worktree.ts';
import { baseRef, runRef } from '../../workspace/run-refs.ts';
import { RUNTIME } from '../actor.ts';
import { taskMessage } from '../child.ts';
import type { Finding } from '../evidence/claim.ts';
import { lookAgain } from '../evidence/look-again.ts';
import { createFacts } from '../facts.ts';
import { takeBack } from '../graph-report.ts';
import type { Host } from '../host.ts';
import { committed } from '../routed.ts';
import { isSupervisorGone } from '../supervisors.ts';
import { failureOf, isStoreFailure } from '../work.ts';
import { commitAt } from './base.ts';
import { worktreePath } from './find-worktree.ts';
import { oneByOne } from './one-by-one.ts';
import { reopenPlace } from './run-place.ts';
import { messageFor, takeRun } from './take-run.ts';

interface MergeResult {
  /** What keeps the work out of its branch; null where it is in, or was never on its way. */
  readonly finding: Finding | null;
  /** The names of the events that were recorded. */
  readonly events: readonly string[];
}

const NOTHING: MergeResult = { finding: null, events: [] };

/**
 * Merges a task that is accepted; does nothing for any other.
 *
 * @param isTaken the work was taken just now; else what is in its folder is taken once more, for a person may have gone on with it
 */
export async function mergeWork(host: Host, id: string, isTaken = false): Promise<MergeResult> {
  const task = await host.store.find(id);
  if (task === undefined || task.merging === null || task.run === null || task.status !== 'review') return NOTHING;
  const { supervisor } = task.merging;
  const isOurs =
    supervisor !== null && supervisor.pid === host.supervisor.pid && supervisor.started === host.supervisor.started;
  const gone = isSupervisorGone(host, supervisor);
  if (supervisor !== null && !isOurs && !gone) return NOTHING;
  return oneByOne(() => merge(host, task, task.run as Run, { gone, isTaken }));
}

interface MergeHow {
  readonly gone: boolean;
  readonly isTaken: boolean;
}

async function merge(host: Host, task: Task, run: Run, { gone, isTaken }: MergeHow): Promise<MergeResult> {
  const before = task.cause?.code === 'E_MERGE_WAITS' ? await stillWaits(host, task, run) : null;
  // It waits as before: nothing new is to be written down.
  if (before !== null) return { finding: before, events: [] };
  const { supervisor } = host;
  const began = await host.store.send({
    message: { type: 'task.merge', id: task.id, supervisor, ...(gone ? { gone } : {}) },
    by: RUNTIME,
  });
  if (began.kind === 'refused') {
    const { code, message } = began.refusal;
    return { finding: { code, message }, events: [] };
  }
  const merged = await tryMerge(host, task, run, { isTaken });
  const said = SAID[merged.kind];
  const message = 'because' in merged ? sentence(task, run, merged.because) : '';
  const ended = await host.store.send({
    message: {
      type: 'task.merged',
      id: task.id,
      supervisor,
      result: said,
      message,
      detail: {
        into: task.workspace?.branch ?? null,
        ...('commit' in merged ? { commit: merged.commit, from: merged.from } : {}),
        ...('paths' in merged ? { paths: merged.paths.slice(0, MOST_PATHS) } : {}),
      },
    },
    by: RUNTIME,
  });
  const events = [...committed(began), ...committed(ended)];
  if (ended.kind === 'refused')
    return { finding: { code: ended.refusal.code, message: ended.refusal.message }, events };
  if (said === 'merged') {
    await clearAway(host, task, run);
    return { finding: null, events };
  }
  host.warn(`${task.id}: ${message}`);
  if (said === 'conflict') await takeBack(host, task, message);
  return { finding: { code: CODES[said], message }, events };
}

const MOST_PATHS = 100;

const SAID = {
  merged: 'merged',
  nothing: 'merged',
  conflict: 'conflict',
  failed: 'conflict',
  waits: 'waits',
  person: 'refused',
} as const satisfies Record<Merged['kind'], string>;

const CODES = { conflict: 'E_MERGE_CONFLICT', waits: 'E_MERGE_WAITS', refused: 'E_MERGE_REFUSED' } as const;

/** What happened, and where the work is. */
const sentence = (task: Task, run: Run, because: string): string =>
  `the work is not merged into ${task.workspace?.branch}: ${because}; it is the commit ${runRef(run.id)}`;

/** What keeps waiting work waiting, looked at without telling anybody; null where it may be merged now. */
async function stillWaits(host: Host, task: Task, run: Run): Promise<Finding | null> {
  const merged = await tryMerge(host, task, run, { isTaken: true, isDry: true });
  if (merged.kind !== 'waits') return null;
  return { code: 'E_MERGE_WAITS', message: sentence(task, run, merged.because) };
}

/** Whatever goes wrong is for a person; only a store that fails is thrown. */
interface TryHow {
  readonly isTaken: boolean;
  readonly isDry?: boolean;
}

async function tryMerge(host: Host, task: Task, run: Run, how: TryHow): Promise<Merged> {
  try {
    return await mergeRun(host, task, run, how);
  } catch (cause) {
    if (isStoreFailure(cause)) throw cause;
    return { kind: 'person', because: failureOf(cause).message };
  }
}

async function mergeRun(host: Host, task: Task, run: Run, { isTaken, isDry = false }: TryHow): Promise<Merged> {
  const { workspace } = task;
  const info = workspace === null ? null : await gitInfo(workspace.path);
  if (workspace === null || workspace.branch === null || info === null)
    return { kind: 'person', because: `${workspace?.path ?? 'its folder'} is in no git repository any more` };
  const facts = createFacts(host.store, task.id, run.id);
  const place = await reopenPlace(host, task, run, await taskMessage(host.store, task, host.workspace));
  if (place !== null && !isTaken) await takeRun(host, task, run, place, facts);
  const work = await commitAt(info.root, runRef(run.id));
  if (work === null) return { kind: 'person', because: `the commit ${runRef(run.id)} is gone` };
  const worktree = place?.worktree ?? null;
  const merged = await mergeBranch({
    root: info.root,
    branch: workspace.branch,
    work,
    message: messageFor(task, run.agent, 'Merge: '),
    isApproved: task.merging?.accepted === 'person',
    isDry,
    ...(task.verdict === 'proven' && place !== null && worktree !== null
      ? { check: (commit: string) => checkAgain(host, task, run, { message: place.message, worktree }, work, commit) }
      : {}),
  });
  await facts.written();
  return merged;
}

/** Runs the checks on the merged files, in the folder of the run: what its agent has installed there may be needed. */
async function checkAgain(
  host: Host,
  task: Task,
  run: Run,
  {
    message,
    worktree,
  }: { readonly message: Parameters<typeof lookAgain>[3]['message']; readonly worktree: PrivateWorktree },
  work: string,
  commit: string,
): Promise<string | null> {
  const { own, path } = worktree;
  const env = ownEnvironment(worktree);
  // The index of what was taken is the one that fits the files.
  if (existsSync(join(own, 'take-index'))) await copyFile(join(own, 'take-index'), join(own, 'index'));
  await gitText(path, ['read-tree', '-m', '-u', work, commit], { env });
  try {
    const facts = createFacts(host.store, task.id, run.id);
    const history = await host.store.history(task.id);
    const repository = { root: path, branch: worktree.branch, head: commit, gitDir: own, commonDir: own };
    const { findings } = await lookAgain(host, task, run, { message, git: repository, anew: true }, history, facts);
    await facts.written();
    const [first] = findings;
    return first === undefined ? null : `a check fails on the merged result: ${first.message}`;
  } finally {
    await git(path, ['read-tree', '--reset', '-u', work], { env });
  }
}

/** What the branch holds needs neither folder nor refs any more. */
async function clearAway(host: Host, task: Task, run: Run): Promise<void> {
  await dropFolder(host, task);
  const info = task.workspace === null ? null : await gitInfo(task.workspace.path);
  if (info === null) return;
  for (const ref of [runRef(run.id), baseRef(run.id)]) await git(info.root, ['update-ref', '-d', ref]);
}

/** Removes the folder of a task whose work was taken. */
export async function dropFolder(host: Host, task: Task): Promise<void> {
  const path = worktreePath(host.dir, task.id);
  try {
    if (existsSync(ownGitDir(path))) await removePrivate(path);
  } catch (cause) {
    // Its work is kept all the same; `baton gc` finds what is left.
    host.warn(`${task.id}: its worktree could not be removed: ${failureOf(cause).message}`);
  }
}
