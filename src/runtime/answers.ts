/**
 * A person's answers to what waits for them (`people-inbox.ts`): to a question that an agent asked, to work that is to be looked at, to a task
 * that failed. Nobody else's word counts, whatever channel it came by; what was refused is written down.
 */
import type { Config } from '../core/config.ts';
import { BatonError, type ErrorCode } from '../core/errors.ts';
import type { Event } from '../core/laws/decision.ts';
import type { Actor, AnyMessage, NextStage } from '../core/laws/messages.ts';
import type { Node } from '../core/node.ts';
import { isVoid, type PersonsAnswer, QUESTION_ID, type Question } from '../core/question.ts';
import type { Answer, Store } from '../core/store.ts';
import type { Task } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
import { newId } from '../process/new-id.ts';
import { type AnswerStatus, meantBy } from './answer-meaning.ts';
import { approveHeldBack, type LetGo } from './held-graph.ts';
import { needsNoAnswer, openQuestions } from './open-questions.ts';
import { asksPerson, type InboxItem, itemOfQuestion, itemOfTask, waitingFor } from './people-inbox.ts';
import { stageAfter } from './stage-task.ts';

/** What answering works with. */
export interface AnswerParts {
  readonly store: Store;
  readonly config: Config;
  now(): number;
  /** Where tasks work that do not say where. */
  readonly workspace?: string;
  /** Merges the worktree that 0.1.0 made for a task, before the task is done. What keeps it from that, else null. */
  readonly mergeLinked?: (task: Task) => Promise<Unmerged | null>;
  /** Merges the work of a task that was accepted, which makes it done. What keeps it from that, else null. */
  readonly merge?: (id: string) => Promise<Unmerged | null>;
  /** Puts back what a task has changed that was called off when nothing of it ran. */
  readonly rollBack?: (task: string) => Promise<void>;
}

interface Unmerged {
  readonly code: ErrorCode;
  readonly message: string;
}

export interface PersonsWord {
  /** `ask-1`, the node that is asked about, or the task that waits. */
  readonly id: string;
  readonly status: AnswerStatus;
  readonly text?: string;
  readonly comment?: string;
  /** The stage that goes on, in place of the one that was said when it was asked. */
  readonly next?: string;
}

/** What came of an answer. */
export interface AnsweredItem {
  readonly item: InboxItem;
  readonly answer: Omit<PersonsAnswer, 'node' | 'at'> & { readonly node: string | null; readonly at: string };
  /** The answer as the protocol says it: an OUTPUT by `user`. Null where there is none, as for a task that is tried again. */
  readonly output: Readonly<Record<string, unknown>> | null;
  /** The task that waited, as it is now. */
  readonly task: Task | null;
  /** The tasks that it made. */
  readonly made: readonly Task[];
  readonly nodes: readonly Node[];
  /** The names of the events that it put into the journal. */
  readonly events: readonly string[];
}

/** As other programs read it: the item, with its answer and what came of it. */
export const answeredJson = ({ item, answer, output, task, made, nodes }: AnsweredItem): object => ({
  ...item,
  answer,
  output,
  /** Of the task that waited, now. */
  status: task?.status ?? null,
  tasks: made.map(({ id }) => id),
  nodes: nodes.map(({ id }) => id),
});

export async function answerQuestion(parts: AnswerParts, word: PersonsWord, by: Actor): Promise<AnsweredItem> {
  const found = await findAsked(parts.store, word.id);
  if (by.kind !== 'person') return refuse(parts, found, word, by);
  return 'question' in found ? toQuestion(parts, found.question, word, by) : toTask(parts, found.task, word, by);
}

type Asked = { readonly question: Question } | { readonly task: Task };

