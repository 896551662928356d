/**
 * What a dead supervisor left behind: its agents are found by their mark and ended, its runs are given up, what had to be taken back is taken
 * back, what waited for evidence is looked at. A live supervisor's runs are not touched, in this process or another.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Outcome } from '../core/report.ts';
import type { Run, Task } from '../core/task.ts';
import { readRunFile } from '../protocol/aof/run-files.ts';
import { readManifest } from '../workspace/snapshots.ts';
import { RUNTIME } from './actor.ts';
import { createFacts } from './facts.ts';
import type { Host } from './host.ts';
import { snapshotFolder, sweepRunFolders } from './places.ts';
import { forgetSnapshots, rollBack } from './rollback.ts';
import { endRun, endStrays } from './strays.ts';
import { isSupervisorGone } from './supervisors.ts';
import { finishVerdict } from './verdict.ts';

export interface Recovered {
  readonly runs: readonly string[];
  /** Processes that were still there. */
  readonly ended: number;
}

/** All of it; for when Baton starts. */
export async function recover(host: Host): Promise<Recovered> {
  const { runs, ended } = await recoverRuns(host);
  const strays = await endStrays(host);
  for await (const task of host.store.tasks({ status: ['review'] })) await finishVerdict(host, task);
  await finishRollbacks(host);
  await sweepRunFolders();
  return { runs, ended: ended + strays };
}

/** The runs whose supervisor is gone, and nothing else: what is looked after while Baton works, for another one may die beside it. */
export async function recoverRuns(host: Host): Promise<Recovered> {
  const runs: string[] = [];
  let ended = 0;
  for await (const task of host.store.tasks({ status: ['in-progress'] })) {
    const { run } = task;
    if (run === null || run.status !== 'running' || !isSupervisorGone(host, run.supervisor)) continue;
    const facts = createFacts(host.store, task.id, run.id);
    const { swept, left } = await endRun(host, run.id, await host.store.history(task.id), facts);
    await facts.written();
    ended += swept.length;
    if (left.length > 0) {
      // Two at work on one task is worse than none. It is looked at again.
      host.warn(
        `${task.id}: processes of ${run.id} could not be ended: ${left.join(', ')}; it is not run again before that`,
      );
      continue;
    }
    const answer = await host.store.send({
      message: { type: 'run.resume', run: run.id, gone: true, ...(await resultOnDisk(host.dir, task, run)) },
      by: RUNTIME,
    });
    if (answer.kind !== 'changed') continue;
    runs.push(run.id);
    const after = answer.tasks[0];
    if (after !== undefined) await finishVerdict(host, after);
  }
  return { runs, ended };
}

/** What the agent itself wrote down as its result, where it did (DECISIONS §3). */
async function resultOnDisk(
  dir: string,
  task: Task,
  run: Run,
): Promise<{ readonly result: Outcome | 'none' | 'unreadable'; readonly summary?: string }> {
  let text: string;
  try {
    text = await readFile(join(dir, 'runs', task.id, 'run_result.json'), 'utf8');
  } catch {
    // Missing artifacts are no error: the run is one without a result.
    return { result: 'none' };
  }
  const read = readRunFile('run_result.json', text);
  // An unreadable one is treated as none: the process that wrote it is gone and will not write it anew.
  if (!read.ok || read.value.runId !== run.id) return { result: 'none' };
  return { result: read.value.outcome };
}

/** A rollback that was cut off, or never began, because Baton died first. */
async function finishRollbacks(host: Host): Promise<void> {
  for (const id of await namesIn(join(host.dir, 'snapshots'))) {
    const task = await host.store.find(id);
    if (task === undefined || (await readManifest(snapshotFolder(host.dir, id))).length === 0) continue;
    if (task.status === 'done') await forgetSnapshots(host.dir, id);
    if (task.status !== 'deadletter' && task.status !== 'cancelled') continue;
    // Whoever watched over its last run takes it back too, unless the task was cancelled when nothing of it ran.
    const isBetween = task.status === 'cancelled' && task.run?.status !== 'cancelled';
    if (!isBetween && task.run !== null && !isSupervisorGone(host, task.run.supervisor)) continue;
    const isTold = (await host.store.history(id)).some(({ events }) =>
      events.some(({ type, run }) => type === 'rollback.initiated' && run === task.run?.id),
    );
    // One that failed is a person's business by now: what is there may be theirs.
    if (isTold) continue;
    const facts = createFacts(host.store, id, task.run?.id ?? null);
    await rollBack(host.dir, id, task.status === 'cancelled' ? 'TASK_CANCELLED' : 'TASK_FAILED', facts);
    await facts.written();
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw cause;
  }
}
