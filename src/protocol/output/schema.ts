/**
 * OUTPUT envelopes and GRAPH_UPDATE blocks: what is required and what form it has. Other fields are the document's to add, and
 * kept. In YAML a key without a value is null; where a field is not required, that is as good as leaving it out.
 */
import * as z from 'zod';

const name = z.string().min(1);
const confidence = z.number().min(0).max(1);

export const OUTPUT_TYPES = [
  'brief',
  'specification',
  'implementation',
  'review',
  'analysis',
  'approval',
  'uncertainty',
] as const;
const OutputType = z.enum(OUTPUT_TYPES);

/** Letters, digits, `_`, `-` and `.`, but not a name that a file system reads as a folder. */
export const NodeId = z.string().regex(/^(?!\.{1,2}$)[A-Za-z0-9_.-]+$/);
const fields = z.array(name);

export const Output = z.looseObject({
  _meta: z.looseObject({
    output_type: OutputType,
    created_by: name,
    domain: name.nullish(),
    timestamp: name.nullish(),
    confidence,
  }),
  _handoff: z.looseObject({
    next_stage: name,
    graph_node: NodeId,
    required_fields: fields,
    optional_fields: fields.nullish(),
    inline_data: z.unknown().optional(),
    approval_required: z.boolean().nullish(),
    approval_question: z.string().nullish(),
    approval_status: z.enum(['approved', 'rejected', 'changes_requested']).nullish(),
    escalation_reason: z.string().nullish(),
    detail_nodes: z.record(z.string(), z.array(NodeId)).nullish(),
  }),
});

const Handoff = z.looseObject({
  ready_for_next: z.boolean().nullish(),
  next_stage: name.nullish(),
  required_fields: fields.nullish(),
  optional_fields: fields.nullish(),
});

const Lineage = z.looseObject({
  created_from_node: NodeId.nullish(),
  created_from_nodes: z.array(NodeId).nullish(),
  consumed_by_nodes: z.array(NodeId).nullish(),
});

const metadata = {
  created_by: name,
  confidence,
  created_at: name.nullish(),
  domain: name.nullish(),
  output_type: OutputType.nullish(),
};

const Data = z.record(z.string(), z.unknown());

export const AddNode = z.looseObject({
  type: z.literal('add_node'),
  node_id: NodeId,
  node_type: name,
  metadata: z.looseObject(metadata),
  data: Data,
  handoff: Handoff.nullish(),
  lineage: Lineage.nullish(),
});

/** Only what changes is given. */
const UpdateNode = z.looseObject({
  type: z.literal('update_node'),
  node_id: NodeId,
  node_type: name.nullish(),
  metadata: z.looseObject({ ...metadata, created_by: name.nullish(), confidence: confidence.nullish() }).nullish(),
  data: Data.nullish(),
  handoff: Handoff.nullish(),
  lineage: Lineage.nullish(),
});

const edge = { source: NodeId, target: NodeId, relation: name.nullish() };
const AddEdge = z.looseObject({ type: z.literal('add_edge'), ...edge });
const UpdateEdge = z.looseObject({ type: z.literal('update_edge'), ...edge });

export const GraphUpdate = z.discriminatedUnion('type', [AddNode, UpdateNode, AddEdge, UpdateEdge]);

export type Output = z.infer<typeof Output>;
export type AddNode = z.infer<typeof AddNode>;
export type GraphUpdate = z.infer<typeof GraphUpdate>;
