/** Blocks and envelopes as the laws of the graph take them. What is written is kept whole, as JSON; what decisions need is read out of it. */

import { type Fields, isFields } from '../../core/fields.ts';
import type { Handed } from '../../core/laws/messages.ts';
import type * as core from '../../core/node.ts';
import type { AddNode, GraphUpdate, Output } from './schema.ts';

export function graphUpdateOf(update: GraphUpdate): core.GraphUpdate {
  switch (update.type) {
    case 'add_node':
      return { kind: 'add-node', node: nodeOf(update), document: JSON.stringify(update) };
    case 'update_node': {
      const { type: _, node_id: __, ...patch } = update;
      return {
        kind: 'update-node',
        id: update.node_id,
        set: changesOf(update),
        changesData: isFields(update.data) && Object.keys(update.data).length > 0,
        document: JSON.stringify(patch),
      };
    }
    default: {
      const { type, source, target, relation, ...fields } = update;
      const kind = type === 'add_edge' ? 'add-edge' : 'update-edge';
      return { kind, source, target, relation: relation ?? null, fields };
    }
  }
}

function nodeOf(node: AddNode): Extract<core.GraphUpdate, { kind: 'add-node' }>['node'] {
  const { metadata, handoff, lineage } = node;
  return {
    id: node.node_id,
    type: node.node_type,
    createdBy: metadata.created_by,
    confidence: metadata.confidence,
    domain: metadata.domain ?? null,
    outputType: metadata.output_type ?? null,
    ready: handoff?.ready_for_next ?? null,
    nextStage: handoff?.next_stage ?? null,
    topic: topicOf(node.metadata) ?? topicOf(node.data),
    sources: sourcesOf(lineage) ?? [],
  };
}

type Changes = Extract<core.GraphUpdate, { kind: 'update-node' }>['set'];

/** Only what is said. */
function changesOf(update: Extract<GraphUpdate, { type: 'update_node' }>): Changes {
  const { node_type: type, metadata, handoff, lineage } = update;
  const sources = sourcesOf(lineage);
  return {
    ...(type == null ? {} : { type }),
    ...(metadata?.created_by == null ? {} : { createdBy: metadata.created_by }),
    ...(metadata?.confidence == null ? {} : { confidence: metadata.confidence }),
    ...(metadata?.domain == null ? {} : { domain: metadata.domain }),
    ...(metadata?.output_type == null ? {} : { outputType: metadata.output_type }),
    ...(handoff?.ready_for_next == null ? {} : { ready: handoff.ready_for_next }),
    ...(handoff?.next_stage == null ? {} : { nextStage: handoff.next_stage }),
    ...(sources === null ? {} : { sources }),
  };
}

/** Null where nothing is said of sources. */
function sourcesOf(lineage: AddNode['lineage']): string[] | null {
  if (lineage == null) return null;
  const { created_from_node: one, created_from_nodes: many } = lineage;
  if (one == null && many == null) return null;
  return [...new Set([...(one == null ? [] : [one]), ...(many ?? [])])];
}

const topicOf = (section: Fields): string | null => {
  const topic = section['topic'];
  return typeof topic === 'string' && topic.trim() !== '' ? topic.trim() : null;
};

export function handedOf({ _meta: meta, _handoff: handoff }: Output): Handed {
  return {
    node: handoff.graph_node,
    nextStage: handoff.next_stage,
    requiredFields: handoff.required_fields,
    optionalFields: handoff.optional_fields ?? [],
    confidence: meta.confidence,
    outputType: meta.output_type,
    approval:
      handoff.approval_required === true
        ? { question: handoff.approval_question ?? `Do you approve ${handoff.graph_node}?` }
        : null,
    escalationReason: handoff.escalation_reason ?? null,
  };
}
