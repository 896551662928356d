/** The questions that somebody has to answer: open, and of a task that still waits for the answer. */
import { isVoid, type Question } from '../core/question.ts';
import type { Store } from '../core/store.ts';

/** Of one session, or of all. */
export async function openQuestions(
  store: Pick<Store, 'questions' | 'find'>,
  session?: string,
): Promise<readonly Question[]> {
  const open: Question[] = [];
  for (const question of await store.questions({ open: true, ...(session === undefined ? {} : { session }) }))
    if (!(await needsNoAnswer(store, question))) open.push(question);
  return open;
}

/** Its task is over, or is done anew: an answer would change nothing. */
export const needsNoAnswer = async (store: Pick<Store, 'find'>, question: Question): Promise<boolean> =>
  isVoid(question, question.task === null ? undefined : await store.find(question.task));
