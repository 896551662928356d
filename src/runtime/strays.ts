/** Processes of runs that are over. They are known by their mark, and by what the run's records say of its programs. */
import { BatonError } from '../core/errors.ts';
import type { StoredRecord } from '../core/store.ts';
import { type Supervisor, type Task, taskOfRun } from '../core/task.ts';
import { marksEnding } from '../process/census.ts';
import { endMarked } from '../process/end.ts';
import { isMark, type ProcessMark } from '../process/identity.ts';
import type { Ended } from '../process/types.ts';
import { createFacts, type Facts } from './facts.ts';
import type { Host } from './host.ts';
import { markOf } from './places.ts';
import { isSupervisorGone } from './supervisors.ts';
import { GRACE_MS } from './turn.ts';

/** Ends all that is left of a run, and writes down what that was. */
export async function endRun(host: Host, run: string, history: readonly StoredRecord[], facts: Facts): Promise<Ended> {
  const ended = await endMarked(markOf(host.dir, run), GRACE_MS, programsOf(history, run));
  const { swept, signal, left } = ended;
  if (swept.length > 0) facts.tell('run.swept', { pids: swept, signal, ...(left.length === 0 ? {} : { left }) });
  return ended;
}

/** The programs that a run has started, as they were written down. */
function programsOf(history: readonly StoredRecord[], run: string): ProcessMark[] {
  const found: ProcessMark[] = [];
  for (const { events } of history) {
    for (const event of events) {
      if (event.type !== 'run.process' || event.run !== run) continue;
      const { pid, started } = event.detail ?? {};
      const mark = { pid, started };
      if (isMark(mark)) found.push(mark);
    }
  }
  return found;
}

/** The runs whose processes are on this machine now, by their marks. */
function runsHere(host: Host): string[] {
  const end = markOf(host.dir, '');
  return marksEnding(end).map((mark) => mark.slice(0, -end.length));
}

/**
 * Before a task is run again nothing of its earlier runs is alive, whoever should have ended it. Throws where something cannot be ended: two at
 * work on one task is worse than none.
 */
export async function endEarlierRuns(host: Host, task: Task, facts: Facts): Promise<void> {
  if (task.runs < 2) return;
  const earlier = runsHere(host).filter((run) => run !== task.run?.id && taskOfRun(run) === task.id);
  for (const run of earlier) {
    const { left } = await endRun(host, run, await host.store.history(task.id), facts);
    if (left.length === 0) continue;
    throw new BatonError(
      'E_PROCESS_CRASH',
      `expected nothing of ${run} to be alive before ${task.id} is run again; these processes could not be ended: ${left.join(', ')}`,
    );
  }
}

/** Ends what is left of runs that are over and whose supervisor is gone too: one was cancelled, say, when there was nobody to end it. */
export async function endStrays(host: Host): Promise<number> {
  let ended = 0;
  for (const run of runsHere(host)) {
    const id = taskOfRun(run);
    const task = id === null ? undefined : await host.store.find(id);
    if (task === undefined || (task.run?.id === run && task.run.status === 'running')) continue;
    const history = await host.store.history(task.id);
    const supervisor = supervisorOf(history, run);
    if (supervisor === null || !isSupervisorGone(host, supervisor)) continue;
    const facts = createFacts(host.store, task.id, run);
    ended += (await endRun(host, run, history, facts)).swept.length;
    await facts.written();
  }
  return ended;
}

function supervisorOf(history: readonly StoredRecord[], run: string): Supervisor | null {
  for (const { changes } of history) {
    for (const { set } of changes) if (set.run?.id === run && set.run.supervisor !== null) return set.run.supervisor;
  }
  return null;
}
