/**
 * The checks that every new task passes, whichever interface it comes through: its agent exists, its dependencies and its parent are found by
 * any of their names, its write paths are real, its place is decided. What passes is complete: the order that every run of it obeys.
 */
import type { Config } from '../../core/config.ts';
import type { NewTask } from '../../core/laws/messages.ts';
import type { KnownTasks, Store } from '../../core/store.ts';
import { DEFAULT_SESSION, expandTask, isUndone, type Task } from '../../core/task.ts';
import { checkSoftLimits } from '../../protocol/aop2/limits.ts';
import { policyOf } from '../../protocol/aop2/policy.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import { checkOrderedAgent } from '../agents.ts';
import { envelopeOf, OPEN } from '../envelope.ts';
import { findTask } from '../lookup.ts';
import { checksOf } from './order.ts';
import { placeFor, rememberedGit } from './place.ts';
import { fallbackWords } from './version-fallback.ts';

export interface Checks {
  readonly store: KnownTasks;
  readonly config: Config;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where tasks work that do not say where. */
  readonly workspace?: string;
  now(): number;
}

export interface Admission extends Checks {
  readonly store: Store;
}

export interface AdmitOptions {
  /** A person gave this one task to `baton run`. */
  readonly inCheckout?: boolean;
  /** The agent that asks: it is there, also where config does not know it. */
  readonly speaker?: string | null;
}

interface Admitted {
  readonly tasks: readonly NewTask[];
  /** What is accepted and worth a word to the person, a sentence each. */
  readonly warnings: readonly string[];
}

/** Throws what stands in the way of the first task that cannot be; nothing is written. */
export async function admitTasks(
  admission: Checks,
  news: readonly NewTask[],
  options: AdmitOptions = {},
): Promise<Admitted> {
  const tasks: NewTask[] = [];
  const warnings: string[] = [];
  const look = rememberedGit();
  const together = new Set(news.flatMap(({ id, externalId }) => [id, externalId]));
  for (const item of news) {
    const named = await withKnownNames(admission.store, item, together);
    const message = messageOf(named, admission);
    const agent = named.routing?.agent ?? null;
    if (agent === null || agent !== options.speaker) checkOrderedAgent(surroundings(admission), named.routing, message);
    checksOf(message);
    for (const { code, path, message: sentence } of checkSoftLimits(message as unknown as Record<string, unknown>))
      warnings.push(`${named.externalId ?? named.title}: ${code} at ${path}: ${sentence}`);
    const fallen = fallbackWords(message);
    if (fallen !== null) warnings.push(fallen);
    tasks.push(await placed(admission, named, message, options, look));
  }
  return { tasks, warnings };
}

export const surroundings = ({
  config,
  workspace,
  environment = process.env,
}: Checks): Parameters<typeof checkOrderedAgent>[0] => ({
  config,
  environment,
  ...(workspace === undefined ? {} : { workspace }),
});

/** The TASK that the new task will be run as. */
function messageOf(item: NewTask, { now, workspace = process.cwd() }: Checks): TaskMessage {
  const at = now();
  const sketch: Task = expandTask({
    id: item.id ?? item.externalId ?? 'TASK-0000-00-00-000',
    title: item.title,
    status: 'ready',
    createdAt: at,
    createdBy: '',
    updatedAt: at,
    lastTransitionAt: at,
    session: item.session ?? DEFAULT_SESSION,
    routing: { agent: null, role: null, team: null, tags: [], ...item.routing },
    ...(item.priority === undefined ? {} : { priority: item.priority }),
    ...(item.model === undefined ? {} : { model: item.model }),
    ...(item.workspace === undefined ? {} : { workspace: item.workspace }),
    ...(item.metadata === undefined ? {} : { metadata: item.metadata }),
  });
  const texts = { envelope: item.texts?.['inputs/task.json'] ?? null, body: item.texts?.['body'] ?? null };
  return envelopeOf(sketch, texts, workspace);
}

async function placed(
  { config, workspace = process.cwd() }: Checks,
  item: NewTask,
  message: TaskMessage,
  { inCheckout = false }: AdmitOptions,
  look: ReturnType<typeof rememberedGit>,
): Promise<NewTask> {
  const { writes: _, ...rest } = item;
  const model = message.target.model === OPEN ? {} : { model: message.target.model };
  // A task that is made anew keeps the place that it had.
  if (item.workspace !== undefined) return { ...item, ...model };
  const place = await placeFor({
    message,
    access: policyOf(message).access,
    home: workspace,
    config,
    inCheckout,
    isChild: item.parentId !== undefined,
    look,
  });
  return { ...rest, ...model, workspace: place.workspace, writes: place.writes };
}

/**
 * Dependencies and the parent by their own ids: the laws know external ids of the task's own session, a person names those of others too. An id
 * that another session has used already, or that a rollback has undone, is this task's external id.
 */
async function withKnownNames(
  store: KnownTasks,
  item: NewTask,
  together: ReadonlySet<string | undefined>,
): Promise<NewTask> {
  const session = item.session ?? DEFAULT_SESSION;
  const idOf = async (name: string): Promise<string> =>
    together.has(name) ? name : ((await store.find(name, session)) ?? (await findTask(store, name))).id;
  const holder = item.id === undefined ? undefined : await store.find(item.id);
  const { id, ...rest } = item;
  const isTaken = holder !== undefined && (holder.session !== session || isUndone(holder)) && id !== undefined;
  const dependsOn: string[] = [];
  for (const name of item.dependsOn ?? []) dependsOn.push(await idOf(name));
  return {
    ...(isTaken ? { ...rest, externalId: id } : item),
    ...(item.parentId === undefined ? {} : { parentId: await idOf(item.parentId) }),
    ...(item.dependsOn === undefined ? {} : { dependsOn }),
  };
}
