/** How a run ends: by its own report, by a failure, by silence; and what the evidence says of it. */
import type { Outcome } from '../report.ts';
import type { Cause, Run, RunStatus, Spent, Task, TaskStatus, Verdict } from '../task.ts';
import { isoTime } from '../time.ts';
import { type Decision, refused, same } from './decision.ts';
import { onTransition } from './dependencies.ts';
import type { Draft } from './draft.ts';
import { accept, mergesByItself, needsMerge } from './merges.ts';
import type { Amount, TaskMessage } from './messages.ts';
import { mayTryUnfinished } from './moves.ts';
import { type NextStep, nextStep } from './retries.ts';

type Of<T extends TaskMessage['type']> = Extract<TaskMessage, { type: T }>;

/** Where a claim takes the task; done passes through review, where the runtime looks for itself. */
export const CLAIMED: Readonly<Record<Exclude<Outcome, 'failed'>, TaskStatus>> = {
  done: 'review',
  partial: 'review',
  needs_review: 'review',
  blocked: 'blocked',
};

/** What names an older run than the current one, or one that has ended, is refused. */
export function staleRun(task: Task, run: string): Decision | null {
  if (task.run?.id === run && task.run.status === 'running' && task.status === 'in-progress') return null;
  const current = task.run === null ? 'it has no run' : `its run ${task.run.id} is ${task.run.status}`;
  return refused(
    'E_STALE_RUN',
    `${run} is not the current run of ${task.id}: ${current}, and the task is ${task.status}`,
  );
}

export function report(draft: Draft, task: Task, said: Of<'run.report'>): Decision {
  const { messageId } = said;
  if (messageId !== undefined && task.messages.includes(messageId)) return same(task.id);
  const stale = staleRun(task, said.run);
  if (stale !== null) return stale;
  const messages = messageId === undefined ? {} : { messages: [...task.messages, messageId] };
  const told = {
    cost: plus(task.cost, said.cost),
    ...(said.summary === undefined ? {} : { summary: said.summary }),
    ...messages,
  };
  draft.event('run.reported', task.id, said.run, {
    outcome: said.outcome,
    ...(said.silent === true ? { silent: true } : {}),
    ...(said.summary === undefined ? {} : { summary: said.summary }),
    ...(said.cost === undefined ? {} : { cost: said.cost }),
  });
  if (said.texts !== undefined) draft.set(task.id, {}, said.texts);
  if (said.outcome === 'failed') {
    const message = said.reason ?? said.summary ?? 'the agent says that it failed';
    failed(draft, task, { code: said.code ?? 'E_UNKNOWN', message }, told, said);
  } else {
    const run = said.silent === true && task.run !== null ? { ...task.run, silent: true as const } : task.run;
    settleClaim(draft, { ...task, run }, said.outcome, told, said.summary);
  }
  return draft.decision(task.session, [task.id]);
}

function settleClaim(
  draft: Draft,
  task: Task,
  outcome: Exclude<Outcome, 'failed'>,
  fields: Partial<Task>,
  summary: string | undefined,
): void {
  const to = CLAIMED[outcome];
  const cause =
    to === 'blocked' ? { code: 'E_BLOCKED', message: summary ?? 'the agent says that it is blocked' } : null;
  draft.transition(
    task.id,
    to,
    { run: ended(task.run, 'completed', draft.now, outcome), availableAt: 0, cause, ...fields },
    { outcome },
  );
}

export function fail(draft: Draft, task: Task, said: Of<'run.fail'>): Decision {
  const stale = staleRun(task, said.run);
  if (stale !== null) return stale;
  const { code, message } = said;
  failed(draft, task, { code, message }, { cost: plus(task.cost, said.cost) }, said);
  return draft.decision(task.session, [task.id]);
}

/** Another model or another attempt where the policy leaves one; else the deadletter, with the cause. */
function failed(
  draft: Draft,
  task: Task,
  cause: Cause,
  fields: Partial<Task>,
  { final = false, repeats = 0 }: { readonly final?: boolean; readonly repeats?: number } = {},
): void {
  const run = ended(task.run, 'failed', draft.now, 'failed');
  const { code, message } = cause;
  draft.event('run.failed', task.id, run?.id, { code, message, attempt: task.attempts });
  const next: NextStep = final ? { kind: 'stop', cause } : nextStep(task, cause, repeats);
  if (next.kind === 'stop') {
    const set = { run, cause: next.cause, availableAt: 0, ...fields };
    draft.transition(task.id, 'deadletter', set, { code: next.cause.code });
    onTransition(draft, task, 'deadletter');
  } else {
    tryAgain(draft, task, next, cause, { run, ...fields });
  }
}

