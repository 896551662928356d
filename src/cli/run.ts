/** `baton run`: a task to its end. Progress goes to stderr; stdout gets the block for the parent and nothing else. */
import { BatonError } from '../core/errors.ts';
import { isFields, parseJson } from '../core/fields.ts';
import type { NewTask } from '../core/laws/messages.ts';
import { emptyReport, type Outcome } from '../core/report.ts';
import type { Store } from '../core/store.ts';
import { DEFAULT_SESSION, isUndone, type Task } from '../core/task.ts';
import { eventsOf } from '../core/task-json.ts';
import { isoTime, timeStamp } from '../core/time.ts';
import { newSuffix } from '../process/new-id.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { aop1 } from '../protocol/index.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { endSession, type Host, kept, openHost, prepare, recover, workOn, writeJoined } from '../runtime/index.ts';
import { type InboxItem, waitingFor } from '../runtime/people-inbox.ts';
import { admitTasks } from '../runtime/tasks/admit.ts';
import { noteFallbacks } from '../runtime/tasks/version-fallback.ts';
import { openFeed } from '../session/feed.ts';
import { readConfig } from './config-file.ts';
import type { Globals } from './globals.ts';
import { withHandedOn } from './handed-on.ts';
import { waysOf } from './inbox.ts';
import { note, print, printJson } from './io.ts';
import { doLineFor } from './language.ts';
import { tasksOfMessages } from './new-tasks.ts';
import { createProgress, type Progress } from './progress.ts';
import { messagesToRun, type RunOptions, readRunInput } from './run-input.ts';
import { oneLine } from './text.ts';
import { countTokens } from './tokens.ts';
import { ENDING_RUNS, stoppedCode, untilStopped } from './until-stopped.ts';
import { ask, writing } from './with-store.ts';

interface Options extends Globals, RunOptions {
  readonly wait?: boolean;
}

export async function runFile(given: string, options: Options): Promise<void> {
  const now = Date.now();
  const session = options.session ?? `run-${timeStamp(now)}-${newSuffix(2)}`;
  const fresh = { now: isoTime(now), session };
  const messages = messagesToRun(await readRunInput(given), options, fresh);
  const leaving = untilStopped(ENDING_RUNS);
  await writing(options, async (store, dir) => {
    const config = readConfig(dir);
    const progress = createProgress(false);
    const host = await openHost({
      store,
      dir,
      config,
      workspace: process.cwd(),
      countTokens,
      onLive: (live) => progress.show(live),
      warn: (text) => progress.say(text),
    });
    const feed = openFeed(host);
    host.doLine = doLineFor({ store, dir, config, warn: host.warn, leaving, isQuiet: true });
    try {
      await recoverAloud(host, progress);
      const news = tasksOfMessages(messages).map((task) => withOptions(task, options));
      const isMine = await isNewSession(store, news);
      const { tasks, made, admitted } = await enter(host, messages, news, progress);
      if (options.json) {
        const sessions = new Set(tasks.map((task) => task.session));
        host.watch.onRecord((record) => {
          if (sessions.has(record.session)) for (const event of eventsOf(record)) printJson(event);
        });
      }
      await noteFallbacks(store, made, admitted);
      const ids = tasks.map(({ id }) => id);
      // Where it goes on after it was stopped, stages may be waiting already.
      const only = await toRun(store, ids);
      await workOn(host, { only, parallel: config.defaults.parallel, untilEmpty: true, leaving });
      if (options.wait === true) await untilAnswered(host, ids, leaving, config.defaults.parallel, progress);
      const after = await Promise.all(ids.map(async (id) => (await store.find(id)) as Task));
      const report = isMine && !leaving.aborted ? await endSession(sessionOf(host, after[0] as Task)) : null;
      await host.watch.caughtUp();
      progress.end();
      if (options.json) await printLast(host, after, report);
      else print(await blockFor(host, await withHandedOn(store, after)));
      await conclude(store, after, leaving);
    } finally {
      progress.end();
      await feed.close();
      await host.close();
    }
  });
}

