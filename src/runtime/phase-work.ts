/** The phases of a task, one after the other: the agent works, and Baton looks at each checkpoint itself. */
import { join } from 'node:path';
import type { Policy } from '../core/policy.ts';
import type { Task } from '../core/task.ts';
import { answersOf } from './answer-words.ts';
import { contextLine } from './context-budget.ts';
import type { Check, Checker } from './evidence/checks.ts';
import { type CheckpointState, NOTHING_TO_LOOK_AT } from './evidence/weigh.ts';
import type { Hearing } from './hearing.ts';
import { LETTERS_TITLE, markRead, unread } from './letters.ts';
import {
  type Checkpoint,
  type Passed,
  type Phase,
  passedBefore,
  phasesInOrder,
  phasesLeft,
  startsOf,
} from './phases.ts';
import type { Prepared } from './prepare.ts';
import type { RunFacts } from './results.ts';
import { sessionWords } from './session-words.ts';
import type { Stopper } from './stop.ts';
import { type TurnEnd, turnFailure } from './turn.ts';
import { uponOf } from './upon.ts';
import { earlierOf, wordsFor } from './words.ts';
import type { Failure, Supervision } from './work.ts';

type CheckpointResult = RunFacts['checkpoints'][number];

export interface Phased {
  readonly results: readonly CheckpointResult[];
  readonly checkpoints: ReadonlyMap<string, CheckpointState>;
  readonly failure: Failure | null;
  /** A checkpoint says ABORT: no other attempt, and back to where it began. */
  readonly abort: boolean;
  /** How often the last phase was done again, beyond once for each attempt. */
  readonly repeats: number;
}

interface PhaseWork extends Supervision {
  readonly turn: (prompt: string, phase: Phase | null) => Promise<TurnEnd>;
  readonly checker: Checker;
  readonly stopper: Stopper;
  readonly hearing: Hearing;
  /** Whether the agent has Baton's own tools. */
  readonly hasTools: boolean;
  /** Where the agent writes its details. */
  readonly details: string;
  readonly adapter: Prepared['chosen']['adapter'];
  /** What its session had come to when its context there was full; null where it never was. */
  readonly contextFile: string | null;
  /** Where the files are that its handoff refers to. */
  readonly contextWords: string | null;
  /** The conversation so far, which the next turn goes on with. */
  readonly conversation: () => string | null;
}

const NONE_PASSED: Passed = { phases: new Set(), checkpoints: new Set(), ended: new Map() };

