/** Report ⇄ a Report node and the OUTPUT envelope that hands it on. The node's data carries all but the outcome, which is said by confidence and readiness. */

import { unrepeated } from '../../core/fields.ts';
import { nodeId } from '../../core/node.ts';
import { emptyReport, losses, type Outcome, type Report, type ReportField } from '../../core/report.ts';
import { type CarriedField, readFields, writeFields } from '../report-fields.ts';
import { decodeGraphUpdate, decodeOutput } from './decode.ts';
import { encodeGraphUpdate, encodeOutput } from './encode.ts';
import { type AddNode, NodeId, type Output } from './schema.ts';

/** Below this, a result is an uncertainty and goes to a person (document, "Uncertainty Escalation"). */
export const ESCALATE_BELOW = 0.9;
const UNSURE = 0.5;
const UNKNOWN = 'unknown';

const IN_DATA = [
  'task',
  'sessionId',
  'taskId',
  'agent',
  'startedAt',
  'completedAt',
  'detailsFile',
  'handoffFile',
  'actions',
  'artifacts',
  'checkpoints',
  'tests',
  'blockers',
  'notes',
  'warnings',
  'errors',
  'metrics',
  'cost',
] as const satisfies readonly CarriedField[];

/** What an envelope claims, with its node where that is at hand. */
export function toReport(output: Output, node: AddNode | null): Report {
  const { _meta: meta, _handoff: handoff } = output;
  const summary = node?.data['summary'];
  const carried = readFields(node?.data, IN_DATA);
  return {
    ...emptyReport(outcomeOf(output, node), typeof summary === 'string' ? summary : ''),
    agent: meta.created_by === UNKNOWN ? null : { name: meta.created_by, provider: null, model: null },
    ...carried,
    confidence: meta.confidence,
    graphNode: handoff.graph_node,
    nextStage: handoff.next_stage,
  };
}

function outcomeOf({ _meta: meta, _handoff: handoff }: Output, node: AddNode | null): Outcome {
  // A person's no is no success, however sure they are of it.
  if (handoff.approval_status === 'rejected') return 'failed';
  if (handoff.approval_status === 'changes_requested') return 'partial';
  if (handoff.approval_required === true) return 'needs_review';
  if (meta.output_type === 'uncertainty' || meta.confidence < ESCALATE_BELOW) return 'blocked';
  return node?.handoff?.ready_for_next === false ? 'partial' : 'done';
}

/** What a node and its envelope say and a Report has no room for, by its place. */
export function unreported(output: Output, node: AddNode | null): string[] {
  const said = build(toReport(output, node), output._meta.timestamp ?? '');
  return [...(node === null ? [] : unrepeated(node, said.node)), ...unrepeated(output, said.output)];
}

export interface Written {
  readonly text: string;
  readonly lost: readonly ReportField[];
}

export function fromReport(report: Report, now: string): Written {
  const { node, output } = build(report, now);
  const text = `${encodeGraphUpdate(node)}\n${encodeOutput(output)}`;
  return {
    text,
    lost: losses(
      report,
      readBack(node, output) ?? emptyReport(report.outcome === 'blocked' ? 'failed' : 'blocked', ''),
    ),
  };
}

function build(report: Report, now: string): { node: AddNode; output: Output } {
  const blocked = report.outcome === 'blocked';
  const outputType = blocked ? 'uncertainty' : 'analysis';
  const confidence = isConfidence(report.confidence) ? report.confidence : blocked ? UNSURE : ESCALATE_BELOW;
  const id = NodeId.safeParse(report.graphNode).data ?? nodeId('report', report.task ?? report.taskId ?? '', now);
  const createdBy = report.agent?.name || UNKNOWN;
  const nextStage = report.nextStage || 'user';
  const node: AddNode = {
    type: 'add_node',
    node_id: id,
    node_type: 'Report',
    metadata: { created_by: createdBy, created_at: now, domain: 'custom', confidence, output_type: outputType },
    data: { summary: report.summary, ...writeFields(report, IN_DATA) },
    handoff: {
      ready_for_next: report.outcome === 'done' || report.outcome === 'needs_review',
      next_stage: nextStage,
      required_fields: ['summary'],
    },
    lineage: { created_from_node: null, consumed_by_nodes: [] },
  };
  const output: Output = {
    _meta: { output_type: outputType, created_by: createdBy, domain: 'custom', timestamp: now, confidence },
    _handoff: {
      next_stage: nextStage,
      graph_node: id,
      required_fields: ['summary'],
      ...(report.outcome === 'needs_review' ? { approval_required: true } : {}),
    },
  } as Output;
  return { node, output };
}

const isConfidence = (value: number | null): value is number => value !== null && value >= 0 && value <= 1;

/** Through the text, so that what YAML cannot carry is seen; null where nothing of it can be read. */
function readBack(node: AddNode, output: Output): Report | null {
  const yaml = encodeGraphUpdate(node).split('\n').slice(1, -2).join('\n');
  const written = decodeGraphUpdate(yaml, true);
  const envelope = decodeOutput(encodeOutput(output));
  if (!envelope.valid) return null;
  return toReport(envelope.value as Output, written.valid ? (written.value as AddNode) : null);
}
