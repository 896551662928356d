/** What every store does with a question before it writes anything: has it been answered, and if not, what do the laws say. */
import { decide } from '../core/laws/decide.ts';
import type { Decision } from '../core/laws/decision.ts';
import type { State } from '../core/state.ts';
import type { Answer, Ask } from '../core/store.ts';
import { compareTaskIds, type Task } from '../core/task.ts';

export function decideAsk(state: State, { message, by, request }: Ask, now: number): Decision {
  const before = request === undefined ? undefined : state.answered(request);
  if (before !== undefined) return { kind: 'same', about: before };
  const decision = decide(state, message, by, now);
  if (decision.kind !== 'changed' || request === undefined) return decision;
  return { kind: 'changed', facts: { ...decision.facts, request } };
}

/** The tasks that an answer speaks of, as they are now. */
export function answer(state: State, kind: 'changed' | 'same', about: readonly string[]): Answer {
  return { kind, tasks: about.map((id) => state.task(id)).filter((task) => task !== undefined) };
}

/** By id, or by an external id: of the session, or of any where only one has it. */
export function findTask(state: State, id: string, session: string | undefined): Task | undefined {
  const task = state.task(id);
  if (task !== undefined) return task;
  if (session !== undefined) return state.task(state.byExternalId(session, id) ?? '');
  const named = state.named(id);
  return named.length === 1 ? state.task(named[0] as string) : undefined;
}

/** Tasks are held in the order in which they came, which is that of their ids but for ids of one's own choice. */
export function inOrder(tasks: Iterable<Task>): Task[] {
  const list = [...tasks];
  for (let i = 1; i < list.length; i++) {
    if (compareTaskIds((list[i - 1] as Task).id, (list[i] as Task).id) > 0) {
      return list.sort((a, b) => compareTaskIds(a.id, b.id));
    }
  }
  return list;
}