/** Ready once more: with another model at once, or with the same after a while. */
function tryAgain(
  draft: Draft,
  task: Task,
  next: Exclude<NextStep, { kind: 'stop' }>,
  cause: Cause,
  fields: Partial<Task>,
): void {
  const { code } = cause;
  if (next.kind === 'fallback') {
    const { model, provider, trigger } = next.to;
    const from = task.fallback?.model ?? task.run?.model ?? null;
    draft.event('task.fallback', task.id, task.run?.id, { from, to: model, provider, trigger, code });
    draft.transition(task.id, 'ready', { cause, availableAt: 0, fallback: next.fallback, ...fields }, { code });
  } else {
    const availableAt = draft.now + next.waitMs;
    const detail = { code, availableAt: isoTime(availableAt) };
    draft.transition(task.id, 'ready', { cause, availableAt, ...fields }, detail);
  }
}

function expired(draft: Draft, task: Task, fields: Partial<Task>): void {
  const run = ended(task.run, 'expired', draft.now, null);
  const cause: Cause = { code: 'E_RUN_EXPIRED', message: `${run?.id} went silent and left no result` };
  draft.event('run.expired', task.id, run?.id, { code: cause.code, attempt: task.attempts });
  if (mayTryUnfinished(task)) {
    draft.transition(task.id, 'ready', { run, cause, availableAt: 0, ...fields }, { code: cause.code });
  } else {
    draft.transition(task.id, 'deadletter', { run, cause, availableAt: 0, ...fields }, { code: cause.code });
    onTransition(draft, task, 'deadletter');
  }
}

/** It was ended with the Baton that watched over it: the task is as it was before, and this attempt is not counted. */
function stopped(draft: Draft, task: Task, fields: Partial<Task>): void {
  const run = ended(task.run, 'expired', draft.now, null);
  const cause: Cause = { code: 'E_RUN_EXPIRED', message: `Baton was asked to stop, and ${run?.id} with it` };
  draft.event('run.stopped', task.id, run?.id, { ...cause, attempt: task.attempts });
  const set = { run, cause, availableAt: 0, attempts: task.attempts - 1, ...fields };
  draft.transition(task.id, 'ready', set, { code: cause.code });
}

/** The verdict on a task in review: done where everything is proven and no person has to look; else the policy decides. */
export function judge(draft: Draft, task: Task, said: Of<'run.judge'>): Decision {
  if (draft.by.kind !== 'runtime') {
    return refused('E_PERMISSION_DENIED', `only the runtime judges evidence, and this came from ${draft.by.name}`);
  }
  if (task.status === 'done' && task.run?.id === said.run) return same(task.id);
  if (task.run?.id !== said.run || task.status !== 'review') {
    return refused('E_STALE_RUN', `${said.run} is not the run in review: ${task.id} is ${task.status}`);
  }
  // It was judged already, and what came of that is on its way.
  if (task.merging !== null) return same(task.id);
  const findings = said.findings ?? [];
  const verdict: Verdict = said.verdict ?? (said.passed ? 'unverified' : 'contradicted');
  draft.event('run.judged', task.id, said.run, {
    passed: said.passed,
    verdict,
    findings,
    ...(said.code === undefined ? {} : { code: said.code }),
  });
  if (said.passed) {
    if (task.reviewRequired || task.run.outcome !== 'done') draft.set(task.id, { cause: null, verdict });
    else if (needsMerge(task)) acceptProven(draft, task, verdict, said);
    else if (verdict === 'unverified' && said.unverified === 'review') {
      draft.set(task.id, { verdict, cause: unproven('E_UNVERIFIED', findings, 'approving it makes it done') });
    } else draft.transition(task.id, 'done', { cause: null, verdict }, { evidence: verdict });
  } else {
    const cause: Cause = {
      code: said.code ?? 'E_EVIDENCE',
      message: findings[0] ?? 'the evidence does not bear the claim out',
    };
    const next: NextStep = said.final === true ? { kind: 'stop', cause } : nextStep(task, cause, said.repeats);
    // With nothing left it stays in review with the findings.
    if (next.kind === 'stop') draft.set(task.id, { cause, verdict });
    else tryAgain(draft, task, next, cause, { verdict });
  }
  return draft.decision(task.session, [task.id]);
}

