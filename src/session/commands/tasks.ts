/** Work in a session: `#DELEGATE`, `#RETRY`, `#NEXT`, `#EVALUATE`. */

import { BatonError } from '../../core/errors.ts';
import { isFields } from '../../core/fields.ts';
import { openDependency } from '../../core/laws/dependencies.ts';
import type { NewTask } from '../../core/laws/messages.ts';
import type { WholeNode } from '../../core/store.ts';
import { TASK_PRIORITIES, type Task, type TaskPriority } from '../../core/task.ts';
import { shorten } from '../../protocol/text/shorten.ts';
import { asChild } from '../../runtime/door.ts';
import type { Sender } from '../../runtime/doors.ts';
import { createLiveRuns } from '../../runtime/live-runs.ts';
import { MOST_TITLE } from '../../runtime/new-tasks.ts';
import { openQuestions } from '../../runtime/open-questions.ts';
import { isRefusal, ownTask } from '../../runtime/route-who.ts';
import { checkpointSession } from '../../runtime/session-checkpoint.ts';
import { createTasks } from '../../runtime/tasks/create-tasks.ts';
import { gitInfo } from '../../workspace/git.ts';
import { type Call, failed, form, list, type Said, text } from '../call.ts';
import { brief, isOf, mayChange, nodeWords, plain, sessionTasks, taskNamed, unknownAgent, whom } from '../lookup.ts';
import { ORCHESTRATOR } from '../people.ts';
import { ask, refusalOf } from '../refusals.ts';
import { madeKey, neededOf, waitsFor } from './depends.ts';

const PRIORITIES: Readonly<Record<string, TaskPriority>> = { P0: 'critical', P1: 'high', P2: 'normal', P3: 'low' };
export const TO_PRIORITY = { critical: 'P0', high: 'P1', normal: 'P2', low: 'P3' } as const;

export async function delegate(call: Call): Promise<Said> {
  const { params, session, speaker } = call;
  const [named = '', words = '', priority = ''] = params;
  const to = await whom(call, named);
  if ('said' in to) return to.said;
  // Who leads is who speaks here: nobody takes its tasks.
  if (to.name === ORCHESTRATOR && !Object.hasOwn(call.config.agents, ORCHESTRATOR)) {
    return unknownAgent(named, Object.keys(call.config.agents));
  }
  const asked = plain(words);
  if (asked === '') return failed('E002', 'expected a task, got an empty text');
  const gap = unfilled(asked);
  if (gap !== null) return failed('E002', `expected a task, got the template ${gap}`);
  const needed = await neededOf(call, call.line?.needs ?? []);
  if ('said' in needed) return needed.said;
  const made: NewTask = {
    title: shorten(asked, MOST_TITLE),
    session,
    routing: to.routing,
    priority: PRIORITIES[priority] ?? 'normal',
    status: priority === 'P3' ? 'backlog' : 'ready',
    ...(needed.length === 0 ? {} : { dependsOn: needed.map(({ id }) => id) }),
    texts: { body: words },
  };
  const whole = speaker.run === null ? made : await childOf(call, made, asked);
  if (priority === 'P0') await checkpointFirst(call, asked);
  const { answer } = await createTasks(call, [whole], { by: call.actor });
  if (answer.kind === 'refused') return refusalOf(answer.refusal);
  const id = answer.tasks[0]?.id ?? '';
  await ask(call, { type: 'session.delegated', session, agent: to.name, task: id });
  call.line?.made.set(madeKey(named, words), id);
  return { kind: 'form', text: `ack:${id}`, more: needed.map((task) => waitsFor(id, task)) };
}

/** `<one sentence on what to do>`: words of a template that were to be replaced; null where there are none. */
const unfilled = (words: string): string | null =>
  /^<[^<>]*\s[^<>]*>$|^\{\{[^{}]*\}\}$|^\[[A-Z][A-Z _]+\]$/.exec(words)?.[0] ?? null;

/** What a run hands on is a part of its own task, and bound to what that may. */
async function childOf(call: Call, made: NewTask, title: string): Promise<NewTask> {
  const { speaker, actor } = call;
  const { session: _, ...rest } = made;
  const sender: Sender = { channel: 'socket', run: speaker.run, agent: speaker.agent, actor };
  const parts = { ...call, runs: createLiveRuns(), dir: call.dir ?? undefined } as Parameters<typeof asChild>[0];
  const own = await ownTask(parts, sender);
  if (own === null || isRefusal(own)) {
    throw new BatonError('E_PERMISSION_DENIED', own?.message ?? `${speaker.run} is no run`);
  }
  return asChild(parts, sender, own, own, { ...rest, parentId: own.id }, title);
}

