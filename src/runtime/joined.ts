/**
 * Results of several tasks in one text for whoever reads them: a line each, with how it ended and where all of it is. However many there are and
 * whatever they say, the text stays within one bound.
 */
import { join } from 'node:path';
import type { Cause, Task, TaskStatus } from '../core/task.ts';
import { oneLine as aop1Line } from '../protocol/aop1/defuse.ts';
import { shorten } from '../protocol/text/shorten.ts';

/** In characters, all of it together. */
export const JOINED_CHARS = 2_000;

export interface JoinedResult {
  readonly id: string;
  readonly status: TaskStatus;
  /** What is said of it, in as many words as there is room for. */
  readonly words: string | null;
  /** Where all of it is; null where its id says so already. */
  readonly reference: string | null;
}

/** So many characters of what each says are worth leaving others out for. */
const LEAST_WORDS = 24;
const LEAST_ROOM = 16;

const RANK: Readonly<Record<TaskStatus, number>> = {
  deadletter: 0,
  cancelled: 1,
  blocked: 2,
  review: 3,
  'in-progress': 4,
  ready: 5,
  backlog: 6,
  done: 7,
};

/** What needs somebody first, what is done last. */
export const byNeed = (a: { readonly status: TaskStatus }, b: { readonly status: TaskStatus }): number =>
  RANK[a.status] - RANK[b.status];

/**
 * @param where those are found for which there is no room
 * @param mostLines how many lines it may have in all
 */
export function joined(
  results: readonly JoinedResult[],
  most = JOINED_CHARS,
  where = 'baton report',
  mostLines = Number.POSITIVE_INFINITY,
): string {
  const lines = results.map(lineOf);
  let shown = lines;
  let last = '';
  if (leastOf(lines) > most || lines.length > mostLines) {
    const sorted = lines.toSorted(byNeed);
    // As long as it can be: the number has no more digits than this.
    const room = most - moreOf(lines.length, where).length;
    let count = 0;
    for (let used = 0; count < Math.min(sorted.length, mostLines - 1); count++) {
      used += leastOf(sorted.slice(count, count + 1)) + (count > 0 ? 1 : 0);
      if (used > room) break;
    }
    shown = sorted.slice(0, count);
    last = moreOf(lines.length - count, where);
  }
  const rooms = shares(shown, most - last.length - headsOf(shown));
  const told = shown.map(({ head, words, tail }, i) => `${head}${wordsIn(words, rooms[i] ?? 0)}${tail}`);
  return shorten(`${told.join('\n')}${told.length === 0 ? last.trimStart() : last}`, most);
}

interface Line {
  readonly status: TaskStatus;
  readonly head: string;
  readonly words: string;
  readonly tail: string;
}

const lineOf = ({ id, status, words, reference }: JoinedResult): Line => ({
  status,
  head: `- ${oneLine(id)} ${status}`,
  words: words === null ? '' : oneLine(words),
  tail: reference === null ? '' : ` [${oneLine(reference)}]`,
});

/** A text of anybody's on one line, with no marker of a block in it; what is longer than all of it may be is not looked at. */
const oneLine = (text: string): string => aop1Line(text.slice(0, 4 * JOINED_CHARS));

const moreOf = (count: number, where: string): string => `\n- and ${count} more: ${where}`;

const headsOf = (lines: readonly Line[]): number =>
  lines.reduce((sum, { head, tail }) => sum + head.length + tail.length, 0) + Math.max(0, lines.length - 1);

/** With the blank and the colon before the words. */
const wanted = ({ words }: Line): number => (words === '' ? 0 : words.length + 2);

const leastOf = (lines: readonly Line[]): number =>
  headsOf(lines) + lines.reduce((sum, line) => sum + Math.min(wanted(line), LEAST_WORDS), 0);

/** Everybody the same, and what one does not need is for the others. */
function shares(lines: readonly Line[], room: number): number[] {
  const rooms = lines.map(() => 0);
  let open = lines.map((_, i) => i).filter((i) => wanted(lines[i] as Line) > 0);
  let left = Math.max(0, room);
  while (open.length > 0 && left > 0) {
    const share = Math.floor(left / open.length);
    const small = open.filter((i) => wanted(lines[i] as Line) <= share);
    for (const i of small.length > 0 ? small : open) {
      rooms[i] = small.length > 0 ? wanted(lines[i] as Line) : share;
      left -= rooms[i] ?? 0;
    }
    if (small.length === 0) break;
    open = open.filter((i) => !small.includes(i));
  }
  return rooms;
}

/** A word or two that mean nothing are better left out. */
const wordsIn = (words: string, room: number): string =>
  words === '' || (room < LEAST_ROOM && words.length + 2 > room) ? '' : `: ${shorten(words, room - 2)}`;

/** What a task came to, as far as it is known. */
export const resultOf = (
  task: Pick<Task, 'id' | 'status' | 'summary' | 'title'> & {
    readonly cause: Cause | null;
    readonly run?: Task['run'];
  },
  reference: string | null = detailsOf(task),
): JoinedResult => {
  const said = task.status === 'done' ? task.summary : (task.cause?.message ?? task.summary);
  return { id: task.id, status: task.status, words: said ?? task.title, reference };
};

/** The details of a task's last run, below the data folder; null where it has ended none. */
export const detailsOf = ({ run }: { readonly run?: Task['run'] }): string | null =>
  run == null || run.status === 'running' ? null : join('logs', run.id, 'details.json');
