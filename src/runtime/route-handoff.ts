/** Handing work on: an aof handoff or an aop2 TASK becomes a child task, or is refused and leaves nothing behind. */

import { BatonError } from '../core/errors.ts';
import { isFields } from '../core/fields.ts';
import type { Refusal } from '../core/laws/decision.ts';
import type { NewTask } from '../core/laws/messages.ts';
import type { Answer } from '../core/store.ts';
import { isFinal, isTaskId, type Task } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
import {
  encodeAofObject,
  type Handoff,
  type HandoffRequestEnvelope,
  handoffJson,
  handoffMarkdown,
  handoffOf,
  readableCriteria,
} from '../protocol/aof/index.ts';
import { NO_TASK } from '../protocol/aof/report.ts';
import { policyOf } from '../protocol/aop2/policy.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { checkAgentName } from './agents.ts';
import { childMessage, narrowed, oversteps, taskMessage } from './child.ts';
import { madeEnvelope, OPEN } from './envelope.ts';
import { PRINTED } from './hearing.ts';
import { MOST_TITLE, tasksOfMessages } from './new-tasks.ts';
import { again } from './route-report.ts';
import { isPerson, notTheirs } from './route-who.ts';
import {
  type Answered,
  accepted,
  committed,
  ignored,
  messageIdOf,
  no,
  note,
  originOf,
  RECEIVED,
  type RouterOptions,
  reject,
  type Said,
  WARNING,
} from './routed.ts';
import { surroundings } from './tasks/admit.ts';
import { type CreateOptions, createTasks } from './tasks/create-tasks.ts';

/** An aof handoff goes one deep, unless config says otherwise. */
const HANDOFF_DEPTH = 1;

/** The task that a request is about for the purpose of order: its parent's. */
export function keyOfHandoff(envelope: HandoffRequestEnvelope): string {
  return envelope.payload.parentTaskId ?? envelope.parentTaskId ?? envelope.taskId;
}

export async function takeHandoff(options: RouterOptions, said: Said, own: Task | null): Promise<Answered> {
  const { store, config } = options;
  const envelope = said.message.value as HandoffRequestEnvelope;
  const found = await parties(options, said, envelope, own);
  if ('code' in found) return refuseHandoff(options, said, undefined, found);
  const { parent, child } = found;
  const from = said.sender.agent ?? envelope.fromAgent;
  const { toAgent } = envelope;
  if (toAgent === from || toAgent === envelope.fromAgent) {
    return refuseHandoff(
      options,
      said,
      parent,
      no('E_PERMISSION_DENIED', `${toAgent} cannot hand ${parent.id} on to itself`),
    );
  }
  const of = await taskMessage(store, parent, options.workspace ?? '/');
  const refusal = await notDelegable(options, said, parent, own, of);
  if (refusal !== null) return refuseHandoff(options, said, parent, refusal);
  const most = config.delegation.handoff_depth ?? HANDOFF_DEPTH;
  if (parent.depth + 1 > most) {
    const sentence = `expected a handoff at most ${most} deep, got one ${parent.depth + 1} deep, below ${parent.id}`;
    const hint = 'delegation.max_depth in config.yaml sets the limit';
    return refuseHandoff(options, said, parent, no('E_MAX_DEPTH_EXCEEDED', sentence, hint), true);
  }
  return child === null
    ? addChild(options, said, parent, of, envelope, from)
    : handOver(options, said, parent, child, of, envelope, from);
}

