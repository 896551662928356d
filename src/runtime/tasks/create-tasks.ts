/** The one way to make tasks. Every interface reads its own bytes and says who sent them; all else is here. */
import type { Actor, NewTask } from '../../core/laws/messages.ts';
import type { Answer } from '../../core/store.ts';
import { newId } from '../../process/new-id.ts';
import { type Admission, type AdmitOptions, admitTasks } from './admit.ts';
import { noteFallbacks } from './version-fallback.ts';

export interface CreateOptions extends AdmitOptions {
  readonly by: Actor;
  /** The same id asked twice makes the tasks once. */
  readonly request?: string;
  /** How deep a delegation may go; config's limit where it is not said. */
  readonly maxDepth?: number;
}

interface Created {
  readonly answer: Answer;
  readonly warnings: readonly string[];
  /** Events that were recorded after those of the answer. */
  readonly noted: readonly string[];
}

/** All of them or none. Throws what the checks refuse; what the laws refuse is in the answer. */
export async function createTasks(
  admission: Admission,
  news: readonly NewTask[],
  { by, request, maxDepth, ...options }: CreateOptions,
): Promise<Created> {
  const { tasks, warnings } = await admitTasks(admission, news, options);
  const answer = await admission.store.send({
    message: { type: 'task.add', tasks, maxDepth: maxDepth ?? admission.config.delegation.max_depth },
    by,
    request: request ?? newId(),
  });
  const noted = answer.kind === 'changed' ? await noteFallbacks(admission.store, answer.tasks, tasks) : [];
  return { answer, warnings, noted };
}
