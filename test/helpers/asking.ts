/** What agents print that ask a person, in the protocol's own words. */

/** A design that waits for a yes. */
export const DESIGN = `[GRAPH_UPDATE]
type: add_node
node_id: adrs_summary_20251028_120000
node_type: DesignSummary
metadata:
  created_by: "solution-architect"
  confidence: 0.95
  domain: "software-development"
data:
  key_decisions: ["use a queue"]
  implementation_plan: "first the queue"
  secret: "not asked for"
handoff:
  ready_for_next: true
  next_stage: "implementation-triad"
  required_fields: ["key_decisions", "implementation_plan"]
[/GRAPH_UPDATE]

OUTPUT:
  _meta:
    output_type: "specification"
    created_by: "solution-architect"
    confidence: 0.90
  _handoff:
    next_stage: "user"
    graph_node: "adrs_summary_20251028_120000"
    required_fields: ["key_decisions", "implementation_plan"]
    approval_required: true
    approval_question: "Do you approve this architecture design?"
`;

/** What an agent prints that cannot go on before a person has chosen; `id` is the node's. */
export const unsureOf = (id: string): string => `[GRAPH_UPDATE]
type: add_node
node_id: ${id}
node_type: Uncertainty
metadata:
  created_by: "feature-brief"
  confidence: 0.75
data:
  uncertainty_source: "Feature priority unclear"
  question: "Is dark mode P0 or P1? Affects resource allocation"
  options:
    - option: "P0 (Critical)"
      impact: "Dedicate 2 developers for 1 week"
    - option: "P1 (High)"
      impact: "1 developer over 2 weeks"
  context: "User survey shows 40% want dark mode, but unclear urgency"
handoff:
  ready_for_next: false
  next_stage: "user"
  required_fields: ["resolution"]
[/GRAPH_UPDATE]

OUTPUT:
  _meta:
    output_type: "uncertainty"
    created_by: "feature-brief"
    confidence: 0.75
  _handoff:
    next_stage: "user"
    graph_node: "${id}"
    required_fields: ["resolution"]
    escalation_reason: "Confidence below 90% threshold"
`;
