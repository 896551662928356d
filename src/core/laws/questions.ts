/** Questions to a person: when one is asked, and what an answer does. Only a person answers, and no time passes for an answer. */

import { type Fields, isFields } from '../fields.ts';
import { type ApprovalStatus, type Node, nodeId, topicOfId } from '../node.ts';
import { isVoid, type Option, type Question, questionKey } from '../question.ts';
import { isRunning } from '../task.ts';
import { isoTime } from '../time.ts';
import { type Decision, refused } from './decision.ts';
import type { Draft } from './draft.ts';
import { isEscalation } from './escalation-key.ts';
import type { GraphMessage, Handed, Threshold } from './messages.ts';
import { move } from './moves.ts';
import { sendLetter } from './session.ts';
import { handOn } from './stages.ts';
import { markStale } from './stale.ts';

/** A report in the making, and who gives it. */
export interface Asking {
  readonly draft: Draft;
  readonly task: string | null;
  readonly run: string | null;
  readonly session: string;
  readonly handed: readonly Handed[];
}

/** The question that somebody has to answer before a node is built upon; null where there is none. */
export function isAskedAbout(draft: Draft, node: string): string | null {
  for (const { id, about, node: its } of draft.graph.openQuestions()) if (about === node || its === node) return id;
  return null;
}

/** A domain's own limit, where config gives it one. */
export const thresholdOf = ({ below, domains }: Threshold, domain: string | null): number =>
  domain !== null && Object.hasOwn(domains, domain) ? (domains[domain] ?? below) : below;

/** Opens what has to be asked of the nodes of a report; the names of what came of it. */
export function askAbout(asking: Asking, touched: readonly string[], escalate: Threshold): string[] {
  const { draft, handed } = asking;
  const about: string[] = [];
  const below = ({ domain }: Node): number => thresholdOf(escalate, domain);
  for (const id of touched) {
    const node = draft.graph.node(id);
    if (node === undefined || node.type === 'Approval') continue;
    if (node.type === 'Uncertainty') about.push(...askUncertainty(asking, node));
    else if (node.confidence < below(node)) about.push(...askConfidence(asking, node, node.confidence, below(node)));
  }
  for (const each of handed) {
    const node = draft.graph.node(each.node);
    if (node !== undefined) about.push(...askAboutHanded(asking, node, each, below(node)));
  }
  return about;
}

function askAboutHanded(asking: Asking, node: Node, handed: Handed, below: number): string[] {
  const { draft } = asking;
  const about: string[] = [];
  const isUnsure = handed.outputType === 'uncertainty' || handed.confidence < below;
  if (
    isUnsure &&
    node.approval !== 'approved' &&
    node.type !== 'Uncertainty' &&
    isAskedAbout(draft, node.id) === null
  ) {
    about.push(...askConfidence(asking, node, handed.confidence, below));
  }
  const gate = handed.approval ?? gateBefore(asking, node);
  if (gate !== null) about.push(...askApproval(asking, node, handed, gate.question));
  return about;
}

/** Who asked for changes is asked again: the second try does not go on without a word. */
function gateBefore({ draft, task }: Asking, { approval, id }: Node): { readonly question: string } | null {
  const asked = task === null ? [] : [...draft.slice.questionsOf(task)];
  const last = asked.findLast(({ kind, answer }) => kind === 'approval' && answer !== null);
  if (last?.answer?.status === 'changes_requested') return { question: last.question };
  return approval === 'changes_requested' ? { question: `Do you approve ${id}?` } : null;
}

function askApproval(asking: Asking, node: Node, handed: Handed, question: string): string[] {
  const { draft } = asking;
  // Asked already, and not answered yet.
  for (const open of draft.graph.openQuestions()) {
    if (open.kind === 'approval' && open.node === node.id) return [`question:${open.id}`];
  }
  const stage = handed.nextStage === 'user' ? node.nextStage : handed.nextStage;
  return open(asking, {
    kind: 'approval',
    question,
    options: [],
    reason: handed.escalationReason,
    node: node.id,
    about: node.id,
    nextStage: stage === 'user' ? null : stage,
    requiredFields: handed.requiredFields,
    optionalFields: handed.optionalFields,
  });
}

type Asked = Pick<
  Question,
  'kind' | 'question' | 'options' | 'reason' | 'node' | 'about' | 'nextStage' | 'requiredFields' | 'optionalFields'
>;

/** A person reads it; more is in the node. */
const MOST_QUESTION = 1_000;

const open = (asking: Asking, asked: Asked): string[] => [`question:${openQuestion(asking, asked)}`];

