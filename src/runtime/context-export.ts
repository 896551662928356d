/**
 * What a session needs to go on after its context is gone, as the shared agent protocol writes it (§16): state, tasks, the last summaries, the
 * project's own words. Bounded. The only writer of that form; `session/context-file.ts` reads it.
 */
import { parseJson } from '../core/fields.ts';
import { redactDeep } from '../core/redact.ts';
import type { Kept, SessionJson } from '../core/session.ts';
import type { Store } from '../core/store.ts';
import { isUndone, type Task } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
import { PROTOCOL_VERSION } from '../protocol/command/index.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { writeYaml } from '../protocol/text/yaml.ts';

/** §16; `standard` is what is meant where none is named: all but what is for the session only (§6). */
export type ExportFilter = 'standard' | 'all' | 'critical' | 'tasks' | 'state' | 'incremental';

interface ExportInput {
  readonly session: string;
  readonly tasks: readonly Task[];
  readonly remembered: SessionJson | undefined;
  /** Progress by task, where a run has told it. */
  readonly progress: Readonly<Record<string, number>>;
  /** What each open task was ordered to be, for another session to go on with; none where the file is to be read only. */
  readonly orders: Readonly<Record<string, object>>;
}

interface ExportContext extends ExportInput {
  readonly now: number;
  /** The commit that the project is at; null where it is in no repository. */
  readonly commit: string | null;
  readonly project: string;
  readonly filter: ExportFilter;
}

interface Exported {
  readonly text: string;
  /** Keys, variables and tasks that are in it. */
  readonly items: number;
  /** The time of the latest change that it knows. */
  readonly upTo: number;
}

const MOST_TASKS = 200;
const MOST_SUMMARIES = 20;
const SUMMARY_CHARS = 300;
const TITLE_CHARS = 120;

/** The orders of tasks take so many characters of a file at most; of those beyond, the TASK is left out. */
const ORDER_CHARS = 400_000;

/** All that makes a task run again elsewhere as it was ordered here. */
async function ordersOf(store: Store, tasks: readonly Task[]): Promise<Record<string, object>> {
  const orders: Record<string, object> = {};
  let room = ORDER_CHARS;
  for (const task of tasks) {
    if (task.status === 'done' || task.status === 'cancelled') continue;
    const [body, text] = await Promise.all([store.text(task.id, 'body'), store.text(task.id, 'inputs/task.json')]);
    const length = (body ?? '').length + (text ?? '').length;
    const fits = length <= room;
    if (fits) room -= length;
    orders[task.id] = {
      status: task.status,
      priority: task.priority,
      ...(task.externalId === null ? {} : { name: task.externalId }),
      ...(task.routing.agent === null ? {} : { agent: task.routing.agent }),
      ...(task.model === null ? {} : { model: task.model }),
      ...(task.dependsOn.length === 0 ? {} : { depends_on: task.dependsOn }),
      ...(task.reviewRequired ? { review: true } : {}),
      ...(fits && body !== null ? { body } : {}),
      ...(fits && text !== null ? { task: parseJson(text) } : {}),
    };
  }
  return orders;
}

/** What is exported of a session. */
export async function exportInput(
  store: Store,
  session: string,
  { withOrders = false }: { readonly withOrders?: boolean } = {},
): Promise<ExportInput> {
  const tasks: Task[] = [];
  const progress: Record<string, number> = {};
  for await (const task of store.tasks({ session })) tasks.push(task);
  for (const { id, status } of tasks) {
    const told = status === 'in-progress' ? await progressOf(store, id) : null;
    if (told !== null) progress[id] = told;
  }
  const orders = withOrders ? await ordersOf(store, tasks) : {};
  return { session, tasks, remembered: await store.session(session), progress, orders };
}

/** The last percentage that a run of a task has told; null where none has. */
export async function progressOf(store: Store, task: string): Promise<number | null> {
  const events = (await store.history(task)).flatMap((record) => record.events);
  const said = events.findLast(
    ({ type, detail, task: of }) =>
      of === task && type === 'run.progress' && typeof detail?.['percentage'] === 'number',
  );
  return said === undefined ? null : (said.detail?.['percentage'] as number);
}

