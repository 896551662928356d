/** How nodes look to people. Whatever an agent wrote is made safe to print. */

import { isFields } from '../core/fields.ts';
import type { Node } from '../core/node.ts';
import type { WholeNode } from '../core/store.ts';
import { titleOf } from '../protocol/output/node-words.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { dim, green, red, yellow } from './style.ts';
import { oneLine } from './text.ts';

/** `BugBrief 0.95 by bug-brief`, and what else has to be known before one builds upon it. */
export const factsLine = (node: Node): string =>
  [`${oneLine(node.type)} ${node.confidence}`, `by ${oneLine(node.createdBy)}`, ...marks(node)].join(' ');

export function marks({ stale, approval, ready }: Node): string[] {
  return [
    ...(stale === null ? [] : [red('stale')]),
    ...(approval === null ? [] : [(approval === 'approved' ? green : yellow)(approval)]),
    ...(ready ? [] : [yellow('not ready')]),
  ];
}

export const dataOf = ({ document }: Pick<WholeNode, 'document'>): Record<string, unknown> =>
  isFields(document['data']) ? document['data'] : {};

const MOST_TITLE = 100;

/** One line about a node, short enough for a table. */
export const titleOfNode = (node: Pick<WholeNode, 'document'>): string =>
  shorten(oneLine(titleOf(dataOf(node))), MOST_TITLE);

export const dimmed = (name: string, value: string): string => `${dim(name.padEnd(11))} ${value}`;