/** Before what is urgent, files and all are kept. What goes wrong with that is said, and holds nobody up. */
async function checkpointFirst(call: Call, words: string): Promise<void> {
  const { session, speaker, actor, warn } = call;
  try {
    if ((await gitInfo(call.workspace)) === null) return;
    const name = `before_${words.replace(/[^\p{L}\p{N}]+/gu, '_').slice(0, 40)}`;
    await checkpointSession(call, { session, kind: 'auto', name, speaker, actor, needsFiles: true });
  } catch (cause) {
    if (!(cause instanceof BatonError) || cause.code.startsWith('E_STORE')) throw cause;
    warn(`no checkpoint before a P0 delegation: ${cause.message}`);
  }
}

export const noTask = (named: string | undefined): Said =>
  failed('E002', named === undefined ? 'expected a task' : `unknown_task ${named}`);

/** §14: how much is told of what went wrong depends on the task. */
export const about = ({ priority }: Task, said: Said): Said =>
  said.kind === 'error' ? { ...said, situation: { priority: TO_PRIORITY[priority] } } : said;

export const notYours = (task: Task): Said => failed('E005', `${task.id} is not yours`);

export async function retry(call: Call): Promise<Said> {
  const [named] = call.params;
  const task = await taskNamed(call, named);
  if (task === undefined) return noTask(named);
  if (!mayChange(call, task)) return notYours(task);
  const answer = await ask(call, { type: 'task.retry', id: task.id });
  if ('said' in answer) return about(task, answer.said);
  return answer.kind === 'same' ? failed('E002', 'it is ready already') : form(`ack:${task.id}`);
}

/** What can be begun, in the order in which it is; then what waits for a person. */
export async function next(call: Call): Promise<Said> {
  const { params, store, session, now } = call;
  const [named] = params;
  const of = named === undefined ? null : await whom(call, named);
  if (of !== null && 'said' in of) return of.said;
  const tasks = await sessionTasks(call);
  const known = new Map(tasks.map((task) => [task.id, task]));
  for (const id of tasks.flatMap(({ status, dependsOn }) => (status === 'ready' ? dependsOn : []))) {
    const other = known.has(id) ? undefined : await store.find(id);
    if (other !== undefined) known.set(id, other);
  }
  const mine = tasks.filter((task) => of === null || isOf(task, of.members));
  const ready = mine.filter(
    (task) =>
      task.status === 'ready' && task.availableAt <= now() && openDependency(task, (id) => known.get(id)) === undefined,
  );
  const rank = ({ priority }: Task): number => TASK_PRIORITIES.indexOf(priority);
  const items = ready
    .toSorted((a, b) => rank(a) - rank(b))
    .map((task) => `${TO_PRIORITY[task.priority]} ${task.title}`);
  const questions = of === null ? await openQuestions(store, session) : [];
  return list([
    ...items.map(brief),
    ...questions.map(({ id, question }) => brief(`${id}: ${question}`)),
    ...mine.filter(({ status }) => status === 'review').map(({ title }) => brief(`review ${title}`)),
  ]);
}

export async function evaluate(call: Call): Promise<Said> {
  const [named] = call.params;
  const task = await taskNamed(call, named);
  if (task !== undefined) return text(await verdictOn(call, task), { priority: TO_PRIORITY[task.priority] });
  const node = named === undefined ? undefined : await call.store.node(named);
  if (node !== undefined) return text(sureness(node));
  return failed('E002', named === undefined ? 'expected a task or node' : `unknown_task ${named}`);
}

/** Of its last run that was looked at: what is contradicted, else what is proven. */
async function verdictOn({ store }: Call, task: Task): Promise<string> {
  const events = (await store.history(task.id))
    .flatMap((record) => record.events)
    .filter((event) => event.task === task.id && (event.type === 'run.evidence' || event.type === 'run.judged'));
  const last = events.at(-1)?.run;
  const about = events.filter(({ run }) => run === last);
  const items = (field: string): unknown[] =>
    about.flatMap(({ detail }) => (Array.isArray(detail?.[field]) ? (detail[field] as unknown[]) : []));
  const said = (item: unknown): string =>
    isFields(item) ? String(item['message'] ?? item['detail'] ?? '') : `${item}`;
  const [finding] = items('findings').map(said);
  if (finding !== undefined) return `contradicted: ${brief(finding)}`;
  const claims = items('claims').filter(isFields);
  const of = (verdict: string): number => claims.filter((claim) => claim['verdict'] === verdict).length;
  const isStale = task.metadata['stale'] === true ? ', stale' : '';
  if (of('contradicted') > 0) return `contradicted: ${of('contradicted')} of ${claims.length} claims${isStale}`;
  if (of('proven') > 0) return `proven: ${of('proven')} of ${claims.length} claims${isStale}`;
  return `unverified: ${task.status}${isStale}, ${brief(task.summary ?? task.cause?.message) || 'no evidence'}`;
}

function sureness(node: WholeNode): string {
  const { confidence, effectiveConfidence, stale, approval } = node;
  const more = stale !== null ? `stale: ${stale.because}` : (approval ?? (node.ready ? 'ready' : 'not ready'));
  const whole = effectiveConfidence === confidence ? `${confidence}` : `${effectiveConfidence} (${confidence})`;
  return `confidence ${whole}, ${brief(more)}, ${nodeWords(node)}`;
}