/** By the question's own name, by its node, or by its task. */
async function findAsked(store: Store, id: string): Promise<Asked> {
  if (QUESTION_ID.test(id)) {
    const question = await store.question(id);
    if (question === undefined) throw new BatonError('E_NOT_FOUND', `there is no question ${id}`, 'see: baton inbox');
    return { question };
  }
  const task = await store.find(id);
  const about = (await store.questions()).filter((question) =>
    task === undefined ? question.node === id || question.about === id : question.task === task.id,
  );
  const open: Question[] = [];
  for (const question of about)
    if (question.answer === null && !(await needsNoAnswer(store, question))) open.push(question);
  if (open.length > 1) {
    const names = open.map((question) => question.id).join(', ');
    throw new BatonError('E_USAGE', `expected one question about ${id}, got ${open.length}: ${names}`, 'name the one');
  }
  const [only] = open;
  if (only !== undefined) return { question: only };
  if (task !== undefined) {
    const last = about.at(-1);
    return last === undefined || (await asksPerson(store, task)) ? { task } : { question: last };
  }
  const last = about.at(-1);
  if (last !== undefined) return { question: last };
  throw new BatonError('E_NOT_FOUND', `nothing waits for an answer by the name of ${id}`, 'see: baton inbox');
}

/** Written down with who it was, and answered; it changes nothing. */
async function refuse({ store }: AnswerParts, asked: Asked, { id, status }: PersonsWord, by: Actor): Promise<never> {
  const name = 'question' in asked ? asked.question.id : asked.task.id;
  const task = 'question' in asked ? asked.question.task : asked.task.id;
  const reason = `only a person answers ${name}, and this came from ${by.name}`;
  await store.send({
    message: {
      type: 'note',
      event: 'question.refused',
      ...(task === null ? {} : { task }),
      ...('question' in asked ? { session: asked.question.session } : {}),
      detail: { question: name, status, code: 'E_PERMISSION_DENIED', reason, ...(id === name ? {} : { named: id }) },
    },
    by,
  });
  const hint = by.kind === 'unknown' ? 'say it from a terminal' : 'a person sees it with: baton inbox';
  throw new BatonError('E_PERMISSION_DENIED', reason, hint);
}

async function toQuestion(parts: AnswerParts, question: Question, word: PersonsWord, by: Actor): Promise<AnsweredItem> {
  const { store } = parts;
  const { id } = question;
  if (question.answer !== null) throw answeredAlready(id, question.answer);
  const before = question.task === null ? undefined : await store.find(question.task);
  if (isVoid(question, before)) throw needless(question, before);
  const isSelfAsked = question.kind === 'uncertainty' && question.about === question.node;
  const kind = question.kind === 'approval' || !isSelfAsked ? 'approval' : 'uncertainty';
  const { status, text, comment } = meantBy(kind, question.options, word);
  const item = (await itemNow(store, id)) ?? itemOfQuestion(question);
  const isApproved = status === 'approved' || status === 'answered';
  const stage = word.next ?? question.nextStage;
  if (word.next !== undefined && !isApproved) {
    throw new BatonError('E_USAGE', `expected a stage with an approval only, got --next ${word.next} with ${status}`);
  }
  const next = isApproved && stage !== null && stage !== 'user' ? await nextStage(parts, question, stage) : null;
  const isLast =
    before?.status === 'review' &&
    !isSelfAsked &&
    (await openQuestions(store)).every((other) => other.task !== before.id || other.id === id);
  // A no to another of its questions may still come: then nothing of it is to be in the user's branch.
  const held = status === 'approved' && isLast ? await applyHeldFirst(parts, before) : null;
  if (status === 'approved' && isLast) await mergeFirst(parts, before);
  if (before !== undefined && status !== 'rejected') await keepAgent(store, before, by);
  const last = await store.lastRecord();
  const answer = await send(store, by, {
    type: 'question.answer',
    id,
    status,
    ...(text === null ? {} : { text }),
    ...(comment === null ? {} : { comment }),
    ...(next === null ? {} : { next }),
  });
  const said = answer.questions?.find((one) => one.id === id)?.answer ?? null;
  if (said === null) throw new BatonError('E_UNKNOWN', `the store took the answer to ${id} and does not have it`);
  if (before !== undefined) await mergeNow(parts, before.id);
  const task = before === undefined ? null : ((await store.find(before.id)) ?? null);
  if (before !== undefined) await rollBackAfter(parts, before, task);
  return {
    item,
    answer: { ...said, at: isoTime(said.at) },
    output: await outputOf(store, last, id),
    task,
    made: [...(held?.made ?? []), ...answer.tasks.filter((one) => one.id !== before?.id)],
    nodes: [...(held?.nodes ?? []), ...(answer.nodes ?? [])],
    events: [...(held?.events ?? []), ...(answer.events ?? []).map(({ type }) => type)],
  };
}

