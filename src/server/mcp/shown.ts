/**
 * What an agent is shown of a task: enough to go on with, and never more than so much. Some programs give their model the structured result
 * and some the text, so both are bounded; all of it is a resource, one step away.
 */
import * as z from 'zod';
import type { TaskJson } from '../../core/task-json.ts';
import { stripControls } from '../../protocol/text/clean.ts';
import { shorten } from '../../protocol/text/shorten.ts';
import type { Routed } from '../../runtime/doors.ts';

/** In characters. */
const MOST = { text: 500, title: 200, summary: 600, reason: 300, name: 120 } as const;
/** Of ids that a task names, and of the answers to a message that held many. */
const MOST_IDS = 50;
const MOST_ROUTED = 50;
const MOST_EVENTS = 20;
/** So many characters of JSON of a list; those that do not fit are left out, and that is said. */
const MOST_LIST = 20_000;

export const ShownTask = z.object({
  id: z.string(),
  externalId: z.string().nullable(),
  title: z.string(),
  status: z.string(),
  priority: z.string(),
  agent: z.string().nullable(),
  session: z.string(),
  parentId: z.string().nullable(),
  dependsOn: z.array(z.string()),
  blockedBy: z.array(z.string()).describe('of what it depends on, what is not done'),
  attempts: z.number(),
  summary: z.string().nullable(),
  cause: z.object({ code: z.string(), message: z.string() }).nullable().describe('why it is blocked or has failed'),
  updatedAt: z.string(),
  uri: z.string().describe('the resource with all of it'),
});
export type ShownTask = z.infer<typeof ShownTask>;

export const ShownRouted = z.object({
  result: z.enum(['accepted', 'rejected', 'unknown', 'ignored']),
  reason: z.string().nullable(),
  task: z.string().nullable(),
  events: z.array(z.string()),
});
export type ShownRouted = z.infer<typeof ShownRouted>;

/** A text of anybody's, cut and safe to print. */
export const cut = (text: string, most: number): string => shorten(stripControls(text.slice(0, most * 4)), most);
const cutOr = (text: string | null, most: number): string | null => (text === null ? null : cut(text, most));

/** The words beside a structured result. */
export const words = (text: string): string => cut(text, MOST.text);

export const taskUri = (id: string): string => `baton://task/${id}`;

export const shownTask = (task: TaskJson): ShownTask => ({
  id: task.id,
  externalId: cutOr(task.externalId, MOST.name),
  title: cut(task.title, MOST.title),
  status: task.status,
  priority: task.priority,
  agent: cutOr(task.agent, MOST.name),
  session: cut(task.session, MOST.name),
  parentId: task.parentId,
  dependsOn: task.dependsOn.slice(0, MOST_IDS),
  blockedBy: task.blockedBy.slice(0, MOST_IDS),
  attempts: task.attempts,
  summary: cutOr(task.summary, MOST.summary),
  cause:
    task.cause === null
      ? null
      : { code: cut(task.cause.code, MOST.name), message: cut(task.cause.message, MOST.reason) },
  updatedAt: task.updatedAt,
  uri: taskUri(task.id),
});

/** As many as fit, from the first on. */
export function shownTasks(tasks: readonly TaskJson[]): { tasks: ShownTask[]; more: number } {
  const shown: ShownTask[] = [];
  let room = MOST_LIST;
  for (const task of tasks) {
    const next = shownTask(task);
    room -= JSON.stringify(next).length;
    if (room < 0) break;
    shown.push(next);
  }
  return { tasks: shown, more: tasks.length - shown.length };
}

export const shownRouted = (all: readonly Routed[]): { results: ShownRouted[]; more: number } => ({
  results: all.slice(0, MOST_ROUTED).map(({ result, reason, task, events }) => ({
    result,
    reason: cutOr(reason, MOST.reason),
    task,
    events: events.slice(0, MOST_EVENTS),
  })),
  more: Math.max(0, all.length - MOST_ROUTED),
});

/** One line of one task. */
export function taskLine({ id, status, title, agent, cause }: ShownTask): string {
  const who = agent === null ? '' : `, ${agent}`;
  const why = cause === null ? '' : ` (${cause.code}: ${cut(cause.message, MOST.name)})`;
  return `${id} ${status}${who}: ${cut(title, 80)}${why}`;
}
