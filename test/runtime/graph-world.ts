/** Worlds of small agents that write into the knowledge graph, and the blocks that they print. */
import type { WholeNode } from '../../src/core/store.ts';
import type { Task } from '../../src/core/task.ts';
import { makeWorld, sh, type World } from './world.ts';

interface Said {
  readonly id: string;
  readonly confidence?: number | string;
  readonly data?: object;
  readonly from?: string;
  readonly type?: string;
  readonly more?: string;
}

export const nodeText = ({
  id,
  confidence = 0.95,
  data = { summary: 's' },
  from,
  type = 'Findings',
  more = '',
}: Said): string =>
  [
    '[GRAPH_UPDATE]',
    'type: add_node',
    `node_id: ${id}`,
    `node_type: ${type}`,
    `metadata: { created_by: emma, confidence: ${confidence} }`,
    `data: ${JSON.stringify(data)}`,
    'handoff: { ready_for_next: true }',
    ...(from === undefined ? [] : [`lineage: { created_from_node: ${from} }`]),
    ...(more === '' ? [] : [more]),
    '[/GRAPH_UPDATE]',
  ].join('\n');

export const outputText = (
  node: string,
  stage: string,
  more: object = {},
  confidence = 0.95,
  type = 'analysis',
): string =>
  [
    'OUTPUT:',
    `  _meta: { output_type: ${type}, created_by: emma, confidence: ${confidence} }`,
    `  _handoff: ${JSON.stringify({ next_stage: stage, graph_node: node, required_fields: ['summary'], ...more })}`,
    '',
  ].join('\n');

/** Agents by name, each a script of the shell that keeps its prompt and says something. */
export async function worldOf(agents: Readonly<Record<string, string>>, config: object = {}): Promise<World> {
  const all = Object.entries(agents).map(([name, said]) => [name, sh(`cat > ${name}.prompt\n${said}\n`)]);
  return makeWorld({ config: { agents: Object.fromEntries(all), defaults: { sandbox: 'off' }, ...config } });
}

export const nodes = async (world: World): Promise<WholeNode[]> => {
  const all: WholeNode[] = [];
  for await (const node of world.store.nodes()) all.push(node);
  return all;
};

export const tasks = async (world: World): Promise<Task[]> => {
  const all: Task[] = [];
  for await (const task of world.store.tasks()) all.push(task);
  return all;
};

export const nodeOf = async (world: World, id: string): Promise<WholeNode> => (await world.store.node(id)) as WholeNode;
