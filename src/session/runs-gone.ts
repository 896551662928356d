/** Until nothing of a session's runs that were stopped is at work any more: before its files are changed. */
import type { Run, Task } from '../core/task.ts';
import { findMarked } from '../process/census.ts';
import { endMarked } from '../process/end.ts';
import { isAlive } from '../process/identity.ts';
import { pause } from '../process/waiting.ts';
import { markOf } from '../runtime/places.ts';
import type { Call } from './call.ts';
import { sessionTasks } from './lookup.ts';

const LOOK_MS = 50;
/** An agent has some seconds to end, and what it started as well. */
const MOST_MS = 60_000;
/** Of runs that were stopped before, those of the last minutes may still be ending. */
const BACK_MS = 10 * 60_000;
const GRACE_MS = 2_000;

/** The run that is still at work when the time is over; null where there is none. */
export async function whenGone(call: Call, mostMs = MOST_MS): Promise<string | null> {
  const began = Date.now();
  const open = (await sessionTasks(call)).filter((task) => wasStopped(task, call));
  while (open.length > 0) {
    const [task] = open as [Task];
    if (await isGone(call, task)) open.shift();
    else if (Date.now() - began > mostMs || call.signal.aborted) return (task.run as Run).id;
    else await pause(LOOK_MS, call.signal);
  }
  return null;
}

const wasStopped = ({ run }: Task, { now }: Call): boolean =>
  run !== null && run.supervisor !== null && run.status === 'cancelled' && (run.endedAt ?? 0) > now() - BACK_MS;

/** Whoever watches over a run tells what it printed when all of it is over. Where nobody does any more, its processes are looked for. */
async function isGone({ store, dir }: Call, { id, run }: Task): Promise<boolean> {
  const { id: name, supervisor } = run as Run;
  const history = await store.history(id);
  if (history.some(({ events }) => events.some((event) => event.type === 'run.output' && event.run === name)))
    return true;
  if (supervisor === null || isAlive(supervisor) !== 'gone' || dir === null) return supervisor === null;
  const mark = markOf(dir, name);
  if (findMarked(mark).length > 0) await endMarked(mark, GRACE_MS, []);
  return findMarked(mark).length === 0;
}