export async function recoverAloud(host: Host, progress: Progress): Promise<void> {
  const { runs, ended } = await recover(host);
  if (runs.length > 0)
    progress.say(
      `${runs.length} runs of a Baton that died were given up (${runs.join(', ')}); processes ended: ${ended}`,
    );
}

const sessionOf = (host: Host, task: Task): Parameters<typeof endSession>[0] => ({
  store: host.store,
  dir: host.dir,
  session: task.session,
  auditPath: host.config.audit.storage_path,
  now: host.now(),
});

async function isNewSession(store: Store, news: readonly NewTask[]): Promise<boolean> {
  const session = news[0]?.session ?? DEFAULT_SESSION;
  for await (const _ of store.tasks({ session })) return false;
  return true;
}

interface Entered {
  readonly tasks: readonly Task[];
  /** Those that are new, and what they were made of. */
  readonly made: readonly Task[];
  readonly admitted: readonly NewTask[];
}

/** Makes the tasks, or finds them again: the same TASK in the same session is the same task. All is checked before anything is made. */
async function enter(
  host: Host,
  messages: readonly TaskMessage[],
  news: readonly NewTask[],
  progress: Progress,
): Promise<Entered> {
  const known: (Task | undefined)[] = [];
  for (const [i, item] of news.entries()) known.push(await findAgain(host.store, item, messages[i] as TaskMessage));
  const missing = news.filter((_, i) => known[i] === undefined);
  const inCheckout = news.length === 1;
  const { tasks: admitted, warnings } = await admitTasks(host, missing, { inCheckout });
  for (const warning of warnings) progress.say(warning);
  for (const [i, item] of news.entries()) {
    // What waits for others may need what these make first.
    if (known[i] !== undefined || (item.dependsOn ?? []).length > 0) continue;
    const candidate = {
      routing: { agent: null, role: null, team: null, tags: [], ...item.routing },
      fallback: null,
      cost: NOTHING,
      session: item.session ?? '',
    };
    const prepared = await prepare(host, candidate, messages[i] as TaskMessage).catch((cause: unknown) => {
      // It was admitted, so another model is tried in place of an agent that is not there.
      if (cause instanceof BatonError && cause.code === 'E_AGENT_NOT_FOUND') return null;
      throw cause;
    });
    if (prepared === null) continue;
    const { estimate, chosen } = prepared;
    if (estimate !== null)
      progress.say(
        `${item.externalId ?? item.title}: about $${estimate.usd.toFixed(4)} with ${chosen.model} (an estimate)`,
      );
  }
  const { max_depth: maxDepth } = host.config.delegation;
  const made =
    admitted.length === 0 ? [] : (await ask(host.store, { type: 'task.add', tasks: admitted, maxDepth })).tasks;
  for (const task of made) sayPlace(task, inCheckout, progress);
  let next = 0;
  const tasks = known.map((task) => task ?? (made[next++] as Task));
  for (const task of known) if (task !== undefined) await wakeUp(host.store, task, progress);
  return { tasks, made, admitted };
}

const withOptions = (task: NewTask, { priority, review, dependsOn }: Options): NewTask => ({
  ...task,
  ...(priority === undefined ? {} : { priority }),
  ...(review === true ? { reviewRequired: true } : {}),
  ...(dependsOn.length === 0 ? {} : { dependsOn: [...(task.dependsOn ?? []), ...dependsOn] }),
});

/** One task that a person runs works in their checkout, but for where another has it. */
function sayPlace({ id, workspace }: Task, inCheckout: boolean, progress: Progress): void {
  if (!inCheckout || workspace?.isolation !== 'worktree') return;
  progress.say(
    `${id} works in a worktree of its own, on top of ${workspace.branch ?? 'the commit that is checked out'}`,
  );
}

const NOTHING = { usd: 0, tokensInput: 0, tokensOutput: 0 };

