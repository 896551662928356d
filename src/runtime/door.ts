/**
 * What an agent may ask for through tools, whatever the tools come by (MCP, the run's socket, HTTP). What changes a task goes through the router
 * as the message that it stands for, so that one law holds for all doors.
 */
import type { Config } from '../core/config.ts';
import { BatonError } from '../core/errors.ts';
import type { Refusal } from '../core/laws/decision.ts';
import type { NewTask } from '../core/laws/messages.ts';
import type { Store } from '../core/store.ts';
import { type Task, taskOfRun } from '../core/task.ts';
import type { TaskJson } from '../core/task-json.ts';
import { isoTime } from '../core/time.ts';
import { decodeAofValue, NO_TASK } from '../protocol/aof/index.ts';
import { SUMMARY_CHARS_MOST } from '../protocol/aop1/limits.ts';
import type { Message } from '../protocol/message.ts';
import { charCount } from '../protocol/text/clean.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { childMessage, taskMessage } from './child.ts';
import { contextOf } from './door-context.ts';
import { loadFor } from './door-load.ts';
import { waitForTasks } from './door-wait.ts';
import type { DoLine, Door, Routed, Router, Sender } from './doors.ts';
import { markRead, unread } from './letters.ts';
import { createTaskView, findTask } from './lookup.ts';
import { MOST_TITLE } from './new-tasks.ts';
import { notDelegable } from './route-handoff.ts';
import { isRefusal, ownTask } from './route-who.ts';
import type { Answered } from './routed.ts';
import { createTasks } from './tasks/create-tasks.ts';

interface DoorOptions {
  readonly store: Store;
  readonly config: Config;
  readonly router: Router;
  readonly sender: Sender;
  readonly now?: () => number;
  /** Where tasks work that do not say where. */
  readonly workspace?: string;
  /** Where programs of agents are looked for; that of this process where it is not given. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** The data folder: what a handoff refers to is found there. */
  readonly dir?: string;
  /** Who understands the session language; without one no line is taken here. */
  readonly doLine?: DoLine | null;
  /** What is asked through this door, by a name of its own: a task that is made under it is made once. */
  readonly request?: string;
}

const MOST_LISTED = 100;
const CONTEXT_CHARS = 8_000;

