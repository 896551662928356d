/** The end of a run: the store is told, what has to be taken back is taken back, and nothing is kept that nobody needs. */
import { BatonError, isErrorCode } from '../core/errors.ts';
import type { TaskMessage as Ask } from '../core/laws/messages.ts';
import { type Report, wordsOf } from '../core/report.ts';
import { isRunning, type Run, type Task } from '../core/task.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { RUNTIME } from './actor.ts';
import type { Evidence, Finding } from './evidence/claim.ts';
import type { Facts } from './facts.ts';
import { saysNothing, takeBack } from './graph-report.ts';
import { writeGraph } from './graph-settle.ts';
import { holdBack, sizeOf } from './held-graph.ts';
import type { Host } from './host.ts';
import type { LiveRun } from './live.ts';
import { amountOf } from './response/said.ts';
import { forgetSnapshots, noteLeft, rollBack, tellRestored } from './rollback.ts';
import { committed } from './routed.ts';
import { type Failure, failureOf, isStoreFailure, silentReport, type Work } from './work.ts';
import { dropFolder, mergeWork } from './worktrees/merge-work.ts';
import type { RunPlace } from './worktrees/run-place.ts';
import { takeRun, whyUntaken } from './worktrees/take-run.ts';

interface Settled {
  readonly task: Task;
  /** With what has come to it in the end. */
  readonly evidence: Evidence | null;
  /** What it has written into the graph, in words for its parent. */
  readonly graphWords: string;
  /** What went wrong while it was settled. */
  readonly failure?: Failure;
}

/**
 * Tells the store how it ended, takes back what has to be taken back, and returns the task as it is then. What goes wrong on the way is the
 * failure of this run, and no other ends for it; but for a store that fails.
 */
export async function settle(...given: Parameters<typeof settleAsTold>): Promise<Settled> {
  try {
    return await settleAsTold(...given);
  } catch (cause) {
    if (isStoreFailure(cause)) throw cause;
    return settleAsFailed(given, failureOf(cause));
  }
}

async function settleAsTold(
  host: Host,
  task: Task,
  run: Run,
  facts: Facts,
  live: LiveRun,
  work: Work,
  place: RunPlace | null,
): Promise<Settled> {
  const { told, verdict } = work;
  const { used, failure, report } = told;
  let { evidence } = told;
  let graphWords = '';
  let isTaken = false;
  const cost = amountOf(used);
  const ask = async (message: Ask): Promise<void> => {
    const answer = await host.store.send({ message, by: RUNTIME });
    if (answer.kind === 'refused' && answer.refusal.code !== 'E_STALE_RUN') {
      throw new BatonError(answer.refusal.code, answer.refusal.message, answer.refusal.hint);
    }
    if (answer.kind === 'refused')
      facts.tell('protocol.message.rejected', { reason: answer.refusal.message, message: message.type });
  };
  await noteLeft(host.dir, task.id, facts).catch((cause: unknown) => {
    // What is wrong with its snapshots must not keep the store from knowing how it ended.
    host.warn(`${task.id}: ${failureOf(cause).message}`);
  });
  if (verdict === 'reported' && failure === null && report?.outcome !== 'failed') {
    const [finding] = evidence?.findings ?? [];
    if (finding !== undefined) await holdBack(host.store, task, run, work.graph, finding.message);
  } else if (!saysNothing(work.graph)) facts.tell('graph.dropped', droppedOf(work));
  // What was told before stands before it in the journal; that all of it is on disk is waited for once, at the end.
  if (verdict === 'leaving') {
    await ask({ type: 'run.resume', run: run.id, result: 'none', gone: true, reason: 'leaving', cost });
  } else if (verdict === 'taken') {
    if ((used.usd ?? 0) + used.tokensInput + used.tokensOutput > 0)
      await ask({ type: 'run.charge', run: run.id, cost });
  } else if (failure !== null) {
    const code = isErrorCode(failure.code) ? failure.code : 'E_UNKNOWN';
    await ask({
      type: 'run.fail',
      run: run.id,
      code,
      message: failure.message,
      cost,
      ...repeatsOf(work),
      ...(verdict === 'aborted' ? { final: true } : {}),
    });
  } else if (verdict === 'reported') {
    let claimed: Pick<Report, 'outcome' | 'summary'> =
      report === null ? silentReport(told.lastText) : { outcome: report.outcome, summary: wordsOf(report) };
    let again: string | null = null;
    let refused: readonly Finding[] = (evidence as Evidence).findings;
    // While the run is the current one. What does not bear out its claims, or says itself that it failed, writes nothing.
    const mayWrite = refused.length === 0 && claimed.outcome !== 'failed';
    const graphed = mayWrite ? await writeGraph(host, task, run, work.graph, claimed) : null;
    if (graphed !== null) {
      ({ claimed, again } = graphed);
      graphWords = graphed.words;
    }
    if (graphed !== null && graphed.finding !== null) {
      evidence = withFinding(evidence as Evidence, graphed.finding);
      refused = evidence.findings;
      await holdBack(host.store, task, run, work.graph, graphed.finding.message);
      facts.tell('run.evidence', { ...evidence });
    }
    const summary = shorten(claimed.summary.trim(), 500);
    const reported = ask({
      type: 'run.report',
      run: run.id,
      outcome: claimed.outcome,
      ...(report === null && saysNothing(work.graph) ? { silent: true as const } : {}),
      ...(summary === '' ? {} : { summary }),
      ...(claimed.outcome === 'failed' ? { ...errorOf(told), ...repeatsOf(work) } : {}),
      cost,
    });
    let final = {};
    if (place !== null) {
      await reported;
      const untaken = await whyUntaken(host, task, () => takeRun(host, task, run, place, facts));
      isTaken = true;
      if (untaken !== null) {
        evidence = withFinding(evidence as Evidence, untaken);
        refused = evidence.findings;
        final = { final: true };
        facts.tell('run.evidence', { ...evidence });
      }
      await facts.written();
    }
    // In one go: whoever looks in between sees a task in review.
    const judged =
      again !== null
        ? reported.then(() => doAgain(host, task, run, again))
        : claimed.outcome === 'failed' || claimed.outcome === 'blocked'
          ? null
          : ask({
              type: 'run.judge',
              run: run.id,
              passed: refused.length === 0,
              findings: [...refused, ...(evidence?.warnings ?? [])].map(({ message }) => message),
              supervisor: host.supervisor,
              ...(host.config.defaults.unverified === 'review' ? { unverified: 'review' as const } : {}),
              ...(refused[0] === undefined ? {} : { code: refused[0].code }),
              ...(evidence?.verdict === undefined ? {} : { verdict: evidence.verdict }),
              ...(refused.length === 0 ? {} : repeatsOf(work)),
              ...final,
            });
    await Promise.all([reported, judged]);
    const { finding } = await mergeWork(host, task.id, isTaken);
    if (finding !== null) evidence = unmerged(evidence as Evidence, finding);
  }
  const after = (await host.store.find(task.id)) as Task;
  await clearUp(host, after, facts, live, work);
  if (place !== null && !isTaken) await whyUntaken(host, task, () => takeRun(host, task, run, place, facts));
  if (after.status === 'done' && isTaken && place?.worktree != null) await dropFolder(host, after);
  return { task: after, evidence, graphWords };
}

