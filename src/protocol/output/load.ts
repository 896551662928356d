/** What must hold before a stage works on a node that was handed to it (document, "Validation Checklist"). Pure: the node is looked up by the caller. */
import { error, type Problem, pointer } from '../../core/problem.ts';
import { quote } from '../text/quote.ts';
import type { AddNode, Output } from './schema.ts';
import { NodeId } from './schema.ts';

export const REFUSE_BELOW = 0.85;

export interface LoadRules {
  /** The least confidence; lower or higher for some domains. */
  readonly refuseBelow?: number;
}

/** The gaps, in the checklist's order; none means that the node may be used. */
export function checkLoad(
  handoff: Pick<Output['_handoff'], 'graph_node' | 'required_fields'>,
  node: AddNode | null,
  { refuseBelow = REFUSE_BELOW }: LoadRules = {},
): Problem[] {
  const id = handoff.graph_node;
  if (!NodeId.safeParse(id).success) {
    return [error('E_SCHEMA_VALIDATION', '/_handoff/graph_node', `expected the id of a node, got ${quote(id)}`)];
  }
  if (node === null) return [error('E_NOT_FOUND', '/_handoff/graph_node', `there is no node ${quote(id)}`)];
  const missing = handoff.required_fields.filter(
    (field) => !Object.hasOwn(node.data, field) || node.data[field] === null,
  );
  const problems = missing.map((field) =>
    error(
      'E_FIELD_MISSING',
      pointer(['data', field]),
      `the next stage needs ${quote(field)} and the node does not have it`,
    ),
  );
  if (node.metadata.confidence < refuseBelow) {
    const came = node.metadata.confidence;
    problems.push(
      error('E_SCHEMA_VALIDATION', '/metadata/confidence', `expected at least ${refuseBelow}, got ${came}`),
    );
  }
  if (node.handoff?.ready_for_next !== true) {
    const came = quote(node.handoff?.ready_for_next);
    problems.push(error('E_SCHEMA_VALIDATION', '/handoff/ready_for_next', `expected true, got ${came}`));
  }
  return problems;
}
