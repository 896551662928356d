/** `baton task list`: all tasks, one after another, however many there are. */
import type { TaskFilter } from '../core/store.ts';
import { isFinal, TASK_STATUSES, type TaskStatus } from '../core/task.ts';
import type { TaskJson } from '../core/task-json.ts';
import type { InSession } from './globals.ts';
import { createWriter, print } from './io.ts';
import { dim } from './style.ts';
import { oneLine, STATUS_WIDTH, status, verdictWord } from './text.ts';
import { createTaskView, reading } from './with-store.ts';

interface Options extends InSession {
  readonly status: readonly TaskStatus[];
  readonly open?: boolean;
}

/** What may still change by itself or by a person. */
const OPEN = TASK_STATUSES.filter((status) => !isFinal(status));

export async function listTasks({ status: asked, open = false, session, ...globals }: Options): Promise<void> {
  const statuses = open ? OPEN.filter((status) => asked.length === 0 || asked.includes(status)) : asked;
  const filter: TaskFilter = {
    ...(statuses.length === 0 ? {} : { status: statuses }),
    ...(session === undefined ? {} : { session }),
  };
  await reading(globals, async (store) => {
    const out = createWriter();
    const view = createTaskView(store);
    let count = 0;
    for await (const task of store.tasks(filter)) {
      const shown = await view(task);
      if (globals.json) await out.write(`${count === 0 ? '[' : ',\n'}${JSON.stringify(shown)}`);
      else await out.write(count === 0 ? `${HEADER}\n${row(shown)}\n` : `${row(shown)}\n`);
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

/** A task that waits for another is not shown as ready: no worker can take it. */
function row(task: TaskJson): string {
  const waiting = task.status === 'ready' && task.blockedBy.length > 0;
  const state = task.undone
    ? dim('undone'.padEnd(STATUS_WIDTH))
    : waiting
      ? dim('waiting'.padEnd(STATUS_WIDTH))
      : status(task.status, STATUS_WIDTH);
  const name = task.externalId === null ? '' : `${dim(`[${oneLine(task.externalId)}]`)} `;
  const after = waiting ? dim(`  after ${task.blockedBy.join(', ')}`) : '';
  return line(
    task.id,
    state,
    task.priority,
    oneLine(task.agent ?? '-'),
    `${name}${oneLine(task.title)}${dim(verdictWord(task))}${after}`,
  );
}

function nothing(statuses: readonly TaskStatus[], session: string | undefined): string {
  const where = session === undefined ? '' : ` in the session ${oneLine(session)}`;
  return statuses.length === 0 ? `there is no task${where}` : `no task${where} is ${statuses.join(' or ')}`;
}