const answeredAlready = (id: string, { status, by, at, text, comment }: PersonsAnswer): BatonError => {
  const words = [text, comment].filter((said) => said !== null).join(' ');
  return new BatonError(
    'E_ANSWERED',
    `${id} was answered already: ${status}${words === '' ? '' : ` (${words})`} by ${by} at ${isoTime(at)}`,
    'the first answer counts',
  );
};

/** The law says the same; it is said here before anything is merged for it. */
const needless = ({ id, task }: Question, asker: Task | undefined): BatonError => {
  const why = asker === undefined ? 'is gone' : `is ${asker.status}`;
  return new BatonError(
    'E_ANSWERED',
    `${id} need not be answered any more: ${task}, which asked, ${why}`,
    `see: baton why ${task}`,
  );
};

const itemNow = async (store: Store, id: string): Promise<InboxItem | undefined> =>
  (await waitingFor(store)).find((item) => item.id === id);

/** The OUTPUT by `user` stands in the journal, in the record of the answer. */
async function outputOf(store: Store, after: number, id: string): Promise<Readonly<Record<string, unknown>> | null> {
  const isIt = ({ type, detail }: Event): boolean => type === 'question.answered' && detail?.['question'] === id;
  for await (const { events } of store.eventsAfter({ after })) {
    const output = events.find(isIt)?.detail?.['output'];
    if (output !== undefined) return output as Readonly<Record<string, unknown>>;
  }
  return null;
}

async function toTask(parts: AnswerParts, task: Task, word: PersonsWord, by: Actor): Promise<AnsweredItem> {
  const { store } = parts;
  if (!(await asksPerson(store, task))) throw await notWaiting(store, task);
  if (word.next !== undefined) {
    throw new BatonError('E_USAGE', `expected --next with a question about a node, got it with ${task.id}`);
  }
  const item = (await itemNow(store, task.id)) ?? itemOfTask(task);
  const { status, text, comment } = meantBy(item.kind, item.options, word);
  const isToBeDone = task.status === 'review' && status === 'approved';
  const held = isToBeDone ? await applyHeldFirst(parts, task) : null;
  if (isToBeDone) await mergeFirst(parts, task);
  else if (status !== 'rejected') await keepAgent(store, task, by);
  const sources: string[] = [];
  for await (const node of store.nodes({ task: task.id })) if (sources.length < MOST_SOURCES) sources.push(node.id);
  const last = await store.lastRecord();
  const answer = await send(store, by, {
    type: 'task.answer',
    id: task.id,
    status,
    ...(text === null ? {} : { text }),
    ...(comment === null ? {} : { comment }),
    kind: item.kind === 'approval' ? 'review' : item.kind,
    asked: item.question,
    sources,
  });
  await mergeNow(parts, task.id);
  const after = (await store.find(task.id)) ?? task;
  await rollBackAfter(parts, task, after);
  const [node = null] = answer.nodes ?? [];
  const said = { status, text, comment, by: by.name, at: isoTime(parts.now()), node: node?.id ?? null };
  const output = await outputOf(store, last, task.id);
  const events = [...(held?.events ?? []), ...(answer.events ?? []).map(({ type }) => type)];
  const nodes = [...(held?.nodes ?? []), ...(node === null ? [] : [node])];
  return { item, answer: said, output, task: after, made: held?.made ?? [], nodes, events };
}

