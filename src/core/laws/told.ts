/** What agents and people say of a task by message: news on the way, and how it ended where no supervisor is there to hear it. */
import { isVoid } from '../question.ts';
import type { Outcome } from '../report.ts';
import { isFinal, isRunning, type Run, runId, type Task, type TaskStatus } from '../task.ts';
import { claim } from './claim.ts';
import { type Decision, refused, same } from './decision.ts';
import type { Draft } from './draft.ts';
import type { TaskMessage } from './messages.ts';
import { MOVES, move } from './moves.ts';
import { withMessage } from './remembered.ts';
import { CLAIMED, plus, report, staleRun } from './runs.ts';

type Of<T extends TaskMessage['type']> = Extract<TaskMessage, { type: T }>;

/** A new status, a line more in its text, or both; one record of what was said. */
export function update(draft: Draft, task: Task, said: Of<'task.update'>): Decision {
  const { messageId, to, texts } = said;
  if (messageId !== undefined && task.messages.includes(messageId)) return same(task.id);
  const stale = said.run === undefined ? null : staleRun(task, said.run);
  if (stale !== null) return stale;
  if (said.seen !== undefined && said.seen !== task.updatedAt) {
    return refused('E_NOT_CLAIMABLE', `${task.id} has changed since its text was read`);
  }
  const moves = to !== undefined && to !== task.status;
  if (!moves && texts === undefined) return same(task.id);
  if (!moves && isFinal(task.status)) {
    return refused('E_ILLEGAL_MOVE', `${task.id} is ${task.status}, and that is final: there is no more news of it`);
  }
  if (moves) {
    const moved = move(draft, task, to, said.reason);
    if (moved.kind === 'refused') return moved;
  }
  draft.set(task.id, withMessage(task, messageId), texts);
  draft.event('protocol.message.received', task.id, said.run, said.detail);
  return draft.decision(task.session, [task.id]);
}

/**
 * How it ended, as its agent says, where nobody supervises it: a run that another program does, or work that was never claimed. What was
 * ready is claimed and reported in one go, so that the moves are those of every other task.
 */
export function reportTask(draft: Draft, task: Task, said: Of<'task.report'>): Decision {
  const { messageId, outcome } = said;
  if (messageId !== undefined && task.messages.includes(messageId)) return same(task.id);
  if (said.run !== undefined) {
    const stale = staleRun(task, said.run);
    if (stale !== null) return stale;
  }
  if (task.status === 'review') return late(draft, task, said);
  if (task.status !== 'ready' && task.status !== 'in-progress') return settled(task, outcome);
  if (task.status === 'ready') {
    const claimer = { agent: said.agent, any: true };
    const claimed = claim(draft, task, { type: 'task.claim', id: task.id, claimer, leaseMs: 0 }, true);
    if (claimed.kind === 'refused') return claimed;
  } else if (!isRunning(task)) {
    begin(draft, task, said.agent);
  }
  const now = draft.task(task.id) as Task;
  draft.event('protocol.message.received', task.id, now.run?.id, said.detail);
  used(draft, now, said);
  const { type: _, id, run, agent, estimated, detail, ...claimed } = said;
  return report(draft, now, { ...claimed, type: 'run.report', run: now.run?.id ?? '' });
}

/** Baton did not measure what such a run used, so the agent's own figures count. */
function used(draft: Draft, task: Task, { cost, estimated = false, agent }: Of<'task.report'>): void {
  if (cost === undefined || task.run === null) return;
  const { usd = null, tokensInput = 0, tokensOutput = 0 } = cost;
  const { id, model } = task.run;
  draft.event('run.usage', task.id, id, { usd, tokensInput, tokensOutput, estimated, agent, model, claimed: true });
}

/** One that was reported before has been charged by that; what comes later is added. */
const charged = (task: Task, { cost }: Of<'task.report'>): Partial<Task> =>
  cost === undefined ? {} : { cost: plus(task.cost, cost) };

/** A report about a task that has ended, or is blocked: no news where it says the same, else refused. */
function settled(task: Task, outcome: Outcome): Decision {
  const target: TaskStatus = outcome === 'failed' ? 'deadletter' : CLAIMED[outcome];
  // The aof document: idempotent by state.
  if (task.status === target || (outcome === 'done' && task.status === 'done')) return same(task.id);
  const legal = MOVES[task.status];
  return refused(
    'E_ILLEGAL_MOVE',
    `${task.id} is ${task.status}, and a report of ${outcome} is for one that is in progress`,
    legal.length === 0 ? `${task.status} is final` : `from ${task.status} it may become ${legal.join(', ')}`,
  );
}

