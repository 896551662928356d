/** The tasks of a context file (§16) as tasks here: each once, with the readiness, priority, agent and dependencies that it had. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { BatonError } from '../core/errors.ts';
import type { NewTask } from '../core/laws/messages.ts';
import { isWithin } from '../core/policy.ts';
import { isUndone, type Task } from '../core/task.ts';
import { decodeAop2, type TaskMessage } from '../protocol/aop2/index.ts';
import { tasksOfMessages } from '../runtime/new-tasks.ts';
import { admitTasks } from '../runtime/tasks/admit.ts';
import { movedTo } from '../runtime/worktrees/moved.ts';
import type { Call } from './call.ts';
import type { Capsule, CapsuleOrder } from './context-file.ts';
import { sessionTasks } from './lookup.ts';

interface Brought {
  readonly tasks: readonly NewTask[];
  /** What was made, and what was here already, for the reply. */
  readonly lines: readonly string[];
  readonly warnings: readonly string[];
  /** Nothing is left to be done, or some of what is left is here. */
  readonly canGoOn: boolean;
}

/** What was not done there is to be done here, once, and not where it is known. */
export async function tasksFrom(call: Call, capsule: Capsule): Promise<Brought> {
  const open = [...capsule.active, ...capsule.pending];
  if (open.length === 0) return { tasks: [], lines: [], warnings: [], canGoOn: true };
  // A run hands on what it may by #DELEGATE, within its own bounds.
  if (!call.speaker.leads) return { tasks: [], lines: ['→ tasks:left to who leads'], warnings: [], canGoOn: false };
  const here = await sessionTasks(call);
  const known = new Map<string, Task>();
  for (const name of open) {
    const found = await knownHere(call, capsule, name, here);
    if (found !== undefined) known.set(name, found);
  }
  const names = new Map<string, string>();
  for (const name of open) if (!known.has(name)) names.set(name, await externalIdOf(call, capsule, name));
  const warnings: string[] = [];
  const made: NewTask[] = [];
  for (const name of names.keys()) made.push(await orderedHere(call, capsule, name, { names, known }, warnings));
  const { tasks } = await admitTasks(call, made);
  const isActive = (item: NewTask): boolean => capsule.active.some((name) => names.get(name) === item.externalId);
  const active = tasks.filter(isActive).length;
  const there = [...known.values()];
  const isOpen = ({ status }: Task): boolean => status !== 'done' && status !== 'cancelled';
  return {
    tasks,
    lines: [
      ...(tasks.length === 0 ? [] : [`→ tasks:${active} active, ${tasks.length - active} pending`]),
      ...(there.length === 0 ? [] : [`→ here already:${there.length} (${told(there, call.session)})`]),
    ],
    warnings,
    canGoOn: tasks.length > 0 || there.some(isOpen),
  };
}