async function findAgain(store: Store, item: NewTask, message: TaskMessage): Promise<Task | undefined> {
  const name = item.externalId ?? item.id;
  const task = name === undefined ? undefined : await store.find(name, item.session);
  if (task === undefined || task.session !== item.session) return undefined;
  if (isUndone(task)) return redoOf(store, task);
  const before = parseJson((await store.text(task.id, 'inputs/task.json')) ?? '');
  if (JSON.stringify(withoutTime(before)) === JSON.stringify(withoutTime(message))) return task;
  throw new BatonError(
    'E_DUPLICATE',
    `the session ${task.session} has another task ${name} already: ${task.id}, which is ${task.status}`,
    'give it another task_id, or another session with --session',
  );
}

/** The task that a rollback made in place of one that it undid, the latest; undefined where it made none. */
async function redoOf(store: Store, undone: Task): Promise<Task | undefined> {
  let last: Task | undefined;
  for await (const task of store.tasks({ session: undone.session }))
    if (task.metadata['anew'] === undone.id) last = task;
  return last !== undefined && isUndone(last) ? redoOf(store, last) : last;
}

/** When it was written down is not what it asks for. */
function withoutTime(value: unknown): unknown {
  if (!isFields(value) || !isFields(value['session'])) return value;
  return { ...value, session: { ...value['session'], created_at: null } };
}

async function wakeUp(store: Store, task: Task, progress: Progress): Promise<void> {
  const name = task.externalId ?? task.id;
  if (task.status === 'deadletter' || task.status === 'blocked') {
    await ask(
      store,
      task.status === 'deadletter'
        ? { type: 'task.retry', id: task.id }
        : { type: 'task.move', id: task.id, to: 'ready' },
    );
    progress.say(`${name} was ${task.status}; it is tried again`);
  } else if (task.status === 'backlog') await ask(store, { type: 'task.move', id: task.id, to: 'ready' });
  else if (task.status === 'ready') progress.say(`${name} goes on where it was left`);
  else progress.say(`${name} is ${task.status} already; nothing is run for it`);
}

