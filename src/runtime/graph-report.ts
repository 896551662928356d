/**
 * A report's word on the knowledge graph becomes one message to its laws: all blocks, the envelope, and the task of the stage that goes on. What can be
 * seen to be wrong before anything is written (a gap, a stage that nobody is) is said here, for whoever made the report to mend.
 */

import { parseJson } from '../core/fields.ts';
import { mergeDocuments } from '../core/graph-queries.ts';
import type { Refusal } from '../core/laws/decision.ts';
import type { Actor, GraphMessage, Handed, HandedOn } from '../core/laws/messages.ts';
import { thresholdOf } from '../core/laws/questions.ts';
import type { GraphUpdate } from '../core/node.ts';
import type { Question } from '../core/question.ts';
import type { Answer, Store } from '../core/store.ts';
import { DEFAULT_SESSION, type Run, type Task } from '../core/task.ts';
import { graphUpdateOf, handedOf } from '../protocol/output/graph.ts';
import type { Output } from '../protocol/output/schema.ts';
import { agentActor, RUNTIME } from './actor.ts';
import type { LiveRuns } from './live-runs.ts';
import { escalation, gapsOf, type Loadable, noNode, notLoadable, openAbout } from './loading.ts';
import type { RepairCheck } from './repair-check.ts';
import type { SaidGraph } from './said-graph.ts';
import { nextStage, type StageParts } from './stage-task.ts';
import { stageOf, USER } from './stages.ts';

type Apply = Extract<GraphMessage, { type: 'graph.apply' }>;

/** Who gives the report. */
export interface Speaker {
  readonly by: Actor;
  /** Who hands on, in words. */
  readonly from: string;
  readonly task: Task | null;
  readonly run: string | null;
  readonly session?: string;
}

export const saysNothing = ({ updates, outputs, broken }: SaidGraph): boolean =>
  updates.length === 0 && outputs.length === 0 && broken.length === 0;

/** An answer that only a person may give. */
export const isPersonsWord = ({ _meta: meta, _handoff: handoff }: Output): boolean =>
  meta.output_type === 'approval' || handoff.approval_status != null;

type Planned = { readonly message: Apply } | { readonly refusal: Refusal };

/** What is asked of the store, or what keeps it from being asked. Nothing is changed by it. */
async function planGraph(parts: StageParts, said: SaidGraph, speaker: Speaker): Promise<Planned> {
  const { updates, outputs, broken } = said;
  const { by, task, run, session } = speaker;
  if (broken.length > 0) {
    return no('E_SCHEMA_VALIDATION', `nothing of it is written into the graph: ${broken.join('; ')}`);
  }
  const persons = by.kind === 'person' ? undefined : outputs.find(isPersonsWord);
  if (persons !== undefined) {
    const message = `only a person approves ${persons._handoff.graph_node}, and this came from ${by.name}`;
    return no('E_PERMISSION_DENIED', message);
  }
  const changes = updates.map(graphUpdateOf);
  const escalate = escalation(parts.config);
  const message: Apply = {
    type: 'graph.apply',
    updates: changes,
    escalate,
    ...(task === null ? {} : { task: task.id }),
    ...(run === null ? {} : { run }),
    ...(session === undefined ? {} : { session }),
  };
  const handed: HandedOn[] = [];
  for (const output of outputs) {
    const planned = await planHandOn(parts, output, message, speaker);
    if ('refusal' in planned) return planned;
    handed.push(planned.handed);
  }
  return { message: handed.length === 0 ? message : { ...message, handed } };
}

/** What one OUTPUT hands on, or why it cannot be handed on. */
async function planHandOn(
  parts: StageParts,
  output: Output,
  { updates, escalate }: Apply,
  speaker: Speaker,
): Promise<{ readonly handed: HandedOn } | { readonly refusal: Refusal }> {
  const { task, run, session } = speaker;
  const said = handedOf(output);
  const stage = stageOf(parts.config, said.nextStage);
  if (stage.kind === 'unknown') return stage;
  const handed: HandedOn = stage.kind === 'user' ? { ...said, nextStage: USER } : said;
  const node = await nodeAfter(parts.store, handed.node, updates, escalate);
  if (node === null) return { refusal: noNode(handed.node) };
  // A result for the person asks for nothing.
  if (stage.kind === 'user' && handed.approval === null) return { handed };
  const isAsked = isAskedAbout(node, handed, escalate);
  const open = isAsked ? undefined : await openAbout(parts.store, node.id);
  const gaps = gapsOf(node, { required: handed.requiredFields, config: parts.config, open, isAsked });
  if (gaps.length > 0) return { refusal: notLoadable(node.id, gaps) };
  if (isAsked || stage.kind === 'user') return { handed };
  const made = await nextStage(parts, {
    stage: said.nextStage,
    node,
    required: handed.requiredFields,
    optional: handed.optionalFields,
    producer: task,
    run,
    from: speaker.from,
    ...(session === undefined ? {} : { session }),
    output,
  });
  if ('refusal' in made) return made;
  return { handed: made.next === null ? handed : { ...handed, next: made.next } };
}

