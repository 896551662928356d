/** The tasks that nothing will ever move on and that ask no person: there should be none. `baton doctor` names them and says what to type. */
import { standing } from '../core/standing.ts';
import type { Check, Store } from '../core/store.ts';
import { isFinal, type Task } from '../core/task.ts';
import { openQuestions } from './open-questions.ts';

export async function checkTasks(store: Store, now: number): Promise<Check[]> {
  const all = new Map<string, Task>();
  for await (const task of store.tasks()) all.set(task.id, task);
  const writers = [...all.values()].filter(({ status }) => status === 'in-progress');
  const questions = await openQuestions(store);
  const lost: Check[] = [];
  let open = 0;
  for (const task of all.values()) {
    if (isFinal(task.status)) continue;
    open += 1;
    const own = questions.filter((question) => question.task === task.id);
    const place = standing(task, { find: (id) => all.get(id), now, writers, questions: own });
    if (place.kind !== 'lost') continue;
    const detail = `nothing will move it on: ${place.reason}; try: ${place.try.join(' or ')}`;
    lost.push({ name: task.id, ok: false, detail });
  }
  const told = `${open} open, each of them can run, runs, waits for something that is named, or is in the inbox`;
  return lost.length === 0 ? [{ name: 'tasks', ok: true, detail: told }] : lost;
}
