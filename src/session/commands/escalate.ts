/** `#ESCALATE`: a task, or a text, is put before the people. It stays in their inbox until one of them answers or dismisses it. */
import { TASK_PRIORITIES, type Task, type TaskPriority, taskOfRun } from '../../core/task.ts';
import { type Call, form, type Said } from '../call.ts';
import { candidates, mayChange, sessionTasks, taskNamed, titleIs } from '../lookup.ts';
import { ask } from '../refusals.ts';
import { about, noTask, notYours, TO_PRIORITY } from './tasks.ts';

const ALERT = 'priority_alert';
const TASK_ID = /^TASK-[\w-]*\d[\w-]*$/i;

export async function escalate(call: Call): Promise<Said> {
  const { session, speaker, params } = call;
  const found = await taskMeant(call);
  if (found !== null && 'said' in found) return found.said;
  const task = found?.task;
  const words = task === undefined ? params.join(':') : [`${task.id}: ${task.title}`, ...params.slice(1)].join(': ');
  const sent = await ask(call, {
    type: 'session.escalate',
    session,
    text: words,
    speaker,
    ...(task === undefined ? {} : { task: task.id }),
  });
  if ('said' in sent) return task === undefined ? sent.said : about(task, sent.said);
  const raised = task === undefined ? '' : await raise(call, task);
  // Those who listen for what is urgent hear of it too.
  const told = await ask(call, { type: 'session.send', session, to: { channel: ALERT }, text: words, speaker });
  if ('said' in told) return told.said;
  return form(`${sent.reply ?? 'ack'}${task === undefined ? '' : ` ${task.id}`}${raised}`);
}

/** The task that the first parameter names; null where it is a text. One that has the form of an id and is none is an error. */
async function taskMeant(call: Call): Promise<{ readonly task: Task } | { readonly said: Said } | null> {
  const [named] = call.params;
  const byId = await taskNamed(call, named);
  if (byId === undefined && named === undefined) return { said: noTask(undefined) };
  const all = byId === undefined ? await sessionTasks(call) : [];
  const titled = all.filter((task) => titleIs(task, named ?? ''));
  if (titled.length > 1) return { said: candidates(`${titled.length} tasks are called ${named}`, titled) };
  const task = byId ?? titled[0];
  if (task === undefined) return TASK_ID.test(named ?? '') ? { said: candidates(`unknown_task ${named}`, all) } : null;
  return mayChange(call, task) || isOwn(call, task) ? { task } : { said: notYours(task) };
}

const isOwn = ({ speaker }: Call, task: Task): boolean => speaker.run !== null && taskOfRun(speaker.run) === task.id;

/** One step more urgent, where the speaker may change the task and it is not over; and the reply says so. */
async function raise(call: Call, task: Task): Promise<string> {
  const step = TASK_PRIORITIES.indexOf(task.priority) - 1;
  const priority = TASK_PRIORITIES[step] as TaskPriority | undefined;
  if (priority === undefined || !mayChange(call, task)) return '';
  const edited = await ask(call, { type: 'task.edit', id: task.id, priority });
  const isRaised = !('said' in edited) && edited.kind === 'changed';
  return isRaised ? ` ${TO_PRIORITY[task.priority]}→${TO_PRIORITY[priority]}` : '';
}