/** The parent, and the child where it is there already. */
async function parties(
  { store, config }: RouterOptions,
  { sender }: Said,
  envelope: HandoffRequestEnvelope,
  own: Task | null,
): Promise<{ readonly parent: Task; readonly child: Task | null } | Refusal> {
  const named = envelope.payload.parentTaskId ?? envelope.parentTaskId;
  const there = (await store.find(envelope.taskId)) ?? null;
  if (named === undefined) {
    // Who names a task of its own and no parent hands on a part of that one.
    const isTheirs =
      there !== null && (own === null ? notTheirs(config, there, sender, own) === null : there.id === own.id);
    if (there !== null && (isTheirs || there.parentId === null)) return { parent: there, child: null };
    const parent = there?.parentId == null ? undefined : await store.find(there.parentId);
    if (parent !== undefined) return { parent, child: there };
    return no(
      'E_NOT_FOUND',
      `there is no task that ${envelope.taskId} would be a part of: the request names no parent`,
    );
  }
  if (named === envelope.taskId) return no('E_CYCLE', `${named} cannot be handed on to itself`);
  const parent = await store.find(named);
  if (parent === undefined)
    return no('E_NOT_FOUND', `there is no task ${named}, which ${envelope.taskId} would be a part of`);
  if (there !== null && there.parentId !== parent.id) {
    return no('E_DUPLICATE', `there is a task ${there.id} already, and it is no part of ${parent.id}`);
  }
  return { parent, child: there };
}

/** What keeps a sender from delegating from a task. */
export async function notDelegable(
  { config, store, workspace = '/' }: RouterOptions,
  { sender }: Pick<Said, 'sender'>,
  parent: Task,
  own: Task | null,
  of: TaskMessage,
): Promise<Refusal | null> {
  if (isFinal(parent.status)) {
    return no('E_ILLEGAL_MOVE', `${parent.id} is ${parent.status}, and that is final: nothing of it is handed on`);
  }
  if (isPerson(sender)) return null;
  if (own !== null && parent.parentId === own.id) {
    if ((await taskMessage(store, own, workspace)).target.role === 'EXECUTOR') {
      return no(
        'E_PERMISSION_DENIED',
        `${sender.run} is an EXECUTOR, and hands on parts of ${own.id} only, not of ${parent.id}`,
      );
    }
  } else {
    const refusal = notTheirs(config, parent, sender, own);
    if (refusal !== null) return refusal;
  }
  return policyOf(of).delegationAllowed
    ? null
    : no('E_PERMISSION_DENIED', `${parent.id} says delegation_allowed: false, so nothing of it is handed on`);
}

async function addChild(
  options: RouterOptions,
  said: Said,
  parent: Task,
  of: TaskMessage,
  envelope: HandoffRequestEnvelope,
  from: string,
): Promise<Answered> {
  const isFree = envelope.taskId !== parent.id;
  const handoff = handoffFor(envelope, isFree ? envelope.taskId : NO_TASK, parent, from);
  const messageId = messageIdOf(said.message);
  const made: NewTask = {
    ...(isFree ? { id: envelope.taskId } : {}),
    title: titleOf(envelope, parent, from),
    parentId: parent.id,
    priority: parent.priority,
    routing: { agent: envelope.toAgent },
    ...(handoff.dueBy === undefined ? {} : { metadata: { dueBy: handoff.dueBy } }),
    texts: textsOf(options, parent, of, handoff, titleOf(envelope, parent, from)),
    ...(isFree ? {} : { idWord: NO_TASK }),
  };
  const created = await madeOne(options, made, {
    by: said.sender.actor,
    maxDepth: parent.depth + 1,
    // The same message twice makes one child.
    ...(messageId === undefined ? {} : { request: `message ${parent.id} ${messageId}` }),
  });
  if ('refusal' in created) return refuseHandoff(options, said, parent, created.refusal);
  const { answer } = created;
  const id = answer.tasks[0]?.id ?? null;
  if (answer.kind === 'same') return accepted(id, [], `the message ${messageId} was taken before; it acts once`);
  const detail = { ...originOf(said), parentId: parent.id, toAgent: envelope.toAgent };
  const received = await note(options, said, RECEIVED, { task: id ?? parent.id }, detail, messageId);
  return accepted(id, [...committed(answer), ...received]);
}

interface Made {
  readonly answer: Exclude<Answer, { kind: 'refused' }>;
  readonly warnings: readonly string[];
  readonly noted: readonly string[];
}

/** Makes one task of a message. A refusal, by the checks or by the laws, is an answer and not an error. */
async function madeOne(
  options: RouterOptions,
  item: NewTask,
  create: CreateOptions,
): Promise<Made | { readonly refusal: Refusal }> {
  try {
    const { answer, ...more } = await createTasks(options, [item], create);
    return answer.kind === 'refused' ? { refusal: answer.refusal } : { answer, ...more };
  } catch (cause) {
    if (!(cause instanceof BatonError)) throw cause;
    return { refusal: no(cause.code, cause.message, cause.hint) };
  }
}