/** The id of the question. By `key` the same one is found again. */
export function openQuestion({ draft, task, run, session }: Asking, asked: Asked, as?: string): string {
  const id = `ask-${draft.graph.nextQuestion()}`;
  const key = as ?? (asked.kind === 'approval' ? id : questionKey(asked.question, asked.options));
  const question = asked.question.slice(0, MOST_QUESTION);
  const reason = asked.reason === null ? null : asked.reason.slice(0, MOST_QUESTION);
  draft.graph.putQuestion({ ...asked, question, reason, id, session, task, run, since: draft.now, key, answer: null });
  draft.event('question.opened', task, run, {
    question: id,
    kind: asked.kind,
    text: question,
    node: asked.node,
    about: asked.about,
  });
  return id;
}

/** What an agent asks itself. The same question is not asked twice. */
function askUncertainty(asking: Asking, node: Node): string[] {
  const { draft, handed } = asking;
  if (isAskedAbout(draft, node.id) !== null || node.approval !== null) return [];
  const data = dataOf(draft, node.id);
  const options = optionsOf(data['options']);
  const question = text(data['question']) ?? text(data['uncertainty_source']) ?? `What about ${node.id}?`;
  const like = draft.slice.questionLike(questionKey(question, options));
  if (like?.answer != null && like.answer.status !== 'rejected') {
    resolve(draft, node.id, like.answer.text ?? like.answer.comment ?? like.answer.status, like.answer.node);
    const { status, text: answer, comment, by } = like.answer;
    const detail = { question: like.id, asked: question, status, text: answer, comment, by, node: node.id };
    draft.event('question.known', asking.task, asking.run, detail);
    return [`question:${like.id}`];
  }
  const mine = handed.find((each) => each.node === node.id);
  return open(asking, {
    kind: 'uncertainty',
    question,
    options,
    reason: mine?.escalationReason ?? text(data['uncertainty_source']),
    node: node.id,
    about: node.id,
    nextStage: null,
    requiredFields: mine?.requiredFields ?? [],
    optionalFields: [],
  });
}

/** Not sure enough for what comes after it: an Uncertainty node is written for it, and a person decides. */
function askConfidence(asking: Asking, node: Node, confidence: number, below: number): string[] {
  const { draft, handed } = asking;
  if (isAskedAbout(draft, node.id) !== null) return [];
  const percent = (share: number): string => `${Math.round(share * 1000) / 10} %`;
  const summary = text(dataOf(draft, node.id)['summary']);
  const question = `${node.createdBy} is ${percent(confidence)} sure of ${node.id}${summary === null ? '' : ` (${summary.slice(0, 200)})`}. Use it as it is?`;
  const source = `confidence ${confidence} is below ${below}`;
  const id = freeId(draft, 'uncertainty', topicOfId(node.id));
  const options: Option[] = [
    { option: 'accept', impact: 'it goes on as it is' },
    { option: 'redo', impact: 'its task is done again' },
  ];
  writeNode(draft, {
    id,
    type: 'Uncertainty',
    outputType: 'uncertainty',
    createdBy: 'baton',
    confidence,
    ready: false,
    domain: node.domain,
    sources: [node.id],
    asking,
    data: { uncertainty_source: source, question, options, context: `${node.type} ${node.id} by ${node.createdBy}` },
    nextStage: 'user',
    requiredFields: ['resolution'],
  });
  const mine = handed.find((each) => each.node === node.id);
  const stage = mine === undefined || mine.nextStage === 'user' ? node.nextStage : mine.nextStage;
  return [
    `node:${id}`,
    ...open(asking, {
      kind: 'uncertainty',
      question,
      options,
      reason: mine?.escalationReason ?? source,
      node: id,
      about: node.id,
      nextStage: mine === undefined || stage === 'user' ? null : stage,
      requiredFields: mine?.requiredFields ?? [],
      optionalFields: mine?.optionalFields ?? [],
    }),
  ];
}

interface Written {
  readonly id: string;
  readonly type: string;
  readonly outputType: string;
  readonly createdBy: string;
  readonly confidence: number;
  readonly ready: boolean;
  readonly domain: string | null;
  readonly sources: readonly string[];
  /** What its id says where nothing is said here. */
  readonly topic?: string;
  readonly asking: Pick<Asking, 'task' | 'run' | 'session'>;
  readonly data: Fields;
  readonly nextStage: string;
  readonly requiredFields: readonly string[];
}

