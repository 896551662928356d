/** `baton graph lineage`: what a node comes from and what came of it, down to the runs, the costs and the files behind each. */
import type { Node } from '../core/node.ts';
import { type NodeJson, nodeJson } from '../core/node-json.ts';
import type { Lineage, LineageQuery, Store, WholeNode } from '../core/store.ts';
import type { Globals } from './globals.ts';
import { type Behind, createBehind } from './graph-behind.ts';
import { findNode } from './graph-show.ts';
import { factsLine, titleOfNode } from './graph-text.ts';
import { createWriter, note, print } from './io.ts';
import { callingRun } from './seen.ts';
import { bold, dim } from './style.ts';
import { oneLine } from './text.ts';
import { reading } from './with-store.ts';

interface Options extends Globals {
  readonly up?: boolean;
  readonly down?: boolean;
  readonly hops?: number;
}

export async function showLineage(id: string, { up = false, down = false, hops, ...globals }: Options): Promise<void> {
  const both = up === down;
  const query: LineageQuery = { up: both || up, down: both || down, ...(hops === undefined ? {} : { hops }) };
  await reading(globals, async (store, dir) => {
    await callingRun(store, dir);
    await findNode(store, id);
    const lineage = await store.lineage(id, query);
    if (lineage === undefined) return;
    if (globals.json) await writeLineage(store, lineage);
    else print(await describe(store, id, lineage, query));
    if (lineage.isCut) note(`there is more than these ${lineage.nodes.length} nodes: look at less with --hops`);
  });
}

/** Node by node, so that a long lineage is never whole in memory with all its data. */
async function writeLineage(store: Store, { nodes, edges }: Pick<Lineage, 'nodes' | 'edges'>): Promise<void> {
  const out = createWriter();
  const behind = createBehind(store);
  let count = 0;
  await out.write('{"nodes":[');
  for (const { id } of nodes) {
    const node = await store.node(id);
    if (node === undefined) continue;
    const told: NodeJson = { ...nodeJson(node), behind: await behind(node) };
    await out.write(`${count++ === 0 ? '' : ',\n'}${JSON.stringify(told)}`);
  }
  await out.write(`],"edges":${JSON.stringify(edges)}}\n`);
  await out.end();
}

/** Which nodes are next to which, and by what. */
type Steps = ReadonlyMap<string, readonly { readonly id: string; readonly relation: string | null }[]>;

function stepsOf(edges: Lineage['edges'], way: 'up' | 'down'): Steps {
  const steps = new Map<string, { id: string; relation: string | null }[]>();
  for (const { from, to, relation } of edges) {
    // Another relation than lineage leads to no ancestor.
    if (relation !== null && relation !== 'used') continue;
    const [here, there] = way === 'up' ? [to, from] : [from, to];
    const held = steps.get(here);
    if (held === undefined) steps.set(here, [{ id: there, relation }]);
    else held.push({ id: there, relation });
  }
  return steps;
}

async function describe(store: Store, id: string, lineage: Lineage, { up, down }: LineageQuery): Promise<string> {
  const nodes = new Map<string, Node>(lineage.nodes.map((node) => [node.id, node]));
  const behind = createBehind(store);
  const lines = [bold(id), ...(await aboutLines(store, id, behind)).map((line) => `  ${line}`)];
  for (const [way, title, none] of [
    ['up', 'Comes from', 'nothing: it is a beginning'],
    ['down', 'Led to', 'nothing yet'],
  ] as const) {
    if (!(way === 'up' ? up : down)) continue;
    const steps = stepsOf(lineage.edges, way);
    lines.push('', bold(title));
    if ((steps.get(id) ?? []).length === 0) lines.push(`  ${dim(none)}`);
    await tree(id, '  ', new Set([id]));
    async function tree(at: string, indent: string, seen: Set<string>): Promise<void> {
      const next = (steps.get(at) ?? []).filter((step) => nodes.has(step.id));
      for (const [i, step] of next.entries()) {
        const isLast = i === next.length - 1;
        const how = step.relation === null ? '' : dim(` (${oneLine(step.relation)})`);
        const again = seen.has(step.id);
        lines.push(`${indent}${isLast ? '└─' : '├─'} ${step.id}${how}${again ? dim(' (see above)') : ''}`);
        if (again) continue;
        seen.add(step.id);
        const inner = `${indent}${isLast ? '   ' : '│  '}`;
        lines.push(...(await aboutLines(store, step.id, behind)).map((line) => `${inner}${line}`));
        await tree(step.id, inner, seen);
      }
    }
  }
  const others = lineage.edges.filter(({ relation }) => relation !== null && relation !== 'used');
  if (others.length > 0) {
    lines.push('', bold('Other edges'));
    for (const { from, to, relation } of others) lines.push(`  ${from} → ${to}  ${oneLine(relation ?? '')}`);
  }
  return lines.join('\n');
}

async function aboutLines(
  store: Store,
  id: string,
  behind: (node: WholeNode) => Promise<Behind | null>,
): Promise<string[]> {
  const node = await store.node(id);
  if (node === undefined) return [];
  const title = titleOfNode(node);
  return [factsLine(node), ...(title === '' ? [] : [title]), ...behindLines(await behind(node)).map(dim)];
}

const MOST_FILES = 10;

function behindLines(behind: Behind | null): string[] {
  if (behind === null) return [];
  const { task, run, agent, model, cost, files } = behind;
  const who = agent === null ? '' : ` by ${oneLine(agent)}${model === null ? '' : ` (${oneLine(model)})`}`;
  const tokens = cost.tokens_input + cost.tokens_output;
  const dollars = cost.usd === null ? 'cost unknown' : `$${cost.usd.toFixed(4)}`;
  const spent = cost.known_usd + tokens === 0 ? '' : `, ${dollars}, ${tokens} tokens`;
  const shown = files.slice(0, MOST_FILES).map(({ path, status }) => `${oneLine(path)} (${status.toLowerCase()})`);
  const more = files.length - shown.length;
  return [
    `${run ?? task}${who}${spent}`,
    ...(shown.length === 0 ? [] : [`files: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`]),
  ];
}
