/** `baton task add`: a task of a text, of a TASK, or of a title alone. Within a run it is a child of that run's task, as its tools make it. */
import { BatonError } from '../core/errors.ts';
import type { NewTask } from '../core/laws/messages.ts';
import type { Store } from '../core/store.ts';
import { DEFAULT_SESSION, type TaskPriority } from '../core/task.ts';
import { type TaskJson, taskJson } from '../core/task-json.ts';
import type { Door } from '../runtime/doors.ts';
import { runSender } from './caller.ts';
import { readConfig } from './config-file.ts';
import { doorOn } from './folder-door.ts';
import type { InSession } from './globals.ts';
import { print, printJson, readExactText, STDIN } from './io.ts';
import { newTasksOf } from './new-tasks.ts';
import { withRealWrites } from './real-writes.ts';
import { taskLine } from './text.ts';
import { ask, createBlockedBy, findTask, writing } from './with-store.ts';

interface Options extends InSession {
  readonly title?: string;
  readonly agent?: string;
  readonly priority?: TaskPriority;
  readonly dependsOn: readonly string[];
  readonly parent?: string;
  readonly status?: 'backlog' | 'ready';
  readonly review?: boolean;
}

export async function addTask(file: string | undefined, options: Options): Promise<void> {
  // All that can be wrong with the input is found before anything is opened or made.
  const given = await withRealWrites(withOptions(await readTasks(file, options.title), options), process.cwd());
  await writing(options, async (store, dir) => {
    const sender = await runSender(store, dir, 'cli');
    if (sender !== null) return tell(await ofRun(doorOn(store, dir, sender), given), options);
    const { delegation } = readConfig(dir);
    const tasks: NewTask[] = [];
    for (const item of given) tasks.push(await resolved(store, item, options));
    const answer = await ask(store, { type: 'task.add', tasks, maxDepth: delegation.max_depth });
    const blockedBy = createBlockedBy(store);
    const made: TaskJson[] = [];
    for (const task of answer.tasks) made.push(taskJson(task, await blockedBy(task)));
    tell(made, options);
  });
}

function tell(made: readonly TaskJson[], { json }: Options): void {
  if (json) printJson(made.length === 1 ? made[0] : made);
  else print(made.map((task) => `added ${taskLine(task)}`).join('\n'));
}

/** What a tool may say of a task, and no more. */
async function ofRun(door: Door, tasks: readonly NewTask[]): Promise<TaskJson[]> {
  const made: TaskJson[] = [];
  for (const { title, routing, priority, dependsOn, parentId, texts, ...more } of tasks) {
    const body = texts?.['body'];
    if (Object.keys(more).length > 0 || Object.keys(texts ?? {}).some((name) => name !== 'body'))
      throw new BatonError(
        'E_PERMISSION_DENIED',
        'expected of a run a title, a text, an agent, a priority, dependencies and a parent, got more',
        'a TASK is handed on with: baton send',
      );
    made.push(
      await door.create({
        title,
        ...(body === undefined ? {} : { body }),
        ...(routing?.agent == null ? {} : { agent: routing.agent }),
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
  if (text.trim() !== '') return newTasksOf(text);
  if (title === undefined) throw nothingGiven('an empty text');
  return [{ title }];
}

const nothingGiven = (came: string): BatonError =>
  new BatonError('E_USAGE', `expected a --title, a FILE or text on standard input, got ${came}`, TRY);
const TRY = 'try: baton task add --title "Fix the login form"';

/** What the command line says goes before what the text says. */
function withOptions(tasks: readonly NewTask[], options: Options): NewTask[] {
  const { title, agent, priority, parent, status, session, review, dependsOn } = options;
  if (title !== undefined && tasks.length > 1) {
    throw new BatonError('E_USAGE', `expected one task for --title, got ${tasks.length} in the text`);
  }
  return tasks.map((task) => {
    const named = title ?? task.title;
    if (named.trim() === '') throw new BatonError('E_USAGE', 'expected a text with words in it, or a --title', TRY);
    return {
      ...task,
      title: named,
      ...(agent === undefined ? {} : { routing: { ...task.routing, agent } }),
      ...(priority === undefined ? {} : { priority }),
      ...(parent === undefined ? {} : { parentId: parent }),
      ...(status === undefined ? {} : { status }),
      ...(session === undefined ? {} : { session }),
      ...(review === true ? { reviewRequired: true } : {}),
      ...(dependsOn.length === 0 ? {} : { dependsOn: [...(task.dependsOn ?? []), ...dependsOn] }),
    };
  });
}

/** Ids given on the command line may be external ones of any session; the laws know those of the task's own. */
async function resolved(store: Store, task: NewTask, { dependsOn, parent }: Options): Promise<NewTask> {
  const session = task.session ?? DEFAULT_SESSION;
  const idOf = async (name: string): Promise<string> =>
    ((await store.find(name, session)) ?? (await findTask(store, name))).id;
  const own = new Map<string, string>();
  for (const name of dependsOn) own.set(name, await idOf(name));
  return {
    ...(await withFreeId(store, task, session)),
    ...(parent === undefined ? {} : { parentId: await idOf(parent) }),
    ...(task.dependsOn === undefined ? {} : { dependsOn: task.dependsOn.map((name) => own.get(name) ?? name) }),
  };
}

/** An id that another session has used already is this task's external id; in the same session it is the same task, and refused. */
async function withFreeId(store: Store, task: NewTask, session: string): Promise<NewTask> {
  if (task.id === undefined) return task;
  const holder = await store.find(task.id);
  if (holder === undefined || holder.session === session) return task;
  const { id, ...rest } = task;
  return { ...rest, externalId: id };
}