/** What is proven is merged by itself; what is not waits for a person to say so. */
function acceptProven(draft: Draft, task: Task, verdict: Verdict, said: Of<'run.judge'>): void {
  if (mergesByItself(task, verdict)) {
    const merging = { accepted: 'evidence', supervisor: said.supervisor ?? null } as const;
    accept(draft, task, 'evidence', { verdict, merging });
    return;
  }
  const then = `approving it merges it into ${task.workspace?.branch}`;
  draft.set(task.id, { verdict, cause: unproven('E_UNPROVEN', said.findings ?? [], then) });
}

/** Why a person has to look at work that nothing stands against, and what their word does. */
const unproven = (code: string, findings: readonly string[], then: string): Cause => ({
  code,
  message: `${findings[0] ?? "no check of Baton's has proven it"}; ${then}`,
});

/** The table of what a stale run leaves behind. Asked again at the moment it is applied. */
export function resume(draft: Draft, task: Task, said: Of<'run.resume'>): Decision {
  // Somebody was quicker; there is nothing to resume.
  if (staleRun(task, said.run) !== null || task.run === null) return same(task.id);
  const until = draft.slice.leaseUntil(task.run);
  if (until > draft.now && said.gone !== true) {
    return refused('E_RUN_ALIVE', `${said.run} is alive until ${isoTime(until)} and is not resumed before that`);
  }
  const told = {
    cost: plus(task.cost, said.cost),
    ...(said.summary === undefined ? {} : { summary: said.summary }),
  };
  if (said.result === 'unreadable') {
    draft.event('protocol.message.rejected', task.id, said.run, { reason: 'run_result.json is unreadable' });
  } else if (said.result === 'none' && said.reason === 'leaving') {
    stopped(draft, task, told);
  } else if (said.result === 'none') {
    expired(draft, task, told);
  } else if (said.result === 'failed') {
    const message = said.message ?? said.summary ?? 'the agent says that it failed';
    failed(draft, task, { code: said.code ?? 'E_UNKNOWN', message }, told);
  } else {
    draft.event('run.resumed', task.id, said.run, { result: said.result });
    settleClaim(draft, task, said.result, told, said.summary);
  }
  return draft.decision(task.session, [task.id]);
}

/** Where a run works, once that is known: the place and the commit that it starts from. */
export function place(draft: Draft, task: Task, said: Of<'run.workspace'>): Decision {
  if (draft.by.kind !== 'runtime') {
    return refused(
      'E_PERMISSION_DENIED',
      `only the runtime says where a run works, and this came from ${draft.by.name}`,
    );
  }
  const stale = staleRun(task, said.run);
  if (stale !== null) return stale;
  const { workspace } = said;
  draft.set(task.id, { workspace });
  const { path, branch, base, isolation } = workspace;
  draft.event('run.workspace', task.id, said.run, { path, branch, base, isolation, ...said.detail });
  return draft.decision(task.session, [task.id]);
}

export function charge(draft: Draft, task: Task, said: Of<'run.charge'>): Decision {
  if (draft.by.kind !== 'runtime') {
    return refused(
      'E_PERMISSION_DENIED',
      `only the runtime says what a run has used, and this came from ${draft.by.name}`,
    );
  }
  // One that runs tells it when it ends.
  if (staleRun(task, said.run) === null) return same(task.id);
  draft.set(task.id, { cost: plus(task.cost, said.cost) });
  draft.event('run.charged', task.id, said.run, { cost: said.cost });
  return draft.decision(task.session, [task.id]);
}

const ended = (run: Run | null, status: RunStatus, now: number, outcome: string | null): Run | null =>
  run === null ? null : { ...run, status, endedAt: now, outcome };

export function plus(cost: Spent, amount: Amount | undefined): Spent {
  if (amount === undefined) return cost;
  const tokens = (amount.tokensInput ?? 0) + (amount.tokensOutput ?? 0);
  const isUnknown = cost.unknown === true || (amount.usd === undefined && tokens > 0);
  return {
    usd: cost.usd + (amount.usd ?? 0),
    tokensInput: cost.tokensInput + (amount.tokensInput ?? 0),
    tokensOutput: cost.tokensOutput + (amount.tokensOutput ?? 0),
    ...(isUnknown ? { unknown: true } : {}),
  };
}