/**
 * A report about a task that is in review already. Of the run's own agent it takes the place of its last claim and is judged like any other: a
 * run may end without a report because it only began a session elsewhere. Where a person is asked (the evidence failed, a review is
 * required, a question is open) the report is recorded, and the task stays in the inbox.
 */
function late(draft: Draft, task: Task, said: Of<'task.report'>): Decision {
  const isClaimed = said.outcome === task.run?.outcome;
  const isOpen = task.cause === null && !task.reviewRequired && task.run?.agent === said.agent && !asks(draft, task);
  if (isOpen) return isClaimed ? same(task.id) : claimAnew(draft, task, said);
  if (said.outcome === 'blocked' || said.outcome === 'failed') return settled(task, said.outcome);
  draft.set(task.id, { ...withMessage(task, said.messageId), ...charged(task, said) }, said.texts);
  draft.event('protocol.message.received', task.id, task.run?.id, { ...said.detail, late: true });
  used(draft, task, said);
  return draft.decision(task.session, [task.id]);
}

/** Whether a person has yet to answer something that its latest run asked. */
function asks(draft: Draft, task: Task): boolean {
  for (const question of draft.slice.questionsOf(task.id)) {
    if (question.answer === null && !isVoid(question, task)) return true;
  }
  return false;
}

function claimAnew(draft: Draft, task: Task, said: Of<'task.report'>): Decision {
  const { outcome, summary } = said;
  const run = { ...(task.run as Run), outcome };
  const told = {
    run,
    verdict: null,
    ...(summary === undefined ? {} : { summary }),
    ...withMessage(task, said.messageId),
    ...charged(task, said),
  };
  draft.event('protocol.message.received', task.id, run.id, said.detail);
  used(draft, task, said);
  draft.event('run.reported', task.id, run.id, { outcome, ...(summary === undefined ? {} : { summary }) });
  if (outcome === 'blocked' || outcome === 'failed') {
    const message = summary ?? `the agent says that it is ${outcome}`;
    draft.transition(task.id, 'blocked', { ...told, cause: { code: 'E_BLOCKED', message } }, { outcome });
    if (said.texts !== undefined) draft.set(task.id, {}, said.texts);
  } else draft.set(task.id, told, said.texts);
  return draft.decision(task.session, [task.id]);
}

/** The run of another program, which took the task in its own way and wrote `run.json` for it. */
export function adopt(draft: Draft, task: Task, said: Of<'run.adopt'>): Decision {
  const { agent, externalId, leaseMs } = said;
  if (draft.by.kind !== 'runtime') {
    return refused('E_PERMISSION_DENIED', `only the runtime takes in the run of another program, not ${draft.by.name}`);
  }
  if (task.status !== 'in-progress' || isRunning(task)) {
    return refused('E_NOT_CLAIMABLE', `${task.id} is ${task.status}, and its run ${task.run?.id ?? 'is not there'}`);
  }
  if (task.run?.externalId === externalId) return same(task.id);
  begin(draft, task, agent, { leaseMs, externalId });
  draft.set(task.id, { availableAt: draft.now + leaseMs, cause: null, verdict: null });
  return draft.decision(task.session, [task.id]);
}

/** It was put in progress by hand, or by another program: who reports it is who did it. */
function begin(
  draft: Draft,
  task: Task,
  agent: string,
  outside: { readonly leaseMs: number; readonly externalId?: string } = { leaseMs: 0 },
): void {
  const run: Run = {
    id: runId(task.id, task.runs + 1),
    attempt: task.attempts + 1,
    agent,
    model: null,
    startedAt: draft.now,
    endedAt: null,
    status: 'running',
    supervisor: null,
    outcome: null,
    ...outside,
  };
  draft.set(task.id, { run, runs: task.runs + 1, attempts: task.attempts + 1 });
  const { externalId } = run;
  const detail = { agent, attempt: run.attempt, ...(externalId === undefined ? {} : { externalId }) };
  draft.event('run.started', task.id, run.id, detail);
}
