/**
 * Two tasks that say they write the same place do not run side by side. What a task says is compared as it stands, by segments; symlinks are
 * resolved before it is said. A task that says nothing is kept from nothing: then the workspace is what keeps runs apart.
 */
import { isWithin } from '../policy.ts';
import type { Task } from '../task.ts';

type Find = (id: string) => Task | undefined;

interface InTheWay {
  readonly task: Task;
  /** What it writes there. */
  readonly path: string;
}

/** The first of the running tasks that writes where this one will; null where none does. */
export function writerInTheWay(task: Task, writers: Iterable<Task>, find: Find): InTheWay | null {
  if (task.writes.length === 0) return null;
  for (const writer of writers) {
    const path = writer.writes.find((theirs) => task.writes.some((mine) => overlap(mine, theirs)));
    if (path !== undefined && writer.id !== task.id && !isAbove(writer.id, task, find)) return { task: writer, path };
  }
  return null;
}

const overlap = (a: string, b: string): boolean => isWithin(a, [b]) || isWithin(b, [a]);

/** A task that runs and waits for what it delegated must not keep that from running. */
function isAbove(id: string, task: Task, find: Find): boolean {
  for (let { parentId } = task; parentId !== null; parentId = find(parentId)?.parentId ?? null) {
    if (parentId === id) return true;
  }
  return false;
}
