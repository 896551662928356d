/** The TASK of a child that a run hands on: it works where its parent does and may do no more than its parent may. */
import { type Access, isWithin, NETWORK_LEVELS } from '../core/policy.ts';
import type { Store } from '../core/store.ts';
import type { Task } from '../core/task.ts';
import { policyOf } from '../protocol/aop2/policy.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { envelopeOf, madeEnvelope, OPEN } from './envelope.ts';

/** The TASK behind a task that is in the store. */
export async function taskMessage(store: Store, task: Task, workspace: string): Promise<TaskMessage> {
  const [envelope, body] = await Promise.all([store.text(task.id, 'inputs/task.json'), store.text(task.id, 'body')]);
  return envelopeOf(task, { envelope, body }, workspace);
}

export interface ChildParts {
  readonly taskId: string;
  readonly agent: string | null;
  readonly objective: string;
  readonly from: string;
  readonly createdAt: string;
  readonly expectedOutputs?: readonly string[];
  readonly criteria?: readonly string[];
  readonly dueBy?: string | null;
}

/** Access, budgets and constraints are the parent's. */
export function childMessage(parent: Task, of: TaskMessage, parts: ChildParts): TaskMessage {
  const made = madeEnvelope({
    taskId: parts.taskId,
    session: parent.session,
    createdAt: parts.createdAt,
    agent: parts.agent ?? OPEN,
    objective: parts.objective,
    workspace: of.task.environment.workspace_root,
  });
  const { constraints, budgets, access, category, complexity } = of.task;
  const { aop_versions_supported: _, ...capabilities } = of.target.capabilities ?? {};
  const outputs = (parts.expectedOutputs ?? []).filter((path) => path.trim() !== '');
  const extensions = {
    ...(parts.criteria === undefined || parts.criteria.length === 0
      ? {}
      : { x_acceptance_criteria: [...parts.criteria] }),
    ...(parts.dueBy ? { x_due_by: parts.dueBy } : {}),
  };
  return {
    ...made,
    // `baton` stands for words that named nobody, which is so only where nobody is named.
    session: { ...made.session, ...(parts.agent === null ? {} : { orchestrator: parts.from }), origin: 'DELEGATION' },
    target: { ...made.target, ...(Object.keys(capabilities).length === 0 ? {} : { capabilities }) },
    task: {
      ...made.task,
      parent_task_id: parent.externalId ?? parent.id,
      category,
      complexity,
      ...(outputs.length === 0 ? {} : { expected_outputs: outputs.map((path) => ({ path })) }),
      ...(constraints === undefined ? {} : { constraints }),
      ...(budgets === undefined ? {} : { budgets }),
      ...(access === undefined ? {} : { access }),
      ...(Object.keys(extensions).length === 0 ? {} : { extensions }),
    },
  };
}

/** Where a child says nothing of its access, its parent's holds. */
export function narrowed(parent: TaskMessage, child: TaskMessage): TaskMessage {
  const { target, task } = child;
  const isSilent = [target.capabilities?.network_access, task.access?.network, task.constraints?.network_access].every(
    (level) => level === undefined,
  );
  const files = parent.task.access?.filesystem;
  const isSame = task.environment.workspace_root === parent.task.environment.workspace_root;
  const access = {
    ...task.access,
    ...(isSilent ? { network: policyOf(parent).access.network } : {}),
    ...(task.access?.filesystem === undefined && files !== undefined && isSame ? { filesystem: files } : {}),
  };
  return Object.keys(access).length === 0 ? child : { ...child, task: { ...task, access } };
}

/** A sentence that says what a child may do and its parent may not; null where there is no such thing. */
export function oversteps(parent: TaskMessage, child: TaskMessage): string | null {
  const [mine, theirs]: [Access, Access] = [policyOf(parent).access, policyOf(child).access];
  const inParent = absoluteIn(parent);
  const inChild = absoluteIn(child);
  const write = theirs.writePaths.map(inChild).find((path) => !isWithin(path, mine.writePaths.map(inParent)));
  if (write !== undefined) return `it would write ${write}, which the task it comes from may not`;
  const readable = [...mine.readPaths, ...mine.writePaths].map(inParent);
  const read = theirs.readPaths.map(inChild).find((path) => !isWithin(path, readable));
  if (read !== undefined) return `it would read ${read}, which the task it comes from may not`;
  return NETWORK_LEVELS.indexOf(theirs.network) > NETWORK_LEVELS.indexOf(mine.network)
    ? `it would have the network ${theirs.network}, and the task it comes from has ${mine.network}`
    : null;
}

const absoluteIn =
  ({ task }: TaskMessage) =>
  (path: string): string =>
    /^(?:[A-Za-z]:)?[\\/]/.test(path) ? path : `${task.environment.workspace_root.replace(/[\\/]+$/, '')}/${path}`;
