/** A node goes on to its next stage: that stage's task, and what it was given. */
import type { Task } from '../task.ts';
import { add } from './add.ts';
import type { Decision } from './decision.ts';
import type { Draft } from './draft.ts';
import type { NextStage } from './messages.ts';
import { move } from './moves.ts';

const NOT_BEGUN: readonly string[] = ['backlog', 'ready', 'blocked'];

/** One run may hand on to several stages; what an earlier run handed on, or this one to the same stage, is replaced. */
const isReplaced = (there: Task, { metadata = {} }: NextStage['task']): boolean =>
  there.metadata['handedRun'] !== metadata['handedRun'] ||
  (there.metadata['stage'] === metadata['stage'] && there.metadata['node'] === metadata['node']);

/** The id of the stage's task, or why there is none. One that an earlier run of the same task had handed to, and that has not begun, is called off. */
export function handOn(
  draft: Draft,
  from: Task | null,
  { task, loads }: NextStage,
  node: string,
  stage: string,
): string | Decision {
  if (from !== null) {
    for (const id of [...draft.dependents(from.id)]) {
      const other = draft.task(id);
      if (other?.metadata['handedFrom'] !== from.id || !NOT_BEGUN.includes(other.status)) continue;
      if (!isReplaced(other, task)) continue;
      const moved = move(draft, other, 'cancelled', `${from.id} hands on anew`);
      if (moved.kind === 'refused') return moved;
    }
  }
  const made = add(draft, [task]);
  if (made.kind !== 'changed') return made;
  const id = made.facts.about[0] as string;
  for (const each of loads) draft.graph.load(id, each);
  draft.event('stage.handed', id, null, { node, stage, from: from?.id ?? null });
  return id;
}
