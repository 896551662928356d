/** `baton task add`: a task of a text, of a TASK, or of a title alone. Within a run it is a child of that run's task, as its tools make it. */
import { BatonError } from '../core/errors.ts';
import type { NewTask } from '../core/laws/messages.ts';
import type { TaskJson } from '../core/task-json.ts';
import { isoTime } from '../core/time.ts';
import type { Door } from '../runtime/doors.ts';
import { createTasks } from '../runtime/tasks/create-tasks.ts';
import { ordered } from '../runtime/tasks/ordered.ts';
import { repairing } from '../runtime/tasks/version-fallback.ts';
import { actorOf, runSender } from './caller.ts';
import { readConfig } from './config-file.ts';
import { doorOn } from './folder-door.ts';
import type { InSession } from './globals.ts';
import { note, print, printJson, readExactText, STDIN } from './io.ts';
import { newTasksOf } from './new-tasks.ts';
import { type OrderOptions, orderOf } from './order-options.ts';
import { taskLine } from './text.ts';
import { accepted, createTaskView, writing } from './with-store.ts';
import { workspaceHere } from './workspace-here.ts';

interface Options extends InSession, OrderOptions {
  readonly title?: string;
  readonly parent?: string;
  readonly status?: 'backlog' | 'ready';
}

export async function addTask(file: string | undefined, options: Options): Promise<void> {
  // All that can be wrong with the input is found before anything is opened or made.
  const given = withOptions(await readTasks(file, options.title), options);
  await writing(options, async (store, dir) => {
    const sender = await runSender(store, dir, 'cli');
    if (sender !== null) return tell(await ofRun(doorOn(store, dir, sender), given, options), options);
    const workspace = workspaceHere(dir);
    const order = orderOf(options, workspace);
    const fresh = { workspace, createdAt: isoTime(Date.now()) };
    const tasks = given.map((task) => ordered(task, order, fresh));
    const admission = { store, config: readConfig(dir), workspace, now: Date.now };
    const { answer, warnings } = await createTasks(admission, tasks, { by: await actorOf(store) });
    for (const warning of warnings) note(`baton: ${warning}`);
    const view = createTaskView(store);
    const made: TaskJson[] = [];
    for (const task of accepted(answer).tasks) made.push(await view(task));
    tell(made, options);
  });
}

function tell(made: readonly TaskJson[], { json }: Options): void {
  if (json) printJson(made.length === 1 ? made[0] : made);
  else print(made.map((task) => `added ${taskLine(task)}`).join('\n'));
}

/** What a tool may say of a task, and no more. */
async function ofRun(door: Door, tasks: readonly NewTask[], options: Options): Promise<TaskJson[]> {
  const { agent, ...order } = orderOf(options, process.cwd());
  const made: TaskJson[] = [];
  for (const { title, routing, priority, dependsOn, parentId, texts, ...more } of tasks) {
    const body = texts?.['body'];
    const isMore = Object.keys(more).length > 0 || Object.keys(order).length > 0;
    if (isMore || Object.keys(texts ?? {}).some((name) => name !== 'body'))
      throw new BatonError(
        'E_PERMISSION_DENIED',
        'expected of a run a title, a text, an agent, a priority, dependencies and a parent, got more',
        'a TASK is handed on with: baton send',
      );
    const named = agent ?? routing?.agent ?? null;
    made.push(
      await door.create({
        title,
        ...(body === undefined ? {} : { body }),
        ...(named === null ? {} : { agent: named }),
        ...(priority === undefined ? {} : { priority }),
        ...(dependsOn === undefined ? {} : { dependsOn: [...dependsOn] }),
        ...(parentId === undefined ? {} : { parentId }),
      }),
    );
  }
  return made;
}

/** Standard input is read where it is asked for, or where there is nothing else: a pipe that nobody closes must not hold up a title. */
async function readTasks(file: string | undefined, title: string | undefined): Promise<NewTask[]> {
  if (file === undefined && title !== undefined) return [{ title }];
  if ((file === undefined || file === STDIN) && process.stdin.isTTY) throw nothingGiven('a terminal');
  const text = await readExactText(file ?? STDIN);
  if (text.trim() !== '')
    return newTasksOf(text, { repair: repairing({ workspace: process.cwd(), now: isoTime(Date.now()) }) });
  if (title === undefined) throw nothingGiven('an empty text');
  return [{ title }];
}

const nothingGiven = (came: string): BatonError =>
  new BatonError('E_USAGE', `expected a --title, a FILE or text on standard input, got ${came}`, TRY);
const TRY = 'try: baton task add --title "Fix the login form"';

/** What the command line says goes before what the text says. */
function withOptions(tasks: readonly NewTask[], options: Options): NewTask[] {
  const { title, priority, parent, status, session, review, dependsOn } = options;
  if (title !== undefined && tasks.length > 1) {
    throw new BatonError('E_USAGE', `expected one task for --title, got ${tasks.length} in the text`);
  }
  return tasks.map((task) => {
    const named = title ?? task.title;
    if (named.trim() === '') throw new BatonError('E_USAGE', 'expected a text with words in it, or a --title', TRY);
    return {
      ...task,
      title: named,
      ...(priority === undefined ? {} : { priority }),
      ...(parent === undefined ? {} : { parentId: parent }),
      ...(status === undefined ? {} : { status }),
      ...(session === undefined ? {} : { session }),
      ...(review === true ? { reviewRequired: true } : {}),
      ...(dependsOn.length === 0 ? {} : { dependsOn: [...(task.dependsOn ?? []), ...dependsOn] }),
    };
  });
}