/** Why nothing can be handed to an agent of this name; null where it is there. */
function agentRefusal(options: RouterOptions, name: string): Refusal | null {
  try {
    checkAgentName(surroundings(options), name);
    return null;
  } catch (cause) {
    if (!(cause instanceof BatonError)) throw cause;
    return no(cause.code, cause.message, cause.hint);
  }
}

/** A child that was made before gets what it is handed. */
async function handOver(
  options: RouterOptions,
  said: Said,
  parent: Task,
  child: Task,
  of: TaskMessage,
  envelope: HandoffRequestEnvelope,
  from: string,
): Promise<Answered> {
  const messageId = messageIdOf(said.message);
  if (messageId !== undefined && child.messages.includes(messageId)) return again(child, messageId);
  const isSame = child.routing.agent === envelope.toAgent;
  if (isSame && (await options.store.text(child.id, 'inputs/handoff.json')) !== null) {
    return accepted(child.id, [], `${child.id} was handed to ${envelope.toAgent} before`);
  }
  if (child.status !== 'backlog' && child.status !== 'ready' && child.status !== 'blocked') {
    return refuseHandoff(
      options,
      said,
      parent,
      no('E_ILLEGAL_MOVE', `${child.id} is ${child.status} and is not handed on`),
    );
  }
  const missing = agentRefusal(options, envelope.toAgent);
  if (missing !== null) return refuseHandoff(options, said, parent, missing);
  const handoff = handoffFor(envelope, child.id, parent, from);
  const { body: _, 'inputs/task.json': __, ...texts } = textsOf(options, parent, of, handoff, child.title);
  const answer = await options.store.send({
    message: {
      type: 'task.edit',
      id: child.id,
      routing: { agent: envelope.toAgent },
      ...(handoff.dueBy === undefined ? {} : { metadata: { ...child.metadata, dueBy: handoff.dueBy } }),
      texts,
    },
    by: said.sender.actor,
  });
  if (answer.kind === 'refused') return refuseHandoff(options, said, parent, answer.refusal);
  const detail = { parentId: parent.id, depth: child.depth, toAgent: envelope.toAgent };
  const received = await note(options, said, RECEIVED, { task: child.id }, originOf(said), messageId);
  const requested = await note(options, said, 'delegation.requested', { task: child.id }, detail);
  return accepted(child.id, [...committed(answer), ...received, ...requested]);
}

const handoffFor = (envelope: HandoffRequestEnvelope, taskId: string, parent: Task, from: string): Handoff => ({
  ...handoffOf(envelope),
  taskId,
  parentTaskId: parent.id,
  fromAgent: from,
});

function titleOf({ payload }: HandoffRequestEnvelope, parent: Task, from: string): string {
  const said = payload['title'];
  if (typeof said === 'string' && said.trim() !== '') return shorten(said.trim(), MOST_TITLE);
  const [first] = readableCriteria(payload.acceptanceCriteria);
  return shorten(first?.trim() || `Handed on by ${from}: ${parent.title}`, MOST_TITLE);
}

function textsOf(
  { now }: RouterOptions,
  parent: Task,
  of: TaskMessage,
  handoff: Handoff,
  title: string,
): Record<'body' | 'inputs/task.json' | 'inputs/handoff.json' | 'inputs/handoff.md', string> {
  const markdown = handoffMarkdown(handoff);
  const body = `${title}\n\nThis is a part of ${parent.id}: ${parent.title}\n\n${markdown}`;
  const message = childMessage(parent, of, {
    taskId: handoff.taskId,
    agent: handoff.toAgent,
    objective: body,
    from: handoff.fromAgent,
    createdAt: isoTime(now()),
    criteria: readableCriteria(handoff.acceptanceCriteria),
    ...(handoff.expectedOutputs === undefined ? {} : { expectedOutputs: handoff.expectedOutputs }),
    ...(handoff.dueBy === undefined ? {} : { dueBy: handoff.dueBy }),
  });
  return {
    body,
    'inputs/task.json': `${JSON.stringify(message, null, 2)}\n`,
    'inputs/handoff.json': handoffJson(handoff),
    'inputs/handoff.md': markdown,
  };
}

