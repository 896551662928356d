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
  /** By their ends and relation, in the order in which they came. */
  const edges = new Map<string, Edge>();
  const out = new Map<string, Edge[]>();
  const into = new Map<string, Edge[]>();
  /** By type, then by topic. Made when it is asked for the first time: most never ask. */
  let topics: Map<string, Lists> | null = null;

  const addTopic = (all: Map<string, Lists>, { id, type, topic }: Node): void => {
    const lists = all.get(type) ?? new Map();
    all.set(type, lists);
    insert(lists, topic, id);
  };

  const link = (before: Node | undefined, after: Node): void => {
    const old = before === undefined ? [] : upstream(before);
    const now = upstream(after);
    for (const id of old) if (!now.includes(id)) remove(consumers, id, after.id);
    for (const id of now) if (!old.includes(id)) insert(consumers, id, after.id);
    if (before === undefined || before.task !== after.task) {
      if (before?.task != null) remove(made, before.task, after.id);
      if (after.task !== null) insert(made, after.task, after.id);
    }
    if (topics === null || (before?.type === after.type && before.topic === after.topic)) return;
    if (before !== undefined) remove(topics.get(before.type) as Lists, before.topic, after.id);
    addTopic(topics, after);
  };

  const put = (node: Node): void => {
    const before = nodes.get(node.id);
    nodes.set(node.id, node);
    link(before, node);
  };

  const dropEdge = (edge: Edge): void => {
    edges.delete(edgeKey(edge, edge.relation));
    for (const [lists, key] of [
      [out, edge.source],
      [into, edge.target],
    ] as const) {
      const left = (lists.get(key) ?? []).filter((other) => other !== edge);
      if (left.length === 0) lists.delete(key);
      else lists.set(key, left);
    }
  };

  const addEdge = (edge: Edge): void => {
    edges.set(edgeKey(edge, edge.relation), edge);
    push(out, edge.source, edge);
    push(into, edge.target, edge);
  };

  /** There is one between two nodes for each relation; a changed one comes last. */
  const putEdge = (edge: Edge, was: string | null): void => {
    for (const relation of new Set([was, edge.relation])) {
      const before = edges.get(edgeKey(edge, relation));
      if (before !== undefined) dropEdge(before);
    }
    addEdge(edge);
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
    edges: () => edges.values(),
    allLoads: () => loads,
    *alike(node) {
      if (topics === null) {
        topics = new Map();
        for (const other of nodes.values()) addTopic(topics, other);
      }
      for (const id of each(topics.get(node.type)?.get(node.topic))) yield nodes.get(id) as Node;
    },
    take(change) {
      if (change.kind === 'node') {
        const before = nodes.get(change.node);
        put(before === undefined ? (change.set as Node) : { ...before, ...change.set });
      } else if (change.kind === 'edge')
        putEdge(change.edge, change.was === undefined ? change.edge.relation : change.was);
      else {
        const before = loads.get(change.task) ?? [];
        if (!before.includes(change.node)) loads.set(change.task, [...before, change.node]);
      }
    },
    // Each comes once, so nothing has to be looked up first.
    load(node) {
      nodes.set(node.id, node);
      const { sources, uses } = node;
      for (const id of sources) insert(consumers, id, node.id);
      for (const id of uses) if (!sources.includes(id)) insert(consumers, id, node.id);
      if (node.task !== null) insert(made, node.task, node.id);
    },
    loadEdge: addEdge,
    loadLoads: (task, list) => void loads.set(task, list),
  };
}

/** Ids have no spaces. */
const edgeKey = ({ source, target }: Edge, relation: string | null): string =>
  relation === null ? `${source} ${target}` : `${source} ${target} ${relation}`;

function push<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const held = lists.get(key);
  if (held === undefined) lists.set(key, [item]);
  else held.push(item);
}

/** What a node comes from: what it was made from, and what its task had loaded. */
export const upstream = ({ sources, uses }: Node): readonly string[] =>
  uses.length === 0 ? sources : [...sources, ...uses.filter((id) => !sources.includes(id))];
