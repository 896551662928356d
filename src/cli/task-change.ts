/**
 * `baton task move`, `cancel`, `retry` and `edit`: one message about one task, and the task as it is then. A run moves its own task and
 * its children; all else is a person's.
 */
import { DEFAULT_CONFIG } from '../core/config.ts';
import { BatonError } from '../core/errors.ts';
import type { TaskMessage } from '../core/laws/messages.ts';
import type { Answer, Store } from '../core/store.ts';
import { type Task, type TaskStatus, taskOfRun } from '../core/task.ts';
import { runOfCaller } from '../process/caller.ts';
import type { Sender } from '../runtime/doors.ts';
import type { Host } from '../runtime/index.ts';
import type { TaskChange } from '../runtime/tasks/change-task.ts';
import { actorOf, runSender } from './caller.ts';
import { readConfig } from './config-file.ts';
import type { Globals, InSession } from './globals.ts';
import { note, print, printJson } from './io.ts';
import { dependenciesOf, type OrderOptions, orderOf } from './order-options.ts';
import { status, taskLine } from './text.ts';
import { accepted, ask, createTaskView, findTask, reading } from './with-store.ts';
import { workspaceHere } from './workspace-here.ts';

interface MoveOptions extends InSession {
  readonly reason?: string;
}

export const moveTask = (id: string, to: TaskStatus, options: MoveOptions): Promise<void> =>
  change(id, options, ({ id }) => ({ type: 'task.move', id, to, ...because(options) }));

export const cancelTask = (id: string, options: MoveOptions): Promise<void> =>
  change(id, options, ({ id }) => ({ type: 'task.cancel', id, ...because(options) }));

interface RetryOptions extends InSession {
  readonly agent?: string;
  readonly budget?: number;
}

/** What is to be different is changed first: an attempt with the order that failed is not wanted. */
export async function retryTask(id: string, { agent, budget, ...options }: RetryOptions): Promise<void> {
  const order = { ...(agent === undefined ? {} : { agent }), ...(budget === undefined ? {} : { budget }) };
  if (Object.keys(order).length > 0)
    await reading(options, async (store, dir) => void (await edited(store, dir, id, options, () => order, 'retry')));
  return change(id, options, ({ id }) => ({ type: 'task.retry', id }));
}

const because = ({ reason }: MoveOptions): { reason?: string } => (reason === undefined ? {} : { reason });

interface EditOptions extends InSession, OrderOptions {
  readonly title?: string;
}

export async function editTask(id: string, options: EditOptions): Promise<void> {
  const { title, priority, review } = options;
  const dependsOn = dependenciesOf(options);
  const changeOf = (task: Task): TaskChange => ({
    ...(title === undefined ? {} : { title }),
    ...(priority === undefined ? {} : { priority }),
    ...(review === undefined ? {} : { review }),
    ...(dependsOn === undefined ? {} : { dependsOn }),
    ...orderOf(options, task.workspace?.path ?? process.cwd(), true),
  });
  await reading(options, async (store, dir) => {
    const { before, answer } = await edited(store, dir, id, options, changeOf, 'edit');
    await show(store, answer, before, options);
    if (before.status === 'in-progress' && answer.kind === 'changed')
      note(
        `baton: the run that is under way keeps its order; the change holds from the next attempt of ${before.id} on`,
      );
  });
}

async function edited(
  store: Store,
  dir: string,
  id: string,
  { session }: InSession,
  changeOf: (task: Task) => TaskChange,
  verb: 'edit' | 'retry',
): Promise<{ readonly before: Task; readonly answer: Exclude<Answer, { kind: 'refused' }> }> {
  const before = await findTask(store, id, session);
  refuseRun(await runSender(store, dir, 'cli'), verb, before);
  const wanted = changeOf(before);
  if (Object.keys(wanted).length === 0)
    throw new BatonError('E_USAGE', 'expected something to change, got no option', 'see: baton task edit --help');
  const { changeTask } = await import('../runtime/tasks/change-task.ts');
  const admission = { store, config: readConfig(dir), workspace: workspaceHere(dir), now: Date.now };
  return { before, answer: accepted(await changeTask(admission, before, wanted, { by: await actorOf(store) })) };
}

/** A task to change is there already, and so is its data folder. */
function change(id: string, { session, ...globals }: InSession, message: (task: Task) => TaskMessage): Promise<void> {
  return reading(globals, async (store, dir) => {
    const before = await findTask(store, id, session);
    const asked = message(before);
    refuseRun(await runSender(store, dir, 'cli'), verbOf(asked), before);
    if (asked.type === 'task.move' && asked.to === 'done') await mergeFirst(store, dir, before);
    const answer = await ask(store, asked);
    const isAccepted = answer.tasks[0]?.merging != null;
    if (isAccepted) await mergeNow(store, dir, before.id);
    const now = isAccepted ? await store.find(before.id) : undefined;
    const task = await show(store, now === undefined ? answer : { ...answer, tasks: [now] }, before, globals);
    if (task.status === 'cancelled' && before.status !== 'in-progress') await rollBackNow(store, dir, task);
  });
}

async function show(
  store: Store,
  answer: Exclude<Answer, { kind: 'refused' }>,
  before: Task,
  { json }: Globals,
): Promise<Task> {
  const task = answer.tasks[0] ?? before;
  if (json) printJson(await createTaskView(store)(task));
  else if (answer.kind === 'same') print(`${taskLine(task)} (nothing to change)`);
  else print(`${taskLine(task)}${before.status === task.status ? '' : ` (was ${status(before.status)})`}`);
  return task;
}

const verbOf = ({ type }: TaskMessage): string => type.replace('task.', '');

/** As over HTTP: a run says how its own work is, and changes nothing else. */
function refuseRun(sender: Sender | null, verb: string, { id, parentId }: Task): void {
  if (sender === null) return;
  const own = taskOfRun(sender.run ?? '');
  if (verb === 'move' && own !== null && (id === own || parentId === own)) return;
  const who = sender.run ?? sender.actor.name;
  throw verb === 'move'
    ? new BatonError('E_PERMISSION_DENIED', `${who} may move its own task and its children, and not ${id}`)
    : new BatonError('E_PERMISSION_DENIED', `expected a person to ${verb} ${id}, got ${who}`);
}

/** A worktree of 0.1.0 is merged before its task is done. */
async function mergeFirst(store: Store, dir: string, task: Task): Promise<void> {
  // Who may not approve it is refused by the law; nothing is merged for that.
  if (task.status !== 'review' || task.workspace !== null || (await actorOf(store)).kind !== 'person') return;
  await asHost(store, dir, async (host, { mergeLinked }) => {
    const unmerged = await mergeLinked(host, task);
    if (unmerged === null) return;
    const hint = 'put that right, or merge the branch yourself; then the same again';
    throw new BatonError(unmerged.code, `${task.id} is not done: ${unmerged.message}`, hint);
  });
}

/** What was accepted is merged, which makes it done. */
async function mergeNow(store: Store, dir: string, id: string): Promise<void> {
  await asHost(store, dir, async (host, { mergeWork }) => {
    const { finding } = await mergeWork(host, id);
    if (finding === null) return;
    throw new BatonError(finding.code, `${id} is accepted, and not done: ${finding.message}`, `see: baton why ${id}`);
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