/** A node that no agent wrote. */
export function writeNode(draft: Draft, written: Written): void {
  const { id, type, outputType, createdBy, confidence, ready, domain, sources, asking, data } = written;
  const { nextStage, requiredFields, topic = topicOfId(id) } = written;
  const node: Node = {
    id,
    type,
    session: asking.session,
    createdBy,
    createdAt: draft.now,
    updatedAt: draft.now,
    domain,
    outputType,
    confidence,
    ready,
    nextStage,
    topic,
    sources,
    uses: [],
    task: asking.task,
    run: asking.run,
    stale: null,
    approval: null,
  };
  const created_at = isoTime(draft.now);
  const document = {
    type: 'add_node',
    node_id: id,
    node_type: type,
    metadata: {
      created_by: createdBy,
      created_at,
      domain: domain ?? 'custom',
      confidence,
      output_type: outputType,
    },
    data,
    handoff: { ready_for_next: ready, next_stage: nextStage, required_fields: requiredFields },
    lineage: {
      ...(sources.length === 1 ? { created_from_node: sources[0] } : { created_from_nodes: sources }),
      consumed_by_nodes: [],
    },
  };
  draft.graph.add(node, JSON.stringify(document));
  draft.event('node.added', asking.task, asking.run, { node: id, type, confidence });
}

/** For a node that no agent wrote. */
export function freeId(draft: Draft, type: string, topic: string): string {
  const id = nodeId(type, topic, isoTime(draft.now));
  if (draft.graph.node(id) === undefined) return id;
  for (let i = 2; ; i++) if (draft.graph.node(`${id}_${i}`) === undefined) return `${id}_${i}`;
}

/** The data of a node as this decision has it; what only the journal has is not needed here. */
function dataOf(draft: Draft, id: string): Fields {
  let data: Fields = {};
  for (const change of draft.graph.changes) {
    if (change.kind !== 'node' || change.node !== id || change.document === null) continue;
    const written = JSON.parse(change.document.text) as { data?: unknown };
    if (isFields(written.data)) data = { ...data, ...written.data };
  }
  return data;
}

const text = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value : null);

const MOST_OPTIONS = 20;
const MOST_OPTION = 300;

function optionsOf(value: unknown): Option[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, MOST_OPTIONS).flatMap((item: unknown): Option[] => {
    if (typeof item === 'string') return [{ option: item.slice(0, MOST_OPTION), impact: null }];
    const fields = isFields(item) ? item : {};
    const option = text(fields['option']);
    const impact = text(fields['impact'])?.slice(0, MOST_OPTION) ?? null;
    return option === null ? [] : [{ option: option.slice(0, MOST_OPTION), impact }];
  });
}

function resolve(draft: Draft, id: string, resolution: string, by: string): void {
  const document = { data: { resolution, resolved_by: by }, handoff: { ready_for_next: true } };
  const fields = { ready: true, approval: 'approved', updatedAt: draft.now } as const;
  draft.graph.set(id, fields, { isNew: false, text: JSON.stringify(document) });
}

type Answering = Extract<GraphMessage, { type: 'question.answer' }>;

export function answerQuestion(draft: Draft, message: Answering): Decision {
  const { id, comment } = message;
  const question = draft.slice.question(id);
  if (question === undefined) return refused('E_NOT_FOUND', `there is no question ${id}`, 'see: baton inbox');
  if (draft.by.kind !== 'person') {
    return refused('E_PERMISSION_DENIED', `only a person answers ${id}, and this came from ${draft.by.name}`);
  }
  if (question.answer !== null) {
    const { status, by, at } = question.answer;
    return refused('E_ANSWERED', `${id} was answered already: ${status} by ${by} at ${isoTime(at)}`);
  }
  const asker = question.task === null ? undefined : draft.task(question.task);
  if (isVoid(question, asker)) {
    const why = asker === undefined ? 'is gone' : `is ${asker.status}`;
    return refused('E_ANSWERED', `${id} need not be answered any more: ${question.task}, which asked, ${why}`);
  }
  const { status, said } = meant(question, message);
  if (status === 'answered' && (said === null || said.trim() === '')) {
    return refused(
      'E_SCHEMA_VALIDATION',
      `expected a text that answers ${id}, got none`,
      `try: baton answer ${id} TEXT`,
    );
  }
  const task = question.task === null ? undefined : draft.task(question.task);
  if (task !== undefined && isRunning(task) && task.run?.id === question.run) {
    return refused('E_RUN_ALIVE', `the run that asks ${id} has not ended yet; answer it in a moment`);
  }
  const node = draft.graph.node(question.node) as Node;
  const approvalId = freeId(draft, 'approval', topicOfId(question.about));
  const approved: ApprovalStatus = status === 'answered' ? 'approved' : status;
  const timestamp = isoTime(draft.now);
  const isApproved = approved === 'approved';
  const nextStage = isApproved ? (message.next?.task.metadata?.['stage'] ?? question.nextStage) : null;
  writeNode(draft, {
    id: approvalId,
    type: 'Approval',
    outputType: 'approval',
    createdBy: 'user',
    confidence: 1,
    ready: true,
    domain: node.domain,
    sources: [node.id],
    asking: { task: question.task, run: null, session: question.session },
    data: {
      approved_item: question.about,
      approval_status: approved,
      timestamp,
      question: question.question,
      ...(said === null ? {} : { resolution: said }),
      ...(comment === undefined ? {} : { comment }),
    },
    nextStage: typeof nextStage === 'string' ? nextStage : 'user',
    requiredFields: ['approval_status'],
  });
  const answer = { status, text: said, comment: comment ?? null, by: draft.by.name, at: draft.now, node: approvalId };
  draft.graph.putQuestion({ ...question, answer });
  judgeNodes(draft, question, approved, said ?? comment ?? approved, approvalId);
  const output = {
    _meta: { output_type: 'approval', created_by: 'user', domain: node.domain ?? 'custom', timestamp, confidence: 1 },
    _handoff: {
      next_stage: typeof nextStage === 'string' ? nextStage : 'user',
      graph_node: question.about,
      required_fields: question.requiredFields,
      ...(question.optionalFields.length === 0 ? {} : { optional_fields: question.optionalFields }),
      approval_status: approved,
    },
  };
  draft.event('question.answered', question.task, question.run, {
    question: id,
    asked: question.question,
    ...answer,
    output,
  });
  if (isEscalation(question))
    tellAsker(draft, question, node.createdBy, `${status}${said === null ? '' : `: ${said}`}`);
  const about = [`question:${id}`, `node:${approvalId}`];
  if (task !== undefined) {
    const moved = moveAsker(draft, question, task.id, approved, status, said ?? comment);
    if (moved !== null) return moved;
    about.push(task.id);
  }
  // What is still asked about it keeps it here; the last yes lets it go.
  if (message.next !== undefined && isApproved && isAskedAbout(draft, question.about) === null) {
    const from = question.task === null ? null : (draft.task(question.task) ?? null);
    const made = handOn(draft, from, message.next, question.about, String(nextStage));
    if (typeof made !== 'string') return made;
    about.push(made);
  }
  return draft.decision(question.session, about);
}

