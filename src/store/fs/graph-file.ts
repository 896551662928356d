/**
 * The knowledge graph as of one record, in a file of its own, so that a start need not read it. A file of lines: a header, blocks of nodes,
 * edges and loads, an end, a seal. A block holds its nodes by columns, and what many of them share once: a million are read in a second or two.
 */
import { join } from 'node:path';
import { createGraph, type Graph } from '../../core/graph.ts';
import { APPROVAL_STATUSES, type Edge, type Node } from '../../core/node.ts';
import { type Disk, replaceSynced } from './disk.ts';
import type { Folded, Mark } from './folded.ts';
import { fileOf } from './journal-files.ts';
import { FORMAT, type Layout } from './layout.ts';
import { linesOf } from './lines.ts';
import { hashBefore } from './record-hash.ts';
import { BROKEN_SEAL, endsWith, NO_SEAL, sealed, sealedLength } from './seal.ts';

interface Header extends Mark {
  readonly format: number;
  /** Of the last record that it has, so that a file of another journal is not taken for this one's. */
  readonly hash: string | null;
  readonly nodes: number;
  readonly edges: number;
  readonly loads: number;
}

type Text = string | null;
/** Type, session, creator, domain, output type, next stage. */
type Shape = readonly [string, string, string, Text, Text, Text];
/** Task and run. */
type Owner = readonly [Text, Text];
/** No ids, one, or several. */
type Ids = 0 | string | readonly string[];

interface NodeBlock {
  readonly shapes: Shape[];
  readonly owners: Owner[];
  /** Times and places are told from those of the first node. */
  readonly at: number;
  readonly place: number;
  readonly id: string[];
  readonly shape: number[];
  readonly owner: number[];
  readonly created: number[];
  readonly updated: number[];
  readonly confidence: number[];
  /** Whether it is ready, and twice the number of what a person said, from 1. */
  readonly flags: number[];
  /** A part of the id, as where it begins and how long it is; or the text itself. */
  readonly topic: (number | string)[];
  readonly sources: Ids[];
  readonly uses: Ids[];
  readonly stale: (readonly [index: number, at: number, because: string, from: Text])[];
  readonly places: number[];
}

type Block =
  | NodeBlock
  | { readonly edges: readonly (readonly [string, string, Text, Edge['fields']])[] }
  | { readonly loads: readonly (readonly [task: string, nodes: readonly string[]])[] };

const END = '"end"';
/** Written in pieces of this many, so that work goes on in between. */
const PIECE = 2_000;
/** No id is as long. */
const LONGEST = 1_000;

/** The graph at one moment, between two records. Nodes and edges are never changed, only replaced, so that taking it is copying lists. */
export interface GraphMoment {
  readonly header: Header;
  readonly nodes: readonly Node[];
  /** In the same order: both come with a node, and neither goes. */
  readonly places: readonly number[];
  readonly edges: readonly Edge[];
  readonly loads: readonly (readonly [task: string, nodes: readonly string[]])[];
}

/** Only where the graph has been read, and every record has its place. */
export function takeGraphMoment({ state, nodePlaces, seq, day, size, hash }: Folded): GraphMoment {
  const nodes = [...state.graph.all()];
  const edges = [...state.graph.edges()];
  const loads = [...state.graph.allLoads()];
  const counts = { nodes: nodes.length, edges: edges.length, loads: loads.length };
  return {
    header: { format: FORMAT, seq, day, size, hash, ...counts },
    nodes,
    places: [...nodePlaces.values()],
    edges,
    loads,
  };
}

/** To be called when all that the moment knows is durable. */
export async function writeGraphFile(disk: Disk, layout: Layout, moment: GraphMoment, secret: string): Promise<void> {
  disk.mkdir(layout.tmp);
  await replaceSynced(disk, layout.graph, sealed(piecesOf(moment), secret), join(layout.tmp, 'graph'));
  disk.sync(layout.root);
}

function* piecesOf(moment: GraphMoment): Generator<string> {
  yield `${JSON.stringify(moment.header)}\n`;
  for (const block of blocksOf(moment)) yield `${JSON.stringify(block)}\n`;
  yield `${END}\n`;
}

function* blocksOf({ nodes, places, edges, loads }: GraphMoment): Generator<Block> {
  for (let i = 0; i < nodes.length; i += PIECE) yield blockOf(nodes.slice(i, i + PIECE), places.slice(i, i + PIECE));
  for (let i = 0; i < edges.length; i += PIECE) {
    const piece = edges.slice(i, i + PIECE);
    yield { edges: piece.map(({ source, target, relation, fields }) => [source, target, relation, fields] as const) };
  }
  for (let i = 0; i < loads.length; i += PIECE) yield { loads: loads.slice(i, i + PIECE) };
}

function blockOf(nodes: readonly Node[], places: readonly number[]): NodeBlock {
  const [at, place] = [nodes[0]?.createdAt ?? 0, places[0] ?? 0];
  const shapes = createTable<Shape>();
  const owners = createTable<Owner>();
  return {
    at,
    place,
    id: nodes.map(({ id }) => id),
    shape: nodes.map((node) =>
      shapes.indexOf([node.type, node.session, node.createdBy, node.domain, node.outputType, node.nextStage]),
    ),
    shapes: shapes.rows,
    owner: nodes.map(({ task, run }) => owners.indexOf([task, run])),
    owners: owners.rows,
    created: nodes.map(({ createdAt }) => createdAt - at),
    updated: nodes.map(({ updatedAt }) => updatedAt - at),
    confidence: nodes.map(({ confidence }) => confidence),
    flags: nodes.map(({ ready, approval }) => Number(ready) + 2 * (APPROVAL_STATUSES.indexOf(approval as never) + 1)),
    topic: nodes.map(({ id, topic }) => {
      const start = topic === '' ? -1 : id.indexOf(topic);
      return start < 0 ? topic : start * LONGEST + topic.length;
    }),
    sources: nodes.map(({ sources }) => fewIds(sources)),
    uses: nodes.map(({ uses }) => fewIds(uses)),
    stale: nodes.flatMap(({ stale }, i) => (stale === null ? [] : [[i, stale.at, stale.because, stale.from] as const])),
    places: places.map((each) => each - place),
  };
}

