/**
 * What a dead supervisor left behind: its agents are found by their mark and ended, its runs are given up, what had to be taken back is taken
 * back, what waited for evidence is looked at. A live supervisor's runs are not touched, in this process or another.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Amount } from '../core/laws/messages.ts';
import { type Outcome, wordsOf } from '../core/report.ts';
import { isForPerson } from '../core/standing.ts';
import type { StoredRecord } from '../core/store.ts';
import { isRunning, type Run, type Task } from '../core/task.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { readManifest, sweepSnapshots } from '../workspace/snapshots.ts';
import { finishAborts } from './abort-session.ts';
import { agentActor, RUNTIME } from './actor.ts';
import { recordClaim } from './claims.ts';
import type { Channel } from './doors.ts';
import { finishVerdict } from './evidence/finish-verdict.ts';
import { createFacts } from './facts.ts';
import { takeBack } from './graph-report.ts';
import { writeGraph } from './graph-settle.ts';
import { leftHalfBack } from './half-back.ts';
import type { Heard } from './hearing.ts';
import { holdBack } from './held-graph.ts';
import type { Host } from './host.ts';
import { leaveResults } from './left-results.ts';
import { saidBy } from './logged-graph.ts';
import { lastPhaseFrom, printedReport } from './logged-report.ts';
import { adoptOutside, resumeOutside } from './outside-runs.ts';
import { snapshotFolder, sweepRunFolders, worktreeFolder } from './places.ts';
import { usedBy } from './purse.ts';
import { amountOf, costIn, errorIn, type SaidCost, type SaidError } from './response/said.ts';
import { forgetSnapshots, leftBy, rollBack, tellRestored } from './rollback.ts';
import { type ClaimBefore, claimBefore, isToldUnreadable, writtenResult } from './run-result.ts';
import { endRun, endStrays } from './strays.ts';
import { isSupervisorGone, isUnwatched } from './supervisors.ts';
import { failureOf } from './work.ts';
import { mergeLinked } from './worktrees/linked.ts';
import { mergeWork } from './worktrees/merge-work.ts';

export interface Recovered {
  readonly runs: readonly string[];
  /** Processes that were still there. */
  readonly ended: number;
}

/** All of it; for when Baton starts. */
export async function recover(host: Host): Promise<Recovered> {
  const { runs, ended } = await recoverRuns(host);
  // A result that could not be read was told of, and nothing moved; the next look counts it as none.
  runs.push(...(await recoverRuns(host)).runs);
  const strays = await endStrays(host);
  for await (const task of host.store.tasks({ status: ['review'] })) {
    await orWarn(host, task.id, () => finishVerdict(host, task));
    if (task.merging !== null) await finishMerge(host, task.id);
    const { run } = task;
    // Its supervisor may be at it.
    if (run !== null && run.supervisor !== null && isSupervisorGone(host, run.supervisor))
      await orWarn(host, task.id, () => leaveResults(host, task.id, run));
  }
  await finishAborts(host);
  for (const id of await namesIn(join(host.dir, 'snapshots'))) await orWarn(host, id, () => finishRollback(host, id));
  for (const id of await namesIn(worktreeFolder(host.dir))) await finishMerge(host, id);
  await sweepOrphans(host);
  await sweepRunFolders();
  for (const words of await leftHalfBack(host.store, host.now())) host.warn(words);
  return { runs, ended: ended + strays };
}

/** After this time a claim counts as forgotten by the process that received it. */
const FORGOTTEN_MS = 10_000;

/**
 * Claims that wait for a verdict and that no living supervisor judges: the program that took the claim in may have ended before it judged, or
 * may not be able to (`baton mcp` without a runtime). A fresh claim is left to the program that has it.
 */
export async function judgeForgotten(host: Host): Promise<void> {
  for await (const task of host.store.tasks({ status: ['review'] })) {
    if (task.merging !== null) await finishMerge(host, task.id);
    if (isForPerson(task) || host.now() - task.updatedAt < FORGOTTEN_MS) continue;
    await orWarn(host, task.id, () => finishVerdict(host, task));
  }
}