/** Answered as the document says, with a `handoff.rejected`; nothing of the request is left but the record. */
async function refuseHandoff(
  options: RouterOptions,
  said: Said,
  parent: Task | undefined,
  refusal: Refusal,
  warns = false,
): Promise<Answered> {
  const envelope = said.message.value as HandoffRequestEnvelope;
  const answer = encodeAofObject({
    protocol: 'aof',
    version: 1,
    type: 'handoff.rejected',
    taskId: envelope.taskId,
    fromAgent: 'baton',
    toAgent: said.sender.agent ?? envelope.fromAgent,
    sentAt: isoTime(options.now()),
    payload: { reason: shorten(refusal.message, 512) },
  });
  const rejected = await reject(options, said, parent, refusal);
  const about = { task: parent?.id, run: said.sender.run };
  const detail = { code: refusal.code, reason: refusal.message, toAgent: envelope.toAgent, answer };
  const told = await note(options, said, 'delegation.rejected', about, detail);
  const warning = { ...originOf(said), reason: refusal.message };
  const warned = warns ? await note(options, said, WARNING, about, warning) : [];
  return {
    ...rejected,
    reason: `handoff.rejected: ${refusal.message}`,
    events: [...rejected.events, ...told, ...warned],
  };
}

/** `handoff.accepted` and `handoff.rejected` of the child's agent. */
export async function takeHandoffAnswer(options: RouterOptions, said: Said, child: Task): Promise<Answered> {
  const { store } = options;
  const { message, sender } = said;
  const payload = isFields(message.value) && isFields(message.value['payload']) ? message.value['payload'] : {};
  if (child.parentId === null) {
    return reject(options, said, child, no('E_NOT_FOUND', `${child.id} was not handed on by another task`));
  }
  const messageId = messageIdOf(message);
  if (messageId !== undefined && child.messages.includes(messageId)) return again(child, messageId);
  const about = { task: child.id, run: child.run?.id };
  const by = sender.agent ?? sender.actor.name;
  if (message.kind === 'handoff.accepted') {
    if (isFinal(child.status)) {
      return reject(options, said, child, no('E_ILLEGAL_MOVE', `${child.id} is ${child.status}, and that is final`));
    }
    const isTold = (await store.history(child.id)).some(({ events }) =>
      events.some(({ type, detail }) => type === 'delegation.accepted' && detail?.['agent'] === by),
    );
    if (isTold) return accepted(child.id, [], `${by} has accepted ${child.id} before`);
    const detail = { ...originOf(said), agent: by, parentId: child.parentId, ...wordsIn(payload) };
    return accepted(child.id, await note(options, said, 'delegation.accepted', about, detail, messageId));
  }
  const reason =
    typeof payload['reason'] === 'string' && payload['reason'] !== ''
      ? payload['reason']
      : `${by} rejected the handoff`;
  const to = payload['status'] === 'ready' ? 'ready' : 'blocked';
  const events: string[] = [];
  if (child.status !== to) {
    const moved = await store.send({ message: { type: 'task.move', id: child.id, to, reason }, by: sender.actor });
    if (moved.kind === 'refused') return reject(options, said, child, moved.refusal);
    events.push(...committed(moved));
  }
  // It is not theirs: it must not come back to them.
  if (to === 'ready' && child.routing.agent !== null) {
    const message = { type: 'task.edit', id: child.id, routing: { agent: null } } as const;
    events.push(...committed(await store.send({ message, by: sender.actor })));
  }
  if (child.status === to && events.length === 0) return accepted(child.id, [], `${child.id} is ${to} already`);
  const detail = { ...originOf(said), agent: by, parentId: child.parentId, ...wordsIn(payload), reason, to };
  const rejected = await note(options, said, 'delegation.rejected', about, detail, messageId);
  return accepted(child.id, [...events, ...rejected]);
}

