/** A TASK that does not fit its schema is the same task through every interface: repaired, and what it lost is recorded and told. */
import { isFields } from '../../core/fields.ts';
import type { NewTask } from '../../core/laws/messages.ts';
import type { Store } from '../../core/store.ts';
import { DEFAULT_SESSION, type Task } from '../../core/task.ts';
import { FALLBACK_KEY, repairTask } from '../../protocol/aop2/repair.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import type { Found } from '../../protocol/detect.ts';
import { RUNTIME } from '../actor.ts';
import { keptEnvelope } from '../envelope.ts';

interface Place {
  readonly session?: string;
  readonly workspace: string;
  /** As a time is written. */
  readonly now: string;
}

/** For `taskMessagesIn`: the TASK that a broken one is taken for; null where it is refused. */
export const repairing =
  ({ session = DEFAULT_SESSION, workspace, now }: Place) =>
  ({ value, problems }: Pick<Found, 'value' | 'problems'>): TaskMessage | null =>
    repairTask(value, problems, { now, session, workspace })?.message ?? null;

/** What was wrong with the TASK of a task, and what was lost; null for one that was valid. */
function fallbackOf(message: TaskMessage): Readonly<Record<string, unknown>> | null {
  const found = message.task.extensions?.[FALLBACK_KEY];
  return isFields(found) ? found : null;
}

/** The sentence for a person. */
export function fallbackWords(message: TaskMessage): string | null {
  const found = fallbackOf(message);
  if (found === null) return null;
  const lost = Array.isArray(found['lost']) && found['lost'].length > 0 ? `, without ${found['lost'].join(', ')}` : '';
  return `the TASK ${message.task.task_id} does not fit its schema (${found['reason']}: ${found['validation_error']}); it is run as a prompt${lost}`;
}

/** Records the event of the contract for each task whose TASK was repaired; returns what was recorded. */
export async function noteFallbacks(
  store: Pick<Store, 'send'>,
  made: readonly Task[],
  news: readonly NewTask[],
): Promise<readonly string[]> {
  const recorded: string[] = [];
  for (const [i, { texts }] of news.entries()) {
    const envelope = keptEnvelope(texts?.['inputs/task.json'] ?? null);
    const detail = envelope === null ? null : fallbackOf(envelope);
    const task = made[i];
    if (detail === null || task === undefined) continue;
    const message = { type: 'note' as const, event: 'protocol.version.fallback', task: task.id, detail };
    await store.send({ message, by: RUNTIME });
    recorded.push(message.event);
  }
  return recorded;
}
