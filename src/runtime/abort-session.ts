/** `on_failure: ABORT_SESSION`: when a task has failed for good, the rest of its session is not begun, and what runs of it is stopped. */
import { isFinal, type Task } from '../core/task.ts';
import { policyOf } from '../protocol/aop2/policy.ts';
import { RUNTIME } from './actor.ts';
import { keptEnvelope } from './envelope.ts';
import type { Host } from './host.ts';

type Failed = Pick<Task, 'id' | 'session' | 'lastTransitionAt'>;

/** What came to the session after the failure is none of its rest. */
export async function abortSession({ store }: Pick<Host, 'store'>, failed: Failed): Promise<void> {
  for await (const other of store.tasks({ session: failed.session })) {
    if (other.id === failed.id || isFinal(other.status) || other.status === 'deadletter') continue;
    if (other.createdAt > failed.lastTransitionAt) continue;
    const reason = `${failed.id} failed, and its policy ends the session with it`;
    await store.send({ message: { type: 'task.cancel', id: other.id, reason }, by: RUNTIME });
  }
}

/** Where Baton died after a failure and before it has ended the session. */
export async function finishAborts({ store }: Pick<Host, 'store'>): Promise<void> {
  const failed: Failed[] = [];
  for await (const task of store.tasks({ status: ['deadletter'] })) {
    // One that a person put aside has not failed.
    if (task.cause?.code === 'E_MOVED') continue;
    const message = keptEnvelope(await store.text(task.id, 'inputs/task.json'));
    if (message !== null && policyOf(message).onFailure === 'ABORT_SESSION') failed.push(task);
  }
  for (const task of failed) await abortSession({ store }, task);
}