/** One task that cannot be finished must not keep Baton from all the others. */
async function orWarn(host: Host, id: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    host.warn(`${id}: ${failureOf(cause).message}`);
  }
}

/** The runs whose supervisor is gone, and nothing else: what is looked after while Baton works, for another one may die beside it. */
export async function recoverRuns(host: Host): Promise<{ readonly runs: string[]; readonly ended: number }> {
  const runs: string[] = [];
  let ended = 0;
  for await (const found of host.store.tasks({ status: ['in-progress'] })) {
    const task = isRunning(found) ? found : await adoptOutside(host, found);
    const run = task?.run;
    if (task == null || run == null) continue;
    if (isUnwatched(run.supervisor)) {
      if (await resumeOutside(host, task, run)) runs.push(run.id);
      continue;
    }
    if (!isSupervisorGone(host, run.supervisor)) continue;
    const facts = createFacts(host.store, task.id, run.id);
    const history = await host.store.history(task.id);
    const { swept, left } = await endRun(host, run.id, history, facts);
    await facts.written();
    ended += swept.length;
    if (left.length > 0) {
      // Two at work on one task is worse than none. It is looked at again.
      host.warn(
        `${task.id}: processes of ${run.id} could not be ended: ${left.join(', ')}; it is not run again before that`,
      );
      continue;
    }
    const result = await withGraph(host, task, run, history, await resultOf(host, task, run));
    // What was measured counts; what its agent says, where nothing was.
    const measured = usedBy(history).get(run.id);
    const isMeasured = measured !== undefined && (measured.usd ?? 0) + measured.tokensInput + measured.tokensOutput > 0;
    const cost = isMeasured ? amountOf(measured) : (result.cost ?? {});
    if (!isMeasured && result.cost !== undefined) facts.tell('run.usage', { ...result.cost, claimed: true });
    await facts.written();
    const answer = await host.store.send({
      message: { type: 'run.resume', run: run.id, gone: true, ...result, cost },
      by: RUNTIME,
    });
    const after = answer.kind === 'changed' ? answer.tasks[0] : undefined;
    if (after === undefined || after.run?.status === 'running') continue;
    runs.push(run.id);
    await orWarn(host, after.id, () => finishVerdict(host, after));
    await orWarn(host, after.id, () => leaveResults(host, after.id, run));
  }
  return { runs, ended };
}

/** What it had said of the graph is written while the run is the current one still; what keeps it out stands against the claim. */
async function withGraph(
  host: Host,
  task: Task,
  run: Run,
  history: readonly StoredRecord[],
  told: Awaited<ReturnType<typeof resultOf>>,
): Promise<Awaited<ReturnType<typeof resultOf>>> {
  const { result, summary = '', cost } = told;
  if (result === 'none' || result === 'unreadable' || result === 'failed') return told;
  const said = await saidBy(host, task, run, history);
  const { claimed, finding } = await writeGraph(host, task, run, said, { outcome: result, summary });
  if (finding !== null) {
    const facts = createFacts(host.store, task.id, run.id);
    facts.tell('run.evidence', { claims: [], artifacts: [], findings: [finding], again: true });
    await facts.written();
    await holdBack(host.store, task, run, said, finding.message);
  }
  return {
    result: claimed.outcome,
    ...(claimed.summary === '' ? {} : { summary: shorten(claimed.summary, 500) }),
    ...(cost === undefined ? {} : { cost }),
  };
}

interface Result {
  readonly result: Outcome | 'none' | 'unreadable';
  readonly summary?: string;
  readonly code?: string;
  readonly message?: string;
  /** What its agent says that it used. */
  readonly cost?: Amount;
}