/** The agent that escalated it finds the person's answer in its mailbox. */
function tellAsker(draft: Draft, { id, session }: Question, agent: string, words: string): void {
  const speaker = { agent: draft.by.name, run: null, priority: 'P2', leads: true } as const;
  sendLetter(draft, { type: 'session.send', session, to: { agent }, text: `${id} ${words}`, speaker });
}

/** The two words that Baton offers for what is not sure enough, by their meaning. */
function meant(
  { node, about, options }: Question,
  { status, text: words }: Answering,
): { readonly status: Answering['status']; readonly said: string | null } {
  const said = words ?? null;
  if (status !== 'answered' || node === about || options.length === 0) return { status, said };
  const word = said?.trim().toLowerCase();
  if (word === 'accept') return { status: 'approved', said };
  if (word === 'redo') return { status: 'changes_requested', said };
  return { status, said };
}

function judgeNodes(
  draft: Draft,
  { kind, node, about }: Question,
  approved: ApprovalStatus,
  said: string,
  by: string,
): void {
  if (kind === 'uncertainty') {
    if (approved === 'rejected') draft.graph.set(node, { approval: 'rejected', ready: false, updatedAt: draft.now });
    else resolve(draft, node, said, by);
    if (about === node) return;
  }
  const ready = approved === 'approved';
  const document = { isNew: false, text: JSON.stringify({ handoff: { ready_for_next: ready } }) };
  draft.graph.set(about, { approval: approved, ready, updatedAt: draft.now }, document);
  if (approved === 'rejected') markStale(draft, [about], 'a person rejected it', null);
}

/** The task that asked goes on: it is done, done again, or not done at all. */
function moveAsker(
  draft: Draft,
  { kind, node, about, id }: Question,
  taskId: string,
  approved: ApprovalStatus,
  status: Answering['status'],
  reason: string | undefined,
): Decision | null {
  const task = draft.task(taskId);
  if (task === undefined || (task.status !== 'review' && task.status !== 'blocked')) return null;
  // A yes to one of several leaves it waiting for the others; a no, or a wish for changes, decides.
  const isOneOfMany = [...draft.graph.openQuestions()].some((other) => other.task === taskId && other.id !== id);
  if (approved === 'approved' && isOneOfMany) return null;
  const isAsked = kind === 'uncertainty' && about === node;
  const to =
    approved === 'rejected'
      ? 'cancelled'
      : approved === 'changes_requested' || isAsked || status === 'answered' || task.status === 'blocked'
        ? 'ready'
        : 'done';
  const moved = move(draft, task, to, `${id}: ${status}${reason === undefined ? '' : `, ${reason}`}`.slice(0, 500));
  return moved.kind === 'refused' ? moved : null;
}