/** `2 ready, 1 done`, with the session where that is another. */
function told(tasks: readonly Task[], session: string): string {
  const counts = new Map<string, number>();
  for (const task of tasks) {
    const state = `${isUndone(task) ? 'undone' : task.status}${task.session === session ? '' : ` in ${task.session}`}`;
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return [...counts].map(([state, count]) => `${count} ${state}`).join(', ');
}

const originOf = (capsule: Capsule, name: string): string => `${capsule.from ?? ''}/${name}`;

/** The task itself where the file is of this store, or the one that an earlier import made of it. */
async function knownHere(
  { store, session }: Call,
  capsule: Capsule,
  name: string,
  here: readonly Task[],
): Promise<Task | undefined> {
  const title = capsule.titles.get(name) ?? name;
  const there = await store.find(name, session);
  // Another store may have given the same number to something else.
  const isIt = there !== undefined && (there.title === title || there.session === session || title === name);
  return isIt ? there : here.find(({ metadata }) => metadata['imported'] === originOf(capsule, name));
}

/** The name that it has there, unless something else has it here. */
async function externalIdOf({ store, session }: Call, capsule: Capsule, name: string): Promise<string> {
  const wanted = capsule.orders.get(name)?.name ?? name;
  const isTaken = (await store.find(wanted, session)) !== undefined;
  return isTaken ? `${wanted}@${capsule.from ?? 'imported'}` : wanted;
}

interface Others {
  /** The external ids of what is made together, by their names in the file. */
  readonly names: ReadonlyMap<string, string>;
  readonly known: ReadonlyMap<string, Task>;
}

async function orderedHere(
  call: Call,
  capsule: Capsule,
  name: string,
  { names, known }: Others,
  warnings: string[],
): Promise<NewTask> {
  const order = capsule.orders.get(name);
  const title = capsule.titles.get(name) ?? name;
  const summary = capsule.summaries.get(name);
  const body = order?.body ?? title;
  const dependsOn: string[] = [];
  for (const other of order?.dependsOn ?? []) {
    const upon = names.get(other) ?? known.get(other)?.id;
    if (upon !== undefined) dependsOn.push(upon);
    else if (!capsule.completed.includes(other))
      warnings.push(`${title} does not wait for ${other}: it is not in the file`);
  }
  const externalId = names.get(name) ?? name;
  const base: NewTask = {
    ...ofTask(call, order, externalId, warnings),
    title,
    session: call.session,
    status: statusOf(order, capsule.active.includes(name)),
    externalId,
    ...(order?.priority == null ? {} : { priority: order.priority }),
    ...(order?.review === true ? { reviewRequired: true } : {}),
    dependsOn,
    metadata: { imported: originOf(capsule, name) },
  };
  const agent = order?.agent ?? null;
  const ordered: NewTask = {
    ...base,
    ...(agent === null ? {} : { routing: { ...base.routing, agent } }),
    ...(order?.model == null ? {} : { model: order.model }),
    texts: { ...base.texts, body: summary === undefined ? body : `${body}\n\nSo far: ${summary}` },
  };
  if (agent === null || (await isAgentHere(call, ordered))) return ordered;
  warnings.push(`${title} is for the agent ${agent}, which is not here: it stays in the backlog`);
  return { ...base, routing: {}, status: 'backlog', texts: { body: ordered.texts?.['body'] ?? body } };
}

/** What was begun, and what was ready, is ready; what waits for a person, or nothing is known of, is kept for later. */
function statusOf(order: CapsuleOrder | undefined, isActive: boolean): 'ready' | 'backlog' {
  if (order?.status == null) return isActive ? 'ready' : 'backlog';
  return ['ready', 'in-progress', 'blocked'].includes(order.status) ? 'ready' : 'backlog';
}

async function isAgentHere(call: Call, item: NewTask): Promise<boolean> {
  try {
    await admitTasks(call, [{ ...item, dependsOn: [] }]);
    return true;
  } catch (cause) {
    if (cause instanceof BatonError && cause.code === 'E_AGENT_NOT_FOUND') return false;
    throw cause;
  }
}

/** The TASK of the file, where a person imports it: checks, limits and paths among it, and no more access than a task has by default. */
function ofTask(call: Call, order: CapsuleOrder | undefined, name: string, warnings: string[]): Partial<NewTask> {
  if (order?.task == null || call.speaker.run !== null) return {};
  const { value, problems } = decodeAop2(order.task, JSON.stringify(order.task));
  const wrong = problems.find(({ severity }) => severity === 'error');
  if (wrong !== undefined) {
    warnings.push(`the TASK of ${name} is left out: ${wrong.message}`);
    return {};
  }
  const message = hereWith(value as TaskMessage, call.workspace, name, warnings);
  const { id: _id, parentId: _parent, ...item } = tasksOfMessages([message])[0] as NewTask;
  return item;
}

function hereWith(message: TaskMessage, workspace: string, name: string, warnings: string[]): TaskMessage {
  const root = message.task.environment.workspace_root;
  const { task, target } = existsSync(resolve(workspace, root)) ? message : movedTo(message, root, workspace);
  const isInside = (path: string): boolean =>
    isWithin(resolve(task.environment.workspace_root, path), [
      resolve(workspace),
      resolve(task.environment.workspace_root),
    ]);
  const { read_paths: read, write_paths: write } = task.access?.filesystem ?? {};
  const isWide = task.access?.network === 'FULL' || [...(read ?? []), ...(write ?? [])].some((path) => !isInside(path));
  if (isWide) warnings.push(`${name} asked for more than the workspace and a restricted network: it gets these`);
  const { network, ...access } = task.access ?? {};
  const { network_access: _network, ...capabilities } = target.capabilities ?? {};
  return {
    ...message,
    target: { ...target, capabilities },
    task: {
      ...task,
      task_id: name,
      parent_task_id: undefined,
      access: {
        ...access,
        ...(network === undefined || network === 'FULL' ? {} : { network }),
        ...(task.access?.filesystem === undefined
          ? {}
          : {
              filesystem: {
                ...(read && { read_paths: read.filter(isInside) }),
                ...(write && { write_paths: write.filter(isInside) }),
              },
            }),
      },
      extensions: { ...task.extensions, x_depends_on: undefined },
      expected_outputs: task.expected_outputs?.map((output) => ({ ...output, rollback_snapshot: undefined })),
    },
  };
}
