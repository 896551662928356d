/** Whether any run was live at a moment: what began then and hides where it comes from may be of that run, also when the run is long over. */
import type { Store } from '../core/store.ts';
import { isRunning, type Run, type Task } from '../core/task.ts';
import { bootId } from '../process/identity.ts';

/** Clocks are read one after the other, and what a run left behind may begin something while the run is being ended. */
const SLACK_MS = 1_000;

interface Span {
  readonly from: number;
  /** Null while it goes on. */
  readonly to: number | null;
}

const isWithin = (moment: number, { from, to }: Span): boolean =>
  moment >= from - SLACK_MS && (to === null || moment <= to + SLACK_MS);

/** No process that lives now comes from a run that another machine, or this one before it was last started, has supervised. */
function isOfAnotherBoot({ supervisor }: Run): boolean {
  const [, boot] = /^([0-9a-f-]{36})\//.exec(supervisor?.started ?? '') ?? [];
  return boot !== undefined && bootId() !== null && boot !== bootId();
}

export async function hadRunAt(store: Store, moment: number): Promise<boolean> {
  for await (const task of store.tasks()) {
    const { run } = task;
    if (run === null || isOfAnotherBoot(run)) continue;
    if (isWithin(moment, { from: run.startedAt, to: isRunning(task) ? null : (run.endedAt ?? task.updatedAt) }))
      return true;
    // Of a task that was run more than once only the last run stands in it.
    const mayBeEarlier = task.runs > 1 && moment < run.startedAt && moment >= task.createdAt - SLACK_MS;
    if (mayBeEarlier && (await earlierRuns(store, task)).some((span) => isWithin(moment, span))) return true;
  }
  return false;
}

/** From its claim until the task is no longer being worked on. */
async function earlierRuns(store: Store, { id }: Task): Promise<Span[]> {
  const spans: Span[] = [];
  let from: number | null = null;
  for (const { at, events } of await store.history(id)) {
    for (const { type, task, detail } of events) {
      if (task !== id) continue;
      if (type === 'run.started') from ??= at;
      if (type !== 'task.transitioned' || detail?.['from'] !== 'in-progress' || from === null) continue;
      spans.push({ from, to: at });
      from = null;
    }
  }
  return spans;
}
