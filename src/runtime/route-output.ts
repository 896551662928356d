/**
 * GRAPH_UPDATE and OUTPUT on their way in. What a live run says goes to its ear and counts when the run ends; all that anybody else says in
 * one text is one report, and acts at once, together or not at all. A person's `approval` answers what waits for it.
 */
import { BatonError } from '../core/errors.ts';
import type { Refusal } from '../core/laws/decision.ts';
import type { Actor } from '../core/laws/messages.ts';
import { DEFAULT_SESSION, type Task, taskOfRun } from '../core/task.ts';
import { newId } from '../process/new-id.ts';
import type { Message } from '../protocol/message.ts';
import type { Output } from '../protocol/output/schema.ts';
import type { Sender } from './doors.ts';
import { type Applied, applyGraph, isPersonsWord, type Speaker } from './graph-report.ts';
import { isHeardOut } from './heard-out.ts';
import { TOO_LATE } from './hearing.ts';
import { isPerson, isWatched } from './route-who.ts';
import {
  type Answered,
  accepted,
  committed,
  nameOf,
  no,
  note,
  originOf,
  RECEIVED,
  type RouterOptions,
  reject,
  type Said,
} from './routed.ts';
import { createGraphEar } from './said-graph.ts';

export const isOutput = ({ dialect }: Message): boolean => dialect === 'output';

const isApproval = ({ kind, value, valid }: Message): boolean =>
  valid && kind === 'OUTPUT' && isPersonsWord(value as Output);

/** Nobody but a person approves anything; null where that is not what is said. */
export function notTheirWord({ message, sender }: Said): Refusal | null {
  if (!isApproval(message) || isPerson(sender)) return null;
  const { graph_node: node } = (message.value as Output)._handoff;
  return no('E_PERMISSION_DENIED', `only a person approves ${node}, and this came from ${whoIs(sender)}`);
}

const whoIs = ({ agent, run, actor }: Sender): string => run ?? agent ?? actor.name;

/** All messages of one text that are about the graph, from somebody who is no run; an answer for each. */
export async function takeOutputs(
  options: RouterOptions,
  messages: readonly Message[],
  sender: Sender,
): Promise<Answered[]> {
  const said = messages.map((message): Said => ({ message, sender }));
  const wrong = firstWrong(said);
  if (wrong !== null) return refuseAll(options, said, wrong.at, wrong.refusal);
  const approvals = said.filter(({ message }) => isApproval(message));
  if (approvals.length > 0) return answerAll(options, said, approvals);
  const speaker = await speakerFor(options, messages, sender);
  if (sender.session !== undefined && speaker.session !== sender.session) {
    const there = `what it builds upon is of the session ${speaker.session ?? DEFAULT_SESSION}`;
    const refusal = no('E_USAGE', `expected nodes for the session ${sender.session}, and ${there}`);
    return refuseAll(options, said, messages.length - 1, refusal);
  }
  const applied = await applyGraph(partsOf(options), heardOf(messages), speaker);
  return applied.kind === 'refused'
    ? refuseAll(options, said, messages.length - 1, applied.refusal)
    : acceptAll(options, said, applied, null);
}

/** What keeps all of them out: one that is not valid, or one that only a person may say. */
function firstWrong(said: readonly Said[]): { readonly at: number; readonly refusal: Refusal } | null {
  const [first] = said;
  if (first !== undefined && first.sender.agent === null && first.sender.run === null && !isPerson(first.sender)) {
    const who = first.sender.actor.name;
    return {
      at: 0,
      refusal: no('E_PERMISSION_DENIED', `nobody can tell who ${who} is, so it writes nothing into the graph`),
    };
  }
  for (const [at, one] of said.entries()) {
    const { message } = one;
    if (!message.valid) {
      const problem = message.problems.find(({ severity }) => severity === 'error');
      const place = problem?.path ? `${problem.path}: ` : '';
      const reason = `${place}${problem?.message ?? 'it is not valid'}`;
      return { at, refusal: no(problem?.code ?? 'E_SCHEMA_VALIDATION', reason, 'baton check lists all that is wrong') };
    }
    const refusal = notTheirWord(one);
    if (refusal !== null) return { at, refusal };
  }
  return null;
}

const heardOf = (messages: readonly Message[]): ReturnType<typeof createGraphEar>['said'] => {
  const ear = createGraphEar();
  for (const message of messages) ear.take({ ...message, line: 1 });
  return ear.said;
};

