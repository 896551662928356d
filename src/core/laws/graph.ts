/** The laws of the knowledge graph: the blocks of a report together or not at all, no circles, nothing that leads nowhere. */
import { type Edge, type GraphUpdate, MOST_NODE_CHARS, NODE_ID, type Node, topicOfId } from '../node.ts';
import { DEFAULT_SESSION, isRunning, type Task } from '../task.ts';
import { shown } from '../words.ts';
import { type Decision, refused, same } from './decision.ts';
import type { Draft } from './draft.ts';
import { isApplied, isHeldBack, markApplied } from './held-graph.ts';
import type { GraphMessage } from './messages.ts';
import { type Asking, askAbout, isAskedAbout, thresholdOf } from './questions.ts';
import { handOn } from './stages.ts';
import { markStale } from './stale.ts';

type Apply = Extract<GraphMessage, { type: 'graph.apply' }>;
type AddNode = Extract<GraphUpdate, { kind: 'add-node' }>;
type UpdateNode = Extract<GraphUpdate, { kind: 'update-node' }>;

/** Whoever is no person speaks of its own session only. */
const isBound = (draft: Draft): boolean => draft.by.kind === 'agent' || draft.by.kind === 'unknown';

export function applyGraph(draft: Draft, message: Apply): Decision {
  const task = message.task === undefined ? null : (draft.task(message.task) ?? null);
  if (message.task !== undefined && task === null) return refused('E_NOT_FOUND', `there is no task ${message.task}`);
  const { run } = message;
  if (run !== undefined) {
    const isCurrent = task?.run?.id === run && (isRunning(task) || isHeldBack(task));
    if (task === null || !isCurrent) {
      return refused('E_STALE_RUN', `${run} is not the current run of ${task?.id ?? 'any task'}, or it has ended`);
    }
    if (isApplied(task, run) && !isHeldBack(task)) return same(...saidBefore(draft, task, run));
  }
  const session = task?.session ?? message.session ?? DEFAULT_SESSION;
  const handed = message.handed ?? [];
  const asking: Asking = { draft, task: task?.id ?? null, run: run ?? null, session, handed };
  const touched = new Set<string>();
  for (const update of message.updates) {
    const refusal = take(asking, update, message);
    if (refusal !== null) return refusal;
    if (update.kind === 'add-node') touched.add(update.node.id);
    else if (update.kind === 'update-node') touched.add(update.id);
    else touched.add(update.source);
  }
  // Sources may stand behind what was made from them, so they are looked at when all are there.
  for (const id of touched) {
    const refusal = checkSources(draft, id);
    if (refusal !== null) return refusal;
  }
  const about = [...touched].map((id) => `node:${id}`);
  for (const { node: id } of handed) {
    const node = draft.graph.node(id);
    if (node === undefined) return refused('E_NOT_FOUND', `there is no node ${id}`);
    if (isBound(draft) && node.session !== session) return notYours(node, session);
  }
  about.push(...askAbout(asking, [...touched], message.escalate));
  for (const { node, nextStage, next } of handed) {
    if (next === undefined || isAskedAbout(draft, node)) continue;
    const made = handOn(draft, task, next, node, nextStage);
    if (typeof made !== 'string') return made;
    about.push(made);
  }
  if (about.length === 0)
    return refused('E_SCHEMA_VALIDATION', 'expected a change of the graph or a node to hand on, got neither');
  if (draft.graph.changes.length === 0 && handed.every(({ next }) => next === undefined)) return same(...about);
  if (task !== null && run !== undefined) draft.set(task.id, markApplied(task, run));
  return draft.decision(session, about);
}

/** What a run has written down of the graph already. */
function saidBefore(draft: Draft, task: Task, run: string): string[] {
  const nodes = draft.graph.madeBy(task.id).filter((id) => draft.graph.node(id)?.run === run);
  const questions = [...draft.slice.questionsOf(task.id)].filter((question) => question.run === run);
  const next = [...draft.dependents(task.id)].filter((id) => draft.task(id)?.metadata['handedRun'] === run);
  return [...nodes.map((id) => `node:${id}`), ...questions.map(({ id }) => `question:${id}`), ...next];
}

function take(asking: Asking, update: GraphUpdate, message: Apply): Decision | null {
  switch (update.kind) {
    case 'add-node':
      return addNode(asking, update, message);
    case 'update-node':
      return updateNode(asking, update);
    default:
      return putEdge(asking, update);
  }
}

/** What only a person or Baton itself may write. */
const isPersons = ({
  type,
  createdBy,
  outputType,
}: Partial<Pick<Node, 'type' | 'createdBy' | 'outputType'>>): boolean =>
  looksLike(type, 'approval') ||
  looksLike(createdBy, 'user') ||
  looksLike(createdBy, 'baton') ||
  outputType === 'approval';

