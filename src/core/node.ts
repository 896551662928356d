/**
 * A result in the knowledge graph (output protocol). This is what memory holds of it; the node as it was written, its document,
 * stands in the journal. Nodes are never changed, only replaced.
 */

/** Why a node is not to be built upon any more. */
interface Stale {
  readonly at: number;
  readonly because: string;
  /** The node upstream that it began with; null where it began here. */
  readonly from: string | null;
}

export const APPROVAL_STATUSES = ['approved', 'rejected', 'changes_requested'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

export interface Node {
  readonly id: string;
  readonly type: string;
  readonly session: string;
  /** As the node says it; who really wrote it is in its record. */
  readonly createdBy: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly domain: string | null;
  readonly outputType: string | null;
  readonly confidence: number;
  readonly ready: boolean;
  readonly nextStage: string | null;
  /** What it is about: nodes of one type and topic may bear each other out. */
  readonly topic: string;
  /** The nodes that it was made from, as it says. */
  readonly sources: readonly string[];
  /** The nodes that its task had loaded when it was written. */
  readonly uses: readonly string[];
  /** The task and the run that wrote it; null where a person did. */
  readonly task: string | null;
  readonly run: string | null;
  readonly stale: Stale | null;
  /** What a person said about it. */
  readonly approval: ApprovalStatus | null;
}

export interface Edge {
  readonly source: string;
  readonly target: string;
  readonly relation: string | null;
  /** What else was written about it. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** One block of a report. `document` is the JSON of what was written: the node, or only what of it changes. */
export type GraphUpdate =
  | {
      readonly kind: 'add-node';
      readonly node: Pick<Node, 'id' | 'type' | 'createdBy' | 'confidence' | 'sources'> & {
        readonly domain: string | null;
        readonly outputType: string | null;
        /** Null where nothing is said. */
        readonly ready: boolean | null;
        readonly nextStage: string | null;
        readonly topic: string | null;
      };
      readonly document: string;
    }
  | {
      readonly kind: 'update-node';
      readonly id: string;
      readonly set: Partial<
        Pick<Node, 'type' | 'createdBy' | 'confidence' | 'sources' | 'domain' | 'outputType' | 'ready' | 'nextStage'>
      >;
      /** Whether its data change: what was made from it is stale then. */
      readonly changesData: boolean;
      readonly document: string;
    }
  | ({ readonly kind: 'add-edge' | 'update-edge' } & Edge);

/** What a node may not exceed, in characters of its document. */
export const MOST_NODE_CHARS = 1024 * 1024;

/** Letters, digits, `_`, `-` and `.`, but not a name that a file system reads as a folder. */
export const NODE_ID = /^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,200}$/;

/** `{type}_{topic}_{YYYYMMDD_HHmmss}` (document, "Node ID Format"). */
export function nodeId(type: string, topic: string, now: string): string {
  const digits = now.replace(/\D/g, '').padEnd(14, '0');
  return `${word(type) || 'node'}_${word(topic) || 'untitled'}_${digits.slice(0, 8)}_${digits.slice(8, 14)}`;
}

const word = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 60);

const PARTS = /^[a-z0-9]+_([a-z0-9_]+)_\d{8}[_T]\d{6}(?:_\d+)?$/;

/** What an id says the node is about; the whole id where it is not of the form. */
export const topicOfId = (id: string): string => PARTS.exec(id)?.[1] ?? id;
