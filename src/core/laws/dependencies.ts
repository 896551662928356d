/** What tasks owe each other: no cycles, nothing starts before what it needs is done, and a failure reaches all that wait for it. */
import { type Cause, hasFailed, type Task, type TaskStatus } from '../task.ts';
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

/** The first of a task's dependencies that is not done. */
export const openDependency = (task: Task, find: (id: string) => Task | undefined): string | undefined =>
  task.dependsOn.find((id) => find(id)?.status !== 'done');

/** Whether a failure elsewhere still matters to it: it waits to be started. */
const isWaiting = (task: Task): boolean => task.status === 'backlog' || task.status === 'ready';

/** It is blocked for the sake of a task that failed. */
const isHeldUp = (task: Task): boolean => task.status === 'blocked' && task.cause?.code === 'E_DEPENDENCY_FAILED';

/**
 * The failed task that stands in the way, for ever or until it is retried; the one that its cause names where that is still true. Looks through
 * those that are blocked for other reasons: whoever waits for them waits for all that they wait for.
 */
export function rootOfFailure(draft: Draft, task: Task): Task | null {
  let first: Task | null = null;
  for (const root of rootsOfFailure(draft, task)) {
    if (root.id === task.cause?.task) return root;
    first ??= root;
  }
  return first;
}

function* rootsOfFailure(draft: Draft, task: Task): Generator<Task> {
  const seen = new Set<string>();
  const open = [task];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const id of at.dependsOn) {
      const other = draft.task(id);
      if (other === undefined || seen.has(id)) continue;
      seen.add(id);
      if (hasFailed(other.status)) yield other;
      else if (isHeldUp(other)) yield draft.task(other.cause?.task ?? '') ?? other;
      else if (other.status === 'blocked') open.push(other);
    }
  }
}

/** What the others have to know when a task takes a new status. `task` is as it was before. */
export function onTransition(draft: Draft, task: Task, to: TaskStatus): void {
  if (hasFailed(to) || hasFailed(task.status)) settle(draft, [...draft.dependents(task.id)], `${task.id} goes on`);
}

/**
 * Blocks those that wait for what has failed, and frees those for which that is no longer so: these tasks, and all that depend on them.
 * `because` says why one goes on.
 */
export function settle(draft: Draft, ids: readonly string[], because = 'its dependencies changed'): void {
  for (const id of downstream(draft, ids)) {
    const task = draft.task(id);
    if (task === undefined || !(isWaiting(task) || isHeldUp(task))) continue;
    const root = rootOfFailure(draft, task);
    if (root !== null) hold(draft, task, root);
    else if (isHeldUp(task)) free(draft, task, because);
  }
}

function hold(draft: Draft, task: Task, root: Task): void {
  const was = isHeldUp(task) ? (task.cause?.was ?? 'ready') : task.status;
  const cause: Cause = { code: 'E_DEPENDENCY_FAILED', message: `${root.id} is ${root.status}`, task: root.id, was };
  if (!isHeldUp(task)) {
    draft.transition(task.id, 'blocked', { cause, availableAt: 0 }, { code: cause.code, dependency: root.id });
  } else if (task.cause?.task !== root.id || task.cause.message !== cause.message) {
    draft.set(task.id, { cause });
  }
}

function free(draft: Draft, task: Task, because: string): void {
  if (task.cause?.was === 'backlog') {
    // It cannot go back to the backlog, and nobody has said that it is ready.
    const message = `${because}; this was in the backlog and waits to be made ready`;
    draft.set(task.id, { cause: { code: 'E_MOVED', message } });
  } else {
    draft.transition(task.id, 'ready', { cause: null, availableAt: 0 }, { reason: because });
  }
}

/** These tasks and all that depend on them, each after all of these that it depends on. By hand, as in `findCycle`. */
function downstream(draft: Draft, ids: readonly string[]): string[] {
  const seen = new Set<string>();
  const order: string[] = [];
  for (const start of ids) {
    const stack = seen.has(start) ? [] : [{ id: start, next: iterate(draft, start) }];
    seen.add(start);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const step = top.next.next();
      if (step.done === true) {
        order.push(top.id);
        stack.pop();
      } else if (!seen.has(step.value)) {
        seen.add(step.value);
        stack.push({ id: step.value, next: iterate(draft, step.value) });
      }
    }
  }
  return order.reverse();
}

const iterate = (draft: Draft, id: string): Iterator<string> => draft.dependents(id)[Symbol.iterator]();