/** Whether a reader could take a name for another one: by its case, its blanks, its invisible marks or its wide letters. */
const looksLike = (name: string | undefined, other: string): boolean =>
  name !== undefined &&
  name
    .normalize('NFKC')
    .replace(/[\s\p{Cf}\p{Cc}]/gu, '')
    .toLowerCase() === other;

const onlyPersons = (id: string, who: string): Decision =>
  refused(
    'E_PERMISSION_DENIED',
    `${id} would be a person's or Baton's own word (an Approval, or created_by user or baton), and it came from ${who}`,
  );

const notYours = ({ id, session: its }: Node, session: string): Decision =>
  refused('E_PERMISSION_DENIED', `${id} is a node of the session ${its}, and this came from the session ${session}`);

const tooLong = (id: string, document: string): Decision | null =>
  document.length <= MOST_NODE_CHARS
    ? null
    : refused(
        'E_CONTEXT_OVERFLOW',
        `expected a node of at most ${MOST_NODE_CHARS} characters, got ${document.length} in ${id}`,
        'keep large contents in files and name them',
      );

/** More than a summary of many has; each is looked at. */
const MOST_SOURCES = 1_000;

const tooMany = (id: string, count: number): Decision =>
  refused('E_CONTEXT_OVERFLOW', `expected at most ${MOST_SOURCES} nodes that ${id} was made from, got ${count}`);

/** Whether a node is of a task that was undone, and that this task stands for: it writes the same node. */
function isRedone(draft: Draft, { task: of, stale }: Node, task: string | null): boolean {
  if (stale === null || of === null) return false;
  for (let at = task === null ? undefined : draft.task(task); at !== undefined; ) {
    const earlier = at.metadata['anew'];
    if (earlier === of) return true;
    at = typeof earlier === 'string' ? draft.task(earlier) : undefined;
  }
  return false;
}

function addNode(
  { draft, task, run, session }: Asking,
  { node, document }: AddNode,
  { escalate }: Apply,
): Decision | null {
  const { id } = node;
  if (!NODE_ID.test(id)) {
    return refused(
      'E_SCHEMA_VALIDATION',
      `expected an id of letters, digits, _, - and ., at most 200, got ${shown(id)}`,
    );
  }
  if (!(node.confidence >= 0 && node.confidence <= 1)) {
    return refused('E_SCHEMA_VALIDATION', `expected a confidence from 0 to 1, got ${shown(node.confidence)} in ${id}`);
  }
  const long = tooLong(id, document);
  if (long !== null) return long;
  if (draft.by.kind !== 'person' && draft.by.kind !== 'runtime' && isPersons(node))
    return onlyPersons(id, draft.by.name);
  if (node.sources.length > MOST_SOURCES) return tooMany(id, node.sources.length);
  const before = draft.graph.node(id);
  // Of one task the last run counts: it may write anew what an earlier one had written, and what was taken back from itself.
  const isAnew =
    before !== undefined &&
    before.task !== null &&
    ((before.task === task && (before.run !== run || before.stale !== null)) || isRedone(draft, before, task));
  if (before !== undefined && !isAnew) {
    return refused(
      'E_DUPLICATE',
      `there is a node ${id} already, a ${before.type} by ${before.createdBy}`,
      'change it with update_node, or give the new one another id',
    );
  }
  const below = thresholdOf(escalate, node.domain);
  const whole: Node = {
    id,
    type: node.type,
    session,
    createdBy: node.createdBy,
    createdAt: before?.createdAt ?? draft.now,
    updatedAt: draft.now,
    domain: node.domain,
    outputType: node.outputType,
    confidence: node.confidence,
    ready: node.ready ?? (node.type !== 'Uncertainty' && node.confidence >= below),
    nextStage: node.nextStage,
    topic: node.topic ?? topicOfId(id),
    sources: [...new Set(node.sources)],
    uses: usesOf(draft, task, id, node.sources),
    task,
    run,
    stale: null,
    approval: null,
  };
  if (isAnew) {
    draft.graph.set(id, whole, { isNew: true, text: document });
    markStale(draft, [...draft.graph.downstream(id)], `its source ${id} was written anew`, id);
  } else draft.graph.add(whole, document);
  draft.event(isAnew ? 'node.updated' : 'node.added', task, run, {
    node: id,
    type: node.type,
    confidence: node.confidence,
  });
  return null;
}

/** What its task had loaded; not itself, and nothing that comes from it. */
function usesOf(draft: Draft, task: string | null, id: string, sources: readonly string[]): string[] {
  if (task === null) return [];
  return draft.graph
    .loads(task)
    .filter((other) => other !== id && !sources.includes(other) && pathUp(draft, [other], id) === null);
}