export function openDoor(options: DoorOptions): Door {
  const { store, config, router, sender, now = Date.now, workspace = '/', environment = process.env } = options;
  const parts = { store, config, now, environment, runs: { add: () => () => {}, get: () => undefined }, workspace };
  const shown = (task: Task): Promise<TaskJson> => createTaskView(store, now())(task);

  const own = async (): Promise<Task | null> => {
    const task = await ownTask(parts, sender);
    if (isRefusal(task)) throw new BatonError(task.code, task.message, task.hint);
    return task;
  };

  /** The task that is named; that of the run where none is. */
  const named = async (id: string | undefined): Promise<Task> => {
    if (id !== undefined) {
      const mine = sender.run === null ? null : await own();
      if (mine !== null && (id === mine.id || id === mine.externalId)) return mine;
      return findTask(store, id);
    }
    const mine = await own();
    if (mine === null) throw new BatonError('E_USAGE', 'expected a taskId: this does not come from a run');
    return mine;
  };

  /** What is refused before the router hears of it is written down here, as the router would. */
  const asked = async <T>(type: string, look: () => Promise<T>): Promise<T> => {
    try {
      return await look();
    } catch (cause) {
      if (cause instanceof BatonError) await rejected(store, sender, null, cause.code, cause.message, type);
      throw cause;
    }
  };

  const visible = async (ids: readonly string[]): Promise<Task[]> => {
    const mine = await own();
    const tasks: Task[] = [];
    for (const id of ids) {
      const task = await named(id);
      if (mine !== null && task.id !== mine.id && task.parentId !== mine.id) throw notYours(mine, task);
      tasks.push(task);
    }
    return tasks;
  };

  const say = async (
    type: string,
    task: Task,
    payload: object,
    more: object = {},
    extra: object = {},
  ): Promise<Routed> => {
    const message = decodeAofValue({
      protocol: 'aof',
      version: 1,
      type,
      taskId: task.id,
      fromAgent: sender.agent ?? sender.actor.name,
      sentAt: isoTime(now()),
      ...more,
      payload,
    });
    const value = { ...(message.value as object), payload: { ...payload, ...extra } };
    const routed = await router.message({ ...message, value }, sender);
    if (routed.result !== 'accepted') throw refusalOf(routed);
    return routed;
  };

  const create: Door['create'] = async (ask) => {
    const mine = await asked('task.create', own);
    const { parentId } = ask;
    const parent = parentId === undefined ? mine : await asked('task.create', () => named(parentId));
    const title = shorten(ask.title.trim(), MOST_TITLE);
    const made: NewTask = {
      title,
      ...(parent === null ? {} : { parentId: parent.id }),
      ...(ask.agent === undefined ? {} : { routing: { agent: ask.agent } }),
      ...(ask.priority === undefined ? {} : { priority: ask.priority }),
      ...(ask.dependsOn === undefined ? {} : { dependsOn: ask.dependsOn }),
      ...(ask.body === undefined ? {} : { texts: { body: ask.body } }),
    };
    const whole = parent === null ? made : await asChild(parts, sender, parent, mine, made, ask.title);
    const refused = async ({ code, message: reason, hint }: BatonError | Refusal): Promise<never> => {
      await rejected(store, sender, parent, code, reason);
      throw new BatonError(code, reason, hint);
    };
    const by = {
      by: sender.actor,
      speaker: sender.agent,
      ...(options.request === undefined ? {} : { request: options.request }),
    };
    const { answer } = await createTasks(parts, [whole], by).catch((cause: unknown) => {
      if (cause instanceof BatonError) return refused(cause);
      throw cause;
    });
    return answer.kind === 'refused' ? refused(answer.refusal) : shown(answer.tasks[0] as Task);
  };

  return {
    create,
    async update({ taskId, ...news }) {
      const task = await asked('status.update', () => named(taskId));
      await say('status.update', task, present(news));
      return shown((await store.find(task.id)) ?? task);
    },
    async complete({ taskId, summary, notes, ...rest }) {
      const task = await asked('completion.report', () => named(taskId));
      const words = [summary, notes].filter((text) => text !== undefined && text !== '').join('\n\n');
      await say('completion.report', task, present({ ...rest, notes: words === '' ? undefined : words }));
      return shown((await store.find(task.id)) ?? task);
    },
    async list({ status, session, limit = MOST_LISTED }) {
      const mine = await own();
      const filter = {
        ...(status === undefined ? {} : { status }),
        ...(mine === null ? (session === undefined ? {} : { session }) : { session: mine.session }),
      };
      const tasks: TaskJson[] = [];
      for await (const task of store.tasks(filter)) {
        if (tasks.length >= Math.min(limit, 1_000)) break;
        // A run sees its own task and its children.
        if (mine === null || task.id === mine.id || task.parentId === mine.id) tasks.push(await shown(task));
      }
      return tasks;
    },
    async handoff({ parentTaskId, title, toAgent, ...rest }) {
      const parent = await asked('handoff.request', () => named(parentTaskId));
      const payload = present({ toAgent, ...rest });
      // Named as its own child, so that the store gives the new one its id.
      const routed = await say('handoff.request', parent, payload, { toAgent }, title === undefined ? {} : { title });
      const child = routed.task === null ? undefined : await store.find(routed.task);
      if (child === undefined) throw new BatonError('E_UNKNOWN', `the handoff of ${parent.id} left no task`);
      return shown(child);
    },
    message: ({ text }) => router.take(text, sender),
    async report({ status, summary, detailsFile, metrics = {} }) {
      const mine = await asked('report', own);
      if (mine === null) throw new BatonError('E_USAGE', 'expected a run to report, and this does not come from one');
      const length = charCount(summary);
      if (length > SUMMARY_CHARS_MOST) {
        return {
          accepted: false,
          reason: `expected a summary of at most ${SUMMARY_CHARS_MOST} characters, got ${length}`,
        };
      }
      if (summary.trim() === '') return { accepted: false, reason: 'expected a summary, got an empty text' };
      const value = {
        task: null,
        summary,
        detailsFile: detailsFile ?? null,
        metrics,
        status,
        timestamps: { start: null, end: null },
      };
      const message: Message = { dialect: 'aop1', kind: 'report', valid: true, problems: [], value };
      const { result, reason } = await router.message(message, sender);
      return { accepted: result === 'accepted', reason: result === 'accepted' ? null : reason };
    },
    async context({ maxChars = CONTEXT_CHARS }) {
      const mine = await own();
      if (mine === null) throw new BatonError('E_USAGE', 'expected a run to ask for its context, and this is none');
      const agent = mine.run?.agent ?? '';
      const letters = await unread(store, mine.session, agent);
      const message = await taskMessage(store, mine, workspace);
      const context = await contextOf(store, mine, message, maxChars, options.dir, letters?.text);
      // What had no room is there to be asked for again.
      if (letters !== null && context.includes(letters.text)) await markRead(store, mine.session, agent, letters);
      return context;
    },
    load: (ask) => asked('graph.load', async () => loadFor(parts, sender, await own(), ask)),
    async wait({ taskIds, timeoutMs }) {
      const ended = await waitForTasks(store, await asked('task.wait', () => visible(taskIds)), timeoutMs);
      return Promise.all(ended.map(shown));
    },
    async do(ask, signal) {
      const { doLine = null } = options;
      if (doLine === null) throw new BatonError('E_USAGE', 'nobody understands the session language here');
      return asked('session.do', () => doLine(ask, sender, signal));
    },
  };
}

