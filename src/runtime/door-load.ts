/** A node for a run that asks for it: what the checklist lets through, of any session, and no more than an agent can bear. That it was used is written down. */
import { BatonError } from '../core/errors.ts';
import { type NodeJson, nodeJson } from '../core/node-json.ts';
import type { Store } from '../core/store.ts';
import type { Task } from '../core/task.ts';
import { shorten } from '../protocol/text/shorten.ts';
import type { LoadedNode, Sender } from './doors.ts';
import { loadNode } from './loading.ts';
import { isPerson } from './route-who.ts';
import type { RouterOptions } from './routed.ts';

interface LoadAsk {
  readonly node: string;
  readonly require?: readonly string[];
}

const MOST_CHARS = 20_000;

/** @param mine the task of the run that asks; null where none does */
export async function loadFor(
  parts: Pick<RouterOptions, 'store' | 'config'>,
  sender: Sender,
  mine: Task | null,
  { node: id, require: required = [] }: LoadAsk,
): Promise<LoadedNode> {
  if (mine === null && !isPerson(sender)) {
    throw new BatonError('E_PERMISSION_DENIED', `expected a run or a person to load ${id}, got ${sender.actor.name}`);
  }
  const found = await loadNode(parts, id, required);
  if ('refusal' in found) throw new BatonError(found.refusal.code, found.refusal.message, found.refusal.hint);
  if (mine !== null) await noteUse(parts.store, sender, mine, id);
  return within(nodeJson(found.node), required);
}

async function noteUse(store: Store, sender: Sender, { id }: Task, node: string): Promise<void> {
  const answer = await store.send({ message: { type: 'graph.load', node, by: { task: id } }, by: sender.actor });
  if (answer.kind === 'refused') throw new BatonError(answer.refusal.code, answer.refusal.message, answer.refusal.hint);
}

/** What every node has; there may be any number of fields beside. */
const OWN: readonly string[] = [
  'node_id',
  'node_type',
  'metadata',
  'handoff',
  'lineage',
  'effective_confidence',
  'approval',
  'stale',
  'session',
  'task',
  'run',
];

const sizeOf = (value: unknown): number => (JSON.stringify(value) ?? '').length;

/** Whole if it fits. Else what was asked for comes first, and each field has its share of the room. */
function within(node: NodeJson, required: readonly string[]): LoadedNode {
  const whole = { ...node, shortened: [] };
  if (sizeOf(whole) <= MOST_CHARS) return whole;
  // What is written beside its own sections may be long too.
  const { data, ...rest } = node;
  let beside = MOST_CHARS / 4;
  const frame = Object.fromEntries(
    Object.entries(rest).flatMap(([key, value]) => {
      const piece = cut(value, MOST_CHARS / 20);
      if (OWN.includes(key)) return [[key, piece]];
      beside -= sizeOf(key) + sizeOf(piece) + 2;
      return beside < 0 ? [] : [[key, piece]];
    }),
  );
  const isAsked = (name: string): boolean => required.includes(name);
  const all = Object.keys(data).sort((a, b) => Number(isAsked(b)) - Number(isAsked(a)));
  // A name takes room too, once with its value and once where that was shortened.
  let names = 0;
  let room = MOST_CHARS - sizeOf(frame) - 1_000;
  const first = all.filter((name) => {
    names += 2 * sizeOf(name) + 2;
    return names <= room / 2;
  });
  room -= first.reduce((sum, name) => sum + 2 * sizeOf(name) + 2, 0);
  const sorted = first.sort((a, b) => Number(isAsked(b)) - Number(isAsked(a)) || sizeOf(data[a]) - sizeOf(data[b]));
  const shown: Record<string, unknown> = {};
  const shortened: string[] = [];
  for (const [i, name] of sorted.entries()) {
    const value = data[name];
    const share = Math.max(0, Math.floor(room / (isAsked(name) ? 1 : sorted.length - i)) - 4);
    const piece = sizeOf(value) <= share ? value : cut(value, share);
    if (piece !== value) shortened.push(name);
    shown[name] = piece;
    room = Math.max(0, room - sizeOf(piece));
  }
  const inOrder = Object.fromEntries(
    Object.keys(data).flatMap((name) => (Object.hasOwn(shown, name) ? [[name, shown[name]]] : [])),
  );
  if (all.length > first.length) shortened.push(`and ${all.length - first.length} more fields`);
  return { ...(frame as unknown as NodeJson), data: inOrder, shortened };
}

/** What is not a text is shown as the beginning of its JSON. Quotes and breaks take two places in JSON, so half of the room is safe. */
function cut(value: unknown, most: number): unknown {
  if (sizeOf(value) <= most) return value;
  return shorten(typeof value === 'string' ? value : JSON.stringify(value), Math.floor(most / 2));
}