async function settleAsFailed(
  [host, task, run, facts, live, work, place]: Parameters<typeof settleAsTold>,
  failure: Failure,
): Promise<Settled> {
  const { used, evidence } = work.told;
  const code = isErrorCode(failure.code) ? failure.code : 'E_UNKNOWN';
  const message = `${run.id} could not be settled: ${failure.message}`;
  host.warn(`${task.id}: ${message}`);
  const now = (await host.store.find(task.id)) as Task;
  const isCurrent = now.run?.id === run.id;
  const cost = amountOf(used);
  if (isCurrent && isRunning(now))
    await host.store.send({ message: { type: 'run.fail', run: run.id, code, message, cost }, by: RUNTIME });
  // Its claim is in the store already; whether that holds, a person has to say.
  else if (isCurrent && now.status === 'review')
    await host.store.send({
      message: { type: 'run.judge', run: run.id, passed: false, findings: [message], code, final: true },
      by: RUNTIME,
    });
  const after = (await host.store.find(task.id)) as Task;
  try {
    await clearUp(host, after, facts, live, work);
    if (place !== null) await whyUntaken(host, task, () => takeRun(host, task, run, place, facts));
  } catch (cause) {
    if (isStoreFailure(cause)) throw cause;
    host.warn(`${task.id}: what ${run.id} left could not be cleared up: ${failureOf(cause).message}`);
  }
  return { task: after, evidence, graphWords: '', failure: { code, message } };
}

/** What was done again within the run counts as a retry: RETRY of a checkpoint and `max_retries` do not multiply. */
const repeatsOf = ({ repeats }: Work): { readonly repeats?: number } => (repeats === 0 ? {} : { repeats });

/** The error that the agent names decides whether it is tried again, and with what model. */
const errorOf = ({ error }: Work['told']): { readonly code?: string; readonly reason?: string } =>
  error == null ? {} : { code: error.code, reason: error.message };

/** What it said of the knowledge graph, and why nothing of that is written. */
const droppedOf = ({ graph, told, verdict }: Work): Readonly<Record<string, unknown>> => ({
  ...sizeOf(graph),
  reason: told.failure?.message ?? (verdict === 'reported' ? 'the agent says that it failed' : verdict),
});

/** At once, whatever its policy leaves of attempts: nothing was wrong with it. Somebody else's word about it, said meanwhile, stands. */
export async function doAgain(
  { store }: Pick<Host, 'store'>,
  task: Task,
  run: Run,
  reason: string,
): Promise<readonly string[]> {
  const now = await store.find(task.id);
  if (now?.status !== 'review' || now.run?.id !== run.id) return [];
  return committed(await store.send({ message: { type: 'task.move', id: task.id, to: 'ready', reason }, by: RUNTIME }));
}

/** The first claim is the outcome, and that does not hold then. */
const withFinding = ({ claims: [first, ...rest], ...evidence }: Evidence, finding: Finding): Evidence => ({
  ...evidence,
  claims: first === undefined ? [] : [{ ...first, verdict: 'contradicted', detail: finding.message }, ...rest],
  findings: [...evidence.findings, finding],
  verdict: 'contradicted',
});

/** Nothing is wrong with the work; it is not where it is wanted yet. */
const unmerged = (evidence: Evidence, finding: Finding): Evidence => ({
  ...evidence,
  findings: [...evidence.findings, finding],
});

async function clearUp(host: Host, task: Task, facts: Facts, live: LiveRun, { verdict }: Work): Promise<void> {
  if (task.status === 'done') return forgetSnapshots(host.dir, task.id);
  if (task.status !== 'deadletter' && task.status !== 'cancelled') return;
  await takeBack(host, task, `${task.id} is ${task.status}`);
  live.update({ state: 'rolling-back' });
  const trigger =
    task.status === 'cancelled' ? 'TASK_CANCELLED' : verdict === 'aborted' ? 'TASK_ABORTED' : 'TASK_FAILED';
  const results = await rollBack(host.dir, task.id, trigger, facts);
  if (results !== null) tellRestored(host, task.id, results);
}