function updateNode(
  { draft, task, run, session }: Asking,
  { id, set, changesData, document }: UpdateNode,
): Decision | null {
  const before = draft.graph.node(id);
  if (before === undefined) return refused('E_NOT_FOUND', `there is no node ${id} to update`, 'see: baton graph list');
  const long = tooLong(id, document);
  if (long !== null) return long;
  if ((set.sources?.length ?? 0) > MOST_SOURCES) return tooMany(id, set.sources?.length ?? 0);
  const isPerson = draft.by.kind === 'person' || draft.by.kind === 'runtime';
  if (!isPerson) {
    if (before.session !== session) return notYours(before, session);
    if (isPersons(before) || isPersons(set)) return onlyPersons(id, draft.by.name);
    const isTheirs = before.approval === 'changes_requested' && before.task !== null && before.task === task;
    if (before.approval === 'rejected' || (before.approval === 'changes_requested' && !isTheirs)) {
      return refused(
        'E_PERMISSION_DENIED',
        `a person said ${before.approval} to ${id}, and ${draft.by.name} does not undo that`,
      );
    }
    const asked =
      isAskedAbout(draft, id) ?? (before.type === 'Uncertainty' && before.approval !== null ? 'its answer' : null);
    if (asked !== null) {
      return refused(
        'E_PERMISSION_DENIED',
        `${id} is a person's to change: ${asked} is about it, and this came from ${draft.by.name}`,
      );
    }
  }
  const { confidence } = set;
  if (confidence !== undefined && !(confidence >= 0 && confidence <= 1)) {
    return refused('E_SCHEMA_VALIDATION', `expected a confidence from 0 to 1, got ${shown(confidence)} in ${id}`);
  }
  // What a person said yes to was what it was before.
  const approval = !isPerson && changesData ? { approval: null } : {};
  draft.graph.set(id, { ...set, ...approval, updatedAt: draft.now, stale: null }, { isNew: false, text: document });
  draft.event('node.updated', task, run, { node: id, type: before.type });
  if (changesData) markStale(draft, [...draft.graph.downstream(id)], `its source ${id} was changed`, id);
  return null;
}

/** The one that makes another stale. */
const SUPERSEDES = 'supersedes';

function putEdge(
  { draft, task, run, session }: Asking,
  update: Extract<GraphUpdate, { kind: 'add-edge' | 'update-edge' }>,
): Decision | null {
  const { kind, ...edge } = update;
  const name = `${edge.source} → ${edge.target}`;
  let isOwn = false;
  for (const id of [edge.source, edge.target]) {
    const node = draft.graph.node(id);
    if (node === undefined) return refused('E_NOT_FOUND', `the edge ${name} leads to nothing: there is no node ${id}`);
    isOwn ||= node.session === session;
    // What is superseded is changed by it; any other relation only says something of the two.
    const isChanged = edge.relation === SUPERSEDES && id === edge.target;
    if (isBound(draft) && isChanged && node.session !== session) return notYours(node, session);
  }
  if (isBound(draft) && !isOwn) {
    const message = `the edge ${name} joins two nodes of other sessions, and this came from the session ${session}`;
    return refused('E_PERMISSION_DENIED', message, 'one end has to be a node of its own session');
  }
  const asked = edge.relation === SUPERSEDES && isBound(draft) ? isAskedAbout(draft, edge.target) : null;
  if (asked !== null) {
    return refused(
      'E_PERMISSION_DENIED',
      `${edge.target} is a person's to judge: ${asked} is about it, and ${draft.by.name} does not supersede it`,
    );
  }
  if (edge.source === edge.target) return refused('E_CYCLE', `the edge ${name} leads from a node to itself`);
  const there = draft.graph.between(edge.source, edge.target);
  if (kind === 'add-edge') {
    if (there.some(({ relation }) => relation === edge.relation)) {
      return refused(
        'E_DUPLICATE',
        `there is an edge ${name}${edge.relation === null ? '' : ` (${edge.relation})`} already`,
      );
    }
    const circle = pathBy(draft, edge.target, edge.source, edge.relation);
    if (circle !== null) return closesCircle([edge.source, ...circle]);
    draft.graph.putEdge(edge);
  } else {
    const held =
      there.find(({ relation }) => relation === edge.relation) ?? (there.length === 1 ? there[0] : undefined);
    if (held === undefined) {
      const which = there.length === 0 ? 'there is none' : `there are ${there.length}: say which by its relation`;
      return refused('E_NOT_FOUND', `expected an edge ${name} to update, and ${which}`);
    }
    const relation = edge.relation ?? held.relation;
    const circle = relation === held.relation ? null : pathBy(draft, edge.target, edge.source, relation);
    if (circle !== null) return closesCircle([edge.source, ...circle]);
    const after: Edge = { ...edge, relation, fields: { ...held.fields, ...edge.fields } };
    draft.graph.putEdge(after, held.relation);
  }
  draft.event(kind === 'add-edge' ? 'edge.added' : 'edge.updated', task, run, {
    source: edge.source,
    target: edge.target,
    relation: edge.relation,
  });
  if (edge.relation === SUPERSEDES) markStale(draft, [edge.target], `${edge.source} supersedes it`, edge.source);
  return null;
}

