/** Takes what a run has left in its worktree, under its title and with the names of its task and agent. */
import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { relative } from 'node:path';
import { needsMerge } from '../../core/laws/merges.ts';
import type { StoredRecord } from '../../core/store.ts';
import type { Run, Task } from '../../core/task.ts';
import { isBelow } from '../../process/files.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import { gitInfo, gitText } from '../../workspace/git.ts';
import { ownGitDir, type PrivateWorktree } from '../../workspace/private-worktree.ts';
import { runRef } from '../../workspace/run-refs.ts';
import { type Taken, takeWork } from '../../workspace/take-work.ts';
import { slugOf } from '../../workspace/worktree.ts';
import type { Finding } from '../evidence/claim.ts';
import { createFacts, type Facts } from '../facts.ts';
import type { Host } from '../host.ts';
import { failureOf, isStoreFailure } from '../work.ts';
import { commitAt } from './base.ts';
import { showParent } from './parent-state.ts';
import { placesIn } from './told-places.ts';

/** The message of a commit that Baton makes for a task. */
export const messageFor = ({ id, title }: Task, agent: string | null, start = ''): string =>
  [
    `${start}${title.replace(/\s+/g, ' ').trim() || id}`,
    '',
    `Baton-Task: ${id}`,
    ...(agent === null ? [] : [`Baton-Agent: ${agent.replace(/\s+/g, ' ')}`]),
    '',
  ].join('\n');

/** The result is under the run's ref then, whatever becomes of its folder. Work that is not merged by Baton gets a branch. */
export async function takeRun(
  host: Host,
  task: Task,
  run: Pick<Run, 'id' | 'agent'>,
  { worktree, message }: { readonly worktree: PrivateWorktree | null; readonly message: TaskMessage },
  facts: Facts,
): Promise<Taken | null> {
  if (worktree === null) return null;
  const { path, branch, repo } = worktree;
  const outputs = (message.task.expected_outputs ?? [])
    .map((output) => output.path)
    .filter((output) => output.startsWith('/') && output !== path && isBelow(output, [path]))
    .map((output) => relative(path, output));
  const taken = await takeWork(worktree, { message: messageFor(task, run.agent), outputs });
  const isOurs = needsMerge((await host.store.find(task.id)) ?? task);
  if (!isOurs && taken.changed) {
    await gitText(repo.root, ['update-ref', `refs/heads/${branch}`, taken.commit]);
    await showParent(host, task, branch, taken.commit);
    host.warn(`${task.id}: its work is on the branch ${branch}, which Baton does not merge`);
  }
  facts.tell('run.worktree', { ref: runRef(run.id), path, ...taken, ...(isOurs ? {} : { branch }) });
  return taken;
}

/** Null where the work was taken; what keeps it from that is nothing that the agent could mend by doing the same again. */
export async function whyUntaken(host: Host, task: Task, take: () => Promise<unknown>): Promise<Finding | null> {
  try {
    await take();
    return null;
  } catch (cause) {
    if (isStoreFailure(cause)) throw cause;
    const message = `the work could not be taken, and stays in its worktree: ${failureOf(cause).message}`;
    host.warn(`${task.id}: ${message}`);
    return { code: 'E_EVIDENCE', message };
  }
}

/** Before a folder is made anew: what a run that was cut off has left in it is kept under that run's ref. */
export async function takeLeft(host: Host, task: Task, run: Run, path: string): Promise<void> {
  const history = await host.store.history(task.id);
  const last = placesIn(history, task.id).findLast((place) => place.run !== run.id);
  if (last === undefined || !existsSync(path)) return;
  const repo = await gitInfo(last.root);
  if (repo === null || (await commitAt(repo.root, runRef(last.run))) !== null) return;
  const { base, start } = last;
  const branch = `baton/${slugOf(task.id)}`;
  const worktree = { run: last.run, repo, path, own: ownGitDir(path), branch, base, start };
  const facts = createFacts(host.store, task.id, last.run);
  try {
    const taken = await takeWork(worktree, { message: messageFor(task, agentOf(history, last.run)) });
    facts.tell('run.worktree', { ref: runRef(last.run), path, ...taken });
  } catch (cause) {
    // It may be the only copy of its work, so it goes out of the way and is not removed.
    const kept = `${path}.kept-${last.run}`;
    await rename(path, kept);
    facts.tell('run.worktree', { path: kept, kept: true, reason: failureOf(cause).message });
    host.warn(
      `${task.id}: what ${last.run} left could not be taken and is kept in ${kept}: ${failureOf(cause).message}`,
    );
  }
  await facts.written();
}

function agentOf(history: readonly StoredRecord[], run: string): string | null {
  for (const { events } of history)
    for (const { type, run: of, detail } of events)
      if (type === 'run.started' && of === run && typeof detail?.['agent'] === 'string') return detail['agent'];
  return null;
}
