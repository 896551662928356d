/** A node as the command line and the API tell it (`N` of the fixed command line): as it was written, and what is known of it beside. */

import { type Fields, isFields } from './fields.ts';
import type { WholeNode } from './store.ts';
import { isoTime } from './time.ts';

export interface NodeJson {
  readonly node_id: string;
  readonly node_type: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly data: Readonly<Record<string, unknown>>;
  readonly handoff: Readonly<Record<string, unknown>>;
  readonly lineage: Readonly<Record<string, unknown>> & {
    readonly created_from_nodes: readonly string[];
    readonly consumed_by_nodes: readonly string[];
  };
  readonly effective_confidence: number;
  readonly approval: string | null;
  readonly stale: { readonly at: string; readonly because: string; readonly from: string | null } | null;
  readonly session: string;
  readonly task: string | null;
  readonly run: string | null;
  readonly [other: string]: unknown;
}

const fields = (value: unknown): Fields => (isFields(value) ? value : {});

export function nodeJson(node: WholeNode): NodeJson {
  const { type: _, node_id: __, node_type: ___, metadata, data, handoff, lineage, ...others } = node.document;
  return {
    node_id: node.id,
    node_type: node.type,
    metadata: {
      created_at: isoTime(node.createdAt),
      ...(node.domain === null ? {} : { domain: node.domain }),
      ...dropNull(fields(metadata)),
      created_by: node.createdBy,
      confidence: node.confidence,
    },
    data: fields(data),
    handoff: { ...dropNull(fields(handoff)), ready_for_next: node.ready },
    lineage: { ...fields(lineage), created_from_nodes: node.sources, consumed_by_nodes: node.consumers },
    ...others,
    effective_confidence: node.effectiveConfidence,
    approval: node.approval,
    stale: node.stale === null ? null : { ...node.stale, at: isoTime(node.stale.at) },
    session: node.session,
    task: node.task,
    run: node.run,
  };
}

/** In YAML a key without a value is null, which is as good as leaving it out. */
const dropNull = (value: Fields): Fields =>
  Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null));
