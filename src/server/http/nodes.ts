/** `/v1/nodes` and `POST /v1/graph`: the knowledge graph, read by type, text and lineage, and written through the router like every message. */
import { BatonError } from '../../core/errors.ts';
import { nodeJson } from '../../core/node-json.ts';
import type { WholeNode } from '../../core/store.ts';
import { type Api, type Call, queryOf, stream } from './call.ts';
import { takeText } from './messages.ts';
import { json } from './problems.ts';
import { JSON_TYPE, type Route, TEXT_TYPE } from './routes.ts';
import { LineageQuery, LineageShape, MessagesQuery, NodeShape, NodesQuery, RoutedShape } from './schemas.ts';

export const nodeRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/v1/nodes',
    summary: 'nodes in the order in which they came',
    access: 'run',
    query: NodesQuery,
    answers: { [JSON_TYPE]: NodeShape.array() },
    async handle(api, call) {
      const query = queryOf(NodesQuery, call, ['type']);
      return stream(api, call, JSON_TYPE, (until) => listed(api, query, until));
    },
  },
  {
    method: 'get',
    path: '/v1/nodes/:id',
    summary: 'a node, with all that is written in it and known of it',
    access: 'run',
    answers: { [JSON_TYPE]: NodeShape },
    handle: async (api, call) => json(nodeJson(await reachedNode(api, call))),
  },
  {
    method: 'get',
    path: '/v1/nodes/:id/lineage',
    summary: 'what a node comes from, and what came from it',
    access: 'run',
    query: LineageQuery,
    answers: { [JSON_TYPE]: LineageShape },
    handle: lineage,
  },
  {
    method: 'post',
    path: '/v1/graph',
    summary: 'the GRAPH_UPDATE blocks and the OUTPUT of a text, as one report: all of it or nothing',
    access: 'run',
    query: MessagesQuery,
    takes: { [TEXT_TYPE]: null },
    answers: { [JSON_TYPE]: RoutedShape.array() },
    handle: takeText,
  },
];

async function reachedNode(api: Api, call: Call): Promise<WholeNode> {
  const id = call.param('id');
  const node = await api.host.store.node(id);
  if (node === undefined) throw new BatonError('E_NOT_FOUND', `there is no node ${id}`, 'see: baton graph list');
  return node;
}

async function* listed(
  { host }: Api,
  { limit = Infinity, ...query }: ReturnType<typeof NodesQuery.parse>,
  until: AbortSignal,
): AsyncGenerator<string> {
  const { type, domain, stage, task, text, session } = query;
  let count = 0;
  let held = '[';
  const filter = {
    ...(type === undefined ? {} : { type }),
    ...(domain === undefined ? {} : { domain }),
    ...(stage === undefined ? {} : { stage }),
    ...(task === undefined ? {} : { task }),
    ...(text === undefined ? {} : { text }),
    ...(session === undefined ? {} : { session }),
  };
  for await (const node of host.store.nodes(filter)) {
    if (until.aborted || count >= limit) break;
    held += `${count === 0 ? '' : ',\n'}${JSON.stringify(nodeJson(node))}`;
    count++;
    if (held.length < 65_536) continue;
    yield held;
    held = '';
  }
  yield `${held}]\n`;
}

/** Whole nodes are large; who wants more asks for fewer hops, or node by node. */
const MOST_NODES = 1_000;

async function lineage(api: Api, call: Call): Promise<Response> {
  const { direction = 'both', hops } = queryOf(LineageQuery, call);
  const { id } = await reachedNode(api, call);
  const { store } = api.host;
  const found = await store.lineage(id, {
    up: direction !== 'down',
    down: direction !== 'up',
    most: MOST_NODES,
    ...(hops === undefined ? {} : { hops }),
  });
  const nodes: WholeNode[] = [];
  for (const node of found?.nodes ?? []) {
    const whole = await store.node(node.id);
    if (whole !== undefined) nodes.push(whole);
  }
  const seen = new Set(nodes.map((node) => node.id));
  const edges = (found?.edges ?? []).filter(({ from, to }) => seen.has(from) && seen.has(to));
  return json({ nodes: nodes.map(nodeJson), edges, isCut: found?.isCut ?? false });
}
