/**
 * The verdict on a run that reported and whose supervisor died before it was judged. What was written down of the evidence holds; what was not
 * is looked at now, as far as it can be: the expected outputs and the checkpoints. What was there before the run nobody knows any more.
 */
import type { Config } from '../core/config.ts';
import { BatonError } from '../core/errors.ts';
import { emptyReport, OUTCOMES } from '../core/report.ts';
import type { StoredRecord } from '../core/store.ts';
import type { Run, Task, Verdict } from '../core/task.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { RUNTIME } from './actor.ts';
import { openAttempt } from './attempt.ts';
import type { Checker } from './checks.ts';
import { envelopeOf } from './envelope.ts';
import { type Finding, weigh } from './evidence.ts';
import { createFacts, type Facts } from './facts.ts';
import { takeBack } from './graph-report.ts';
import { knownAnew } from './graph-settle.ts';
import type { Host } from './host.ts';
import { createLive } from './live.ts';
import type { CheckpointState } from './phase-work.ts';
import { passedBefore, phasesInOrder } from './phases.ts';
import { type Prepared, prepare } from './prepare.ts';
import { committed } from './routed.ts';
import { claimedBefore } from './run-result.ts';
import { doAgain, isAccepted } from './settle.ts';
import { isSupervisorGone } from './supervisors.ts';
import { inWorktree } from './task-worktree.ts';

/** Judges a claim that has no verdict yet. Returns the names of the events that it recorded; none where nothing was to be judged. */
export async function finishVerdict(host: Host, task: Task): Promise<readonly string[]> {
  const { run } = task;
  if (task.status !== 'review' || task.cause !== null || run === null || run.status !== 'completed') return [];
  if (task.verdict !== null) return [];
  const history = await host.store.history(task.id);
  // While its supervisor lives, that one judges it; but a claim that came after its verdict was not the supervisor's to judge.
  const isFirst = !isTold(history, run, 'run.judged');
  if (isFirst && run.supervisor !== null && !isSupervisorGone(host, run.supervisor)) return [];
  const again = isFirst ? knownAnew(history, task.id, run.id) : null;
  if (again !== null) return doAgain(host, task, run, again);
  const facts = createFacts(host.store, task.id, run.id);
  const [envelope, body] = await Promise.all([
    host.store.text(task.id, 'inputs/task.json'),
    host.store.text(task.id, 'body'),
  ]);
  const said = envelopeOf(task, { envelope, body }, host.workspace);
  const worktree = await inWorktree(host, task, said);
  const seen =
    foundBefore(history, run) ?? (await lookAgain(host, task, run, worktree?.message ?? said, history, facts));
  let { findings } = seen;
  const mayMerge = worktree !== null && findings.length === 0 && run.outcome === 'done' && isAccepted(task, run);
  const unmerged = mayMerge ? await worktree.merge(facts) : null;
  if (unmerged !== null) findings = [unmerged];
  await facts.written();
  const answer = await host.store.send({
    message: {
      type: 'run.judge',
      run: run.id,
      passed: findings.length === 0,
      findings: findings.map(({ message }) => message),
      ...(findings[0] === undefined ? {} : { code: findings[0].code }),
      ...(unmerged !== null || seen.verdict === undefined ? {} : { verdict: seen.verdict }),
      ...(unmerged === null ? {} : { final: true }),
    },
    by: RUNTIME,
  });
  // What it wrote into the graph rests on what does not hold.
  if (findings[0] !== undefined && answer.kind === 'changed') await takeBack(host, task, findings[0].message);
  if (worktree !== null && !mayMerge) await worktree.leave(facts);
  await facts.written();
  return committed(answer);
}

const isTold = (history: readonly StoredRecord[], run: Run, type: string): boolean =>
  history.some(({ events }) => events.some((event) => event.type === type && event.run === run.id));

type Found = Pick<Finding, 'message'> & { readonly code: string };

interface Seen {
  readonly findings: readonly Found[];
  readonly verdict?: Verdict;
}

/** What stood against it when it was looked at; null where nobody has looked, or nothing did. */
function foundBefore(history: readonly StoredRecord[], run: Run): Seen | null {
  const told = history.flatMap(({ events }) =>
    events.filter(({ type, run: of }) => type === 'run.evidence' && of === run.id),
  );
  const findings = told.at(-1)?.detail?.['findings'];
  return Array.isArray(findings) && findings.length > 0
    ? { findings: findings as Found[], verdict: 'contradicted' }
    : null;
}

async function lookAgain(
  host: Host,
  task: Task,
  run: Run,
  message: TaskMessage,
  history: readonly StoredRecord[],
  facts: Facts,
): Promise<Seen> {
  const report =
    claimedBefore(history, run.id) ??
    emptyReport(OUTCOMES.find((known) => known === run.outcome) ?? 'needs_review', task.summary ?? '');
  try {
    const prepared = await prepareFor(host, task, run, message);
    const startedAt = host.now();
    const live = createLive(host, facts, { task, run, startedAt, state: 'checking' });
    const attempt = await openAttempt({ host, task, run, facts, live, prepared, startedAt, leaving: undefined });
    try {
      const evidence = await weigh({
        message,
        workspace: prepared.ready.workspace,
        report,
        before: new Map(),
        checker: attempt.checker,
        checkpoints: await checkpointsNow(message, history, attempt.checker),
        inputs: [],
        apart: prepared.ready.apart,
        roots: [prepared.ready.workspace, ...prepared.ready.writePaths],
        trespasses: [],
      });
      facts.tell('run.evidence', { ...evidence, again: true });
      return evidence;
    } finally {
      await attempt.close();
    }
  } catch (cause) {
    if (!(cause instanceof BatonError)) throw cause;
    const message = `the evidence could not be looked at again: ${cause.message}`;
    return { findings: [{ code: cause.code, message }] };
  }
}

/** Whoever did it may be no agent of ours; what it claims is looked at as it would be for any program. */
async function prepareFor(host: Host, task: Task, run: Run, message: TaskMessage): Promise<Prepared> {
  try {
    return await prepare(host, task, message);
  } catch (cause) {
    if (!(cause instanceof BatonError) || cause.code !== 'E_AGENT_NOT_FOUND') throw cause;
    const anybody: Config['agents'][string] = {
      kind: 'command',
      command: [process.execPath],
      args: [],
      env: [],
      roles: [],
      tags: [],
    };
    const config = { ...host.config, agents: { ...host.config.agents, [run.agent]: anybody } };
    const routing = { ...task.routing, agent: run.agent };
    return prepare({ ...host, config }, { ...task, fallback: null, routing }, message);
  }
}

/** Those that passed have passed; the others are looked at now. */
async function checkpointsNow(
  message: TaskMessage,
  history: readonly StoredRecord[],
  checker: Checker,
): Promise<Map<string, CheckpointState>> {
  const passed = passedBefore(history);
  const states = new Map<string, CheckpointState>();
  for (const checkpoint of phasesInOrder(message).flatMap((phase) => phase.checkpoints ?? [])) {
    const { checkpoint_id: id, recovery_strategy: strategy } = checkpoint;
    const isPassed = passed.checkpoints.has(id);
    const check = isPassed ? null : await checker.checkpoint(checkpoint);
    states.set(id, {
      status: check === null || check.passed ? 'PASS' : 'FAIL',
      finding: check?.finding ?? '',
      forgiven: strategy === 'CONTINUE' || strategy === 'SKIP',
    });
  }
  return states;
}