/** What it was made from may be of any session: to read is free. */
function checkSources(draft: Draft, id: string): Decision | null {
  const node = draft.graph.node(id);
  for (const source of node?.sources ?? []) {
    if (source === id) return refused('E_CYCLE', `${id} names itself as its source`);
    const found = draft.graph.node(source);
    if (found === undefined)
      return refused('E_NOT_FOUND', `${id} says that it was made from ${source}, and there is no such node`);
  }
  const circle = pathUp(draft, node?.sources ?? [], id);
  return circle === null ? null : closesCircle([id, ...circle]);
}

const closesCircle = (path: readonly string[]): Decision =>
  refused('E_CYCLE', `these nodes would come from each other in a circle: ${path.join(' → ')}`);

/** The way from one of some nodes up to another by lineage; null where there is none. What is above may be the whole graph: most need not walk it. */
const pathUp = (draft: Draft, from: readonly string[], to: string): string[] | null =>
  from.includes(to) || draft.graph.mayHaveDownstream(to) ? path(from, to, (id) => draft.graph.upstream(id)) : null;

/** The way along edges of one relation; of none, along lineage as well. */
const pathBy = (draft: Draft, from: string, to: string, relation: string | null): string[] | null =>
  path([from], to, (id) =>
    relation === null
      ? draft.graph.downstream(id)
      : [...draft.graph.edgesFrom(id)].filter((edge) => edge.relation === relation).map(({ target }) => target),
  );

function path(from: readonly string[], to: string, next: (id: string) => Iterable<string>): string[] | null {
  const cameFrom = new Map<string, string | null>(from.map((id) => [id, null]));
  const open = [...from];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (id === to) {
      const way: string[] = [];
      for (let at: string | null | undefined = id; at != null; at = cameFrom.get(at)) way.unshift(at);
      return way;
    }
    for (const other of next(id)) {
      if (cameFrom.has(other)) continue;
      cameFrom.set(other, id);
      open.push(other);
    }
  }
  return null;
}

export function loadNode(draft: Draft, { node: id, by }: Extract<GraphMessage, { type: 'graph.load' }>): Decision {
  const node = draft.graph.node(id);
  if (node === undefined) return refused('E_NOT_FOUND', `there is no node ${id}`, 'see: baton graph list');
  if ('task' in by) {
    const task = draft.task(by.task);
    if (task === undefined) return refused('E_NOT_FOUND', `there is no task ${by.task}`, 'see: baton task list');
    if (draft.graph.loads(task.id).includes(id)) return same(`node:${id}`);
    draft.graph.load(task.id, id);
    draft.event('node.loaded', task.id, task.run?.id, { node: id });
    return draft.decision(task.session, [`node:${id}`]);
  }
  const user = draft.graph.node(by.node);
  if (user === undefined) return refused('E_NOT_FOUND', `there is no node ${by.node}`, 'see: baton graph list');
  if (user.sources.includes(id) || user.uses.includes(id)) return same(`node:${id}`);
  const circle = pathUp(draft, [id], user.id);
  if (circle !== null) return closesCircle([user.id, ...circle]);
  draft.graph.set(user.id, { uses: [...user.uses, id] });
  draft.event('node.loaded', user.task, user.run, { node: id, by: user.id });
  return draft.decision(user.session, [`node:${id}`]);
}

export function staleNodes(draft: Draft, message: Extract<GraphMessage, { type: 'graph.stale' }>): Decision {
  for (const id of message.nodes ?? []) {
    if (draft.graph.node(id) === undefined) return refused('E_NOT_FOUND', `there is no node ${id}`);
  }
  const made = message.task === undefined ? [] : draft.graph.madeBy(message.task);
  const marked = markStale(draft, [...(message.nodes ?? []), ...made], message.reason, null);
  const first = marked[0] === undefined ? undefined : draft.graph.node(marked[0]);
  if (first === undefined) return same();
  return draft.decision(
    first.session,
    marked.map((id) => `node:${id}`),
  );
}