const fewIds = (ids: readonly string[]): Ids => (ids.length === 0 ? 0 : ids.length === 1 ? (ids[0] as string) : ids);

interface Table<Row> {
  readonly rows: Row[];
  indexOf(row: Row): number;
}

/** Each row once. Neighbours are mostly alike, so the last one is looked at first. */
function createTable<Row extends readonly Text[]>(): Table<Row> {
  const rows: Row[] = [];
  const known = new Map<string, number>();
  let last = -1;
  return {
    rows,
    indexOf(row) {
      const before = rows[last];
      if (before?.every((text, i) => text === row[i]) === true) return last;
      const key = JSON.stringify(row);
      last = known.get(key) ?? rows.push(row) - 1;
      known.set(key, last);
      return last;
    },
  };
}

export type GraphFile =
  | { readonly kind: 'none' }
  /** The journal has it all. */
  | { readonly kind: 'unusable'; readonly reason: string }
  | { readonly kind: 'read'; readonly mark: Mark; readonly graph: Graph; readonly places: Map<string, number> };

/** @param end where the journal ends */
export function readGraphFile(disk: Disk, layout: Layout, end: Mark, secret: string): GraphFile {
  if (disk.stat(layout.graph) === null) return { kind: 'none' };
  const unusable = (reason: string): GraphFile => ({ kind: 'unusable', reason });
  const length = sealedLength(disk, layout.graph, secret);
  if (length === null) return unusable(endsWith(disk, layout.graph, `${END}\n`) ? NO_SEAL : BROKEN_SEAL);
  try {
    const lines = linesOf(disk, layout.graph, 0, length);
    const first = lines.next();
    if (first.done) return unusable('it is empty');
    const header = JSON.parse(first.value.text) as Header;
    if (header.format !== FORMAT) return unusable(`it has the format ${header.format}, and ${FORMAT} was expected`);
    if (!isOfJournal(disk, layout, header, end)) return unusable('it does not fit the journal');
    const graph = createGraph();
    const places = new Map<string, number>();
    const left = { edges: header.edges, loads: header.loads };
    for (const { text } of lines) {
      if (text === END) {
        if (graph.size !== header.nodes || left.edges !== 0 || left.loads !== 0) break;
        const { seq, day, size } = header;
        return { kind: 'read', mark: { seq, day, size }, graph, places };
      }
      const block = JSON.parse(text) as Block;
      if ('id' in block) loadNodes(graph, places, block);
      else if ('edges' in block) {
        for (const [source, target, relation, fields] of block.edges) {
          graph.loadEdge({ source, target, relation, fields });
        }
        left.edges -= block.edges.length;
      } else {
        for (const [task, nodes] of block.loads) graph.loadLoads(task, nodes);
        left.loads -= block.loads.length;
      }
    }
    return unusable('it is cut off');
  } catch (cause) {
    if (!(cause instanceof SyntaxError) && !(cause instanceof TypeError)) throw cause;
    return unusable('it cannot be read');
  }
}

/** Whether the journal has the record that the file ends with, where the file says. */
function isOfJournal(disk: Disk, layout: Layout, { seq, day, size, hash }: Header, end: Mark): boolean {
  if (seq > end.seq) return false;
  if (day === null || hash === null) return seq === 0 || day !== null;
  return (disk.stat(fileOf(layout, day))?.size ?? 0) >= size && hashBefore(disk, layout, day, size) === hash;
}

const NONE: readonly string[] = [];

function loadNodes(graph: Graph, places: Map<string, number>, block: NodeBlock): void {
  const stale = new Map(block.stale.map(([i, at, because, from]) => [i, { at, because, from }]));
  // One text for each id, however often it is named.
  const known = (id: string): string => graph.node(id)?.id ?? id;
  const idsOf = (ids: Ids): readonly string[] =>
    ids === 0 ? NONE : typeof ids === 'string' ? [known(ids)] : ids.map(known);
  for (let i = 0; i < block.id.length; i++) {
    const id = block.id[i] as string;
    const [type, session, createdBy, domain, outputType, nextStage] = block.shapes[block.shape[i] as number] as Shape;
    const [task, run] = block.owners[block.owner[i] as number] as Owner;
    const flags = block.flags[i] as number;
    graph.load({
      id,
      type,
      session,
      createdBy,
      createdAt: block.at + (block.created[i] as number),
      updatedAt: block.at + (block.updated[i] as number),
      domain,
      outputType,
      confidence: block.confidence[i] as number,
      ready: (flags & 1) === 1,
      nextStage,
      topic: topicIn(id, block.topic[i] as number | string),
      sources: idsOf(block.sources[i] as Ids),
      uses: idsOf(block.uses[i] as Ids),
      task,
      run,
      stale: stale.get(i) ?? null,
      approval: APPROVAL_STATUSES[(flags >> 1) - 1] ?? null,
    });
    places.set(id, block.place + (block.places[i] as number));
  }
}

function topicIn(id: string, topic: number | string): string {
  if (typeof topic === 'string') return topic;
  const start = Math.floor(topic / LONGEST);
  return id.slice(start, start + (topic % LONGEST));
}
