/** `baton task move`, `cancel`, `retry` and `edit`: one message about one task, and the task as it is then. */
import { BatonError } from '../core/errors.ts';
import type { TaskMessage } from '../core/laws/messages.ts';
import type { Task, TaskPriority, TaskStatus } from '../core/task.ts';
import { taskJson } from '../core/task-json.ts';
import type { InSession } from './globals.ts';
import { print, printJson } from './io.ts';
import { status, taskLine } from './text.ts';
import { ask, createBlockedBy, findTask, reading } from './with-store.ts';

interface MoveOptions extends InSession {
  readonly reason?: string;
}

export const moveTask = (id: string, to: TaskStatus, options: MoveOptions): Promise<void> =>
  change(id, options, ({ id }) => ({ type: 'task.move', id, to, ...because(options) }));

export const cancelTask = (id: string, options: MoveOptions): Promise<void> =>
  change(id, options, ({ id }) => ({ type: 'task.cancel', id, ...because(options) }));

export const retryTask = (id: string, options: InSession): Promise<void> =>
  change(id, options, ({ id }) => ({ type: 'task.retry', id }));

const because = ({ reason }: MoveOptions): { reason?: string } => (reason === undefined ? {} : { reason });

interface EditOptions extends InSession {
  readonly title?: string;
  readonly priority?: TaskPriority;
  readonly agent?: string;
}

export function editTask(id: string, options: EditOptions): Promise<void> {
  const { title, priority, agent } = options;
  if (title === undefined && priority === undefined && agent === undefined) {
    throw new BatonError('E_USAGE', 'expected something to change: --title, --priority or --agent', null);
  }
  return change(id, options, ({ id }) => ({
    type: 'task.edit',
    id,
    ...(title === undefined ? {} : { title }),
    ...(priority === undefined ? {} : { priority }),
    ...(agent === undefined ? {} : { routing: { agent } }),
  }));
}

/** A task to change is there already, and so is its data folder. */
function change(id: string, { session, ...globals }: InSession, message: (task: Task) => TaskMessage): Promise<void> {
  return reading(globals, async (store) => {
    const before = await findTask(store, id, session);
    const answer = await ask(store, message(before));
    const task = answer.tasks[0] ?? before;
    if (globals.json) printJson(taskJson(task, await createBlockedBy(store)(task)));
    else if (answer.kind === 'same') print(`${taskLine(task)} (nothing to change)`);
    else print(`${taskLine(task)}${before.status === task.status ? '' : ` (was ${status(before.status)})`}`);
  });
}