const present = (fields: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const notYours = (mine: Task, task: Task): BatonError =>
  new BatonError('E_PERMISSION_DENIED', `this run may look at ${mine.id} and its children, and not at ${task.id}`);

function refusalOf(routed: Routed): BatonError {
  const { code, hint } = routed as Partial<Answered> & Routed;
  return new BatonError(code ?? 'E_SCHEMA_VALIDATION', routed.reason ?? 'it was not taken', hint ?? null);
}

/** A part of another task works where that one does, and may do no more. */
export async function asChild(
  parts: Parameters<typeof notDelegable>[0],
  sender: Sender,
  parent: Task,
  own: Task | null,
  made: NewTask,
  title: string,
): Promise<NewTask> {
  const { store, now, workspace = '/' } = parts;
  const of = await taskMessage(store, parent, workspace);
  const refusal = await notDelegable(parts, { sender }, parent, own, of);
  if (refusal !== null) {
    await rejected(store, sender, parent, refusal.code, refusal.message);
    throw new BatonError(refusal.code, refusal.message, refusal.hint);
  }
  const objective = made.texts?.['body']?.trim() ? `${title}\n\n${made.texts['body']}` : title;
  const message = childMessage(parent, of, {
    taskId: NO_TASK,
    agent: made.routing?.agent ?? null,
    objective,
    from: sender.agent ?? sender.actor.name,
    createdAt: isoTime(now()),
  });
  const texts = { body: objective, 'inputs/task.json': `${JSON.stringify(message, null, 2)}\n` };
  return { ...made, texts, idWord: NO_TASK };
}

async function rejected(
  store: Store,
  sender: Sender,
  parent: Task | null,
  code: string,
  reason: string,
  type = 'task.create',
): Promise<void> {
  const task = parent?.id ?? (sender.run === null ? null : taskOfRun(sender.run));
  const about = { ...(task === null ? {} : { task }), ...(sender.run === null ? {} : { run: sender.run }) };
  const detail = { type, channel: sender.channel, code, reason };
  await store.send({
    message: {
      type: 'note',
      event: parent === null ? 'protocol.message.rejected' : 'delegation.rejected',
      ...about,
      detail,
    },
    by: sender.actor,
  });
}