/** Whoever asked gets the answer: a task that anybody may take goes back to the one who had it. */
async function keepAgent(store: Store, { id, status, routing, run }: Task, by: Actor): Promise<void> {
  const { agent, role, team, tags } = routing;
  const isOpen = agent === null && role === null && team === null && tags.length === 0;
  if (!isOpen || run === null || (status !== 'review' && status !== 'blocked')) return;
  await send(store, by, { type: 'task.edit', id, routing: { agent: run.agent } });
}

async function notWaiting(store: Store, task: Task): Promise<BatonError> {
  const { id, status } = task;
  const told = (await store.history(id)).flatMap(({ events }) =>
    events.filter((event) => event.type === 'question.answered' && event.detail?.['question'] === id),
  );
  const last = told.at(-1)?.detail;
  if (last === undefined) {
    return new BatonError('E_ILLEGAL_MOVE', `${id} waits for no answer: it is ${status}`, `see: baton why ${id}`);
  }
  const words = [last['text'], last['comment']].filter((said) => typeof said === 'string').join(' ');
  return new BatonError(
    'E_ANSWERED',
    `${id} was answered already: ${last['status']}${words === '' ? '' : ` (${words})`} by ${last['by']} at ${last['at']}; it is ${status} now`,
    'the first answer counts',
  );
}

/** So many nodes of a task are named as what its review is about. */
const MOST_SOURCES = 50;

/** What its run handed on goes on with the approval. Where that asks for a word of its own, the task waits for it. */
async function applyHeldFirst(parts: AnswerParts, task: Task): Promise<LetGo> {
  const applied = await approveHeldBack(parts, task);
  const open = applied.questions;
  const [first] = open;
  if (first === undefined) return applied;
  const asked = open.map(({ id, question }) => `${id}: ${question}`).join('; ');
  const sentence = `${task.id} is not done: what it hands on is in the graph now, and a person is asked about it: ${asked}`;
  throw new BatonError('E_HELD_BACK', sentence, `try: baton approve ${first.id}`);
}

/** What is done is in the user's branch: whoever waits for the task begins there. */
async function mergeFirst({ mergeLinked }: AnswerParts, task: Task): Promise<void> {
  const unmerged = (await mergeLinked?.(task)) ?? null;
  if (unmerged === null) return;
  const hint = 'put that right, or merge the branch yourself; then the same again';
  throw new BatonError(unmerged.code, `${task.id} is not done: ${unmerged.message}`, hint);
}

/** The answer is recorded. The person who approved it also has to hear that the work is not in its branch yet. */
async function mergeNow({ merge, store }: AnswerParts, id: string): Promise<void> {
  const unmerged = (await merge?.(id)) ?? null;
  if (unmerged === null) return;
  const task = await store.find(id);
  const hint =
    task?.merging != null
      ? `a running Baton merges it once nothing is in the way; or then: baton approve ${id}`
      : task?.status === 'ready'
        ? 'it is run again on the newest commit of its branch'
        : `see: baton why ${id}`;
  throw new BatonError(unmerged.code, `${id} is approved, and not done: ${unmerged.message}`, hint);
}

/** Nothing of it runs, so nobody else puts its outputs back. */
async function rollBackAfter({ rollBack }: AnswerParts, before: Task, after: Task | null): Promise<void> {
  if (after?.status === 'cancelled' && before.status !== 'in-progress') await rollBack?.(after.id);
}

type Done = Extract<Answer, { tasks: unknown }>;

async function send(store: Store, by: Actor, message: AnyMessage): Promise<Done> {
  const answer = await store.send({ message, by, request: newId() });
  if (answer.kind !== 'refused') return answer;
  const { code, message: sentence, hint } = answer.refusal;
  throw new BatonError(code, sentence, hint);
}

/** The task of the stage that goes on. Gaps in the node refuse it, and then nothing is answered. */
async function nextStage(parts: AnswerParts, question: Question, stage: string): Promise<NextStage | null> {
  const after = await stageAfter(parts, question, stage);
  if ('next' in after) return after.next;
  const { code, message, hint } = after.refusal;
  throw new BatonError(code, message, hint);
}
