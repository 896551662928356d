/** Changing what a task says: its title, how urgent it is, who should do it, what it waits for. */
import { isFinal, type Task } from '../task.ts';
import { closesCycle } from './add.ts';
import { type Decision, refused, same } from './decision.ts';
import { findCycle, settle } from './dependencies.ts';
import type { Draft } from './draft.ts';
import type { TaskMessage } from './messages.ts';
import { mayApprove } from './moves.ts';
import { namesProblem } from './names.ts';

type Edit = Extract<TaskMessage, { type: 'task.edit' }>;

export function edit(draft: Draft, task: Task, asked: Edit): Decision {
  if (isFinal(task.status)) return refused('E_ILLEGAL_MOVE', `${task.id} is ${task.status}, and that is final`);
  if (task.reviewRequired && asked.reviewRequired === false && !mayApprove(draft.by, task)) {
    return refused(
      'E_PERMISSION_DENIED',
      `only a person may say that ${task.id} needs no review, and this came from ${draft.by.name}`,
    );
  }
  if (asked.seen !== undefined && asked.seen !== task.updatedAt) {
    return refused('E_NOT_CLAIMABLE', `${task.id} has changed since it was read`);
  }
  const unnamed = namesProblem(asked);
  if (unnamed !== null) return refused('E_SCHEMA_VALIDATION', `${task.id}: ${unnamed}`);
  const dependsOn = asked.dependsOn === undefined ? undefined : resolve(draft, task, asked.dependsOn);
  if (dependsOn !== undefined && !Array.isArray(dependsOn)) return dependsOn as Decision;
  const wanted: Partial<Task> = {
    ...(asked.title === undefined ? {} : { title: asked.title }),
    ...(asked.priority === undefined ? {} : { priority: asked.priority }),
    ...(asked.routing === undefined ? {} : { routing: { ...task.routing, ...asked.routing } }),
    ...(asked.model === undefined ? {} : { model: asked.model }),
    ...(asked.workspace === undefined ? {} : { workspace: asked.workspace }),
    ...(asked.writes === undefined ? {} : { writes: asked.writes }),
    ...(asked.retry === undefined ? {} : { retry: asked.retry }),
    ...(dependsOn === undefined ? {} : { dependsOn: dependsOn as string[] }),
    ...(asked.reviewRequired === undefined ? {} : { reviewRequired: asked.reviewRequired }),
    // With no review to wait for, the evidence decides: it is looked at once more.
    ...(asked.reviewRequired === false && task.status === 'review' ? { verdict: null } : {}),
    ...(asked.metadata === undefined ? {} : { metadata: asked.metadata }),
  };
  const fields = Object.keys(wanted) as (keyof Task)[];
  const changed = fields.filter((field) => JSON.stringify(wanted[field]) !== JSON.stringify(task[field]));
  const texts = asked.texts === undefined ? [] : Object.keys(asked.texts);
  if (changed.length === 0 && texts.length === 0) return same(task.id);
  const set = Object.fromEntries(changed.map((field) => [field, wanted[field]]));
  draft.set(task.id, set as Partial<Task>, asked.texts);
  draft.event('task.edited', task.id, null, {
    ...Object.fromEntries(changed.map((field) => [field, { from: task[field], to: wanted[field] }])),
    ...(texts.length === 0 ? {} : { texts }),
  });
  if (changed.includes('priority')) {
    draft.event('task.escalated', task.id, null, {
      from: task.priority,
      to: asked.priority,
      ...(asked.reason === undefined ? {} : { reason: asked.reason }),
      ...(asked.escalatedBy === undefined ? {} : { escalatedBy: asked.escalatedBy }),
    });
  }
  if (changed.includes('dependsOn')) settle(draft, [task.id]);
  return draft.decision(task.session, [task.id]);
}

function resolve(draft: Draft, task: Task, names: readonly string[]): string[] | Decision {
  const ids: string[] = [];
  for (const name of names) {
    const id = draft.task(name)?.id ?? draft.slice.byExternalId(task.session, name);
    if (id === undefined) {
      return refused('E_NOT_FOUND', `there is no task ${name}, which ${task.id} is to depend on`);
    }
    if (!ids.includes(id)) ids.push(id);
  }
  const isSame = JSON.stringify(ids) === JSON.stringify(task.dependsOn);
  // An agent at work may say that it needs one more task: that counts when its own starts again.
  const isAdded =
    task.status === 'in-progress' && draft.by.kind === 'agent' && task.dependsOn.every((id) => ids.includes(id));
  if (!isSame && !isAdded && (task.status === 'in-progress' || task.status === 'review')) {
    return refused('E_ILLEGAL_MOVE', `${task.id} is ${task.status}; what it depends on can no longer change`);
  }
  const cycle = findCycle([task.id], (id) => (id === task.id ? ids : (draft.task(id)?.dependsOn ?? [])));
  return cycle === null ? ids : closesCycle(cycle);
}
