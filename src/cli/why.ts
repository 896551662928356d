/** `baton why`: why a task is as it is and what it waits for. */
import type { Task } from '../core/task.ts';
import { type Why, why } from '../core/why.ts';
import type { InSession } from './globals.ts';
import { print, printJson } from './io.ts';
import { bold, dim } from './style.ts';
import { details, oneLine, status, time } from './text.ts';
import { findTask, reading } from './with-store.ts';

export async function explain(id: string, { session, ...globals }: InSession): Promise<void> {
  await reading(globals, async (store) => {
    const task = await findTask(store, id, session);
    const others = new Map<string, Task | undefined>();
    for (const other of [...task.dependsOn, ...(task.cause?.task === undefined ? [] : [task.cause.task])]) {
      others.set(other, await store.find(other));
    }
    const running: Task[] = [];
    if (task.status === 'ready' && task.writes.length > 0) {
      for await (const other of store.tasks({ status: ['in-progress'] })) running.push(other);
      for (let { parentId } = task; parentId !== null; parentId = others.get(parentId)?.parentId ?? null) {
        others.set(parentId, await store.find(parentId));
      }
    }
    const found = why(task, await store.history(task.id), (other) => others.get(other), Date.now(), running);
    if (globals.json) printJson(found);
    else print(describe(found, task));
  });
}

function describe({ id, because, waitsFor, ...found }: Why, { title }: Task): string {
  const facts = because.map(({ event, at, by, detail }) => {
    const told = details(detail);
    return `  ${dim(time(at))}  ${event.padEnd(18)}  ${dim(`by ${oneLine(by)}`)}${told === '' ? '' : `  ${told}`}`;
  });
  const waits = waitsFor.flatMap((wait) => [
    `  ${oneLine(wait.text)}`,
    ...(wait.for === 'person' ? wait.try.map((command) => `    ${dim('try:')} ${command}`) : []),
  ]);
  return [
    `${bold(id)} is ${status(found.status)}  ${oneLine(title)}`,
    '\nBecause:',
    ...facts,
    ...(waits.length === 0 ? ['\nIt waits for nothing more.'] : ['\nIt waits for:', ...waits]),
  ].join('\n');
}
