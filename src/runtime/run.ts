/**
 * One run of a task, from its claim to its end: prepare, snapshot, surround, let the agent work phase by phase, look at the evidence, tell the
 * store, and clear up. Whatever happens on the way, no process of it is left and the store knows how it ended.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentSign, TurnRequest } from '../agents/adapter.ts';
import { BatonError, isErrorCode } from '../core/errors.ts';
import type { TaskMessage as Ask } from '../core/laws/messages.ts';
import { isWithin, type Policy } from '../core/policy.ts';
import { emptyReport, type Report } from '../core/report.ts';
import type { Run, Task } from '../core/task.ts';
import { policyOf } from '../protocol/aop2/policy.ts';
import type { aop2 } from '../protocol/index.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { changesSince, takeCensus } from '../workspace/census.ts';
import { RUNTIME } from './actor.ts';
import { type Check, createChecker } from './checks.ts';
import { startClocks } from './clocks.ts';
import { envelopeOf } from './envelope.ts';
import { type Evidence, lookBefore, weigh } from './evidence.ts';
import { createFacts, type Facts } from './facts.ts';
import { createHearing } from './hearing.ts';
import type { Host } from './host.ts';
import { createLive, type LiveRun } from './live.ts';
import { openLog } from './log.ts';
import { createMeter } from './meter.ts';
import { type Checkpoint, type Phase, passedBefore, phasesInOrder, phasesLeft } from './phases.ts';
import { logFolder, markOf, openRunFolder } from './places.ts';
import { type Prepared, prepare } from './prepare.ts';
import { blockOf, type RunFacts, responseOf, writeResults } from './results.ts';
import { forgetSnapshots, rollBack, snapshotTask } from './rollback.ts';
import { openRunSocket } from './run-socket.ts';
import { createStopper, type Stop } from './stop.ts';
import { surround } from './surroundings.ts';
import { inWorktree, type TaskWorktree } from './task-worktree.ts';
import { programTurn, remoteTurn, type TurnEnd, turnFailure } from './turn.ts';
import { wordsFor } from './words.ts';

export interface RunResult {
  readonly task: Task;
  readonly response: aop2.ResponseMessage;
  /** For the parent. */
  readonly block: string;
  readonly onFailure: Policy['onFailure'];
}

/** How often the store is told that a run is alive, as a part of its lease. */
export const LEASE_MS = 60_000;
const BEAT_MS = LEASE_MS / 3;
const LAST_TEXT_CHARS = 20_000;

/** @param task just claimed: its run is the current one
 *  @param leaving says that Baton itself has to go */
export async function runTask(host: Host, task: Task, leaving?: AbortSignal): Promise<RunResult> {
  const run = task.run as Run;
  const facts = createFacts(host.store, task.id, run.id);
  const startedAt = host.now();
  const live = createLive(host, facts, {
    task: task.id,
    title: task.title,
    run: run.id,
    agent: run.agent,
    model: run.model,
    state: 'starting',
    phase: null,
    checkpoint: null,
    percentage: null,
    doing: null,
    startedAt,
    lastSign: startedAt,
    used: NOTHING_USED,
    status: null,
  });
  const [envelope, body] = await Promise.all([
    host.store.text(task.id, 'inputs/task.json'),
    host.store.text(task.id, 'body'),
  ]);
  let message = envelopeOf(task, { envelope, body }, host.workspace);
  let worktree: TaskWorktree | null = null;
  let work: Work;
  try {
    worktree = await inWorktree(host, task, message);
    message = worktree?.message ?? message;
    const prepared = await prepare(host, task, message);
    work = await supervise({ host, task, run, facts, live, prepared, startedAt, leaving });
  } catch (cause) {
    work = unstarted(message, run, failureOf(cause));
  }
  const after = await settle(host, task, run, facts, live, work, worktree);
  const finished: RunFacts = {
    ...work.told,
    message,
    task: after,
    run,
    startedAt,
    endedAt: host.now(),
    folder: logFolder(host.dir, run.id),
    progress: live.last,
  };
  const response = responseOf(finished);
  const block = blockOf(finished);
  facts.tell('run.output', { produced: work.told.bytes, delivered: block.length, log: join('logs', run.id) });
  await Promise.all([facts.written(), writeResults(finished, response, block)]);
  live.end({ status: after.status, used: work.told.used });
  return { task: after, response, block, onFailure: policyOf(message).onFailure };
}