/** What it says beside its answer. */
const wordsIn = ({ reason, notes }: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> => ({
  ...(typeof reason === 'string' ? { reason } : {}),
  ...(typeof notes === 'string' ? { notes } : {}),
});

/** An aop2 TASK: of a run a child, of anybody else a task. */
export async function takeTask(options: RouterOptions, said: Said, own: Task | null): Promise<Answered> {
  const { store } = options;
  const message = said.message.value as TaskMessage;
  const { sender } = said;
  const { task_id: name, parent_task_id: above } = message.task;
  if (own !== null && (name === own.externalId || name === own.id)) {
    return ignored(`it is the TASK of ${own.id} itself`, own.id);
  }
  if (sender.channel === 'stdout') {
    return reject(options, said, own ?? undefined, no('E_PERMISSION_DENIED', `${name} makes no task: ${PRINTED}`));
  }
  const session = own?.session ?? message.session.session_id;
  const parent = above ? await store.find(above, isTaskId(above) ? undefined : session) : (own ?? undefined);
  if (above && parent === undefined) {
    return refuseTask(
      options,
      said,
      own ?? undefined,
      no('E_NOT_FOUND', `there is no task ${above}, which ${name} would be a part of`),
    );
  }
  let asked = message;
  if (parent !== undefined) {
    const of = await taskMessage(store, parent, options.workspace ?? '/');
    const refusal = await notDelegable(options, said, parent, own, of);
    if (refusal !== null) return refuseTask(options, said, parent, refusal);
    if (!isPerson(sender)) {
      asked = narrowed(of, message);
      const beyond = oversteps(of, asked);
      if (beyond !== null)
        return refuseTask(options, said, parent, no('E_PERMISSION_DENIED', `${name} is refused: ${beyond}`));
    }
  }
  const beyond = sender.channel === 'inbox' ? beyondDefault(options, asked) : null;
  if (beyond !== null) {
    const refusal = no(
      'E_PERMISSION_DENIED',
      `${name} is refused: ${beyond}`,
      'a person may give it: baton task add FILE',
    );
    return refuseTask(options, said, parent, refusal);
  }
  const there = await store.find(name, isTaskId(name) ? undefined : session);
  if (there !== undefined && there.parentId === (parent?.id ?? null) && there.session === session) {
    return accepted(there.id, [], `there is a task ${name} already`);
  }
  const [made] = tasksOfMessages([asked]);
  const { parentId: _, session: __, ...rest } = made as NewTask;
  const item = { ...rest, session, ...(parent === undefined ? {} : { parentId: parent.id }) };
  const created = await madeOne(options, item, { by: sender.actor, speaker: sender.agent });
  if ('refusal' in created) return refuseTask(options, said, parent, created.refusal);
  const { answer, warnings, noted } = created;
  const id = answer.tasks[0]?.id ?? null;
  const received = await note(options, said, RECEIVED, id === null ? {} : { task: id }, originOf(said));
  const reason = warnings.length === 0 ? null : warnings.join('; ');
  return accepted(id, [...committed(answer), ...noted, ...received], reason);
}

/** Who put a file into the inbox cannot be seen, so its task gets at most what a task without a word about access gets. Null where it asks for no more. */
function beyondDefault({ workspace, now }: RouterOptions, message: TaskMessage): string | null {
  const { environment, task_id: taskId } = message.task;
  const usual = madeEnvelope({
    taskId,
    session: message.session.session_id,
    createdAt: isoTime(now()),
    agent: OPEN,
    objective: taskId,
    workspace: workspace ?? environment.workspace_root,
  });
  return oversteps(usual, message, 'a file in the inbox');
}

async function refuseTask(
  options: RouterOptions,
  said: Said,
  parent: Task | undefined,
  refusal: Refusal,
): Promise<Answered> {
  const rejected = await reject(options, said, parent, refusal);
  if (parent === undefined && said.sender.run === null) return rejected;
  const { code, message: reason } = refusal;
  const about = { task: parent?.id, run: said.sender.run };
  const told = await note(options, said, 'delegation.rejected', about, { ...originOf(said), code, reason });
  return { ...rejected, events: [...rejected.events, ...told] };
}
