/** The one way to change anything: a message comes in, and what is to be written down comes out. Nothing here has an effect. */
import { compareTaskIds, DEFAULT_SESSION, TASK_PRIORITIES, type Task, taskOfRun } from '../task.ts';
import { add } from './add.ts';
import { claim } from './claim.ts';
import { type Decision, refused, type Slice, same } from './decision.ts';
import { type Draft, openDraft } from './draft.ts';
import { edit } from './edit.ts';
import { escalate } from './escalations.ts';
import { applyGraph, loadNode, staleNodes } from './graph.ts';
import * as locks from './locks.ts';
import { beginMerge, endMerge } from './merges.ts';
import type { Actor, AnyMessage, Claimer, TaskMessage } from './messages.ts';
import { cancel, move, retry } from './moves.ts';
import { answerQuestion } from './questions.ts';
import { withMessage } from './remembered.ts';
import { hold, rollBack, takeCheckpoint } from './rollback.ts';
import { charge, fail, judge, place, report, resume } from './runs.ts';
import * as session from './session.ts';
import { answerTask } from './task-answer.ts';
import { adopt, reportTask, update } from './told.ts';

export function decide(slice: Slice, message: AnyMessage, by: Actor, now: number): Decision {
  const tooLong = longText(message);
  if (tooLong !== null) {
    return refused('E_CONTEXT_OVERFLOW', `expected a text of at most ${MOST_TEXT} characters, got ${tooLong}`);
  }
  const draft = openDraft(slice, by, now);
  switch (message.type) {
    case 'task.add':
      return add(draft, message.tasks, message.maxDepth);
    case 'task.claim': {
      if (message.id !== undefined) return ofTask(draft, message.id, (task) => claim(draft, task, message));
      const { task, claimer } = mostUrgent(slice, [message.claimer, ...(message.others ?? [])], now);
      return claim(draft, task, { ...message, claimer });
    }
    case 'task.move':
      return ofTask(draft, message.id, (task) => move(draft, task, message.to, message.reason));
    case 'task.cancel':
      return ofTask(draft, message.id, (task) => cancel(draft, task, message.reason));
    case 'task.retry':
      return ofTask(draft, message.id, (task) => retry(draft, task));
    case 'task.answer':
      return ofTask(draft, message.id, (task) => answerTask(draft, task, message));
    case 'task.edit':
      return ofTask(draft, message.id, (task) => edit(draft, task, message));
    case 'task.update':
      return ofTask(draft, message.id, (task) => update(draft, task, message));
    case 'task.report':
      return ofTask(draft, message.id, (task) => reportTask(draft, task, message));
    case 'run.adopt':
      return ofTask(draft, message.id, (task) => adopt(draft, task, message));
    case 'run.report':
      return ofRun(draft, message.run, (task) => report(draft, task, message));
    case 'run.judge':
      return ofRun(draft, message.run, (task) => judge(draft, task, message));
    case 'run.fail':
      return ofRun(draft, message.run, (task) => fail(draft, task, message));
    case 'run.resume':
      return ofRun(draft, message.run, (task) => resume(draft, task, message));
    case 'run.charge':
      return ofRun(draft, message.run, (task) => charge(draft, task, message));
    case 'run.workspace':
      return ofRun(draft, message.run, (task) => place(draft, task, message));
    case 'task.merge':
      return ofTask(draft, message.id, (task) => beginMerge(draft, task, message));
    case 'task.merged':
      return ofTask(draft, message.id, (task) => endMerge(draft, task, message));
    case 'graph.apply':
      return applyGraph(draft, message);
    case 'graph.load':
      return loadNode(draft, message);
    case 'graph.stale':
      return staleNodes(draft, message);
    case 'question.answer':
      return answerQuestion(draft, message);
    case 'session.save':
      return session.save(draft, message);
    case 'session.clear':
      return session.clear(draft, message);
    case 'session.variable':
      return session.setVariable(draft, message);
    case 'session.lock':
      return locks.lock(draft, message);
    case 'session.unlock':
      return locks.unlock(draft, message);
    case 'session.wait':
      return locks.wait(draft, message);
    case 'session.signal':
      return locks.signal(draft, message);
    case 'session.send':
      return session.sendLetter(draft, message);
    case 'session.subscribe':
      return session.subscribe(draft, message);
    case 'session.read':
      return session.readLetters(draft, message);
    case 'session.depend':
      return session.depend(draft, message);
    case 'session.escalate':
      return escalate(draft, message);
    case 'session.mode':
      return session.setMode(draft, message);
    case 'session.delegated':
      return session.delegated(draft, message);
    case 'session.checkpoint':
      return takeCheckpoint(draft, message);
    case 'session.hold':
      return hold(draft, message);
    case 'session.rollback':
      return rollBack(draft, message);
    case 'session.import':
      return session.importContext(draft, message);
    case 'session.exported':
      return session.exported(draft, message);
    case 'session.end':
      return session.endSession(draft, message);
    case 'note':
      return note(draft, message);
  }
}

