/**
 * A handoff may say until when (`dueBy`). A task that is not over by then is told of once, and its run, if it had begun before, is ended. One look
 * through the tasks at the beginning; from then on the journal says what changes.
 */
import { isFinal, type Task } from '../core/task.ts';
import { isoTime, parseTime } from '../core/time.ts';
import { RUNTIME } from './actor.ts';
import type { Host } from './host.ts';

interface Deadlines {
  /** Tells of those that have passed by now. */
  look(): Promise<void>;
  close(): void;
}

/** Null where a task has none, or none that can be read. */
function dueBy({ metadata }: Pick<Task, 'metadata'>): number | null {
  const said = metadata['dueBy'];
  const at = typeof said === 'string' ? parseTime(said) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

export async function watchDeadlines(host: Host): Promise<Deadlines> {
  const open = new Map<string, number>();
  const note = (id: string, at: number | null): void => {
    if (at === null) open.delete(id);
    else open.set(id, at);
  };
  const close = host.watch.onRecord(({ changes }) => {
    for (const { task, set } of changes) {
      if (set.metadata !== undefined) note(task, dueBy({ metadata: set.metadata }));
      if (set.status !== undefined && isFinal(set.status)) open.delete(task);
    }
  });
  for await (const task of host.store.tasks()) {
    const at = isFinal(task.status) ? null : dueBy(task);
    if (at !== null) open.set(task.id, at);
  }

  return {
    close,
    async look() {
      for (const [id, at] of open) {
        if (at > host.now()) continue;
        open.delete(id);
        const task = await host.store.find(id);
        if (task !== undefined && !isFinal(task.status) && dueBy(task) === at) await tell(host, task, at);
      }
    },
  };
}

async function tell(host: Host, task: Task, at: number): Promise<void> {
  const dueBy = isoTime(at);
  const run = task.status === 'in-progress' && task.run?.status === 'running' ? task.run : null;
  const message = `${task.id} was due by ${dueBy} and is ${task.status}`;
  const isTold = (await host.store.history(task.id)).some(({ events }) =>
    events.some(({ type, detail }) => type === 'task.overdue' && detail?.['dueBy'] === dueBy),
  );
  if (!isTold) {
    await host.store.send({
      message: {
        type: 'note',
        event: 'task.overdue',
        task: task.id,
        ...(run === null ? {} : { run: run.id }),
        detail: { code: 'E_TIMEOUT', dueBy, status: task.status, message },
      },
      by: RUNTIME,
      // Whoever else looks at the same time tells nothing more.
      request: `overdue ${task.id} ${dueBy}`,
    });
    host.warn(message);
  }
  // One that was begun after it was due was begun by somebody who knew.
  if (run !== null && run.startedAt < at) host.runs.get(run.id)?.end('E_TIMEOUT', message);
}
