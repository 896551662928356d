/** What a decision has changed in the graph so far, laid over what the slice shows: a law sees what it did. */
import { upstream } from '../graph.ts';
import type { Edge, Node } from '../node.ts';
import { isVoid, type Question } from '../question.ts';
import type { GraphChange, Slice } from './decision.ts';

export interface GraphDraft {
  readonly changes: readonly GraphChange[];
  node(id: string): Node | undefined;
  /** What comes from a node: by lineage, by use, and by edges that name no relation. */
  downstream(id: string): Iterable<string>;
  /** False where nothing comes from it, as with every new node: there is no way up to it then. */
  mayHaveDownstream(id: string): boolean;
  /** What it comes from, the same way. */
  upstream(id: string): Iterable<string>;
  edgesFrom(id: string): Iterable<Edge>;
  edge(source: string, target: string, relation: string | null): Edge | undefined;
  between(source: string, target: string): readonly Edge[];
  loads(task: string): readonly string[];
  madeBy(task: string): readonly string[];
  /** Those that somebody has to answer. */
  openQuestions(): Iterable<Question>;
  /** The number of the next question. */
  nextQuestion(): number;
  add(node: Node, document: string): void;
  set(id: string, fields: Partial<Node>, document?: { readonly isNew: boolean; readonly text: string }): Node;
  putEdge(edge: Edge, was?: string | null): void;
  load(task: string, node: string): void;
  putQuestion(question: Question): void;
}

export function openGraphDraft(slice: Slice): GraphDraft {
  const changes: GraphChange[] = [];
  const nodes = new Map<string, Node>();
  /** Of nodes that are changed here: what they come from, and they. */
  const consumers = new Map<string, Set<string>>();
  const edges: Edge[] = [];
  const loads = new Map<string, string[]>();
  const questions = new Map<string, Question>();
  let asked = 0;
  const find = (id: string): Node | undefined => nodes.get(id) ?? slice.graph.node(id);
  const note = (node: Node): void => {
    nodes.set(node.id, node);
    for (const id of upstream(node)) {
      const held = consumers.get(id);
      if (held === undefined) consumers.set(id, new Set([node.id]));
      else held.add(node.id);
    }
  };
  const isNewConsumer = (id: string, other: string): boolean => {
    const before = slice.graph.node(other);
    const isKnown = before !== undefined && upstream(before).includes(id);
    return !isKnown && upstream(nodes.get(other) as Node).includes(id);
  };
  const isSame = (a: Edge, b: Edge): boolean =>
    a.source === b.source && a.target === b.target && a.relation === b.relation;

  function* edgesOf(stored: Iterable<Edge>, mine: (edge: Edge) => boolean): Iterable<Edge> {
    for (const edge of stored) if (!edges.some((other) => isSame(edge, other))) yield edge;
    yield* edges.filter(mine);
  }

  const draft: GraphDraft = {
    changes,
    node: find,
    *downstream(id) {
      for (const other of slice.graph.consumers(id)) {
        const node = nodes.get(other);
        // What this decision has changed it knows better.
        if (node === undefined || upstream(node).includes(id)) yield other;
      }
      for (const other of consumers.get(id) ?? []) {
        if (isNewConsumer(id, other)) yield other;
      }
      for (const { target, relation } of draft.edgesFrom(id)) if (relation === null) yield target;
    },
    mayHaveDownstream(id) {
      for (const _ of draft.downstream(id)) return true;
      return false;
    },
    *upstream(id) {
      const node = find(id);
      if (node !== undefined) yield* upstream(node);
      for (const { source, relation } of edgesOf(slice.graph.edgesTo(id), ({ target }) => target === id)) {
        if (relation === null) yield source;
      }
    },
    edgesFrom: (id) => edgesOf(slice.graph.edgesFrom(id), ({ source }) => source === id),
    edge: (source, target, relation) => draft.between(source, target).find((edge) => edge.relation === relation),
    between: (source, target) => [...draft.edgesFrom(source)].filter((edge) => edge.target === target),
    loads: (task) => [...slice.graph.loads(task), ...(loads.get(task) ?? [])],
    madeBy: (task) => [
      ...slice.graph.madeBy(task),
      ...[...nodes.values()]
        .filter((node) => node.task === task && slice.graph.node(node.id) === undefined)
        .map(({ id }) => id),
    ],
    *openQuestions() {
      for (const question of slice.openQuestions()) {
        if (questions.has(question.id)) continue;
        if (!isVoid(question, question.task === null ? undefined : slice.task(question.task))) yield question;
      }
      for (const question of questions.values()) if (question.answer === null) yield question;
    },
    nextQuestion: () => slice.lastQuestion() + ++asked,
    add(node, document) {
      note(node);
      changes.push({ kind: 'node', node: node.id, set: node, document: { isNew: true, text: document } });
    },
    set(id, fields, document) {
      const before = find(id);
      if (before === undefined) throw new Error(`no node ${id} in this draft`);
      const after = { ...before, ...fields };
      if (fields.sources === undefined && fields.uses === undefined) nodes.set(id, after);
      else note(after);
      changes.push({ kind: 'node', node: id, set: fields, document: document ?? null });
      return after;
    },
    putEdge(edge, was) {
      edges.push(edge);
      changes.push({ kind: 'edge', edge, ...(was === undefined ? {} : { was }) });
    },
    load(task, node) {
      if (draft.loads(task).includes(node)) return;
      loads.set(task, [...(loads.get(task) ?? []), node]);
      changes.push({ kind: 'load', task, node });
    },
    putQuestion(question) {
      questions.set(question.id, question);
      changes.push({ kind: 'question', question });
    },
  };
  return draft;
}