const partsOf = ({ store, config, now, workspace }: RouterOptions): Parameters<typeof applyGraph>[0] => ({
  store,
  config,
  now,
  ...(workspace === undefined ? {} : { workspace }),
});

/** Whoever speaks for an agent may say what that agent may. Of a node that is there, it goes on in the node's session. */
async function speakerFor({ store }: RouterOptions, messages: readonly Message[], sender: Sender): Promise<Speaker> {
  const by: Actor = sender.agent === null ? sender.actor : { kind: 'agent', name: sender.actor.name };
  const output = messages.findLast(({ kind }) => kind === 'OUTPUT')?.value as Output | undefined;
  const ids = [
    ...(output === undefined ? [] : [output._handoff.graph_node]),
    ...messages.flatMap(({ value }) => (kindOf(value) === 'update_node' ? [String(idOf(value))] : [])),
    ...messages.flatMap(({ value }) => sourcesOf(value)),
  ];
  let session: string | undefined;
  // An agent that is no run has no session but the default one; a person may speak of any.
  if (sender.actor.kind === 'person' || sender.actor.kind === 'runtime') {
    for (const id of ids) {
      session ??= (await store.node(id))?.session;
      if (session !== undefined) break;
    }
    session ??= sender.session;
  }
  const from = sender.agent ?? output?._meta.created_by ?? sender.actor.name;
  return { by, from, task: null, run: null, ...(session === undefined ? {} : { session }) };
}

const kindOf = (value: unknown): unknown => (value as { type?: unknown } | null)?.type;
const idOf = (value: unknown): unknown => (value as { node_id?: unknown } | null)?.node_id;

function sourcesOf(value: unknown): string[] {
  const { source, target, lineage } = (value ?? {}) as Record<string, unknown>;
  const { created_from_node: one, created_from_nodes: many } = (lineage ?? {}) as Record<string, unknown>;
  const all: unknown[] = [source, target, one, ...(Array.isArray(many) ? many : [])];
  return all.filter((id) => typeof id === 'string');
}

/** None of them was taken: the one that is to blame says why, the others say that. */
async function refuseAll(
  options: RouterOptions,
  said: readonly Said[],
  at: number,
  refusal: Refusal,
): Promise<Answered[]> {
  const answers: Answered[] = [];
  for (const [i, one] of said.entries()) {
    if (i === at) {
      const own = one.sender.run === null ? undefined : await options.store.find(taskOfRun(one.sender.run) ?? '');
      answers.push(await reject(options, one, own, refusal));
      continue;
    }
    const reason = `nothing of this report was taken: ${refusal.message}`;
    answers.push({ result: 'rejected', reason, task: null, events: [], code: refusal.code, hint: refusal.hint });
  }
  return answers;
}

async function acceptAll(
  options: RouterOptions,
  said: readonly Said[],
  applied: Exclude<Applied, { kind: 'refused' }>,
  own: Task | null,
): Promise<Answered[]> {
  const task = applied.kind === 'applied' ? (applied.next[0]?.id ?? own?.id ?? null) : (own?.id ?? null);
  const isSame = applied.kind === 'applied' && applied.answer.kind === 'same';
  const answers: Answered[] = [];
  for (const [i, one] of said.entries()) {
    const isLast = i === said.length - 1;
    const received = await note(
      options,
      one,
      RECEIVED,
      { task: isLast ? (task ?? undefined) : undefined },
      originOf(one),
    );
    // All of them were recorded together; the last answer tells what.
    const events = [...(isLast && applied.kind === 'applied' ? committed(applied.answer) : []), ...received];
    answers.push(accepted(isLast ? task : null, events, isLast ? toldOf(applied, isSame) : null));
  }
  return answers;
}

function toldOf(applied: Exclude<Applied, { kind: 'refused' }>, isSame: boolean): string | null {
  if (isSame) return 'it is so already';
  if (applied.kind !== 'applied') return null;
  const open = applied.questions.filter(({ answer }) => answer === null).map(({ id }) => id);
  const known = applied.questions.filter(({ answer }) => answer !== null);
  if (open.length > 0) return `waits for a person's answer: ${open.join(', ')}`;
  if (known[0] !== undefined)
    return `${known[0].id} was answered before: ${known[0].answer?.text ?? known[0].answer?.status}`;
  const stages = applied.next.map(({ id, metadata }) => `${metadata['stage']} as ${id}`);
  return stages.length === 0 ? null : `handed on to ${stages.join(', ')}`;
}

