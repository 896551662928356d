/** `baton task list`: all tasks, one after another, however many there are. */
import type { TaskFilter } from '../core/store.ts';
import type { Task, TaskStatus } from '../core/task.ts';
import { taskJson } from '../core/task-json.ts';
import type { InSession } from './globals.ts';
import { createWriter, print } from './io.ts';
import { dim } from './style.ts';
import { oneLine, STATUS_WIDTH, status } from './text.ts';
import { createBlockedBy, reading } from './with-store.ts';

interface Options extends InSession {
  readonly status: readonly TaskStatus[];
}

export async function listTasks({ status: statuses, session, ...globals }: Options): Promise<void> {
  const filter: TaskFilter = {
    ...(statuses.length === 0 ? {} : { status: statuses }),
    ...(session === undefined ? {} : { session }),
  };
  await reading(globals, async (store) => {
    const out = createWriter();
    const blockedBy = createBlockedBy(store);
    let count = 0;
    for await (const task of store.tasks(filter)) {
      if (globals.json)
        await out.write(`${count === 0 ? '[' : ',\n'}${JSON.stringify(taskJson(task, await blockedBy(task)))}`);
      else await out.write(count === 0 ? `${HEADER}\n${row(task)}\n` : `${row(task)}\n`);
      count++;
    }
    if (globals.json) await out.write(count === 0 ? '[]\n' : ']\n');
    await out.end();
    if (count === 0 && !globals.json) print(nothing(statuses, session));
  });
}

// Widths that do not depend on the tasks: the first line is printed before the last is known.
const line = (id: string, state: string, priority: string, agent: string, title: string): string =>
  `${id.padEnd(19)}  ${state}  ${priority.padEnd(8)}  ${agent.padEnd(12)}  ${title}`;

const HEADER = dim(line('ID', 'STATUS'.padEnd(STATUS_WIDTH), 'PRIORITY', 'AGENT', 'TITLE'));

function row(task: Task): string {
  const agent = task.routing.agent ?? task.run?.agent ?? '-';
  return line(task.id, status(task.status, STATUS_WIDTH), task.priority, oneLine(agent), oneLine(task.title));
}

function nothing(statuses: readonly TaskStatus[], session: string | undefined): string {
  const where = session === undefined ? '' : ` in the session ${oneLine(session)}`;
  return statuses.length === 0 ? `there is no task${where}` : `no task${where} is ${statuses.join(' or ')}`;
}
