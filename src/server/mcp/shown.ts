/**
 * What an agent is shown of a task: enough to go on with, and never more than so much. Some programs give their model the structured result
 * and some the text, so both are bounded; all of it is a resource, one step away.
 */
import * as z from 'zod';
import type { TaskJson } from '../../core/task-json.ts';
import { stripControls } from '../../protocol/text/clean.ts';
import { shorten } from '../../protocol/text/shorten.ts';
import type { Routed } from '../../runtime/doors.ts';
import { byNeed, JOINED_CHARS } from '../../runtime/joined.ts';

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

/** What a task came to, and no more: many of them reach a parent at once. */
export const ShownResult = z.object({
  id: z.string(),
  status: z.string(),
  summary: z.string().nullable(),
  cause: z.object({ code: z.string(), message: z.string() }).nullable().describe('why it is blocked or has failed'),
  uri: z.string().describe('the resource with all of it'),
});
export type ShownResult = z.infer<typeof ShownResult>;

/** Characters of JSON around what is said of one. */
const AROUND_ONE = 180;
const AROUND_ALL = 40;

/** Results of several tasks within one bound, which they share; what needs somebody comes first where there is no room for all. */
export function shownResults(tasks: readonly TaskJson[]): { tasks: ShownResult[]; more: number } {
  const most = Math.floor((JOINED_CHARS - AROUND_ALL) / AROUND_ONE);
  const some = tasks.length > most ? tasks.toSorted(byNeed).slice(0, most) : tasks;
  const share = Math.floor((JOINED_CHARS - AROUND_ALL) / Math.max(1, some.length)) - AROUND_ONE;
  const shown = some.map(({ id, status, summary, cause }) => {
    // Where both are told, each has half of the room.
    const half = summary === null || cause === null ? share : Math.floor(share / 2);
    const why = cause === null ? null : inJson(cause.message, Math.min(half, MOST.reason));
    return {
      id,
      status,
      summary: summary === null ? null : inJson(summary, Math.min(half, MOST.summary)),
      cause: cause === null || why === null ? null : { code: cut(cause.code, 40), message: why },
      uri: taskUri(id),
    };
  });
  return { tasks: shown, more: tasks.length - shown.length };
}

/** Cut so that it takes no more than so much in JSON, where some characters are written with several. */
function inJson(text: string, most: number): string {
  let said = cut(text, Math.max(0, most));
  while (said !== '' && JSON.stringify(said).length - 2 > most) said = cut(said, Math.floor(said.length * 0.7));
  return said;
}

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
