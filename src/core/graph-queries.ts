/** What is asked of the knowledge graph: lineage, what nodes alike come to together, which nodes fit. Pure. */

import { isFields } from './fields.ts';
import { type Graph, upstream } from './graph.ts';
import type { Node } from './node.ts';
import type { Lineage, LineageQuery, NodeFilter, WholeNode } from './store.ts';

/** Sources agree, and are as sure as this at most. */
const MOST_SURE = 0.99;

/** More nodes of a topic than this are not compared. */
const MOST_ALIKE = 100;
/** And with more than this nothing changes any more. */
const MOST_VOICES = 10;

/**
 * `1 − Π(1 − c)` over the nodes of its type and topic that come from others and not from each other. Of one creator only the
 * surest counts; what is stale or was rejected, or stands against it by an edge, does not.
 */
export function effectiveConfidence(graph: Graph, node: Node): number {
  const others: Node[] = [];
  let looked = 0;
  for (const other of graph.alike(node)) {
    if (++looked > MOST_ALIKE) break;
    if (other.id !== node.id && other.createdBy !== node.createdBy && counts(other)) others.push(other);
  }
  if (others.length === 0) return node.confidence;
  const voices = [node];
  for (const other of others.sort((a, b) => b.confidence - a.confidence)) {
    if (voices.length > MOST_VOICES) break;
    // One task is one source, by however many names it speaks.
    const isOwn = voices.every(
      ({ createdBy, task }) => createdBy !== other.createdBy && (task === null || task !== other.task),
    );
    if (isOwn && !voices.some((voice) => isBetween(graph, voice, other))) voices.push(other);
  }
  if (voices.length === 1) return node.confidence;
  const doubt = voices.reduce((product, { confidence }) => product * (1 - confidence), 1);
  return Math.max(node.confidence, Math.min(MOST_SURE, 1 - doubt));
}

const counts = ({ stale, approval }: Node): boolean => stale === null && approval !== 'rejected';

/** One comes from the other, or they contradict each other: then neither bears the other out. */
function isBetween(graph: Graph, a: Node, b: Node): boolean {
  const isAgainst = ({ relation }: { relation: string | null }): boolean => relation?.startsWith('contradict') === true;
  for (const edge of [...graph.edgesFrom(a.id), ...graph.edgesTo(a.id)]) {
    if ((edge.source === b.id || edge.target === b.id) && isAgainst(edge)) return true;
  }
  return comesFrom(graph, a, b.id) || comesFrom(graph, b, a.id);
}

/** So far up is looked. */
const MOST_ANCESTORS = 1_000;

function comesFrom(graph: Graph, node: Node, id: string): boolean {
  const seen = new Set<string>();
  const open = [...upstream(node)];
  for (let next = open.pop(); next !== undefined && seen.size < MOST_ANCESTORS; next = open.pop()) {
    if (next === id) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    const found = graph.node(next);
    if (found !== undefined) open.push(...upstream(found));
  }
  return false;
}

const MOST_NODES = 10_000;

export function lineageOf(graph: Graph, id: string, query: LineageQuery = {}): Lineage | undefined {
  const { up = true, down = true, hops = Number.POSITIVE_INFINITY, most = MOST_NODES } = query;
  const root = graph.node(id);
  if (root === undefined) return undefined;
  const found = new Map<string, Node>([[id, root]]);
  const edges = new Map<string, Lineage['edges'][number]>();
  let isCut = false;
  const note = (from: string, to: string, relation: string | null): void => {
    edges.set(`${from} ${to} ${relation ?? ''}`, { from, to, relation });
  };
  const walk = (next: (node: Node) => Iterable<string>): void => {
    let ring = [root];
    for (let hop = 0; hop < hops && ring.length > 0; hop++) {
      const outer: Node[] = [];
      for (const node of ring) {
        for (const other of next(node)) {
          const there = graph.node(other);
          if (there === undefined || found.has(other)) continue;
          if (found.size >= most) {
            isCut = true;
            return;
          }
          found.set(other, there);
          outer.push(there);
        }
      }
      ring = outer;
    }
  };
  if (up) walk((node) => before(graph, node));
  if (down) walk((node) => after(graph, node));
  for (const node of found.values()) {
    for (const from of node.sources) if (found.has(from)) note(from, node.id, null);
    for (const from of node.uses) if (found.has(from) && !node.sources.includes(from)) note(from, node.id, 'used');
    for (const { source, target, relation } of graph.edgesFrom(node.id)) {
      if (found.has(target)) note(source, target, relation);
    }
  }
  return { nodes: [...found.values()], edges: [...edges.values()], isCut };
}

/** An edge without a relation is lineage: its target was made from its source. */
function* before(graph: Graph, node: Node): Iterable<string> {
  yield* upstream(node);
  for (const { source, relation } of graph.edgesTo(node.id)) if (relation === null) yield source;
}

function* after(graph: Graph, node: Node): Iterable<string> {
  yield* graph.consumers(node.id);
  for (const { target, relation } of graph.edgesFrom(node.id)) if (relation === null) yield target;
}

/** All of the filter but the text. */
export const fitsFilter = (node: Node, { type, domain, stage, session, task }: NodeFilter): boolean =>
  (type === undefined || type.includes(node.type)) &&
  (domain === undefined || node.domain === domain) &&
  (stage === undefined || node.nextStage === stage) &&
  (session === undefined || node.session === session) &&
  (task === undefined || node.task === task);

export const hasText = (node: Node, document: WholeNode['document'], text: string): boolean =>
  `${node.id} ${node.type} ${node.createdBy} ${JSON.stringify(document)}`.toLowerCase().includes(text.toLowerCase());

export function wholeNode(graph: Graph, node: Node, document: WholeNode['document']): WholeNode {
  const consumers = [...graph.consumers(node.id)];
  const edges = [...graph.edgesFrom(node.id)].length + [...graph.edgesTo(node.id)].length;
  return {
    ...node,
    document,
    consumers,
    effectiveConfidence: effectiveConfidence(graph, node),
    degree: upstream(node).length + consumers.length + edges,
  };
}

type Json = Readonly<Record<string, unknown>>;

/** What was written, oldest first, as one: sections are merged key by key, anything else is replaced; `null` stays. */
export function mergeDocuments(documents: readonly Json[]): Json {
  let whole: Record<string, unknown> = {};
  for (const { type, ...document } of documents) {
    const merged = { ...whole };
    for (const [key, value] of Object.entries(document)) {
      const held = merged[key];
      merged[key] = isFields(held) && isFields(value) ? { ...held, ...value } : value;
    }
    whole = type === undefined ? merged : { type: whole['type'] ?? type, ...merged };
  }
  return whole;
}
