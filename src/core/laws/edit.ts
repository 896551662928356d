/** Changing what a task says: its title, how urgent it is, who should do it, what it waits for. */
import { isFinal, type Task } from '../task.ts';
import { closesCycle } from './add.ts';
import { type Decision, refused, same } from './decision.ts';
import { dependencyCause, findCycle, rootOfFailure } from './dependencies.ts';
import type { Draft } from './draft.ts';
import type { TaskMessage } from './messages.ts';

type Edit = Extract<TaskMessage, { type: 'task.edit' }>;

export function edit(draft: Draft, task: Task, asked: Edit): Decision {
  if (isFinal(task.status)) return refused('E_ILLEGAL_MOVE', `${task.id} is ${task.status}, and that is final`);
  if (asked.title !== undefined && asked.title.trim() === '') {
    return refused('E_SCHEMA_VALIDATION', `expected a title for ${task.id}, got an empty text`);
  }
  const dependsOn = asked.dependsOn === undefined ? undefined : resolve(draft, task, asked.dependsOn);
  if (dependsOn !== undefined && !Array.isArray(dependsOn)) return dependsOn as Decision;
  const wanted: Partial<Task> = {
    ...(asked.title === undefined ? {} : { title: asked.title }),
    ...(asked.priority === undefined ? {} : { priority: asked.priority }),
    ...(asked.routing === undefined ? {} : { routing: { ...task.routing, ...asked.routing } }),
    ...(dependsOn === undefined ? {} : { dependsOn: dependsOn as string[] }),
    ...(asked.reviewRequired === undefined ? {} : { reviewRequired: asked.reviewRequired }),
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
    draft.event('task.escalated', task.id, null, { from: task.priority, to: asked.priority });
  }
  if (changed.includes('dependsOn')) settle(draft, task);
  return draft.decision(task.session, [task.id]);
}

function resolve(draft: Draft, task: Task, names: readonly string[]): string[] | Decision {
  if (task.status !== 'backlog' && task.status !== 'ready' && task.status !== 'blocked') {
    return refused('E_ILLEGAL_MOVE', `${task.id} is ${task.status}; what it depends on can no longer change`);
  }
  const ids: string[] = [];
  for (const name of names) {
    const id = draft.task(name)?.id ?? draft.slice.byExternalId(task.session, name);
    if (id === undefined) {
      return refused('E_NOT_FOUND', `there is no task ${name}, which ${task.id} is to depend on`);
    }
    if (!ids.includes(id)) ids.push(id);
  }
  const cycle = findCycle([task.id], (id) => (id === task.id ? ids : (draft.task(id)?.dependsOn ?? [])));
  return cycle === null ? ids : closesCycle(cycle);
}

/** New dependencies may stand in its way, or no longer. */
function settle(draft: Draft, before: Task): void {
  const task = draft.task(before.id) as Task;
  const root = rootOfFailure(draft, task);
  const isStuck = task.status === 'blocked' && task.cause?.code === 'E_DEPENDENCY_FAILED';
  if (root !== null && task.status !== 'blocked') {
    const cause = dependencyCause(root.id, root.status, task.status);
    draft.transition(task.id, 'blocked', { cause, availableAt: 0 }, { code: cause.code, dependency: root.id });
  } else if (root === null && isStuck && task.cause?.was !== 'backlog') {
    draft.transition(task.id, 'ready', { cause: null, availableAt: 0 }, { reason: 'its dependencies changed' });
  }
}
