/** Asks a configured agent something and takes its summary for the answer: a task like any other, run by the same rules, that changes no file. */

import type { Config } from '../core/config.ts';
import { BatonError, messageOf } from '../core/errors.ts';
import type { Actor } from '../core/laws/messages.ts';
import type { Store } from '../core/store.ts';
import { isFinal, isRunning, type Task } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
import { RUNTIME } from '../runtime/actor.ts';
import { type Host, madeEnvelope, openHost, prepare, workOn } from '../runtime/index.ts';
import { createTasks } from '../runtime/tasks/create-tasks.ts';
import { actorOf } from './caller.ts';
import { tasksOfMessages } from './new-tasks.ts';
import { createProgress } from './progress.ts';
import { countTokens } from './tokens.ts';

export interface AgentAsk {
  readonly store: Store;
  readonly dir: string;
  readonly config: Config;
  readonly agent: string;
  readonly session: string;
  readonly workspace: string;
  /** The task's external id. */
  readonly id: string;
  readonly objective: string;
  /** Ends the run. */
  readonly leaving: AbortSignal;
  /** Who asks; the caller of this command where it is not said. */
  readonly by?: Actor;
  /** Whether how it goes is shown. */
  readonly isQuiet?: boolean;
}

/** What it says, or why it says nothing. */
export type AgentAnswer = { readonly text: string } | { readonly why: string };

export async function answerBy(ask: AgentAsk): Promise<AgentAnswer> {
  const { store, dir, config, workspace, isQuiet = false } = ask;
  const progress = isQuiet ? null : createProgress(false);
  const host = await openHost({
    store,
    dir,
    config,
    workspace,
    countTokens,
    onLive: (live) => progress?.show(live),
    warn: (text) => progress?.say(text),
  });
  try {
    return await answered(host, ask);
  } finally {
    progress?.end();
    await host.close();
  }
}

async function answered(host: Host, ask: AgentAsk): Promise<AgentAnswer> {
  const { agent, session, id: taskId, objective, workspace, leaving } = ask;
  const createdAt = isoTime(host.now());
  const plain = madeEnvelope({ taskId, session, createdAt, agent, objective, workspace });
  const message = {
    ...plain,
    task: { ...plain.task, category: 'ANALYSIS' as const, constraints: { read_only_mode: true } },
  };
  const candidate = { routing: { agent, role: null, team: null, tags: [] }, fallback: null, cost: NOTHING, session };
  try {
    // What can be wrong with the agent is known before there is a task.
    await prepare(host, candidate, message);
  } catch (cause) {
    return { why: messageOf(cause) };
  }
  const by = ask.by ?? (await actorOf(host.store));
  const { answer: made } = await createTasks(host, tasksOfMessages([message]), { by });
  if (made.kind === 'refused') return { why: made.refusal.message };
  const id = made.tasks[0]?.id ?? '';
  await workOn(host, { only: [id], parallel: 1, untilEmpty: true, leaving });
  const task = await host.store.find(id);
  if (task?.status !== 'done') {
    await callOff(host, task);
    return { why: `${id} is ${task?.status ?? 'gone'}: ${task?.cause?.message ?? 'baton why says more'}` };
  }
  const text = (task.summary ?? '').trim();
  return text === '' ? { why: `${id} said nothing` } : { text };
}

/** Nothing waits for this answer any more, so no person has to be asked about it either. */
async function callOff({ store }: Host, task: Task | undefined): Promise<void> {
  if (task === undefined || isFinal(task.status) || isRunning(task)) return;
  const answer = await store.send({
    message: { type: 'task.cancel', id: task.id, reason: 'it gave no answer, and nothing else waits for one' },
    by: RUNTIME,
  });
  if (answer.kind === 'refused') throw new BatonError(answer.refusal.code, answer.refusal.message);
}

const NOTHING = { usd: 0, tokensInput: 0, tokensOutput: 0 };