/** The next task of whichever claimer has the most urgent one; of equal ones the oldest, and the claimer that stands first. */
function mostUrgent(
  slice: Slice,
  claimers: readonly [Claimer, ...Claimer[]],
  now: number,
): { readonly task: Task | undefined; readonly claimer: Claimer } {
  let best: { readonly task: Task; readonly claimer: Claimer } | null = null;
  for (const claimer of claimers) {
    const id = slice.nextReady(claimer, now);
    const task = id === undefined ? undefined : slice.task(id);
    if (task !== undefined && (best === null || isBefore(task, best.task))) best = { task, claimer };
  }
  return best ?? { task: undefined, claimer: claimers[0] };
}

const isBefore = (a: Task, b: Task): boolean => {
  const [x, y] = [TASK_PRIORITIES.indexOf(a.priority), TASK_PRIORITIES.indexOf(b.priority)];
  return x !== y ? x < y : compareTaskIds(a.id, b.id) < 0;
};

/** A little less than a message, so that a task file with the text in it is read back. */
const MOST_TEXT = 9 * 1024 * 1024;

/** The name and the length of a text that is too long. */
function longText(message: AnyMessage): string | null {
  const all =
    message.type === 'task.add'
      ? message.tasks
      : 'next' in message && message.next !== undefined
        ? [message.next.task]
        : 'texts' in message
          ? [message]
          : [];
  for (const { texts } of all) {
    for (const name in texts) {
      const length = texts[name]?.length ?? 0;
      if (length > MOST_TEXT) return `${length} in ${name}`;
    }
  }
  return null;
}

function ofTask(draft: Draft, id: string, law: (task: Task) => Decision): Decision {
  const task = draft.task(id);
  return task === undefined ? refused('E_NOT_FOUND', `there is no task ${id}`, 'see: baton task list') : law(task);
}

function ofRun(draft: Draft, run: string, law: (task: Task) => Decision): Decision {
  const task = draft.task(taskOfRun(run) ?? '');
  return task === undefined ? refused('E_NOT_FOUND', `there is no run ${run}`) : law(task);
}

function note(draft: Draft, message: Extract<TaskMessage, { type: 'note' }>): Decision {
  const task = message.task === undefined ? undefined : draft.task(message.task);
  const session = task?.session ?? message.session ?? DEFAULT_SESSION;
  const about = task === undefined ? [] : [task.id];
  const { messageId, texts } = message;
  if (task !== undefined && (messageId !== undefined || texts !== undefined)) {
    if (messageId !== undefined && task.messages.includes(messageId)) return same(task.id);
    draft.set(task.id, withMessage(task, messageId), texts);
    draft.event(message.event, task.id, message.run, message.detail);
    return draft.decision(session, about);
  }
  const event = {
    type: message.event,
    ...(message.task === undefined ? {} : { task: message.task }),
    ...(message.run === undefined ? {} : { run: message.run }),
    detail: message.detail,
  };
  return {
    kind: 'changed',
    facts: { at: draft.now, session, by: draft.by, events: [event], changes: [], about },
  };
}
