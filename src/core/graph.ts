/** The knowledge graph as memory holds it: the fold of all changes to it, and the indices that decisions and questions need. */
import type { GraphChange, GraphSlice } from './laws/decision.ts';
import { each, insert, type Lists, remove } from './lists.ts';
import type { Edge, Node } from './node.ts';

/** A node's place in the graph, for whoever writes it down. */
export interface Graph extends GraphSlice {
  readonly size: number;
  all(): Iterable<Node>;
  edges(): Iterable<Edge>;
  allLoads(): Iterable<readonly [task: string, nodes: readonly string[]]>;
  /** Nodes of one type and topic, this one among them. */
  alike(node: Node): Iterable<Node>;
  take(change: Exclude<GraphChange, { kind: 'question' }>): void;
  /** As a snapshot has them; nodes first. */
  load(node: Node): void;
  loadEdge(edge: Edge): void;
  loadLoads(task: string, nodes: readonly string[]): void;
}

export function createGraph(): Graph {
  const nodes = new Map<string, Node>();
  const consumers: Lists = new Map();
  const made: Lists = new Map();
  const loads = new Map<string, readonly string[]>();
  const out = new Map<string, Edge[]>();
  const into = new Map<string, Edge[]>();
  /** Made when it is asked for the first time: most never ask. */
  let topics: Lists | null = null;

  const topicKey = ({ type, topic }: Node): string => `${type}|${topic}`;

  const link = (before: Node | undefined, after: Node): void => {
    const old = before === undefined ? [] : upstream(before);
    const now = upstream(after);
    for (const id of old) if (!now.includes(id)) remove(consumers, id, after.id);
    for (const id of now) if (!old.includes(id)) insert(consumers, id, after.id);
    if (before === undefined || before.task !== after.task) {
      if (before?.task != null) remove(made, before.task, after.id);
      if (after.task !== null) insert(made, after.task, after.id);
    }
    if (topics === null || (before !== undefined && topicKey(before) === topicKey(after))) return;
    if (before !== undefined) remove(topics, topicKey(before), after.id);
    insert(topics, topicKey(after), after.id);
  };

  const put = (node: Node): void => {
    const before = nodes.get(node.id);
    nodes.set(node.id, node);
    link(before, node);
  };

  const putEdge = (edge: Edge, was: string | null): void => {
    for (const [lists, key] of [
      [out, edge.source],
      [into, edge.target],
    ] as const) {
      const held = lists.get(key) ?? [];
      const others = held.filter(
        ({ source, target, relation }) =>
          source !== edge.source || target !== edge.target || (relation !== was && relation !== edge.relation),
      );
      lists.set(key, [...others, edge]);
    }
  };

  return {
    get size() {
      return nodes.size;
    },
    node: (id) => nodes.get(id),
    consumers: (id) => each(consumers.get(id)),
    edgesFrom: (id) => out.get(id) ?? [],
    edgesTo: (id) => into.get(id) ?? [],
    loads: (task) => loads.get(task) ?? [],
    madeBy: (task) => each(made.get(task)),
    all: () => nodes.values(),
    *edges() {
      for (const list of out.values()) yield* list;
    },
    allLoads: () => loads,
    *alike(node) {
      if (topics === null) {
        topics = new Map();
        for (const other of nodes.values()) insert(topics, topicKey(other), other.id);
      }
      for (const id of each(topics.get(topicKey(node)))) yield nodes.get(id) as Node;
    },
    take(change) {
      if (change.kind === 'node') {
        const before = nodes.get(change.node);
        put(before === undefined ? (change.set as Node) : { ...before, ...change.set });
      } else if (change.kind === 'edge') putEdge(change.edge, change.was === undefined ? change.edge.relation : change.was);
      else {
        const before = loads.get(change.task) ?? [];
        if (!before.includes(change.node)) loads.set(change.task, [...before, change.node]);
      }
    },
    load: put,
    loadEdge: (edge) => putEdge(edge, edge.relation),
    loadLoads: (task, list) => void loads.set(task, list),
  };
}

/** What a node comes from: what it was made from, and what its task had loaded. */
export const upstream = ({ sources, uses }: Node): readonly string[] =>
  uses.length === 0 ? sources : [...sources, ...uses.filter((id) => !sources.includes(id))];