/** `--wait`: until a person has answered, and what came of the answer; stages that were handed on to among it. */
async function untilAnswered(
  host: Host,
  ids: readonly string[],
  leaving: AbortSignal,
  parallel: number,
  progress: Progress,
): Promise<void> {
  for (;;) {
    // From here on nothing is missed: what is answered while we look is seen when we wait.
    let wake = (): void => {};
    let isChanged = false;
    const forget = host.watch.onRecord(({ changes }) => {
      if (!changes.some(({ set }) => set.status !== undefined)) return;
      isChanged = true;
      wake();
    });
    leaving.addEventListener('abort', () => wake(), { once: true });
    const waiting = (await together(host.store, ids)).filter(isWaiting);
    if (waiting.length === 0 || leaving.aborted) return forget();
    const items = await itemsOf(host.store, waiting);
    progress.say(`waits for a person: ${items.map(named).join(', ') || waiting.map(({ id }) => id).join(', ')}`);
    const before = new Map(waiting.map((task) => [task.id, task.updatedAt]));
    for (;;) {
      if (!isChanged && !leaving.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      isChanged = false;
      const now = await Promise.all(waiting.map(({ id }) => host.store.find(id)));
      if (leaving.aborted || now.some((task) => task !== undefined && task.updatedAt !== before.get(task.id))) break;
    }
    forget();
    const only = await toRun(host.store, ids);
    await workOn(host, { only, parallel, untilEmpty: true, leaving });
  }
}

const isWaiting = ({ status }: Task): boolean => status === 'review' || status === 'blocked';

const named = ({ id, task }: InboxItem): string => (task === null || task === id ? id : `${id} (${task})`);

/** The tasks as they are now, and what they have handed on. */
const together = async (store: Store, ids: readonly string[]): Promise<Task[]> =>
  withHandedOn(store, await Promise.all(ids.map(async (id) => (await store.find(id)) as Task)));

/** These tasks, what they have handed on, and what has to be done before them. */
async function toRun(store: Store, ids: readonly string[]): Promise<string[]> {
  const all = new Set((await together(store, ids)).map(({ id }) => id));
  // A set goes on with what is added while it is walked.
  for (const id of all) {
    const task = await store.find(id);
    if (task?.status !== 'done') for (const other of task?.dependsOn ?? []) all.add(other);
  }
  return [...all];
}

/** What stands in the inbox for these tasks. */
const itemsOf = async (store: Store, tasks: readonly Task[]): Promise<InboxItem[]> =>
  tasks.length === 0 ? [] : (await waitingFor(store)).filter((item) => tasks.some(({ id }) => id === item.task));

async function printLast(host: Host, tasks: readonly Task[], report: unknown): Promise<void> {
  const [only] = tasks;
  const response = tasks.length === 1 && only?.run ? await kept(host.dir, only.run.id, 'response.json') : null;
  if (response !== null) printJson(parseJson(response));
  else printJson(report ?? (await endSession(sessionOf(host, tasks[0] as Task))));
}

/** The block of one task as its run left it; of several, one block for all. */
async function blockFor(host: Host, tasks: readonly Task[]): Promise<string> {
  const [only] = tasks;
  const block = tasks.length === 1 && only?.run ? await kept(host.dir, only.run.id, 'block.txt') : null;
  if (block !== null) return block;
  const title = tasks.length === 1 ? (only?.title ?? '') : `${tasks.length} tasks of ${only?.session}`;
  const { file, summary } = await writeJoined(host, tasks, title, aop1.SUMMARY_CHARS.other);
  const report = {
    ...emptyReport(outcomeOf(tasks), summary),
    task: title,
    detailsFile: file,
    startedAt: isoTime(Math.min(...tasks.map(({ createdAt }) => createdAt))),
    completedAt: isoTime(Math.max(...tasks.map(({ updatedAt }) => updatedAt))),
    metrics: { done: String(tasks.filter(({ status }) => status === 'done').length), tasks: String(tasks.length) },
  };
  return aop1.fromReport(report).text;
}

/** Not to come any more without somebody doing something about the failure. */
const isLost = ({ status, cause }: Task): boolean =>
  status === 'deadletter' || status === 'cancelled' || (status === 'blocked' && cause?.code === 'E_DEPENDENCY_FAILED');

/** Of all of them together. What waits for a task that waits for a person waits for that person too. */
function outcomeOf(tasks: readonly Task[]): Outcome {
  if (tasks.every(({ status }) => status === 'done')) return 'done';
  if (!tasks.some(isLost)) return 'needs_review';
  return tasks.some(({ status }) => status === 'done') ? 'partial' : 'failed';
}

const MOST_TOLD = 10;

/** 0 done, 1 failed, 3 waits for a person; so for the stages that were handed on to. */
async function conclude(store: Store, asked: readonly Task[], leaving: AbortSignal): Promise<void> {
  const tasks = await withHandedOn(store, asked);
  const waiting = tasks.filter(isWaiting);
  const items = await itemsOf(store, waiting);
  // Whoever started it may be an agent, and reads what is noted too.
  for (const item of items.slice(0, MOST_TOLD))
    note(`baton: ${item.id} waits for a person: ${shorten(oneLine(item.question), 200)}\n  ${waysOf(item)}`);
  if (items.length > MOST_TOLD) note(`baton: ${items.length - MOST_TOLD} more wait for a person: baton inbox`);
  for (const { id } of waiting) {
    if (!items.some(({ task }) => task === id)) note(`baton: ${id} waits for a person: baton why ${id}`);
  }
  for (const task of tasks.slice(0, MOST_TOLD)) if (task.status === 'done') noteVerdict(task);
  if (leaving.aborted)
    note(`baton: stopped; it goes on with the same command and --session ${asked[0]?.session}, or with: baton work`);
  if (leaving.aborted) process.exitCode = stoppedCode(leaving, 1);
  else if (tasks.some(isLost)) process.exitCode = 1;
  else if (outcomeOf(tasks) !== 'done') process.exitCode = 3;
}

/** How sure it is that a task is done; where no check of Baton's says so, how to have one. */
function noteVerdict({ id, verdict }: Task): void {
  if (verdict === null) return;
  const more = verdict === 'unverified' ? `: see baton why ${id}; --check CMD and --expect PATH let Baton check` : '';
  note(`baton: ${id} is done (${verdict})${more}`);
}