export function contextExport({ filter, ...context }: ExportContext): Exported {
  const { remembered, session, commit } = context;
  const exported = (fact: 'exported' | 'exportedAll'): number =>
    filter === 'incremental' ? Number(remembered?.facts?.[fact] ?? 0) : 0;
  const since = exported('exported');
  const has = (...filters: readonly ExportFilter[]): boolean => filters.includes(filter);
  // An export without what is temporary leaves that to the next one that has it.
  const isNew = ({ at, persistent }: Kept): boolean => at > (persistent ? since : exported('exportedAll'));
  const kept = Object.entries(remembered?.state ?? {}).filter(([, one]) => isNew(one));
  const state = (isPersistent: boolean): Record<string, string> =>
    Object.fromEntries(
      kept.filter(([, one]) => one.persistent === isPersistent).map(([key, { value }]) => [key, value]),
    );
  const persistent = has('tasks') ? {} : state(true);
  const temporary = has('all', 'state', 'incremental') ? state(false) : {};
  const variables = remembered?.variables ?? {};
  const configuration = has('tasks', 'state') ? {} : { PROJECT_NAME: context.project, ...variables };
  const changed = has('critical', 'state') ? [] : context.tasks.filter(({ updatedAt }) => updatedAt > since);
  // Of more tasks than fit, those that changed last.
  const latest = changed.toSorted((a, b) => b.updatedAt - a.updatedAt).slice(0, MOST_TASKS);
  const value = {
    version: PROTOCOL_VERSION,
    exported: isoTime(context.now),
    session_id: session,
    git_checkpoint: commit,
    state: { persistent, temporary },
    ...tasksOf(latest, changed.length - latest.length, context),
    configuration,
  };
  const count = (of: object): number => Object.keys(of).length;
  const items = count(persistent) + count(temporary) + count(configuration) + latest.length;
  const times = [
    ...Object.values(remembered?.state ?? {}).map(({ at }) => at),
    ...context.tasks.map((task) => task.updatedAt),
  ];
  return { text: writeYaml(redactDeep(value)), items, upTo: times.reduce((last, at) => Math.max(last, at), 0) };
}

function tasksOf(
  latest: readonly Task[],
  left: number,
  { progress, orders }: Pick<ExportInput, 'progress' | 'orders'>,
): object {
  const of = (...statuses: readonly Task['status'][]): readonly Task[] =>
    latest.filter(({ status }) => statuses.includes(status));
  const names = (list: readonly Task[]): readonly string[] => list.map(({ id }) => id);
  const percent = ({ id }: Task): string => `${Math.round(progress[id] ?? 0)}%`;
  const because = ({ cause, summary }: Task): string => shorten(cause?.message ?? summary ?? '', SUMMARY_CHARS);
  const waiting = of('blocked', 'review', 'deadletter');
  const open = latest.filter(({ status }) => status !== 'done' && status !== 'cancelled');
  const told = latest.filter(({ summary }) => summary !== null && summary.trim() !== '').slice(0, MOST_SUMMARIES);
  return {
    tasks: {
      completed: names(of('done').filter((task) => !isUndone(task))),
      in_progress: Object.fromEntries(of('in-progress').map((task) => [task.id, percent(task)])),
      pending: names(of('ready', 'backlog')),
      waiting: Object.fromEntries(waiting.map((task) => [task.id, `${task.status}: ${because(task)}`])),
      ...(left > 0 ? { left_out: left } : {}),
    },
    ...(Object.keys(orders).length === 0
      ? {}
      : { orders: Object.fromEntries(open.flatMap(({ id }) => (orders[id] === undefined ? [] : [[id, orders[id]]]))) }),
    titles: Object.fromEntries(open.map(({ id, title }) => [id, shorten(title, TITLE_CHARS)])),
    summaries: Object.fromEntries(told.map(({ id, summary }) => [id, shorten(summary ?? '', SUMMARY_CHARS)])),
  };
}
