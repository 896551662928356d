/** What a person may say of a task, in the same words at every interface, written into its TASK. Pure. */
import { BatonError } from '../../core/errors.ts';
import { isFields } from '../../core/fields.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import { quote } from '../../protocol/text/quote.ts';

/** A list that is empty takes the setting out again. Paths are absolute. */
export interface Order {
  readonly agent?: string;
  readonly model?: string;
  /** Dollars. */
  readonly budget?: number;
  /** Seconds. */
  readonly timeout?: number;
  readonly retries?: number;
  readonly write?: readonly string[];
  readonly read?: readonly string[];
  /** `CMD` or `NAME=CMD`. */
  readonly check?: readonly string[];
  readonly expect?: readonly string[];
  readonly isolation?: 'worktree' | 'shared';
  /** False: its work stays on a branch of its own. */
  readonly merge?: false;
}

/** A command that Baton runs itself when the agent says that it is done. */
export interface TaskCheck {
  readonly name: string;
  readonly command: string;
}

const CHECKS = 'x_checks';
const ISOLATION = 'x_isolation';
const MERGE = 'x_merge';

/** Whether anything was said that a task without a TASK could not keep. */
export const isOrder = (order: Order): boolean => Object.values(order).some((value) => value !== undefined);

export function withOrder(message: TaskMessage, order: Order): TaskMessage {
  const { agent, model, timeout, retries } = order;
  const isOther = agent !== undefined && agent !== message.target.agent_name;
  return {
    ...message,
    target: {
      ...message.target,
      // The provider belongs to the agent that the TASK named.
      ...(isOther ? { agent_name: agent, provider: 'OTHER' } : {}),
      ...(model === undefined ? {} : { model }),
    },
    task: taskWith(message, order),
    ...(retries === undefined ? {} : { execution_policy: { ...message.execution_policy, max_retries: retries } }),
    ...(timeout === undefined ? {} : { guard_rails: { ...message.guard_rails, timeout_seconds: timeout } }),
  };
}

function taskWith({ task }: TaskMessage, order: Order): TaskMessage['task'] {
  const { budget, write, read, expect, check, isolation, merge } = order;
  const extensions = {
    ...(check === undefined ? {} : { [CHECKS]: check.length === 0 ? undefined : checksFrom(check) }),
    ...(isolation === undefined ? {} : { [ISOLATION]: isolation, x_worktree: undefined }),
    ...(merge === undefined ? {} : { [MERGE]: 'never' }),
  };
  const files = filesystemOf(task, write, read);
  return {
    ...task,
    ...(budget === undefined ? {} : { budgets: { ...task.budgets, max_cost_usd: budget } }),
    ...(expect === undefined
      ? {}
      : { expected_outputs: expect.length === 0 ? undefined : expect.map((path) => ({ path })) }),
    ...(files === undefined ? {} : { access: { ...task.access, filesystem: files } }),
    ...(Object.keys(extensions).length === 0 ? {} : { extensions: { ...task.extensions, ...extensions } }),
  };
}

type Filesystem = NonNullable<NonNullable<TaskMessage['task']['access']>['filesystem']>;

/** What is not said of reading and writing is the whole workspace, as for every TASK. */
function filesystemOf(
  { access, environment }: TaskMessage['task'],
  write: readonly string[] | undefined,
  read: readonly string[] | undefined,
): Filesystem | undefined {
  if (write === undefined && read === undefined) return undefined;
  const root = [environment.workspace_root];
  const listed = (said: readonly string[] | undefined, before: readonly string[] | undefined): string[] =>
    said === undefined ? [...(before ?? root)] : said.length === 0 ? root : [...said];
  return {
    ...access?.filesystem,
    write_paths: listed(write, access?.filesystem?.write_paths),
    read_paths: listed(read, access?.filesystem?.read_paths),
  };
}

/** `npm test` is `check-1`; `lint=npm run lint` has a name of its own. */
export function checksFrom(said: readonly string[], prefix = 'check-'): TaskCheck[] {
  const checks = said.map((text, i): TaskCheck => {
    const named = /^([A-Za-z][\w.-]*)=(.+)$/s.exec(text.trim());
    return named === null
      ? { name: `${prefix}${i + 1}`, command: text.trim() }
      : { name: named[1] as string, command: (named[2] as string).trim() };
  });
  const double = checks.find(({ name }, i) => checks.findIndex((other) => other.name === name) !== i);
  if (double !== undefined)
    throw new BatonError('E_USAGE', `expected each check to have a name of its own, got ${double.name} twice`);
  return checks;
}

/** The checks that a TASK names; throws where they are not of their form. */
export function checksOf({ task }: TaskMessage): readonly TaskCheck[] {
  const said = task.extensions?.[CHECKS];
  if (said === undefined || said === null) return [];
  if (Array.isArray(said)) {
    const checks = said.map((item, i): TaskCheck | null => {
      if (typeof item === 'string' && item.trim() !== '') return { name: `check-${i + 1}`, command: item };
      if (!isFields(item) || typeof item['command'] !== 'string' || item['command'].trim() === '') return null;
      const { name = `check-${i + 1}`, command } = item;
      return typeof name === 'string' && /^[\w.-]+$/.test(name) ? { name, command } : null;
    });
    if (checks.every((check) => check !== null)) return checks;
  }
  throw invalid(task.task_id, CHECKS, 'a list of { name, command }', said);
}

/** What a TASK says of where it works and whether it is merged; throws where it says neither of the words. */
export function wishesOf({ task }: TaskMessage): {
  readonly isolation: 'worktree' | 'shared' | null;
  readonly merge: 'never' | 'proven' | 'always' | null;
} {
  const said = task.extensions ?? {};
  const isolation = said['x_worktree'] === true ? 'worktree' : (said[ISOLATION] ?? null);
  if (isolation !== null && isolation !== 'worktree' && isolation !== 'shared')
    throw invalid(task.task_id, ISOLATION, 'worktree or shared', isolation);
  const merge = said[MERGE] ?? null;
  if (merge !== null && merge !== 'never' && merge !== 'proven' && merge !== 'always')
    throw invalid(task.task_id, MERGE, 'proven, always or never', merge);
  return { isolation, merge };
}

const invalid = (task: string, key: string, expected: string, came: unknown): BatonError =>
  new BatonError(
    'E_SCHEMA_VALIDATION',
    `expected ${expected} at /task/extensions/${key} of ${task}, got ${quote(came)}`,
  );
