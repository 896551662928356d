/** `baton why`: why a task is as it is and what it waits for. */
import { isUndone, type Task } from '../core/task.ts';
import type { Why } from '../core/why.ts';
import { whyTask } from '../runtime/lookup.ts';
import type { InSession } from './globals.ts';
import { print, printJson } from './io.ts';
import { bold, dim } from './style.ts';
import { details, oneLine, status, time, verdictWord } from './text.ts';
import { findTask, reading } from './with-store.ts';

export async function explain(id: string, { session, ...globals }: InSession): Promise<void> {
  await reading(globals, async (store) => {
    const task = await findTask(store, id, session);
    const found = await whyTask(store, task, Date.now());
    if (globals.json) printJson(found);
    else print(describe(found, task));
  });
}

function describe({ id, because, waitsFor, ...found }: Why, task: Task): string {
  const state = isUndone(task) ? 'undone by a rollback' : `${status(found.status)}${verdictWord(found)}`;
  const facts = because.flatMap(({ event, at, by, detail: { findings, ...detail } }) => {
    const told = details(detail);
    return [
      `  ${dim(time(at))}  ${event.padEnd(18)}  ${dim(`by ${oneLine(by)}`)}${told === '' ? '' : `  ${told}`}`,
      ...linesOf(findings).map((line) => `      ${line}`),
    ];
  });
  const waits = waitsFor.flatMap((wait) => [
    ...wait.text.split('\n').map((line, i) => `${i === 0 ? '  ' : '      '}${oneLine(line)}`),
    ...(wait.for === 'person' ? wait.try.map((command) => `    ${dim('try:')} ${command}`) : []),
  ]);
  return [
    `${bold(id)} is ${state}  ${oneLine(task.title)}`,
    '\nBecause:',
    ...facts,
    ...(waits.length === 0 ? ['\nIt waits for nothing more.'] : ['\nIt waits for:', ...waits]),
  ].join('\n');
}

/** What was found, whole: the end of what a check printed is worth reading. */
const linesOf = (findings: unknown): string[] =>
  Array.isArray(findings) ? findings.flatMap((finding) => String(finding).split('\n')).map(oneLine) : [];