/** A person's word about nodes; what else stands in the text goes into the graph first. */
async function answerAll(
  options: RouterOptions,
  said: readonly Said[],
  approvals: readonly Said[],
): Promise<Answered[]> {
  const rest = said.filter((one) => !approvals.includes(one));
  const before =
    rest.length === 0
      ? []
      : await takeOutputs(
          options,
          rest.map(({ message }) => message),
          (said[0] as Said).sender,
        );
  if (before.some(({ result }) => result !== 'accepted')) {
    const reason = before.find(({ result }) => result !== 'accepted')?.reason ?? 'it was not taken';
    const refusal = no(before[0]?.code ?? 'E_SCHEMA_VALIDATION', reason);
    return said.map((one) => before[rest.indexOf(one)] ?? ({ ...before[0], ...refusalOf(refusal) } as Answered));
  }
  const answers: Answered[] = [];
  for (const one of said) {
    const known = before[rest.indexOf(one)];
    answers.push(known ?? (await answerOne(options, one)));
  }
  return answers;
}

const refusalOf = ({ code, message, hint }: Refusal): Answered => ({
  result: 'rejected',
  reason: message,
  task: null,
  events: [],
  code,
  hint,
});

async function answerOne(options: RouterOptions, said: Said): Promise<Answered> {
  const { _handoff: handoff } = said.message.value as Output;
  const status = handoff.approval_status ?? 'approved';
  const comment = (handoff as Record<string, unknown>)['comment'];
  if (options.answer === undefined) {
    return reject(options, said, undefined, no('E_USAGE', 'nobody takes answers here', 'try: baton approve'));
  }
  try {
    const answered = await options.answer(
      {
        id: handoff.graph_node,
        status,
        ...(typeof comment === 'string' ? { comment } : {}),
        ...(status === 'approved' && handoff.next_stage !== 'user' ? { next: handoff.next_stage } : {}),
      },
      said.sender.actor,
    );
    const task = answered.made[0]?.id ?? answered.task?.id ?? null;
    const received = await note(options, said, RECEIVED, { task: task ?? undefined }, originOf(said));
    return accepted(task, [...answered.events, ...received], `${answered.item.id} is answered: ${status}`);
  } catch (cause) {
    // What is refused is answered; a store that fails throws on.
    if (!(cause instanceof BatonError)) throw cause;
    return reject(options, said, undefined, no(cause.code, cause.message, cause.hint));
  }
}

/** What a run says of the graph: to its ear, wherever that is; of a run that nobody watches over it acts at once. */
export async function takeOfRun(options: RouterOptions, said: Said, own: Task): Promise<Answered> {
  const { message } = said;
  const { run } = own;
  const about = { task: own.id, run: run?.id };
  // Whoever finishes the run after a crash reads it there.
  const kept = { ...originOf(said), graph: message.value, kind: message.kind };
  const ear = run === null ? undefined : options.runs.get(run.id);
  if (ear !== undefined) {
    const { result, reason, code } = ear.hear(message);
    if (result !== 'accepted') {
      const why = no(code ?? 'E_SCHEMA_VALIDATION', reason ?? `${nameOf(message)} was not taken`);
      return reject(options, said, own, why);
    }
    const events = await note(options, said, RECEIVED, about, kept);
    return accepted(own.id, events, `${run?.id} has said it; it counts when the run ends`);
  }
  if (run !== null && isWatched(run)) {
    const late = no('E_STALE_RUN', TOO_LATE);
    if (await isHeardOut(options.store, own)) return reject(options, said, own, late);
    const letter = newId();
    // Whoever watches over it reads the journal; it may have been over before that was written.
    const events = await note(options, said, RECEIVED, about, { ...kept, forward: true, letter, message });
    if (await isHeardOut(options.store, own, letter)) return reject(options, said, own, late);
    return accepted(own.id, events, `handed to ${run.id}; it counts when the run ends`);
  }
  const speaker = { by: said.sender.actor, from: whoIs(said.sender), task: own, run: null };
  const applied = await applyGraph(partsOf(options), heardOf([message]), speaker);
  if (applied.kind === 'refused') return reject(options, said, own, applied.refusal);
  return (await acceptAll(options, [said], applied, own))[0] as Answered;
}
