/** `baton graph export`: the graph, or the lineage of one node, as JSON, Mermaid or DOT. */
import { dot, mermaid, type PictureEdge, type PictureNode } from '../core/graph-picture.ts';
import { nodeJson } from '../core/node-json.ts';
import type { Lineage, NodeFilter, Store, WholeNode } from '../core/store.ts';
import type { InSession } from './globals.ts';
import { findNode } from './graph-show.ts';
import { titleOfNode } from './graph-text.ts';
import { createWriter, printJson } from './io.ts';
import { callingRun } from './seen.ts';
import { reading } from './with-store.ts';

interface Options extends Omit<InSession, 'json'> {
  readonly as: 'json' | 'mermaid' | 'dot';
  readonly type: readonly string[];
  readonly json: boolean;
}

export async function exportGraph(id: string | undefined, options: Options): Promise<void> {
  const { as, type, session, ...globals } = options;
  await reading(globals, async (store, dir) => {
    await callingRun(store, dir);
    if (id !== undefined) await findNode(store, id);
    const filter: NodeFilter = {
      ...(type.length === 0 ? {} : { type }),
      ...(session === undefined ? {} : { session }),
    };
    const isMeant = (node: { type: string; session: string }): boolean =>
      (type.length === 0 || type.includes(node.type)) && (session === undefined || node.session === session);
    const nodes = id === undefined ? store.nodes(filter) : lineageNodes(store, id, isMeant);
    if (as === 'json') await writeJson(store, nodes);
    else {
      const lines = await drawn(store, nodes, as === 'mermaid' ? mermaid : dot);
      if (options.json) return printJson({ [as]: [...lines].join('') });
      const out = createWriter();
      for (const line of lines) await out.write(line);
      await out.end();
    }
  });
}

async function* lineageNodes(
  store: Store,
  id: string,
  isMeant: (node: { type: string; session: string }) => boolean,
): AsyncGenerator<WholeNode> {
  for (const found of (await store.lineage(id))?.nodes ?? []) {
    if (!isMeant(found)) continue;
    const node = await store.node(found.id);
    if (node !== undefined) yield node;
  }
}

/** Edges between what was told, in the order of their ends: lineage first, then those that were added. */
async function edgesOf(
  store: Store,
  told: ReadonlyMap<string, readonly Lineage['edges'][number][]>,
): Promise<PictureEdge[]> {
  const edges: PictureEdge[] = [];
  for (const into of told.values()) for (const edge of into) if (told.has(edge.from)) edges.push(edge);
  for (const { source, target, relation } of await store.edges())
    if (told.has(source) && told.has(target)) edges.push({ from: source, to: target, relation });
  return edges;
}

const into = ({ id, sources, uses }: WholeNode): Lineage['edges'][number][] => [
  ...sources.map((from) => ({ from, to: id, relation: null })),
  ...uses.filter((from) => !sources.includes(from)).map((from) => ({ from, to: id, relation: 'used' })),
];

/** Node by node; of each only what the edges need is held. */
async function writeJson(store: Store, nodes: AsyncIterable<WholeNode>): Promise<void> {
  const out = createWriter();
  const told = new Map<string, Lineage['edges'][number][]>();
  await out.write('{"nodes":[');
  for await (const node of nodes) {
    await out.write(`${told.size === 0 ? '' : ',\n'}${JSON.stringify(nodeJson(node))}`);
    told.set(node.id, into(node));
  }
  await out.write(`],"edges":${JSON.stringify(await edgesOf(store, told))}}\n`);
  await out.end();
}

type Draw = (nodes: Iterable<PictureNode>, edges: Iterable<PictureEdge>) => Generator<string>;

async function drawn(store: Store, nodes: AsyncIterable<WholeNode>, draw: Draw): Promise<Generator<string>> {
  const told = new Map<string, Lineage['edges'][number][]>();
  const all: PictureNode[] = [];
  for await (const node of nodes) {
    told.set(node.id, into(node));
    const { id, type, confidence, stale } = node;
    all.push({ id, type, title: titleOfNode(node), confidence, isStale: stale !== null });
  }
  return draw(all, await edgesOf(store, told));
}