/** What is known of how a run ended: what it printed last and was not recorded, what was recorded, what it wrote to its file. */
async function resultOf(host: Host, task: Task, run: Run): Promise<Result> {
  const history = await host.store.history(task.id);
  const from = await lastPhaseFrom(host, task, run, history);
  const printed = from === Number.POSITIVE_INFINITY ? null : await printedReport(host, task, run, history);
  if (printed !== null) return recorded(host, task, run, 'stdout', printed);
  const claimed = claimBefore(
    history.filter(({ seq }) => seq > from),
    run.id,
  );
  if (claimed !== null) return told(claimed);
  const written = await writtenResult(host, task, run);
  if (written === null) return { result: 'none' };
  if (written === 'unreadable') return { result: isToldUnreadable(history, run.id) ? 'none' : 'unreadable' };
  return recorded(host, task, run, 'file', written);
}

/** It counts once it is durable. */
async function recorded(
  host: Host,
  task: Task,
  run: Run,
  channel: Channel,
  { message, report }: Pick<Heard, 'message' | 'report'>,
): Promise<Result> {
  const sender = { channel, run: run.id, agent: run.agent, actor: agentActor(run.agent) };
  if (message !== null) await recordClaim(host, { message, sender }, task, report);
  return told({ report, ...present({ error: errorIn(message), cost: costIn(message, report) }) });
}

const present = ({ error, cost }: { error: SaidError | null; cost: SaidCost | null }): Omit<ClaimBefore, 'report'> => ({
  ...(error === null ? {} : { error }),
  ...(cost === null ? {} : { cost }),
});

function told({ report, error, cost }: ClaimBefore): Result {
  const summary = shorten(wordsOf(report), 500);
  return {
    result: report.outcome,
    ...(summary === '' ? {} : { summary }),
    ...(error === undefined || report.outcome !== 'failed' ? {} : error),
    ...(cost === undefined ? {} : { cost: amountOf(cost) }),
  };
}

/** A rollback that was cut off, or never began: because Baton died first, or because the task was cancelled when nothing of it ran. */
export async function finishRollback(host: Host, id: string): Promise<void> {
  const task = await host.store.find(id);
  if (task === undefined) return;
  if (task.status === 'deadletter' || task.status === 'cancelled') {
    await takeBack(host, task, `${task.id} is ${task.status}`);
  }
  if ((await readManifest(snapshotFolder(host.dir, id))).length === 0) return;
  if (task.status === 'done') await forgetSnapshots(host.dir, id);
  if (task.status !== 'deadletter' && task.status !== 'cancelled') return;
  // Whoever watched over its last run takes it back too, unless the task was cancelled when nothing of it ran.
  const isBetween = task.status === 'cancelled' && task.run?.status !== 'cancelled';
  if (!isBetween && task.run !== null && !isSupervisorGone(host, task.run.supervisor)) return;
  const history = await host.store.history(id);
  const isTold = history.some(({ events }) =>
    events.some(({ type, run }) => type === 'rollback.initiated' && run === task.run?.id),
  );
  // One that failed is a person's business by now: what is there may be theirs.
  if (isTold) return;
  const facts = createFacts(host.store, id, task.run?.id ?? null);
  const trigger = task.status === 'cancelled' ? 'TASK_CANCELLED' : 'TASK_FAILED';
  const results = await rollBack(host.dir, id, trigger, facts, leftBy(history, task.run?.id));
  if (results !== null) tellRestored(host, id, results);
  await facts.written();
}

/** A task that was accepted while no Baton looked on, or whose Baton died over it: its work is not in its branch yet. */
export const finishMerge = (host: Host, id: string): Promise<void> =>
  orWarn(host, id, async () => {
    const task = await host.store.find(id);
    if (task?.merging != null) await mergeWork(host, id);
    else if (task?.status === 'done' && task.workspace === null) await mergeLinked(host, task);
  });

/** What was left of snapshots by one who died while it took them, or threw them away. */
async function sweepOrphans(host: Host): Promise<void> {
  for (const id of await namesIn(join(host.dir, 'snapshots'))) {
    const isInUse = async (): Promise<boolean> => {
      const supervisor = (await host.store.find(id))?.run?.supervisor ?? null;
      return supervisor !== null && !isSupervisorGone(host, supervisor);
    };
    await sweepSnapshots(snapshotFolder(host.dir, id), isInUse).catch((cause: Error) =>
      host.warn(`${id}: what is left of its snapshots could not be looked at: ${cause.message}`),
    );
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
