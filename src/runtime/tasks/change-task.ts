/** The one way to change what a task says. It passes the same checks as a new one, and nothing is half changed. */
import { BatonError } from '../../core/errors.ts';
import type { Actor } from '../../core/laws/messages.ts';
import type { Answer } from '../../core/store.ts';
import type { Task, TaskPriority } from '../../core/task.ts';
import { isoTime } from '../../core/time.ts';
import { newId } from '../../process/new-id.ts';
import { policyOf } from '../../protocol/aop2/policy.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import { checkOrderedAgent } from '../agents.ts';
import { taskMessage } from '../child.ts';
import { keptEnvelope, madeEnvelope, OPEN } from '../envelope.ts';
import { findTask } from '../lookup.ts';
import { limitsOf } from '../new-tasks.ts';
import { type Admission, surroundings } from './admit.ts';
import { checksOf, isOrder, type Order, withOrder } from './order.ts';
import { textOf } from './ordered.ts';
import { type Place, placeFor } from './place.ts';

/** In a list, what is given replaces what was there; an empty one takes it out. */
export interface TaskChange extends Order {
  readonly title?: string;
  readonly priority?: TaskPriority;
  readonly dependsOn?: readonly string[];
  readonly review?: boolean;
}

export interface ChangeOptions {
  readonly by: Actor;
  readonly request?: string;
}

/** So often another change may come in between before this one is given up. */
const MOST_TRIES = 5;

/** Throws what the checks refuse; what the laws refuse is in the answer. */
export async function changeTask(
  admission: Admission,
  task: Task,
  change: TaskChange,
  { by, request = newId() }: ChangeOptions,
): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const now = tries === 1 ? task : ((await admission.store.find(task.id)) ?? task);
    const message = await editOf(admission, now, change);
    const answer = await admission.store.send({ message, by, request: `${request} ${tries}` });
    const isOvertaken = answer.kind === 'refused' && answer.refusal.code === 'E_NOT_CLAIMABLE';
    if (!isOvertaken || tries === MOST_TRIES) return answer;
  }
}

type Edit = Extract<Parameters<Admission['store']['send']>[0]['message'], { type: 'task.edit' }>;

async function editOf(admission: Admission, task: Task, change: TaskChange): Promise<Edit> {
  const { title, priority, dependsOn, review, ...order } = change;
  const { agent, model, ...limits } = order;
  const ids: string[] = [];
  for (const name of dependsOn ?? [])
    ids.push(((await admission.store.find(name, task.session)) ?? (await findTask(admission.store, name))).id);
  return {
    type: 'task.edit',
    id: task.id,
    ...(title === undefined ? {} : { title }),
    ...(priority === undefined ? {} : { priority }),
    ...(dependsOn === undefined ? {} : { dependsOn: ids }),
    ...(review === undefined ? {} : { reviewRequired: review }),
    ...(agent === undefined ? {} : { routing: { agent } }),
    ...(model === undefined ? {} : { model }),
    ...(isOrder(order) ? await orderOf(admission, task, order, isOrder(limits)) : {}),
  };
}

/** What the new order changes in the task and in its TASK. */
async function orderOf(
  admission: Admission,
  task: Task,
  order: Order,
  hasLimits: boolean,
): Promise<Omit<Edit, 'type' | 'id'>> {
  const { store, config, workspace = process.cwd() } = admission;
  const before = await taskMessage(store, task, workspace);
  const message = withOrder(before, order);
  const routing = order.agent === undefined ? task.routing : { ...task.routing, agent: order.agent };
  if (order.agent !== undefined || order.model !== undefined)
    checkOrderedAgent(surroundings(admission), routing, message);
  if (!hasLimits) return {};
  checksOf(message);
  const { retry } = limitsOf(message);
  const moves = order.isolation !== undefined || order.merge !== undefined || order.write !== undefined;
  const place = moves ? await placeAgain(task, message, config, workspace) : null;
  return {
    seen: task.updatedAt,
    retry,
    ...(place === null ? {} : { workspace: place.workspace, writes: place.writes }),
    texts: { 'inputs/task.json': textOf(withOrder(await keptOf(admission, task, before), order)) },
  };
}

/** A worktree that has work in it stays where it is. */
async function placeAgain(task: Task, message: TaskMessage, config: Admission['config'], home: string): Promise<Place> {
  const { workspace } = task;
  const place = await placeFor({
    message,
    access: policyOf(message).access,
    home,
    config,
    inCheckout: workspace?.isolation === 'checkout',
    isChild: task.parentId !== null,
  });
  const isMoved = workspace !== null && workspace.isolation !== place.workspace.isolation;
  if (isMoved && task.runs > 0)
    throw new BatonError(
      'E_ILLEGAL_MOVE',
      `${task.id} has begun in ${workspace.isolation === 'worktree' ? 'a worktree' : workspace.path}; where it works can no longer change`,
      'make a new task: baton task add',
    );
  return { ...place, workspace: { ...place.workspace, base: workspace?.base ?? null } };
}

/** What is kept is what was said, without what was changed about the task since. */
async function keptOf({ store }: Admission, task: Task, now: TaskMessage): Promise<TaskMessage> {
  const kept = keptEnvelope(await store.text(task.id, 'inputs/task.json'));
  if (kept !== null) return kept;
  return madeEnvelope({
    taskId: task.externalId ?? task.id,
    session: task.session,
    createdAt: isoTime(task.createdAt),
    agent: task.routing.agent ?? OPEN,
    objective: now.task.objective,
    workspace: now.task.environment.workspace_root,
  });
}
