/** What a run sees: every node of the graph, but of the inbox only what is of its own session, as over HTTP and by its tools. A person sees everything. */
import { BatonError } from '../core/errors.ts';
import type { Store } from '../core/store.ts';
import { type Task, taskOfRun } from '../core/task.ts';
import type { Sender } from '../runtime/doors.ts';
import { runSender } from './caller.ts';

/** The run that calls, and its task; null where none does. A process of a run that is none of this folder is refused. */
export async function callingRun(store: Store, dir: string): Promise<{ sender: Sender; task: Task } | null> {
  const sender = await runSender(store, dir, 'cli');
  if (sender === null) return null;
  const task = sender.run === null ? undefined : await store.find(taskOfRun(sender.run) ?? '');
  if (task !== undefined) return { sender, task };
  throw new BatonError(
    'E_PERMISSION_DENIED',
    `expected a person, or a run of a task that is kept in ${dir}, got the ${sender.actor.name}`,
  );
}

/** The one session that is shown; undefined where all are. */
export async function shownSession(store: Store, dir: string, asked?: string): Promise<string | undefined> {
  const run = await callingRun(store, dir);
  return run === null ? asked : ownSession(run.task, asked);
}

export function ownSession({ session }: Task, asked: string | undefined): string {
  if (asked === undefined || asked === session) return session;
  throw new BatonError(
    'E_PERMISSION_DENIED',
    `expected a run to ask for what is of its session ${session}, got ${asked}`,
    'leave --session out: the run is known',
  );
}
