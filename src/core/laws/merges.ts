/**
 * The way of accepted work into its branch. Work that was done in a worktree is done only once it is merged: what accepts it, a person or the
 * evidence, marks it as accepted; one Baton process takes it, merges it and records the result. Until then every other decision about it is refused.
 */
import type { Cause, Merging, Supervisor, Task } from '../task.ts';
import { type Decision, refused, same } from './decision.ts';
import type { Draft } from './draft.ts';
import type { TaskMessage } from './messages.ts';

type Of<T extends TaskMessage['type']> = Extract<TaskMessage, { type: T }>;

/** So many times a task is run again because its work did not merge; then a person has to look. */
const MOST_CONFLICTS = 3;

/** Whether a task is done only when its work is in its branch. */
export const needsMerge = ({ workspace, run }: Pick<Task, 'workspace' | 'run'>): boolean =>
  run !== null && workspace?.isolation === 'worktree' && workspace.merge !== 'never' && workspace.branch !== null;

/** Whether evidence alone is enough to merge the work. */
export const mergesByItself = ({ workspace }: Pick<Task, 'workspace'>, verdict: string | null): boolean =>
  workspace?.merge === 'always' || (workspace?.merge === 'proven' && verdict === 'proven');

/** Accepted, and not merged yet. It stays in review. */
export function accept(draft: Draft, task: Task, accepted: Merging['accepted'], fields: Partial<Task> = {}): void {
  draft.set(task.id, { cause: null, merging: { accepted, supervisor: null }, ...fields });
  draft.event('task.accepted', task.id, task.run?.id, { by: accepted, into: task.workspace?.branch ?? null });
}

/** The refusal of any other decision while a Baton process merges the task; null where none does. */
export function whileMerging({ id, merging, workspace }: Task): Decision | null {
  if (merging === null || merging.supervisor === null) return null;
  return refused(
    'E_MERGING',
    `${id} was accepted and is being merged into ${workspace?.branch ?? 'its branch'}`,
    `see how it ends: baton why ${id}`,
  );
}

const onlyRuntime = (draft: Draft): Decision =>
  refused('E_PERMISSION_DENIED', `only the runtime merges, and this came from ${draft.by.name}`);

const isSame = (a: Supervisor | null, b: Supervisor): boolean => a?.pid === b.pid && a.started === b.started;

/** One Baton takes accepted work; the others leave it alone. */
export function beginMerge(draft: Draft, task: Task, said: Of<'task.merge'>): Decision {
  if (draft.by.kind !== 'runtime') return onlyRuntime(draft);
  const { merging } = task;
  if (task.status !== 'review' || merging === null) {
    return refused('E_NOT_CLAIMABLE', `${task.id} is not accepted: it is ${task.status}`, `see: baton why ${task.id}`);
  }
  if (isSame(merging.supervisor, said.supervisor)) return same(task.id);
  if (merging.supervisor !== null && said.gone !== true) return whileMerging(task) as Decision;
  draft.set(task.id, { merging: { ...merging, supervisor: said.supervisor } });
  draft.event('merge.started', task.id, task.run?.id, { into: task.workspace?.branch ?? null });
  return draft.decision(task.session, [task.id]);
}

/** The result of a merge. Only the Baton process that took the task may record it. */
export function endMerge(draft: Draft, task: Task, said: Of<'task.merged'>): Decision {
  if (draft.by.kind !== 'runtime') return onlyRuntime(draft);
  const { merging } = task;
  if (task.status !== 'review' || merging === null || !isSame(merging.supervisor, said.supervisor)) {
    return refused('E_STALE_RUN', `${task.id} is not being merged by this Baton any more: it is ${task.status}`);
  }
  const { result, message = '', detail = {} } = said;
  const run = task.run?.id;
  if (result === 'merged') {
    draft.event('merge.done', task.id, run, detail);
    draft.transition(task.id, 'done', { cause: null, merging: null }, { merged: true });
  } else if (result === 'conflict' && task.conflicts < MOST_CONFLICTS) {
    const conflicts = task.conflicts + 1;
    draft.event('merge.conflict', task.id, run, { message, again: conflicts, most: MOST_CONFLICTS, ...detail });
    const cause: Cause = { code: 'E_MERGE_CONFLICT', message };
    // The work was good where it was done: that the branch has moved is no attempt that failed.
    const attempts = Math.max(0, task.attempts - 1);
    const fields = { cause, merging: null, conflicts, attempts, availableAt: 0 };
    draft.transition(task.id, 'ready', fields, { code: cause.code, again: conflicts });
  } else if (result === 'conflict') {
    draft.event('merge.conflict', task.id, run, { message, ...detail });
    draft.set(task.id, { cause: { code: 'E_MERGE_CONFLICT', message }, merging: null });
  } else {
    // What waits stays accepted: it is merged as soon as nothing is in the way.
    const waits = result === 'waits';
    draft.event(waits ? 'merge.waits' : 'merge.refused', task.id, run, { message, ...detail });
    const code = waits ? 'E_MERGE_WAITS' : 'E_MERGE_REFUSED';
    draft.set(task.id, { cause: { code, message }, merging: waits ? { ...merging, supervisor: null } : null });
  }
  return draft.decision(task.session, [task.id]);
}
