/**
 * Which task comes next: the most urgent that fits, the oldest of these. Tasks of one routing stand in one line, so that a claim looks at
 * as many tasks as there are routings, not at all of them. Entries that are out of date stay in a line until they come up. What waits for
 * another to stop writing is taken out of its line when it comes up, and put back when that one has stopped: asking again costs nothing.
 */
import { createHeap, type Heap } from './heap.ts';
import { fits } from './laws/claim.ts';
import type { Claimer } from './laws/messages.ts';
import { compareTaskIds, type Routing, TASK_DEFAULTS, TASK_PRIORITIES, type Task, type TaskPriority } from './task.ts';

interface Entry {
  readonly id: string;
  readonly rank: number;
}

interface Line {
  readonly routing: Routing;
  readonly entries: Heap<Entry>;
}

export interface ReadyQueue {
  /** To be called with every new state of a task; `isOpen` says that all it depends on is done. */
  put(task: Task, isOpen: boolean): void;
  next(claimer: Claimer, now: number): string | undefined;
  /** To be called when a task no longer writes: those that came up while it did stand in line again. */
  stopped(writer: string): void;
  /** When the next task comes out of its backoff; undefined where none waits. */
  nextTime(): number | undefined;
}

const RANK = Object.fromEntries(TASK_PRIORITIES.map((priority, rank) => [priority, rank])) as Record<
  TaskPriority,
  number
>;

const isBefore = (a: Entry, b: Entry): boolean =>
  a.rank !== b.rank ? a.rank < b.rank : compareTaskIds(a.id, b.id) < 0;

export function createReadyQueue(
  find: (id: string) => Task | undefined,
  isOpen: (task: Task) => boolean,
  /** The running task that writes where this one will. */
  inTheWay: (task: Task) => string | undefined = () => undefined,
): ReadyQueue {
  const lines = new Map<string, Line>();
  /** Ready, but not before its time. */
  const later = createHeap<{ readonly id: string; readonly at: number }>((a, b) => a.at < b.at);

  /** By the task that they wait for. */
  const aside = new Map<string, string[]>();

  const lineOf = (routing: Routing): Line => {
    const key = keyOf(routing);
    let line = lines.get(key);
    if (line === undefined) {
      line = { routing, entries: createHeap(isBefore) };
      lines.set(key, line);
    }
    return line;
  };

  const enter = (task: Task): void => lineOf(task.routing).entries.push({ id: task.id, rank: RANK[task.priority] });

  const wakeUp = (now: number): void => {
    for (let top = later.peek(); top !== undefined && top.at <= now; top = later.peek()) {
      later.pop();
      const task = find(top.id);
      if (task?.status === 'ready' && task.availableAt === top.at) enter(task);
    }
  };

  const setAside = (id: string, writer: string): void => {
    const list = aside.get(writer);
    if (list === undefined) aside.set(writer, [id]);
    else list.push(id);
  };

  /** The first entry of a line that still is what it was when it was entered. */
  const first = (key: string, line: Line, now: number): Entry | undefined => {
    for (let top = line.entries.peek(); top !== undefined; top = line.entries.peek()) {
      const task = find(top.id);
      const holds =
        task?.status === 'ready' &&
        task.availableAt <= now &&
        RANK[task.priority] === top.rank &&
        isOpen(task) &&
        keyOf(task.routing) === key;
      const writer = holds ? inTheWay(task) : undefined;
      if (holds && writer === undefined) return top;
      line.entries.pop();
      if (writer !== undefined) setAside(top.id, writer);
      // A clock may be set back; what has been woken too early sleeps once more.
      if (task?.status === 'ready' && task.availableAt > now) later.push({ id: task.id, at: task.availableAt });
    }
    lines.delete(key);
    return undefined;
  };

  return {
    put(task, open) {
      if (task.status !== 'ready' || !open) return;
      if (task.availableAt > 0) later.push({ id: task.id, at: task.availableAt });
      else enter(task);
    },
    next(claimer, now) {
      wakeUp(now);
      let best: Entry | undefined;
      for (const [key, line] of lines) {
        if (!fits(line.routing, claimer)) continue;
        const entry = first(key, line, now);
        if (entry !== undefined && (best === undefined || isBefore(entry, best))) best = entry;
      }
      return best?.id;
    },
    stopped(writer) {
      const waiting = aside.get(writer) ?? [];
      aside.delete(writer);
      for (const id of waiting) {
        const task = find(id);
        if (task?.status === 'ready') enter(task);
      }
    },
    nextTime: () => later.peek()?.at,
  };
}

const keyOf = (routing: Routing): string => (routing === TASK_DEFAULTS.routing ? ANYBODY : keyText(routing));
const keyText = ({ agent, role, team, tags }: Routing): string =>
  agent !== null ? `agent ${agent}` : JSON.stringify([role, team, tags]);
const ANYBODY = keyText(TASK_DEFAULTS.routing);
