/**
 * Which nodes a bridge takes into its summary: the best by score, and what is one step away from them. Pure: the same nodes give
 * the same choice, in the same order.
 */
import type { Node } from './node.ts';
import type { WholeNode } from './store.ts';

/** So many are summed up; what is one step away from them is named beside. */
export const MOST_PICKED = 20;
/** A node that half the graph comes from would name half the graph. */
const MOST_NEIGHBOURS = 100;

const SHARES = { confidence: 0.3, degree: 0.3, recency: 0.2, type: 0.2 } as const;

/** What decides counts more than what was asked for, and that more than what came of it. */
const TYPE_WEIGHTS: Readonly<Record<string, number>> = {
  ADR: 1,
  Specification: 1,
  Approval: 0.9,
  DesignSummary: 0.9,
  ValidationSummary: 0.9,
  Findings: 0.8,
  Report: 0.8,
  Review: 0.7,
  TestResults: 0.7,
  DataAnalysis: 0.7,
  Implementation: 0.6,
};
const BRIEF_WEIGHT = 0.6;
const OTHER_WEIGHT = 0.5;

export const typeWeight = (type: string): number =>
  Object.hasOwn(TYPE_WEIGHTS, type)
    ? (TYPE_WEIGHTS[type] as number)
    : type.endsWith('Brief')
      ? BRIEF_WEIGHT
      : OTHER_WEIGHT;

export interface Scored {
  readonly node: WholeNode;
  readonly score: number;
}

/** The best first; nodes of one score in the order of their ids. */
export function scored(nodes: readonly WholeNode[]): Scored[] {
  let [degree, oldest, newest] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const node of nodes) {
    degree = Math.max(degree, node.degree);
    oldest = Math.min(oldest, node.updatedAt);
    newest = Math.max(newest, node.updatedAt);
  }
  const span = newest - oldest;
  const scoreOf = (node: WholeNode): number =>
    SHARES.confidence * node.effectiveConfidence +
    SHARES.degree * (degree === 0 ? 0 : node.degree / degree) +
    SHARES.recency * (span === 0 ? 1 : (node.updatedAt - oldest) / span) +
    SHARES.type * typeWeight(node.type);
  // Rounded, so that two nodes are not apart by what adding up fractions leaves behind.
  const all = nodes.map((node) => ({ node, score: Math.round(scoreOf(node) * 1e6) / 1e6 }));
  return all.sort((a, b) => b.score - a.score || compare(a.node.id, b.node.id));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Why a node is left out of a summary; null where it may be built upon. */
export function whyLeftOut(node: Node, hasOpenQuestion: boolean): string | null {
  if (node.stale !== null) return `it is stale: ${node.stale.because}`;
  if (node.approval === 'rejected') return 'it was rejected';
  if (hasOpenQuestion) return 'a question about it is open';
  return node.ready ? null : 'it is not ready for the next stage';
}

interface Picked {
  /** What is summed up, the best first. */
  readonly nodes: readonly Scored[];
  /** What is one step away from them, the best first. */
  readonly neighbours: readonly Scored[];
}

/** @param near what is one step away from a node, as far as it may be built upon */
export async function pick(
  candidates: readonly WholeNode[],
  near: (node: WholeNode) => Promise<readonly WholeNode[]>,
): Promise<Picked> {
  const nodes = scored(candidates).slice(0, MOST_PICKED);
  const taken = new Set(nodes.map(({ node }) => node.id));
  const neighbours = new Map<string, WholeNode>();
  for (const { node } of nodes) {
    for (const other of await near(node)) if (!taken.has(other.id)) neighbours.set(other.id, other);
  }
  return { nodes, neighbours: scored([...neighbours.values()]).slice(0, MOST_NEIGHBOURS) };
}

/** As sure as the least sure of what it was made from; what a person approved is sure. Rounded down: a summary is never surer than that. */
export function sharedConfidence(nodes: readonly WholeNode[]): number {
  const all = nodes.map(({ approval, effectiveConfidence }) => (approval === 'approved' ? 1 : effectiveConfidence));
  return Math.floor(Math.min(1, ...all) * 100 + 1e-9) / 100;
}
