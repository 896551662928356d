/**
 * `baton task move`, `cancel`, `retry` and `edit`: one message about one task, and the task as it is then. A run moves its own task and
 * its children; all else is a person's.
 */
import { DEFAULT_CONFIG } from '../core/config.ts';
import { BatonError } from '../core/errors.ts';
import type { TaskMessage } from '../core/laws/messages.ts';
import type { Store } from '../core/store.ts';
import { type Task, type TaskPriority, type TaskStatus, taskOfRun } from '../core/task.ts';
import { taskJson } from '../core/task-json.ts';
import { runOfCaller } from '../process/caller.ts';
import type { Sender } from '../runtime/doors.ts';
import type { Host } from '../runtime/index.ts';
import { actorOf, runSender } from './caller.ts';
import type { InSession } from './globals.ts';
import { note, print, printJson } from './io.ts';
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
  return reading(globals, async (store, dir) => {
    const before = await findTask(store, id, session);
    const asked = message(before);
    refuseRun(await runSender(store, dir, 'cli'), asked, before);
    if (asked.type === 'task.move' && asked.to === 'done') await mergeFirst(store, dir, before);
    const answer = await ask(store, asked);
    const task = answer.tasks[0] ?? before;
    if (globals.json) printJson(taskJson(task, await createBlockedBy(store)(task)));
    else if (answer.kind === 'same') print(`${taskLine(task)} (nothing to change)`);
    else print(`${taskLine(task)}${before.status === task.status ? '' : ` (was ${status(before.status)})`}`);
    if (task.status === 'cancelled' && before.status !== 'in-progress') await rollBackNow(store, dir, task);
  });
}

/** As over HTTP: a run says how its own work is, and changes nothing else. */
function refuseRun(sender: Sender | null, { type }: TaskMessage, { id, parentId }: Task): void {
  if (sender === null) return;
  const own = taskOfRun(sender.run ?? '');
  if (type === 'task.move' && own !== null && (id === own || parentId === own)) return;
  const who = sender.run ?? sender.actor.name;
  throw type === 'task.move'
    ? new BatonError('E_PERMISSION_DENIED', `${who} may move its own task and its children, and not ${id}`)
    : new BatonError('E_PERMISSION_DENIED', `expected a person to ${type.replace('task.', '')} ${id}, got ${who}`);
}

/** What is done is in the user's branch: whoever waits for the task begins there. */
async function mergeFirst(store: Store, dir: string, task: Task): Promise<void> {
  // Who may not approve it is refused by the law; nothing is merged for that.
  if (task.status !== 'review' || (await actorOf(store)).kind !== 'person') return;
  await asHost(store, dir, async (host, { mergeAccepted }) => {
    const unmerged = await mergeAccepted(host, task);
    if (unmerged === null) return;
    const hint = 'put that right, or merge the branch yourself; then the same again';
    throw new BatonError(unmerged.code, `${task.id} is not done: ${unmerged.message}`, hint);
  });
}

/** Nothing of it runs, so nobody else puts its outputs back; later they may be somebody's own work. */
const rollBackNow = (store: Store, dir: string, { id }: Task): Promise<void> =>
  asHost(store, dir, (host, { finishRollback }) => finishRollback(host, id));

type Runtime = typeof import('../runtime/index.ts');

/**
 * Only for a person: within a run neither the snapshots nor the worktrees are to be seen. The runtime is half of all there is to load,
 * and most changes need none of it.
 */
async function asHost(store: Store, dir: string, work: (host: Host, runtime: Runtime) => Promise<void>): Promise<void> {
  if (runOfCaller() !== null) return;
  const runtime = await import('../runtime/index.ts');
  const host = await runtime.openHost({ store, dir, config: DEFAULT_CONFIG, warn: (text) => note(`baton: ${text}`) });
  try {
    await work(host, runtime);
  } finally {
    await host.close();
  }
}
