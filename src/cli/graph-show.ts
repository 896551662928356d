/** `baton graph show`: one node with its data, and what is known of it beside. */
import { BatonError } from '../core/errors.ts';
import type { Edge } from '../core/node.ts';
import { nodeJson } from '../core/node-json.ts';
import type { Store, WholeNode } from '../core/store.ts';
import { writeYaml } from '../protocol/text/yaml.ts';
import type { Globals } from './globals.ts';
import { dataOf, dimmed, factsLine } from './graph-text.ts';
import { print, printJson } from './io.ts';
import { callingRun } from './seen.ts';
import { bold } from './style.ts';
import { oneLine, safe, time } from './text.ts';
import { reading } from './with-store.ts';

export async function showNode(id: string, globals: Globals): Promise<void> {
  await reading(globals, async (store, dir) => {
    await callingRun(store, dir);
    const node = await findNode(store, id);
    if (globals.json) printJson(nodeJson(node));
    else print(describe(node, await store.edges(id)));
  });
}

export async function findNode(store: Store, id: string): Promise<WholeNode> {
  const node = await store.node(id);
  if (node === undefined) throw new BatonError('E_NOT_FOUND', `there is no node ${id}`, 'see: baton graph list');
  return node;
}

function describe(node: WholeNode, edges: readonly Edge[]): string {
  const facts = factsOf(node).flatMap(([name, value]) => (value === null ? [] : [dimmed(name, value)]));
  const data = dataOf(node);
  const lines = edges.map(
    ({ source, target, relation }) => `  ${source} → ${target}${relation === null ? '' : `  ${oneLine(relation)}`}`,
  );
  return [
    `${bold(node.id)}  ${factsLine(node)}`,
    facts.join('\n'),
    Object.keys(data).length === 0 ? '' : safe(writeYaml(data)).trimEnd(),
    lines.length === 0 ? '' : [bold('Edges'), ...lines].join('\n'),
  ]
    .filter((text) => text !== '')
    .join('\n\n');
}

function factsOf(node: WholeNode): readonly (readonly [string, string | null])[] {
  const list = (items: readonly string[]): string | null => (items.length === 0 ? null : items.map(oneLine).join(', '));
  const text = (value: string | null): string | null => (value === null ? null : oneLine(value));
  const { effectiveConfidence: sure, stale } = node;
  return [
    [
      'sure',
      sure === node.confidence ? null : `${Math.round(sure * 1000) / 1000} together with nodes that bear it out`,
    ],
    ['stale', stale === null ? null : `${oneLine(stale.because)}, since ${time(stale.at)}`],
    ['domain', text(node.domain)],
    ['output type', text(node.outputType)],
    ['next stage', text(node.nextStage)],
    ['topic', text(node.topic)],
    ['made from', list(node.sources)],
    ['used', list(node.uses)],
    ['used by', list(node.consumers)],
    ['task', node.run ?? node.task],
    ['session', text(node.session)],
    ['created', time(node.createdAt)],
    ['updated', node.updatedAt === node.createdAt ? null : time(node.updatedAt)],
  ];
}