/** The phases that are left, each until its checkpoints pass; one turn where the task has none. */
export async function workThroughPhases(work: PhaseWork): Promise<Phased> {
  const { host, task, run, facts, prepared, turn, stopper, adapter, hearing } = work;
  const { message, policy } = prepared;
  const all = phasesInOrder(message);
  const history = await host.store.history(task.id);
  const passed = all.length === 0 ? NONE_PASSED : passedBefore(history);
  const results = new Map<string, CheckpointResult>();
  const states = new Map<string, CheckpointState>();
  for (const [id, { status, finding, looked }] of passed.ended) {
    const isGood = status === 'PASS' || status === 'RECOVERED';
    states.set(id, { status: isGood ? 'PASS' : status, finding, forgiven: !isGood, looked });
    const notes = `${isGood ? 'passed' : 'ended'} in an earlier run${finding === '' ? '' : `: ${finding}`}`;
    results.set(id, { checkpoint_id: id, status: isGood ? 'PASS' : (status as CheckpointResult['status']), notes });
  }
  let repeats = 0;
  const done = (failure: Failure | null, abort = false): Phased => ({
    results: [...results.values()],
    checkpoints: states,
    failure,
    abort,
    repeats,
  });
  let letters = await unread(host.store, task.session, run.agent);
  const words = {
    message,
    access: prepared.access,
    detailsFile: join(work.details, 'details.json'),
    hasTools: work.hasTools,
    session: await sessionWords(host.store, task.session),
    upon: await uponOf(host, task),
    earlier: earlierOf(history, run.id),
    answers: [
      ...(work.contextWords === null ? [] : [work.contextWords]),
      ...(work.note == null ? [] : [work.note]),
      ...answersOf(history, task.id),
      ...(letters === null ? [] : [`${LETTERS_TITLE}, from others of your session:\n${letters.text}`]),
    ],
    passed,
  };

  for (const phase of all.length === 0 ? [null] : phasesLeft(all, passed)) {
    let findings: readonly string[] = [];
    const earlier = phase === null ? 0 : startsOf(history, task.id, phase.phase_id);
    const most = mostRepeats(policy, task) - earlier;
    for (let tries = 0; ; tries++) {
      if (stopper.reason !== null) return done(null);
      repeats = Math.max(0, earlier + tries + 1 - task.attempts);
      if (phase !== null) facts.tell('run.phase', { phase: phase.phase_id, state: 'started', try: tries + 1 });
      const goesOn = adapter.goesOn && work.conversation() !== null;
      const place = phase === null ? null : { phase, number: all.indexOf(phase) + 1, of: all.length };
      const before = hearing.heard;
      const said = wordsFor({ ...words, phase: place, findings, goesOn });
      const line = goesOn ? null : contextLine(work.contextFile);
      const end = await turn(line === null ? said : `${line}\n\n${said}`, phase);
      if (stopper.reason !== null) return done(null);
      const failure = turnFailure(adapter, end);
      if (failure !== null) return done({ code: failure.code, message: failure.message });
      if (letters !== null) await markRead(host.store, task.session, run.agent, letters);
      letters = null;
      if (phase === null) break;
      if (hearing.heard !== before && gaveUp(hearing)) {
        facts.tell('run.phase', { phase: phase.phase_id, state: 'failed', findings: ['the agent says so'] });
        return done(null);
      }
      const failed = await checkPhase(work, phase, tries > 0, states, results);
      if (stopper.reason !== null) return done(null);
      if (failed.length === 0) {
        facts.tell('run.phase', { phase: phase.phase_id, state: 'passed' });
        // What has passed is on disk before the next begins: after a crash it is not done again.
        await facts.written();
        break;
      }
      findings = failed.map(({ checkpoint, check }) => `${checkpoint.checkpoint_id}: ${check.finding}`);
      const isFatal = failed.some(({ checkpoint }) => checkpoint.recovery_strategy === 'ABORT');
      const mayRepeat = failed.every(({ checkpoint }) => checkpoint.recovery_strategy === 'RETRY');
      if (!isFatal && mayRepeat && tries < most) continue;
      facts.tell('run.phase', { phase: phase.phase_id, state: 'failed', findings });
      return isFatal ? done({ code: 'E_EVIDENCE', message: findings.join('; ') }, true) : done(null);
    }
  }
  return done(null);
}

/**
 * RETRY and `max_retries` share one number of tries: a phase is done once, and again at most `max_retries` times in all attempts together; once
 * where `max_retries` is 0, and once more for each other model.
 */
const mostRepeats = ({ maxRetries }: Policy, { fallback }: Task): number =>
  Math.max(1, maxRetries) + (fallback?.used.length ?? 0);

/** An agent that says it failed or is blocked has not done its phase, whatever the checkpoints would say. */
const gaveUp = ({ heard }: Hearing): boolean =>
  heard?.report.outcome === 'failed' || heard?.report.outcome === 'blocked';

interface Failed {
  readonly checkpoint: Checkpoint;
  readonly check: Check;
}

/** Looks at every checkpoint of a phase, writes down what was seen, and returns those that stand in the way. */
async function checkPhase(
  { facts, live, checker, stopper }: PhaseWork,
  phase: Phase,
  isAgain: boolean,
  states: Map<string, CheckpointState>,
  results: Map<string, CheckpointResult>,
): Promise<Failed[]> {
  const failed: Failed[] = [];
  live.update({ state: 'checking' });
  for (const checkpoint of phase.checkpoints ?? []) {
    const { checkpoint_id: id, recovery_strategy: strategy } = checkpoint;
    live.update({ checkpoint: id });
    const check = await checker.checkpoint(checkpoint);
    if (stopper.reason !== null) return failed;
    const forgiven = strategy === 'CONTINUE' || strategy === 'SKIP';
    const good = !check.looked ? 'SKIP' : isAgain ? 'RECOVERED' : 'PASS';
    const status = check.passed ? good : strategy === 'SKIP' ? 'SKIP' : 'FAIL';
    const said = check.looked ? check.finding : NOTHING_TO_LOOK_AT;
    const finding = said === '' ? {} : { notes: said };
    const { command, expects, exitCode, output, evidence, looked } = check;
    states.set(id, { status, finding: check.finding, forgiven, looked });
    results.set(id, { checkpoint_id: id, status, validation_output: output, evidence: [...evidence], ...finding });
    const seen = { status, looked, command, expects, exitCode, output, evidence, ...finding };
    facts.tell('run.checkpoint', { phase: phase.phase_id, checkpoint: id, ...seen });
    if (check.passed || forgiven) continue;
    failed.push({ checkpoint, check });
    if (strategy === 'ABORT') return failed;
  }
  return failed;
}
