/** Which status may follow which, and the moves that people ask for: move, cancel, retry. */
import { isRunning, type Task, type TaskStatus } from '../task.ts';
import { type Decision, refused, same } from './decision.ts';
import { onTransition, openDependency, rootOfFailure } from './dependencies.ts';
import type { Draft } from './draft.ts';
import { isHeldBack } from './held-graph.ts';
import { accept, needsMerge, whileMerging } from './merges.ts';
import type { Actor } from './messages.ts';
import { backoffMs, countedAttempts } from './retries.ts';

export const MOVES: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  backlog: ['ready', 'blocked', 'cancelled'],
  ready: ['in-progress', 'blocked', 'deadletter', 'cancelled'],
  'in-progress': ['review', 'ready', 'blocked', 'deadletter', 'cancelled'],
  blocked: ['ready', 'deadletter', 'cancelled'],
  review: ['done', 'in-progress', 'ready', 'blocked', 'cancelled'],
  deadletter: ['ready'],
  done: [],
  cancelled: [],
};

const mayMove = (from: TaskStatus, to: TaskStatus): boolean => MOVES[from].includes(to);

export function move(draft: Draft, task: Task, to: TaskStatus, reason: string | undefined): Decision {
  if (task.status === to) return same(task.id);
  if (!mayMove(task.status, to)) return illegal(task, to);
  const busy = whileMerging(task);
  if (busy !== null) return busy;
  if (to === 'done' && !mayApprove(draft.by, task)) {
    return refused(
      'E_PERMISSION_DENIED',
      `only a person or proven evidence makes ${task.id} done, and this came from ${draft.by.name}`,
      `a person may say so: baton task move ${task.id} done`,
    );
  }
  if (to === 'done' && isHeldBack(task)) {
    return refused(
      'E_HELD_BACK',
      `${task.id} is not done: what ${task.run?.id} said of the knowledge graph is held back until a person approves it`,
      `try: baton approve ${task.id}`,
    );
  }
  if (to === 'done' && needsMerge(task)) {
    const accepted = draft.by.kind === 'person' ? 'person' : 'evidence';
    if (task.merging !== null && (task.merging.accepted === accepted || accepted === 'evidence')) return same(task.id);
    accept(draft, task, accepted);
    return draft.decision(task.session, [task.id]);
  }
  const failed = to === 'ready' ? rootOfFailure(draft, task) : null;
  if (failed !== null) {
    return refused(
      'E_DEPENDENCY_FAILED',
      `${task.id} cannot be ready: ${failed.id}, which it waits for, is ${failed.status}`,
      failed.status === 'deadletter'
        ? `try: baton task retry ${failed.id}`
        : 'take the dependency out of its file first',
    );
  }
  const open = to === 'in-progress' ? openDependency(task, draft.task) : undefined;
  if (open !== undefined) {
    return refused(
      'E_NOT_CLAIMABLE',
      `${task.id} cannot be in-progress: it waits for ${open}, which is ${draft.task(open)?.status ?? 'unknown'}`,
    );
  }
  if (to === 'ready' && task.attempts > 0 && isAgent(draft.by)) return putBack(draft, task, reason);
  const fields = { ...fieldsFor(task, to, reason), ...(draft.by.kind === 'person' ? freshConflicts(task) : {}) };
  draft.transition(task.id, to, fields, reason === undefined ? {} : { reason });
  onTransition(draft, task, to);
  return draft.decision(task.session, [task.id]);
}

/** A person who has it tried again gives it all its tries to merge. */
const freshConflicts = ({ conflicts }: Task): Partial<Task> => (conflicts === 0 ? {} : { conflicts: 0 });

/** An attempt without an end is made again, but not for ever. */
const MOST_UNFINISHED = 5;

/** Whether a task may be tried once more after an attempt that came to no end: what keeps doing so is put aside. */
export const mayTryUnfinished = (task: Task): boolean =>
  countedAttempts(task) <= Math.max(task.retry.maxRetries, MOST_UNFINISHED - 1);

const isAgent = ({ kind }: Actor): boolean => kind === 'agent' || kind === 'unknown';

