/** The TASK of a child that a run hands on: it works where its parent does and may do no more than its parent may. */
import { type Access, isWithin, NETWORK_LEVELS, type Policy, stricterLimit } from '../core/policy.ts';
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

interface ChildParts {
  readonly taskId: string;
  readonly agent: string | null;
  readonly objective: string;
  readonly from: string;
  readonly createdAt: string;
  readonly expectedOutputs?: readonly string[];
  readonly criteria?: readonly string[];
  readonly dueBy?: string | null;
}

/** Access, budgets and constraints are the parent's, and its time is no longer. */
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
    ...withPolicy(made, policyOf(of), policyOf(made)),
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

/** Where a child says nothing of its access, its parent's holds; of money, time and attempts it has no more than its parent. */
export function narrowed(parent: TaskMessage, child: TaskMessage): TaskMessage {
  const { target, task } = child;
  const [above, own] = [policyOf(parent), policyOf(child)];
  const isSilent = [target.capabilities?.network_access, task.access?.network, task.constraints?.network_access].every(
    (level) => level === undefined,
  );
  const files = parent.task.access?.filesystem;
  const isSame = task.environment.workspace_root === parent.task.environment.workspace_root;
  const access = {
    ...task.access,
    ...(isSilent ? { network: above.access.network } : {}),
    ...(task.access?.filesystem === undefined && files !== undefined && isSame ? { filesystem: files } : {}),
  };
  const limits = limitsOf(above, own);
  const budgets = { ...task.budgets, ...limits };
  const mayDelegate = above.delegationAllowed && own.delegationAllowed;
  return {
    ...withPolicy(child, above, own),
    task: {
      ...task,
      ...(Object.keys(budgets).length === 0 ? {} : { budgets }),
      ...(mayDelegate ? {} : { constraints: { ...task.constraints, delegation_allowed: false } }),
      ...(Object.keys(access).length === 0 ? {} : { access }),
    },
  };
}

/** The stricter of the parent's budget and its own. */
function limitsOf({ budget: above }: Policy, { budget: own }: Policy): { max_cost_usd?: number; max_tokens?: number } {
  const usd = stricterLimit(above.maxCostUsd ?? undefined, own.maxCostUsd ?? undefined);
  const tokens = stricterLimit(above.maxTokens ?? undefined, own.maxTokens ?? undefined);
  return { ...(usd === null ? {} : { max_cost_usd: usd }), ...(tokens === null ? {} : { max_tokens: tokens }) };
}

/** So many retries a child may have where its parent has fewer. */
const MOST_RETRIES = 2;

/** Its time ends it if its parent's does, and guard rails of its own do not make it longer. */
function withPolicy(child: TaskMessage, above: Policy, own: Policy): TaskMessage {
  const { execution_policy: policy, guard_rails: rails } = child;
  const seconds = Math.min(above.timeoutSeconds, own.timeoutSeconds);
  const retries = Math.min(own.maxRetries, Math.max(above.maxRetries, MOST_RETRIES));
  const ends = above.terminateOnTimeout || own.terminateOnTimeout;
  const isWithinTime = seconds === own.timeoutSeconds && ends === own.terminateOnTimeout;
  // An alternative for a used up budget has the budget once more, so a child does not give itself any.
  const models = policy?.alternative_models
    ?.filter(({ fallback_trigger: trigger }) => trigger !== 'COST_LIMIT_EXCEEDED')
    .slice(0, MOST_RETRIES);
  const isSameModels = models?.length === policy?.alternative_models?.length;
  if (isWithinTime && retries === own.maxRetries && isSameModels) return child;
  const time = isWithinTime ? {} : { timeout_seconds: seconds, auto_terminate_on_timeout: ends };
  return {
    ...child,
    execution_policy: {
      ...policy,
      ...time,
      ...(retries === own.maxRetries ? {} : { max_retries: retries }),
      ...(isSameModels || models === undefined ? {} : { alternative_models: models }),
    },
    // They come before the policy.
    ...(rails === undefined ? {} : { guard_rails: { ...rails, ...time } }),
  };
}

/** A sentence that says what a child may do and its parent may not; null where there is no such thing. */
export function oversteps(parent: TaskMessage, child: TaskMessage, who = 'the task it comes from'): string | null {
  const [mine, theirs]: [Access, Access] = [policyOf(parent).access, policyOf(child).access];
  const inParent = absoluteIn(parent);
  const inChild = absoluteIn(child);
  const write = theirs.writePaths.map(inChild).find((path) => !isWithin(path, mine.writePaths.map(inParent)));
  if (write !== undefined) return `it would write ${write}, which ${who} may not`;
  const readable = [...mine.readPaths, ...mine.writePaths].map(inParent);
  const read = theirs.readPaths.map(inChild).find((path) => !isWithin(path, readable));
  if (read !== undefined) return `it would read ${read}, which ${who} may not`;
  return NETWORK_LEVELS.indexOf(theirs.network) > NETWORK_LEVELS.indexOf(mine.network)
    ? `it would have the network ${theirs.network}, and ${who} has ${mine.network}`
    : null;
}

const absoluteIn =
  ({ task }: TaskMessage) =>
  (path: string): string =>
    /^(?:[A-Za-z]:)?[\\/]/.test(path) ? path : `${task.environment.workspace_root.replace(/[\\/]+$/, '')}/${path}`;
