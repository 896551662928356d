/**
 * What a run says of the knowledge graph, over all its turns and by all its ways: its blocks and its envelopes. Nothing of it counts before the run
 * has ended well, and all of it counts together or not at all.
 */

import { isFields } from '../core/fields.ts';
import type { Found } from '../protocol/index.ts';
import type { GraphUpdate, Output } from '../protocol/output/schema.ts';

/** One report's word on the graph. */
export interface SaidGraph {
  /** In the order in which they came, each once. */
  readonly updates: readonly GraphUpdate[];
  /** The envelopes. Of two that hand the same node on to the same stage, the later one. */
  readonly outputs: readonly Output[];
  /** What is wrong with blocks of it, in sentences: then nothing of it counts. */
  readonly broken: readonly string[];
}

export const NOTHING_SAID: SaidGraph = { updates: [], outputs: [], broken: [] };

export const isOfGraph = ({ dialect }: Pick<Found, 'dialect'>): boolean => dialect === 'output';

export interface GraphEar {
  take(message: Found): void;
  /** A turn is over. What a later one says of a node stands for what an earlier one said. */
  nextTurn(): void;
  /** The agent is going to be asked for what was broken: what it says next stands for it. */
  mend(): void;
  readonly said: SaidGraph;
}

/** So many blocks a report may have. */
export const MOST_BLOCKS = 200;
const MOST_CHARS = 10 * 1024 * 1024;

interface Block {
  readonly update: GraphUpdate;
  readonly text: string;
  readonly turn: number;
}

interface Broken {
  readonly sentence: string;
  /** The node that it was about, where that could be read. */
  readonly id: string | null;
  readonly turn: number;
}

export function createGraphEar(): GraphEar {
  let blocks: Block[] = [];
  let broken: Broken[] = [];
  let outputs: { readonly output: Output; readonly turn: number }[] = [];
  let chars = 0;
  let count = 0;
  let turn = 0;
  /** Blocks of turns up to this one are being asked for again. */
  let mended = -1;

  const refuse = (sentence: string, id: string | null): void => {
    // One is enough to refuse them all; more only help to mend them.
    const isTold = broken.some((one) => one.sentence === sentence && one.id === id && one.turn === turn);
    if (broken.length < MOST_BLOCKS && !isTold) broken.push({ sentence, id, turn });
  };

  const add = (update: GraphUpdate): void => {
    const text = JSON.stringify(update);
    const id = nodeIdOf(update);
    broken = broken.filter((one) => !isMendedBy(one, id));
    if (blocks.some((block) => block.text === text)) return;
    // Told anew in a later turn: the agent has thought better of it, or was asked to.
    const earlier = update.type === 'add_node' ? blocks.findIndex((block) => isEarlier(block, update.node_id)) : -1;
    const block = { update, text, turn };
    if (chars + text.length > MOST_CHARS || (earlier === -1 && blocks.length >= MOST_BLOCKS)) {
      return refuse(`expected at most ${MOST_BLOCKS} blocks of ${MOST_CHARS} characters in a report, got more`, null);
    }
    chars += text.length;
    blocks = earlier === -1 ? [...blocks, block] : blocks.with(earlier, block);
  };

  const hand = (output: Output): void => {
    // After it was asked to say the blocks once more, what it says then stands for what it said before.
    const kept = outputs.filter((one) => !(one.turn <= mended && turn > one.turn) && !isSameHand(one.output, output));
    if (kept.length >= MOST_BLOCKS)
      return refuse(`expected at most ${MOST_BLOCKS} OUTPUTs in a report, got more`, null);
    outputs = [...kept, { output, turn }];
  };

  const isMendedBy = (one: Broken, id: string | null): boolean =>
    (one.id !== null && one.id === id) || (one.turn <= mended && turn > one.turn);

  const isEarlier = ({ update, turn: its }: Block, id: string): boolean =>
    its < turn && update.type === 'add_node' && update.node_id === id;

  return {
    take({ kind, value, valid, problems }) {
      if (kind === 'GRAPH_UPDATE') count += 1;
      if (!valid) {
        const problem = problems.find(({ severity }) => severity === 'error');
        const id = isFields(value) && typeof value['node_id'] === 'string' ? value['node_id'] : null;
        const which = kind === 'OUTPUT' ? 'the OUTPUT envelope' : `the GRAPH_UPDATE block ${id ?? `number ${count}`}`;
        const place = problem?.path ? ` at ${problem.path}` : '';
        return refuse(`${which} is not valid${place}: ${problem?.message ?? 'it cannot be read'}`, id);
      }
      if (kind === 'GRAPH_UPDATE') return add(value as GraphUpdate);
      broken = broken.filter((one) => !isMendedBy(one, null) && !one.sentence.startsWith('the OUTPUT envelope'));
      hand(value as Output);
    },
    nextTurn() {
      turn += 1;
    },
    mend() {
      mended = turn;
    },
    get said() {
      return {
        updates: blocks.map(({ update }) => update),
        outputs: outputs.map(({ output }) => output),
        broken: broken.map(({ sentence }) => sentence),
      };
    },
  };
}

const isSameHand = ({ _handoff: a }: Output, { _handoff: b }: Output): boolean =>
  a.graph_node === b.graph_node && a.next_stage === b.next_stage;

const nodeIdOf = (update: GraphUpdate): string | null =>
  update.type === 'add_node' || update.type === 'update_node' ? update.node_id : null;
