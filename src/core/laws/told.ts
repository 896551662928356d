/** What agents and people say of a task by message: news on the way, and how it ended where no supervisor is there to hear it. */
import { isFinal, isRunning, type Run, runId, type Task, type TaskStatus } from '../task.ts';
import { claim } from './claim.ts';
import { type Decision, refused, same } from './decision.ts';
import type { Draft } from './draft.ts';
import type { TaskMessage } from './messages.ts';
import { MOVES, move } from './moves.ts';
import { CLAIMED, report, staleRun } from './runs.ts';

type Of<T extends TaskMessage['type']> = Extract<TaskMessage, { type: T }>;

/** So many ids of messages are remembered of a task; a message that is sent again comes soon. */
export const MOST_MESSAGES = 200;

export const withMessage = (task: Task, messageId: string | undefined): Partial<Task> =>
  messageId === undefined ? {} : { messages: [...task.messages.slice(1 - MOST_MESSAGES), messageId] };

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
  if (isUnanswered(task, said.agent)) return answer(draft, task, said);
  if (task.status !== 'ready' && task.status !== 'in-progress') {
    const target: TaskStatus = outcome === 'failed' ? 'deadletter' : CLAIMED[outcome];
    // It is so already (the aof document: idempotent by state).
    if (task.status === target || (outcome === 'done' && task.status === 'done')) return same(task.id);
    const legal = MOVES[task.status];
    return refused(
      'E_ILLEGAL_MOVE',
      `${task.id} is ${task.status}, and a report of ${outcome} is for one that is in progress`,
      legal.length === 0 ? `${task.status} is final` : `from ${task.status} it may become ${legal.join(', ')}`,
    );
  }
  if (task.status === 'ready') {
    const claimer = { agent: said.agent, any: true };
    const claimed = claim(draft, task, { type: 'task.claim', id: task.id, claimer, leaseMs: 0 });
    if (claimed.kind === 'refused') return claimed;
  } else if (!isRunning(task)) {
    begin(draft, task, said.agent);
  }
  const now = draft.task(task.id) as Task;
  draft.event('protocol.message.received', task.id, now.run?.id, said.detail);
  return report(draft, now, {
    type: 'run.report',
    run: now.run?.id ?? '',
    outcome,
    ...(said.summary === undefined ? {} : { summary: said.summary }),
    ...(messageId === undefined ? {} : { messageId }),
    ...(said.texts === undefined ? {} : { texts: said.texts }),
  });
}

/**
 * Its run ended without a word of how the work went, as one does that only began a session elsewhere: the agent's own word is still to come.
 * Where a person is asked for, it is too late for that.
 */
const isUnanswered = ({ status, run, cause, reviewRequired }: Task, agent: string): boolean =>
  status === 'review' && run?.outcome === 'needs_review' && run.agent === agent && cause === null && !reviewRequired;

/** The last word of a run that was over before its work was: the claim takes the place of the question, and is judged like any other. */
function answer(draft: Draft, task: Task, said: Of<'task.report'>): Decision {
  const { outcome, summary } = said;
  const run = { ...(task.run as Run), outcome };
  const told = { run, ...(summary === undefined ? {} : { summary }), ...withMessage(task, said.messageId) };
  draft.event('protocol.message.received', task.id, run.id, said.detail);
  draft.event('run.reported', task.id, run.id, { outcome, ...(summary === undefined ? {} : { summary }) });
  if (outcome === 'blocked' || outcome === 'failed') {
    const message = summary ?? `the agent says that it is ${outcome}`;
    draft.transition(task.id, 'blocked', { ...told, cause: { code: 'E_BLOCKED', message } }, { outcome });
    if (said.texts !== undefined) draft.set(task.id, {}, said.texts);
  } else draft.set(task.id, told, said.texts);
  return draft.decision(task.session, [task.id]);
}

/** It was put in progress by hand; whoever reports it is who did it. */
function begin(draft: Draft, task: Task, agent: string): void {
  const run: Run = {
    id: runId(task.id, task.runs + 1),
    attempt: task.attempts + 1,
    agent,
    model: null,
    startedAt: draft.now,
    endedAt: null,
    status: 'running',
    leaseMs: 0,
    supervisor: null,
    outcome: null,
  };
  draft.set(task.id, { run, runs: task.runs + 1, attempts: task.attempts + 1 });
  draft.event('run.started', task.id, run.id, { agent, attempt: run.attempt });
}
