/**
 * One run of a task, from its claim to its end: prepare, snapshot, surround, let the agent work phase by phase, look at the evidence, tell the
 * store, and clear up. Whatever happens on the way, no process of it is left and the store knows how it ended.
 */
import { join } from 'node:path';
import type { Policy } from '../core/policy.ts';
import type { Run, Task } from '../core/task.ts';
import { policyOf } from '../protocol/aop2/policy.ts';
import type { aop2 } from '../protocol/index.ts';
import { envelopeOf } from './envelope.ts';
import { createFacts } from './facts.ts';
import type { Host } from './host.ts';
import { createLive } from './live.ts';
import { NOTHING_USED } from './meter.ts';
import { countOutput } from './output-counts.ts';
import { logFolder } from './places.ts';
import { prepare } from './prepare.ts';
import { earlierAttempts } from './response/all-attempts.ts';
import { blockOf, type RunFacts, responseOf, writeResults } from './results.ts';
import { withChanges } from './run-changes.ts';
import { NOTHING_SAID } from './said-graph.ts';
import { checkpointBeforeRun } from './session-checkpoint.ts';
import { settle } from './settle.ts';
import { endEarlierRuns } from './strays.ts';
import { supervise } from './supervise.ts';
import { type Failure, failureOf, type Work } from './work.ts';
import { placeOf } from './worktrees/decide.ts';
import { withoutBranch } from './worktrees/moved.ts';
import { placeRun, type RunPlace, worksApart } from './worktrees/run-place.ts';

export interface RunResult {
  readonly task: Task;
  readonly response: aop2.ResponseMessage;
  /** For the parent. */
  readonly block: string;
  readonly onFailure: Policy['onFailure'];
}

/** @param task just claimed: its run is the current one
 *  @param leaving says that Baton itself has to go
 *  @param onSettled told when the store knows how it ended and nothing of it is left to do but writing it up */
export async function runTask(
  host: Host,
  task: Task,
  leaving?: AbortSignal,
  onSettled?: () => void,
): Promise<RunResult> {
  const run = task.run as Run;
  const facts = createFacts(host.store, task.id, run.id);
  const startedAt = host.now();
  // The run's files are a contract with its agent and with other programs: they are on disk before the agent starts.
  const shown = host.store.settled(task.id);
  shown.catch(() => {});
  const live = createLive(host, facts, { task, run, startedAt, state: 'starting' });
  const [envelope, body] = await Promise.all([
    host.store.text(task.id, 'inputs/task.json'),
    host.store.text(task.id, 'body'),
  ]);
  let message = envelopeOf(task, { envelope, body }, host.workspace);
  const folder = logFolder(host.dir, run.id);
  let where: RunPlace | null = null;
  let place: RunFacts['place'];
  let work: Work;
  try {
    // What is wrong with the TASK shows before a worktree is made for it.
    const workspace = await placeOf(host, task, message);
    let prepared = await prepare(host, task, worksApart(workspace) ? withoutBranch(message) : message);
    await endEarlierRuns(host, task, facts);
    where = await placeRun(host, { ...task, workspace }, run, message);
    message = where?.message ?? message;
    if (where !== null) prepared = await prepare(host, task, message, where.git);
    // In a worktree of its own it can spoil nothing.
    if (where === null) await checkpointBeforeRun(host, task, run, message, prepared);
    const note = where?.note ?? null;
    const given = { host, task, run, facts, live, prepared, startedAt, leaving, note };
    await shown;
    place = { workspace: prepared.ready.workspace, isPlain: prepared.chosen.adapter.kind === 'command' };
    work = await withChanges(given, folder, () => supervise(given));
  } catch (cause) {
    work = unstarted(run, failureOf(cause));
  }
  live.flush();
  const settled = await settle(host, task, run, facts, live, work, where);
  const { task: after, evidence, graphWords } = settled;
  onSettled?.();
  const earlier = after.runs > 1 ? earlierAttempts(await host.store.history(task.id), task.id, run.id) : null;
  const finished: RunFacts = {
    ...work.told,
    evidence,
    graphWords,
    failure: settled.failure ?? work.told.failure,
    isAborted: work.verdict === 'aborted',
    message,
    task: after,
    run,
    earlier,
    startedAt,
    endedAt: host.now(),
    folder,
    progress: live.last,
    ...(place === undefined ? {} : { place }),
  };
  /** The store knows how it ended: that it cannot be written up is no reason to end others. */
  const unwritten = (cause: unknown): string => {
    const words = `what came of it could not be written to ${folder}: ${failureOf(cause).message}`;
    host.warn(`${task.id}: ${words}`);
    return words;
  };
  let written: Written;
  try {
    written = writtenOf(finished);
  } catch (cause) {
    const { told } = unstarted(run, finished.failure);
    const { used, bytes } = work.told;
    written = writtenOf({ ...finished, ...told, used, bytes, lastText: unwritten(cause) });
  }
  const { response, block } = written;
  const printed = { bytes: work.told.bytes, chars: work.chars, folder };
  await countOutput(host, printed, block).then(
    (counts) => facts.tell('run.output', { ...counts, log: join('logs', run.id) }),
    unwritten,
  );
  await Promise.all([facts.written(), writeResults(finished, response, block).catch(unwritten)]);
  live.end({ status: after.status, used: work.told.used });
  // The last progress that it told.
  await facts.written();
  return { task: after, response, block, onFailure: policyOf(message).onFailure };
}

type Written = Pick<RunResult, 'response' | 'block'>;

const writtenOf = (facts: RunFacts): Written => ({ response: responseOf(facts), block: blockOf(facts) });

/** It never came to work. */
const unstarted = (run: Run, failure: Failure | null): Work => ({
  verdict: 'failed',
  repeats: 0,
  graph: NOTHING_SAID,
  chars: 0,
  told: {
    chosen: { name: run.agent, provider: 'OTHER', model: run.model },
    report: null,
    lastText: '',
    evidence: null,
    checkpoints: [],
    used: NOTHING_USED,
    estimatedUsd: null,
    failure,
    warnings: [],
    bytes: 0,
  },
});