const NOTHING_USED = { usd: null, tokensInput: 0, tokensOutput: 0, estimated: false };

const failureOf = (cause: unknown): { readonly code: string; readonly message: string } =>
  cause instanceof BatonError
    ? { code: cause.code, message: cause.message }
    : { code: 'E_UNKNOWN', message: cause instanceof Error ? cause.message : String(cause) };

/** What came of the work, before the store has been told. */
interface Work {
  readonly told: Omit<RunFacts, 'message' | 'task' | 'run' | 'startedAt' | 'endedAt' | 'folder' | 'progress'>;
  /** What is said to the store: the run's report, or its failure. */
  readonly verdict: 'reported' | 'failed' | 'aborted' | 'taken' | 'leaving';
}

const unstarted = (_message: aop2.TaskMessage, run: Run, failure: { code: string; message: string }): Work => ({
  verdict: 'failed',
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

interface Supervision {
  readonly host: Host;
  readonly task: Task;
  readonly run: Run;
  readonly facts: Facts;
  readonly live: LiveRun;
  readonly prepared: Prepared;
  readonly startedAt: number;
  readonly leaving: AbortSignal | undefined;
}

async function supervise(given: Supervision): Promise<Work> {
  const { host, task, run, facts, live, prepared, startedAt } = given;
  const { message, policy, chosen, ready, access, here, budget, price } = prepared;
  const { adapter } = chosen;
  const stopper = createStopper();
  const mark = markOf(host.dir, run.id);
  const logs = logFolder(host.dir, run.id);
  const details = join(logs, 'agent');
  const folder = await openRunFolder();
  const log = openLog(logs);
  const meter = createMeter(budget, price, {
    usd: task.cost.usd,
    tokensInput: task.cost.tokensInput,
    tokensOutput: task.cost.tokensOutput,
  });
  const warnings: string[] = [];
  const undo: (() => unknown)[] = [() => rm(folder, { recursive: true, force: true }), () => log.close()];
  const fail = (code: Stop['code'], text: string, kind: Stop['kind'] = 'failed'): void =>
    stopper.stop({ code, message: text, kind });

  undo.push(
    host.watch.add(task.id, run.id, (status) =>
      fail('E_STALE_RUN', `the task was taken from its run: it is ${status}`, 'taken'),
    ),
  );
  const leave = (): void => fail('E_RUN_EXPIRED', 'Baton was asked to stop', 'leaving');
  if (given.leaving?.aborted) leave();
  given.leaving?.addEventListener('abort', leave, { once: true });
  undo.push(() => given.leaving?.removeEventListener('abort', leave));

  try {
    const hearing = createHearing({
      task,
      rails: { finalSignal: policy.requireFinalSignal, minimalReport: policy.requireMinimalReport },
      onProgress: (progress) => live.progress(progress),
    });
    const socket = await openRunSocket(folder, (found) => {
      clocks.alive();
      return hearing.message(found);
    });
    undo.push(() => socket.close());
    const taskFile = join(folder, 'task.json');
    await Promise.all([writeFile(taskFile, JSON.stringify(message, null, 2)), mkdir(details, { recursive: true })]);
    const request = (prompt: string, resume: string | null): TurnRequest => ({
      agent: chosen.agent,
      prompt,
      model: chosen.model,
      workspace: ready.workspace,
      access,
      sandboxed: here.ok,
      budget,
      resume,
      conversation: randomUUID(),
      folder,
      environment: host.environment,
    });
    const launch = adapter.way === 'program' ? adapter.launch(request('', null)) : null;
    const surroundings = await surround({
      config: host.config,
      environment: host.environment,
      adapter,
      agent: chosen.agent,
      access,
      mark,
      launch,
      here,
      dir: host.dir,
      own: [
        { path: folder, writable: true },
        { path: details, writable: true },
      ],
      folder,
    });
    undo.push(() => surroundings.close());
    const late = adapter.usage !== 'streamed' && (budget.maxCostUsd !== null || budget.maxTokens !== null);
    facts.tell('run.enforced', {
      ...surroundings.enforced,
      missing: [...surroundings.enforced.missing, ...(late ? ['budget: known only after each turn'] : [])],
    });
    if (prepared.estimate !== null) facts.tell('run.estimate', { ...prepared.estimate });

    // Nothing has been changed so far; from here on there is something to go back to.
    await snapshotTask(host.dir, task.id, message, ready.workspace);
    const before = await lookBefore(message, ready.workspace);
    const census = await censusBefore(host, prepared, surroundings.sandbox === null || surroundings.widened.length > 0);

    const clocks = startClocks({
      policy,
      now: host.now,
      startedAt,
      onTimeout() {
        const text = `the run took longer than ${policy.timeoutSeconds} seconds`;
        if (policy.terminateOnTimeout) return fail('E_TIMEOUT', text);
        warnings.push(`E_TIMEOUT: ${text}; its policy lets it go on`);
        facts.tell('run.overdue', { code: 'E_TIMEOUT', message: text });
        host.warn(`${task.id}: ${text}; its policy lets it go on`);
      },
      onSilence(silentMs) {
        const text = `no sign of life for ${Math.round(silentMs / 1000)} seconds (${policy.heartbeat.maxMissedBeats} beats missed)`;
        if (policy.heartbeat.onFailure === 'ABORT') return fail('E_HEARTBEAT_FAILURE', text);
        facts.tell('run.silent', { code: 'E_HEARTBEAT_FAILURE', message: text, policy: policy.heartbeat.onFailure });
        if (policy.heartbeat.onFailure === 'CONTINUE') return;
        warnings.push(`E_HEARTBEAT_FAILURE: ${text}`);
        host.warn(`${task.id}: ${text}`);
      },
    });
    undo.push(() => clocks.stop());
    const beat = setInterval(() => void host.store.alive(run.id).catch(() => {}), BEAT_MS);
    undo.push(() => clearInterval(beat));

    let lastText = '';
    let conversation: string | null = null;
    const onSign = (sign: AgentSign): void => {
      clocks.alive();
      live.sign(sign);
      if (sign.kind === 'text') {
        hearing.text(sign.text);
        if (sign.whole) hearing.pause();
        lastText = (sign.whole ? sign.text : lastText + sign.text).slice(-LAST_TEXT_CHARS);
      } else if (sign.kind === 'end' && sign.text !== null && sign.text !== '')
        lastText = sign.text.slice(-LAST_TEXT_CHARS);
      else if (sign.kind === 'conversation') conversation = sign.id;
      else if (sign.kind === 'denied') warnings.push(`E_PERMISSION_DENIED: the agent was not allowed ${sign.what}`);
      else if (sign.kind === 'usage') {
        meter.turn(sign);
        live.update({ used: meter.used });
        const over = meter.exceeded();
        if (over !== null) fail('E_COST_LIMIT_EXCEEDED', over);
      }
    };

    const turn = async (prompt: string, phase: Phase | null): Promise<TurnEnd> => {
      live.update({ state: 'working', phase: phase?.phase_id ?? null });
      const asked = request(prompt, adapter.kind === 'command' ? null : conversation);
      const common = { request: asked, log, signal: stopper.signal, onSign };
      const end =
        adapter.way === 'remote'
          ? await remoteTurn({ ...common, adapter })
          : await programTurn({
              ...common,
              adapter,
              surroundings,
              env: {
                BATON_RUN_ID: run.id,
                BATON_TASK_ID: task.id,
                BATON_SESSION: task.session,
                BATON_ATTEMPT: String(run.attempt),
                BATON_TASK_FILE: taskFile,
                BATON_SOCKET: socket.path,
                BATON_DETAILS_DIR: details,
                ...(phase === null ? {} : { BATON_PHASE: phase.phase_id }),
              },
            });
      hearing.end();
      meter.nextTurn();
      if (end.ended !== null && end.ended.left.length > 0) {
        warnings.push(`processes that could not be ended: ${end.ended.left.join(', ')}`);
      }
      return end;
    };

    const checkSandbox =
      surroundings.sandbox === null
        ? null
        : { ...surroundings.sandbox, network: access.network === 'FULL' ? ('open' as const) : ('none' as const) };
    const checker = createChecker({
      workspace: ready.workspace,
      env: surroundings.environment(launch ?? NO_LAUNCH),
      mark,
      sandbox: checkSandbox,
      policy,
      folder: logs,
    });

    const outcome = await phases({
      ...given,
      turn,
      checker,
      stopper,
      details,
      adapter,
      conversation: () => conversation,
    });
    clocks.stop();
    if (stopper.reason === null && outcome.failure === null) {
      const over = meter.exceeded();
      if (over !== null) fail('E_COST_LIMIT_EXCEEDED', `${over}; that was known only after the turn`);
    }
    for (const hostName of surroundings.refusedHosts())
      warnings.push(`E_PERMISSION_DENIED: the network did not let through ${hostName}`);
    for (const { kind, reason } of hearing.refused) warnings.push(`not heard: ${kind}: ${reason}`);
    const heard = hearing.heard;
    const told = {
      chosen: { name: chosen.name, provider: chosen.provider, model: live.model ?? chosen.model },
      report: heard?.report ?? null,
      lastText,
      evidence: null,
      checkpoints: outcome.results,
      used: meter.used,
      estimatedUsd: prepared.estimate?.usd ?? null,
      failure: null,
      warnings,
      bytes: log.bytes,
    };
    facts.tell('run.usage', { ...meter.used, model: told.chosen.model, provider: chosen.provider });
    const stopped = stopper.reason;
    if (stopped !== null) {
      const verdict = stopped.kind === 'failed' ? 'failed' : stopped.kind;
      return { verdict, told: { ...told, failure: { code: stopped.code, message: stopped.message } } };
    }
    if (outcome.failure !== null)
      return { verdict: outcome.abort ? 'aborted' : 'failed', told: { ...told, failure: outcome.failure } };
    if (heard !== null && heard.missing.length > 0) {
      const text = `the guard rails of its TASK require ${heard.missing.join(', ')} in the RESPONSE`;
      return { verdict: 'failed', told: { ...told, failure: { code: 'E_MALFORMED_RESPONSE', message: text } } };
    }
    live.update({ state: 'checking' });
    const report = heard?.report ?? silentReport(lastText);
    const evidence = await weigh({
      message,
      workspace: ready.workspace,
      report,
      before,
      checker,
      checkpoints: outcome.checkpoints,
      inputs: ready.inputs,
      trespasses: census === null ? [] : await changesSince(census),
    });
    facts.tell('run.evidence', { claims: evidence.claims, artifacts: evidence.artifacts });
    // What came while the evidence was looked at.
    const taken = stopper.reason as Stop | null;
    if (taken !== null)
      return {
        verdict: taken.kind === 'failed' ? 'failed' : taken.kind,
        told: { ...told, failure: { code: taken.code, message: taken.message } },
      };
    return { verdict: 'reported', told: { ...told, report: heard === null ? null : report, evidence } };
  } finally {
    for (const action of undo.reverse()) await action();
  }
}

const NO_LAUNCH = { command: [], env: {}, passEnv: [], stdin: null, files: [], state: [], endpoints: [], enforces: [] };

/** DECISIONS §2: a run without a report: its exit code is the report, and a good one asks for a look. */
const silentReport = (lastText: string): Report => emptyReport('needs_review', shorten(lastText.trim(), 500));

/** What may not be written is looked at before and after, where nothing else keeps the agent from writing it. */
async function censusBefore(
  host: Host,
  { ready, access }: Prepared,
  isNeeded: boolean,
): Promise<Awaited<ReturnType<typeof takeCensus>> | null> {
  if (!isNeeded || isWithin(ready.workspace, access.writePaths)) return null;
  return takeCensus(ready.workspace, [host.dir, join(ready.workspace, '.git'), ...access.writePaths]);
}

type CheckpointResult = RunFacts['checkpoints'][number];

interface Phased {
  readonly results: readonly CheckpointResult[];
  readonly checkpoints: ReadonlyMap<
    string,
    { readonly status: string; readonly finding: string; readonly forgiven: boolean }
  >;
  readonly failure: { readonly code: string; readonly message: string } | null;
  readonly abort: boolean;
}

interface PhaseWork extends Supervision {
  readonly turn: (prompt: string, phase: Phase | null) => Promise<TurnEnd>;
  readonly checker: ReturnType<typeof createChecker>;
  readonly stopper: ReturnType<typeof createStopper>;
  readonly details: string;
  readonly adapter: Prepared['chosen']['adapter'];
  readonly conversation: () => string | null;
}

/** The phases that are left, each until its checkpoints pass; one turn where the task has none. */
async function phases(work: PhaseWork): Promise<Phased> {
  const { host, task, facts, live, prepared, turn, checker, stopper, details, adapter } = work;
  const { message, policy } = prepared;
  const all = phasesInOrder(message);
  const passed = all.length === 0 ? NONE_PASSED : passedBefore(await host.store.history(task.id));
  const results = new Map<string, CheckpointResult>();
  const states = new Map<string, { status: string; finding: string; forgiven: boolean }>();
  for (const id of passed.checkpoints) {
    states.set(id, { status: 'PASS', finding: '', forgiven: false });
    results.set(id, { checkpoint_id: id, status: 'PASS', notes: 'passed in an earlier run' });
  }
  const done = (failure: Phased['failure'], abort = false): Phased => ({
    results: [...results.values()],
    checkpoints: states,
    failure,
    abort,
  });
  const words = { message, detailsFile: join(details, 'details.json'), task, passed };

  for (const phase of all.length === 0 ? [null] : phasesLeft(all, passed)) {
    let findings: readonly string[] = [];
    for (let tries = 0; ; tries++) {
      if (phase !== null) facts.tell('run.phase', { phase: phase.phase_id, state: 'started', try: tries + 1 });
      const goesOn = adapter.kind !== 'command' && work.conversation() !== null;
      const place = phase === null ? null : { phase, number: all.indexOf(phase) + 1, of: all.length };
      const end = await turn(wordsFor({ ...words, phase: place, findings, goesOn }), phase);
      if (stopper.reason !== null) return done(null);
      const failure = turnFailure(adapter, end);
      if (failure !== null) return done({ code: failure.code, message: failure.message });
      if (phase === null) break;
      live.update({ state: 'checking' });
      const failed: { checkpoint: Checkpoint; check: Check }[] = [];
      for (const checkpoint of phase.checkpoints ?? []) {
        const { checkpoint_id: id, recovery_strategy: strategy } = checkpoint;
        live.update({ checkpoint: id });
        const check = await checker.checkpoint(checkpoint);
        if (stopper.reason !== null) return done(null);
        const forgiven = strategy === 'CONTINUE' || strategy === 'SKIP';
        const status = check.passed ? (tries > 0 ? 'RECOVERED' : 'PASS') : strategy === 'SKIP' ? 'SKIP' : 'FAIL';
        states.set(id, { status, finding: check.finding, forgiven });
        results.set(id, {
          checkpoint_id: id,
          status,
          validation_output: check.output,
          evidence: [...check.evidence],
          ...(check.finding === '' ? {} : { notes: check.finding }),
        });
        facts.tell('run.checkpoint', {
          phase: phase.phase_id,
          checkpoint: id,
          status,
          command: check.command,
          expects: check.expects,
          exitCode: check.exitCode,
          output: check.output,
          evidence: check.evidence,
          ...(check.finding === '' ? {} : { finding: check.finding }),
        });
        if (!check.passed && !forgiven) failed.push({ checkpoint, check });
        if (!check.passed && strategy === 'ABORT') break;
      }
      const fatal = failed.find(({ checkpoint }) => checkpoint.recovery_strategy === 'ABORT');
      const mayRepeat = failed.every(({ checkpoint }) => checkpoint.recovery_strategy === 'RETRY');
      if (failed.length === 0) {
        facts.tell('run.phase', { phase: phase.phase_id, state: 'passed' });
        break;
      }
      findings = failed.map(({ checkpoint, check }) => `${checkpoint.checkpoint_id}: ${check.finding}`);
      if (fatal === undefined && mayRepeat && tries < Math.max(1, policy.maxRetries)) continue;
      facts.tell('run.phase', { phase: phase.phase_id, state: 'failed', findings });
      if (fatal !== undefined) return done({ code: 'E_EVIDENCE', message: findings.join('; ') }, true);
      return done(null);
    }
  }
  return done(null);
}

const NONE_PASSED = { phases: new Set<string>(), checkpoints: new Set<string>() };

/** Tells the store how it ended, takes back what has to be taken back, and returns the task as it is then. */
async function settle(
  host: Host,
  task: Task,
  run: Run,
  facts: Facts,
  live: LiveRun,
  work: Work,
  worktree: TaskWorktree | null,
): Promise<Task> {
  const { told, verdict } = work;
  const { used, failure, evidence, report } = told;
  const cost = { usd: used.usd ?? 0, tokensInput: used.tokensInput, tokensOutput: used.tokensOutput };
  const ask = async (message: Ask): Promise<void> => {
    const answer = await host.store.send({ message, by: RUNTIME });
    if (answer.kind === 'refused' && answer.refusal.code !== 'E_STALE_RUN') {
      throw new BatonError(answer.refusal.code, answer.refusal.message, answer.refusal.hint);
    }
    if (answer.kind === 'refused')
      facts.tell('protocol.message.rejected', { reason: answer.refusal.message, message: message.type });
  };
  await facts.written();
  if (verdict === 'leaving') await ask({ type: 'run.resume', run: run.id, result: 'none', gone: true });
  else if (verdict !== 'taken' && failure !== null) {
    const code = isErrorCode(failure.code) ? failure.code : 'E_UNKNOWN';
    await ask({
      type: 'run.fail',
      run: run.id,
      code,
      message: failure.message,
      cost,
      ...(verdict === 'aborted' ? { final: true } : {}),
    });
  } else if (verdict === 'reported') {
    const claimed = report ?? silentReport(told.lastText);
    const summary = shorten(claimed.summary.trim(), 500);
    const refused = (evidence as Evidence).findings;
    const reported = ask({
      type: 'run.report',
      run: run.id,
      outcome: claimed.outcome,
      ...(summary === '' ? {} : { summary }),
      cost,
    });
    // In one go: whoever looks in between sees a task in review.
    const judged =
      claimed.outcome === 'failed' || claimed.outcome === 'blocked'
        ? null
        : ask({
            type: 'run.judge',
            run: run.id,
            passed: refused.length === 0,
            findings: refused.map(({ code, message }) => `${code}: ${message}`),
            ...(refused[0] === undefined ? {} : { code: refused[0].code }),
          });
    await Promise.all([reported, judged]);
  }
  const after = (await host.store.find(task.id)) as Task;
  await clearUp(host, after, facts, live, work);
  if (worktree !== null) await worktree.close(after.status === 'done', facts);
  return after;
}

async function clearUp(host: Host, task: Task, facts: Facts, live: LiveRun, { verdict }: Work): Promise<void> {
  if (task.status === 'done') return forgetSnapshots(host.dir, task.id);
  if (task.status !== 'deadletter' && task.status !== 'cancelled') return;
  live.update({ state: 'rolling-back' });
  const trigger =
    task.status === 'cancelled' ? 'TASK_CANCELLED' : verdict === 'aborted' ? 'TASK_ABORTED' : 'TASK_FAILED';
  const results = await rollBack(host.dir, task.id, trigger, facts);
  if (results === null) return;
  const failed = results.filter(({ status }) => status === 'FAILED');
  host.warn(`${task.id}: ${results.length - failed.length} of ${results.length} outputs put back as they were`);
  for (const { error } of failed) host.warn(error ?? '');
}