/** Only a person starts the attempts anew: an agent that puts its own task back would else be started for ever. */
function putBack(draft: Draft, task: Task, reason: string | undefined): Decision {
  const detail = reason === undefined ? {} : { reason };
  if (mayTryUnfinished(task)) {
    const waitMs = task.status === 'in-progress' ? backoffMs(task.retry, countedAttempts(task)) : 0;
    const availableAt = waitMs === 0 ? 0 : draft.now + waitMs;
    draft.transition(task.id, 'ready', { cause: null, availableAt }, detail);
    onTransition(draft, task, 'ready');
    return draft.decision(task.session, [task.id]);
  }
  const message = `${task.id} was put back by ${draft.by.name} after ${task.attempts} attempts`;
  if (!mayMove(task.status, 'deadletter')) {
    return refused(
      'E_PERMISSION_DENIED',
      `${message}; only a person has it tried again`,
      `try: baton task retry ${task.id}`,
    );
  }
  const cause = { code: 'E_MOVED', message };
  draft.transition(task.id, 'deadletter', { cause, availableAt: 0 }, { code: cause.code, ...detail });
  onTransition(draft, task, 'deadletter');
  return draft.decision(task.session, [task.id]);
}

/** What a status asks of the other fields. */
function fieldsFor(task: Task, to: TaskStatus, reason: string | undefined): Partial<Task> {
  if (to === 'blocked' || to === 'deadletter') {
    return { cause: { code: 'E_MOVED', message: reason ?? 'moved by hand' }, availableAt: 0 };
  }
  // A deadletter that is made ready starts anew; its attempts were used up.
  if (task.status === 'deadletter') return { cause: null, availableAt: 0, attempts: 0, fallback: null };
  return { cause: null, availableAt: 0 };
}

/** What nobody can put a name to is no approval, and what a person is to look at only a person approves. */
export const mayApprove = (by: Actor, task: Task): boolean =>
  by.kind === 'person' || (by.kind === 'runtime' && !task.reviewRequired);

export function cancel(draft: Draft, task: Task, reason: string | undefined): Decision {
  // Baton calls off its own dead letters in one record: from there the only way leads through ready.
  if (task.status === 'deadletter' && draft.by.kind === 'runtime') leaveDeadLetters(draft, task, reason);
  return move(draft, draft.task(task.id) ?? task, 'cancelled', reason);
}

/** The first half of a move that ends in the same record. */
export function leaveDeadLetters(draft: Draft, { id }: Task, reason: string | undefined): void {
  const anew = { cause: null, availableAt: 0, attempts: 0, fallback: null };
  draft.transition(id, 'ready', anew, reason === undefined ? {} : { reason });
}

const mayNotBeginAnew = (by: Actor, task: Task): boolean => isAgent(by) && task.attempts > 0;

const onlyAPerson = (by: Actor, { id, attempts }: Task): Decision =>
  refused(
    'E_PERMISSION_DENIED',
    `only a person lets ${id} begin anew after ${attempts} attempts, and this came from ${by.name}`,
    `a person may say so: baton task retry ${id}`,
  );

export function retry(draft: Draft, task: Task): Decision {
  if (task.status === 'ready') {
    if (task.availableAt <= draft.now && task.attempts === 0) return same(task.id);
    if (mayNotBeginAnew(draft.by, task)) return onlyAPerson(draft.by, task);
    draft.set(task.id, { availableAt: 0, attempts: 0, fallback: null });
    draft.event('task.retried', task.id, null, { from: 'ready' });
    return draft.decision(task.session, [task.id]);
  }
  if (task.status === 'backlog' || isRunning(task) || !mayMove(task.status, 'ready')) {
    return refused(
      'E_ILLEGAL_MOVE',
      `expected a task that failed, is blocked or waits for review, got ${task.id}, which is ${task.status}`,
      task.status === 'backlog' ? `try: baton task move ${task.id} ready` : null,
    );
  }
  if (mayNotBeginAnew(draft.by, task)) return onlyAPerson(draft.by, task);
  const moved = move(draft, task, 'ready', 'retry');
  if (moved.kind !== 'changed') return moved;
  draft.set(task.id, { attempts: 0, fallback: null });
  draft.event('task.retried', task.id, null, { from: task.status });
  return draft.decision(task.session, [task.id]);
}

function illegal(task: Task, to: TaskStatus): Decision {
  const legal = MOVES[task.status];
  return refused(
    'E_ILLEGAL_MOVE',
    `${task.id} is ${task.status} and cannot become ${to}`,
    legal.length === 0 ? `${task.status} is final` : `from ${task.status} it may become ${legal.join(', ')}`,
  );
}
