/** Who calls `baton`: a person, unless the command comes from a run, or may come from one that hides it. */
import { BatonError } from '../core/errors.ts';
import type { Actor } from '../core/laws/messages.ts';
import type { Store } from '../core/store.ts';
import { isRunning, taskOfRun } from '../core/task.ts';
import { lineOfCaller, markOfCaller, orphanSince, runOfCaller } from '../process/caller.ts';
import type { Channel, Sender } from '../runtime/doors.ts';
import { markOf } from '../runtime/places.ts';
import { hadRunAt } from '../runtime/runs-then.ts';

/** What can't be told apart from a run, or from what one has left behind, approves nothing (DESIGN: an agent must not be able to play the person). */
const SOMEBODY: Actor = { kind: 'unknown', name: 'somebody, at the command line' };

export async function actorOf(store: Store): Promise<Actor> {
  const mark = markOfCaller();
  if (mark !== null) return { kind: 'agent', name: `agent of ${mark.run}` };
  return (await mayBeHidden(store)) ? SOMEBODY : { kind: 'person', name: 'user' };
}

/** A run speaks for itself where it can be seen that it is that one; else it is some agent. Null where no run calls. */
export async function runSender(store: Store, dir: string, channel: Channel): Promise<Sender | null> {
  const mark = markOfCaller();
  if (mark === null) return null;
  const name = `agent of ${mark.run}`;
  const some: Sender = { channel, run: null, agent: name, actor: { kind: 'agent', name } };
  // Another folder may have a run of the same name.
  if (mark.text !== markOf(dir, mark.run)) return some;
  const held = (await store.find(taskOfRun(mark.run) ?? ''))?.run;
  if (held?.id !== mark.run) return { ...some, run: mark.run };
  if (mark.startedBy !== held.supervisor?.pid) {
    throw new BatonError(
      'E_PERMISSION_DENIED',
      `expected a process of ${mark.run}, got one that its supervisor did not start`,
      'within a run, leave BATON_SOCKET and BATON_RUN_MARK as they are',
    );
  }
  return { channel, run: held.id, agent: held.agent, actor: { kind: 'agent', name: held.agent } };
}

/** Within a run `--as` is refused: a run is known, and speaks for nobody else. */
export function refuseAsWithinRun(as: string | undefined): void {
  const isWithin = runOfCaller() !== null || (process.env['BATON_SOCKET'] ?? '') !== '';
  if (as === undefined || !isWithin) return;
  throw new BatonError(
    'E_PERMISSION_DENIED',
    '--as is for people, and this comes from a run',
    'leave it out: the run is known',
  );
}

async function mayBeHidden(store: Store): Promise<boolean> {
  const line = lineOfCaller();
  for await (const task of store.tasks({ status: ['in-progress'] })) {
    const pid = isRunning(task) ? task.run?.supervisor?.pid : undefined;
    // What a supervisor has started is its agent, whatever became of its mark.
    if (pid !== undefined && line.includes(pid)) return true;
  }
  const began = orphanSince();
  return began !== null && (await hadRunAt(store, began));
}
