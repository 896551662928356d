/** The graph and the questions of a journal told once more, by code that shares nothing with the store. */
import { createHash } from 'node:crypto';
import type { AnyMessage } from '../../../src/core/laws/messages.ts';
import { canonical } from './ledger.ts';

type Fields = Readonly<Record<string, unknown>>;
type StoredText = string | { readonly sha256: string; readonly bytes: number };

interface ToldEdge {
  readonly source: string;
  readonly target: string;
  readonly relation: string | null;
}

export type ToldGraphChange =
  | {
      readonly kind: 'node';
      readonly node: string;
      readonly set: Fields;
      readonly document: { readonly isNew: boolean; readonly text: StoredText } | null;
    }
  | { readonly kind: 'edge'; readonly edge: ToldEdge; readonly was?: string | null }
  | { readonly kind: 'load'; readonly task: string; readonly node: string }
  | { readonly kind: 'question'; readonly question: Fields & { readonly id: string } };

export interface ToldGraph {
  /** In the order in which they came. */
  readonly nodes: ReadonlyMap<string, Fields>;
  /** What was written of each, oldest first. */
  readonly documents: ReadonlyMap<string, readonly string[]>;
  readonly edges: readonly ToldEdge[];
  readonly questions: ReadonlyMap<string, Fields>;
}

export const noGraph: ToldGraph = { nodes: new Map(), documents: new Map(), edges: [], questions: new Map() };

/** The graph after a record, and what it shows to whoever is answered; or what is wrong with it. */
export function tellGraph(
  before: ToldGraph,
  changes: readonly ToldGraphChange[],
  message: AnyMessage | undefined,
): { readonly graph: ToldGraph; readonly shown: readonly string[] } | string {
  const nodes = new Map(before.nodes);
  const documents = new Map(before.documents);
  const questions = new Map(before.questions);
  let edges = before.edges;
  const touched = new Set<string>();
  const shown: string[] = [];
  const asked = askedDocuments(message);
  for (const change of changes) {
    if (change.kind === 'node') {
      const { node, set, document } = change;
      const old = nodes.get(node);
      if (old === undefined && (set['id'] !== node || document?.isNew !== true))
        return `the node ${node} was never made`;
      nodes.set(node, { ...old, ...set });
      touched.add(node);
      if (document === null) continue;
      const text = wholeText(document.text, asked.get(node) ?? []);
      if (text === null) return `nobody asked for a document of ${node} that is not in the record`;
      documents.set(node, [...(document.isNew ? [] : (documents.get(node) ?? [])), text]);
    } else if (change.kind === 'edge') {
      const { edge, was = edge.relation } = change;
      const isSame = ({ source, target, relation }: ToldEdge): boolean =>
        source === edge.source && target === edge.target && (relation === edge.relation || relation === was);
      if (!nodes.has(edge.source) || !nodes.has(edge.target)) return `an edge of ${edge.source} leads nowhere`;
      edges = [...edges.filter((other) => !isSame(other)), edge];
    } else if (change.kind === 'question') {
      const { question } = change;
      if (questions.get(question.id)?.['answer'] != null) return `${question.id} is answered twice`;
      questions.set(question.id, question);
      shown.push(canonical(question));
    } else if (!nodes.has(change.node)) return `${change.node} is loaded, and is not there`;
  }
  for (const [id, texts] of asked) {
    if (!touched.has(id)) return `${id} was asked for, and is not in the record`;
    if (!documents.get(id)?.includes(texts.at(-1) as string)) return `the document of ${id} is another`;
  }
  for (const id of touched) shown.push(canonical(nodes.get(id)));
  return { graph: { nodes, documents, edges, questions }, shown };
}

/** What a message brings, by node. */
function askedDocuments(message: AnyMessage | undefined): Map<string, string[]> {
  const found = new Map<string, string[]>();
  if (message?.type !== 'graph.apply') return found;
  for (const update of message.updates) {
    const id = update.kind === 'add-node' ? update.node.id : update.kind === 'update-node' ? update.id : null;
    if (id !== null && 'document' in update) found.set(id, [...(found.get(id) ?? []), update.document]);
  }
  return found;
}

/** Long texts are not in the record; then it names one that was asked for. */
function wholeText(text: StoredText, asked: readonly string[]): string | null {
  if (typeof text === 'string') return text;
  return asked.find((each) => createHash('sha256').update(each).digest('hex') === text.sha256) ?? null;
}

const isMap = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A node's documents as one: the later counts, section by section; its own type is the first one's. */
export function toldDocument(texts: readonly string[]): Fields {
  const all = texts.map((text) => JSON.parse(text) as Fields);
  const keys = new Set(all.flatMap((document) => Object.keys(document)));
  const whole: Record<string, unknown> = {};
  for (const key of keys) {
    const values = all.filter((document) => Object.hasOwn(document, key)).map((document) => document[key]);
    whole[key] = values[0];
    // Its own type is the first one's.
    for (const value of key === 'type' ? [] : values.slice(1)) {
      const held = whole[key];
      whole[key] = isMap(held) && isMap(value) ? { ...held, ...value } : value;
    }
  }
  return whole;
}

/** What was made from a node, or used it. */
export const toldConsumers = ({ nodes }: ToldGraph, id: string): string[] =>
  [...nodes]
    .filter(([, node]) => [node['sources'], node['uses']].some((ids) => (ids as readonly string[]).includes(id)))
    .map(([other]) => other)
    .sort();