const no = (code: Refusal['code'], message: string, hint: string | null = null): { readonly refusal: Refusal } => ({
  refusal: { code, message, hint },
});

/** Whether the law is going to ask a person about it; then nothing goes on before the answer. */
function isAskedAbout(node: Loadable, handed: Handed, { below, domains }: Apply['escalate']): boolean {
  if (handed.approval !== null) return true;
  // What was answered is a result like any other.
  if (node.type === 'Uncertainty') return node.approval === null;
  if (node.approval === 'approved') return false;
  if (handed.outputType === 'uncertainty') return true;
  const least = thresholdOf({ below, domains }, node.domain);
  return node.confidence < least || handed.confidence < least;
}

/** A node as it will be when a report is applied; null where there will be none. */
async function nodeAfter(
  store: Store,
  id: string,
  changes: readonly GraphUpdate[],
  escalate: Apply['escalate'],
): Promise<Loadable | null> {
  let node: Loadable | null = (await store.node(id)) ?? null;
  for (const change of changes) {
    if (change.kind === 'add-node' && change.node.id === id) {
      const { node: said } = change;
      const least = thresholdOf(escalate, said.domain);
      node = {
        ...said,
        session: node?.session ?? DEFAULT_SESSION,
        ready: said.ready ?? (said.type !== 'Uncertainty' && said.confidence >= least),
        stale: null,
        approval: null,
        document: documentOf(change.document),
      };
    } else if (change.kind === 'update-node' && change.id === id && node !== null) {
      const document = mergeDocuments([node.document, documentOf(change.document)]);
      const approval = change.changesData ? null : node.approval;
      node = { ...node, ...change.set, stale: null, approval, document };
    }
  }
  return node;
}

const documentOf = (text: string): Readonly<Record<string, unknown>> =>
  (parseJson(text) ?? {}) as Readonly<Record<string, unknown>>;

export type Applied =
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | {
      readonly kind: 'applied';
      readonly answer: Exclude<Answer, { kind: 'refused' }>;
      readonly questions: readonly Question[];
      /** The tasks of the next stages. */
      readonly next: readonly Task[];
    };

/** All of it, or nothing. */
export async function applyGraph(parts: StageParts, said: SaidGraph, speaker: Speaker): Promise<Applied> {
  if (saysNothing(said)) return { kind: 'none' };
  const planned = await planGraph(parts, said, speaker);
  if ('refusal' in planned) return { kind: 'refused', refusal: planned.refusal };
  const answer = await parts.store.send({ message: planned.message, by: speaker.by });
  if (answer.kind === 'refused') return { kind: 'refused', refusal: answer.refusal };
  const next = answer.tasks.filter(
    ({ id, metadata, status }) =>
      id !== speaker.task?.id &&
      metadata['stage'] !== undefined &&
      metadata['node'] !== undefined &&
      status !== 'cancelled',
  );
  return { kind: 'applied', answer, questions: answer.questions ?? [], next };
}

export const speakerOf = (task: Task, run: Run): Speaker => ({
  by: agentActor(run.agent),
  from: run.agent,
  task,
  run: run.id,
});

/** What was written for a task is not to be built upon any more; what was handed on for it and has not begun is called off. */
export async function takeBack({ store }: Pick<StageParts, 'store'>, task: Task, reason: string): Promise<void> {
  // Most tasks write none, and the graph need not be looked at for them.
  const history = await store.history(task.id);
  if (!history.some(({ events }) => events.some(({ type }) => type === 'node.added' || type === 'node.updated')))
    return;
  const answer = await store.send({ message: { type: 'graph.stale', task: task.id, reason }, by: RUNTIME });
  if (answer.kind !== 'changed') return;
  for await (const other of store.tasks({ session: task.session, status: ['backlog', 'ready', 'blocked'] })) {
    if (other.metadata['handedFrom'] !== task.id) continue;
    // Somebody may have taken it meanwhile: then it is theirs.
    await store.send({ message: { type: 'task.cancel', id: other.id, reason }, by: RUNTIME });
  }
}

/** What its agent can put right by its own words. */
const MENDABLE: readonly string[] = ['E_SCHEMA_VALIDATION', 'E_NOT_LOADABLE', 'E_NOT_FOUND', 'E_AGENT_NOT_FOUND'];

/** What is wrong with what a run says of the graph, while it can still be asked. */
export const graphRepairs =
  (parts: StageParts & { readonly runs: LiveRuns }): RepairCheck =>
  async (_, { task, run }) => {
    const ear = parts.runs.get(run.id);
    const said = ear?.graph?.();
    if (said === undefined || saysNothing(said)) return [];
    const planned = await planGraph(parts, said, speakerOf(task, run));
    if ('message' in planned || !MENDABLE.includes(planned.refusal.code)) return [];
    ear?.mendGraph?.();
    return [`${planned.refusal.message}; say the blocks once more, as they should be, and every OUTPUT`];
  };
