/** `baton graph list`: all nodes that fit, one after another, however many there are. */
import { nodeJson } from '../core/node-json.ts';
import type { NodeFilter, WholeNode } from '../core/store.ts';
import type { InSession } from './globals.ts';
import { marks, titleOfNode } from './graph-text.ts';
import { createWriter, print } from './io.ts';
import { callingRun } from './seen.ts';
import { dim } from './style.ts';
import { oneLine } from './text.ts';
import { reading } from './with-store.ts';

interface Options extends InSession {
  readonly type: readonly string[];
  readonly domain?: string;
  readonly stage?: string;
  readonly text?: string;
  readonly stale?: boolean;
}

export async function listNodes(options: Options): Promise<void> {
  const { type, domain, stage, session, text, stale = false, json } = options;
  await reading(options, async (store, dir) => {
    await callingRun(store, dir);
    const filter: NodeFilter = {
      ...(type.length === 0 ? {} : { type }),
      ...(domain === undefined ? {} : { domain }),
      ...(stage === undefined ? {} : { stage }),
      ...(session === undefined ? {} : { session }),
      ...(text === undefined ? {} : { text }),
    };
    const out = createWriter();
    let count = 0;
    for await (const node of store.nodes(filter)) {
      if (stale && node.stale === null) continue;
      if (json) await out.write(`${count === 0 ? '[' : ',\n'}${JSON.stringify(nodeJson(node))}`);
      else await out.write(count === 0 ? `${HEADER}\n${row(node)}\n` : `${row(node)}\n`);
      count++;
    }
    if (json) await out.write(count === 0 ? '[]\n' : ']\n');
    await out.end();
    if (count === 0 && !json)
      print(Object.keys(filter).length === 0 && !stale ? 'there is no node' : 'no node is such');
  });
}

// Widths that do not depend on the nodes: the first line is printed before the last is known.
const line = (id: string, type: string, confidence: string, by: string, title: string): string =>
  `${id.padEnd(44)}  ${type.padEnd(15)}  ${confidence.padEnd(5)}  ${by.padEnd(16)}  ${title}`;

const HEADER = dim(line('ID', 'TYPE', 'SURE', 'BY', 'ABOUT'));

function row(node: WholeNode): string {
  const sure = String(Math.round(node.effectiveConfidence * 100) / 100);
  const about = [...marks(node), titleOfNode(node)].filter((text) => text !== '').join(' ');
  return line(node.id, oneLine(node.type), sure, oneLine(node.createdBy), about).trimEnd();
}
