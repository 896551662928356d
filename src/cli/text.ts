/** How things look to people. Whatever came from outside is made safe to print. */
import type { Task, TaskStatus } from '../core/task.ts';
import { isoTime, parseTime } from '../core/time.ts';
import { clip } from '../core/words.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { dim, green, red, yellow } from './style.ts';

/** Text of unknown origin on one line. */
export const oneLine = (text: string): string => stripControls(text.replace(/\s+/g, ' ')).trim();

/** Text of unknown origin on as many lines as it has. */
export const safe = (text: string): string => stripControls(text);

const plain = (text: string): string => text;

const COLOURS: Readonly<Record<TaskStatus, (text: string) => string>> = {
  backlog: dim,
  ready: plain,
  'in-progress': yellow,
  blocked: red,
  review: yellow,
  done: green,
  cancelled: dim,
  deadletter: red,
};

export const STATUS_WIDTH = 11;

export const status = (value: TaskStatus, width = 0): string => COLOURS[value](value.padEnd(width));

/** `2026-11-15 23:04:25`, in UTC like the ids and the files of the journal. */
export const time = (at: number | string): string =>
  isoTime(typeof at === 'string' ? parseTime(at) : at)
    .slice(0, 19)
    .replace('T', ' ');

/** One task in one line, after something was done with it. */
export const taskLine = (task: Pick<Task, 'id' | 'status' | 'title'> & Partial<Pick<Task, 'verdict'>>): string =>
  `${task.id} ${status(task.status)}${verdictWord(task)}  ${oneLine(task.title)}`;

/** ` (unverified)` behind the status of a task that was judged; nothing behind that of another. */
export const verdictWord = ({ status: of, verdict }: Pick<Task, 'status'> & Partial<Pick<Task, 'verdict'>>): string =>
  verdict != null && (of === 'done' || of === 'review') ? ` (${verdict})` : '';

/** A fact's details as words: `code: E_TIMEOUT, attempt: 2`. */
export function details(detail: Readonly<Record<string, unknown>>): string {
  return Object.entries(detail)
    .map(([key, value]) => `${oneLine(key)}: ${short(value)}`)
    .join(', ');
}

const MOST = 200;

const short = (value: unknown): string => clip(oneLine(words(value)), MOST);

function words(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(words).join(' ');
  if (isChange(value)) return `${words(value.from)} → ${words(value.to)}`;
  return JSON.stringify(value) ?? String(value);
}

/** As events tell of an edit. */
const isChange = (value: unknown): value is { from: unknown; to: unknown } =>
  value !== null && typeof value === 'object' && 'from' in value && 'to' in value;
