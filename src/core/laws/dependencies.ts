/** What tasks owe each other: no cycles, nothing starts before what it needs is done, and a failure reaches all that wait for it. */
import { hasFailed, type Task, type TaskStatus } from '../task.ts';
import type { Draft } from './draft.ts';

/** The first cycle through one of these tasks, as the path that closes it; null where there is none. */
export function findCycle(ids: readonly string[], dependsOn: (id: string) => readonly string[]): string[] | null {
  const done = new Set<string>();
  for (const start of ids) {
    // By hand and not by calls: a chain of dependencies may be longer than the stack.
    const path: string[] = [];
    const onPath = new Set<string>();
    const stack: { id: string; next: number }[] = [{ id: start, next: 0 }];
    while (stack.length > 0) {
      const top = stack[stack.length - 1] as { id: string; next: number };
      if (top.next === 0) {
        if (done.has(top.id)) {
          stack.pop();
          continue;
        }
        path.push(top.id);
        onPath.add(top.id);
      }
      const other = dependsOn(top.id)[top.next++];
      if (other === undefined) {
        done.add(top.id);
        onPath.delete(top.id);
        path.pop();
        stack.pop();
      } else if (onPath.has(other)) {
        return [...path.slice(path.indexOf(other)), other];
      } else if (!done.has(other)) {
        stack.push({ id: other, next: 0 });
      }
    }
  }
  return null;
}

/** The first of a task's dependencies that can never be done. */
export function failedDependency(draft: Draft, task: Task): Task | null {
  for (const id of task.dependsOn) {
    const other = draft.task(id);
    if (other !== undefined && hasFailed(other.status)) return other;
  }
  return null;
}

/**
 * The task that stands in the way, for ever or until it is retried: a dependency that failed, or what blocks a dependency that is
 * itself blocked for this reason.
 */
export function rootOfFailure(draft: Draft, task: Task): Task | null {
  const failed = failedDependency(draft, task);
  if (failed !== null) return failed;
  for (const id of task.dependsOn) {
    const cause = draft.task(id)?.cause;
    if (draft.task(id)?.status === 'blocked' && cause?.code === 'E_DEPENDENCY_FAILED' && cause.task !== undefined) {
      return draft.task(cause.task) ?? null;
    }
  }
  return null;
}

/** What the others have to know when a task takes a new status. `task` is as it was before. */
export function onTransition(draft: Draft, task: Task, to: TaskStatus): void {
  if (hasFailed(to)) blockDependents(draft, task.id, to);
  else if (hasFailed(task.status)) freeDependents(draft, task.id);
}

/** Whether a failure elsewhere still matters to it: it waits to be started. */
const isWaiting = (task: Task): boolean => task.status === 'backlog' || task.status === 'ready';

export const dependencyCause = (root: string, status: TaskStatus, was: TaskStatus) => ({
  code: 'E_DEPENDENCY_FAILED',
  message: `${root} is ${status}`,
  task: root,
  was,
});

function blockDependents(draft: Draft, root: string, status: TaskStatus): void {
  for (const id of reachable(draft, root)) {
    const task = draft.task(id);
    if (task === undefined || !isWaiting(task)) continue;
    const cause = dependencyCause(root, status, task.status);
    draft.transition(id, 'blocked', { cause, availableAt: 0 }, { code: cause.code, dependency: root });
  }
}

/** Those that were blocked for this task's sake go on, unless something else stands in their way. */
function freeDependents(draft: Draft, root: string): void {
  for (const id of reachable(draft, root)) {
    const task = draft.task(id);
    if (task?.status !== 'blocked' || task.cause?.code !== 'E_DEPENDENCY_FAILED' || task.cause.task !== root) continue;
    const other = rootOfFailure(draft, task);
    if (other !== null) {
      draft.set(id, { cause: dependencyCause(other.id, other.status, task.cause.was ?? 'ready') });
    } else if (task.cause.was === 'backlog') {
      // It cannot go back to the backlog, and nobody has said that it is ready.
      draft.set(id, {
        cause: { code: 'E_MOVED', message: `${root} goes on; this was in the backlog and waits to be made ready` },
      });
    } else {
      draft.transition(id, 'ready', { cause: null, availableAt: 0 }, { dependency: root });
    }
  }
}

/** All that depends on a task, nearest first, so that a chain is freed from its beginning. */
function* reachable(draft: Draft, root: string): Generator<string> {
  const seen = new Set([root]);
  let ring = [root];
  while (ring.length > 0) {
    const next: string[] = [];
    for (const id of ring) {
      for (const dependent of draft.dependents(id)) {
        if (seen.has(dependent)) continue;
        seen.add(dependent);
        next.push(dependent);
        yield dependent;
      }
    }
    ring = next;
  }
}
