/**
 * A node to fill in, of any type: the block and the envelope that hands it on, commented, with every field that the type should have. What is to be
 * filled in stands in `<…>`, which no node id may hold: a template that was not filled in is not taken for a node.
 */
import { nodeId } from '../../core/node.ts';
import { snakeCase } from './node-words.ts';
import { NODE_TYPES } from './registry.ts';
import { domainOf, nextStageOf, outputTypeOf } from './type-defaults.ts';

/** The types of a project beside the registry's, as config names them. */
export type OwnTypes = Readonly<Record<string, readonly string[]>>;

/** The fields that a node of a type should have; null where neither knows the type. */
export const fieldsOfType = (type: string, own: OwnTypes): readonly string[] | null =>
  Object.hasOwn(own, type) ? (own[type] ?? null) : Object.hasOwn(NODE_TYPES, type) ? (NODE_TYPES[type] ?? null) : null;

/** The registry's in its order, then the project's. */
export const knownTypes = (own: OwnTypes): readonly string[] => [
  ...new Set([...Object.keys(NODE_TYPES), ...Object.keys(own)]),
];

/** What to write in a field, and in what form. */
const HINTS: Readonly<Record<string, string | readonly string[] | { readonly number: string }>> = {
  summary: 'one sentence that says it all',
  reproduction_steps: ['what to do first', 'what to do then'],
  expected_behavior: 'what should happen',
  actual_behavior: 'what happens instead',
  acceptance_criteria: ['what has to be so when it is done', 'how that is seen'],
  user_story: 'as a …, I want …, so that …',
  problem_statement: 'what is wrong or missing today',
  scope: 'what is changed, and what is not',
  goal: 'what is better afterwards',
  success_criteria: ['how one sees that it worked'],
  research_question: 'the question to be answered',
  methodology: 'how it is looked into',
  expected_outcomes: ['what may come of it'],
  hypothesis_statement: 'if …, then …, because …',
  test_methodology: 'how it is put to the test',
  target_audience: 'who reads it',
  key_points: ['what it has to say'],
  tone: 'how it sounds',
  edit_type: 'what kind of edit',
  target_content: 'what is edited, by its node or its file',
  title: 'the decision in a few words',
  context: 'what it is about, and what is known',
  decision: 'what was decided',
  rationale: 'why this, and not another way',
  component_name: 'the name of the component',
  purpose: 'what it is there for',
  interfaces: ['what it offers, and to whom'],
  code_changes: ['what was changed, and why'],
  files_modified: ['path/of/the/file'],
  test_suite: 'what was run',
  tests_passed: { number: 'how many' },
  tests_failed: { number: 'how many' },
  coverage_percentage: { number: '0 to 100' },
  reviewed_item: 'what was looked at, by its node',
  review_type: 'code, design, security, …',
  findings: ['what was found'],
  overall_status: 'approved, changes_requested or rejected',
  key_decisions: ['a decision, and its node'],
  architecture_overview: 'how the parts fit together',
  implementation_guidance: 'how to proceed',
  validation_result: 'passed, failed or unverified',
  priority_score: { number: '0 to 1' },
  key_findings: ['what was found'],
  recommendation: 'what to do next',
  uncertainty_source: 'what is not clear',
  question: 'the question, as a person can answer it',
  approved_item: 'the node that is approved',
  approval_status: 'approved, rejected or changes_requested',
  timestamp: 'when, in ISO 8601',
};

const hole = (text: string): string => JSON.stringify(`<${text}>`);

function fieldLines(field: string): string[] {
  const hint = Object.hasOwn(HINTS, field) ? HINTS[field] : undefined;
  if (hint === undefined) return [`  ${field}: ${hole(field.replace(/_/g, ' '))}`];
  if (typeof hint === 'string') return [`  ${field}: ${hole(hint)}`];
  if ('number' in hint) return [`  ${field}: 0  # ${hint.number}`];
  return [`  ${field}:`, ...hint.map((item) => `    - ${hole(item)}`)];
}

/** The skill that usually writes it: `bug-brief`; anybody else says who they are. */
const authorOf = (type: string): string =>
  type === 'Approval'
    ? '"user"'
    : /Brief$/.test(type)
      ? `"${snakeCase(type).replace(/_/g, '-')}"`
      : hole('who you are');

/** `bug` of BugBrief, as in every example of the document; the whole type in snake case else. */
const stemOf = (type: string): string => snakeCase(type.replace(/Brief$/, '') || type);

const listed = (fields: readonly string[]): string => `[${fields.map((field) => JSON.stringify(field)).join(', ')}]`;

export function templateOf(type: string, fields: readonly string[], now: string): string {
  const isUncertainty = type === 'Uncertainty';
  const isApproval = type === 'Approval';
  const topic = nodeId(stemOf(type), 'topic', now).replace('_topic_', '_<topic>_');
  const [outputType, domain, stage] = [outputTypeOf(type), domainOf(type), nextStageOf(type)];
  const confidence = isUncertainty ? '0.75' : isApproval ? '1.0' : '0.95';
  const required = isUncertainty ? ['resolution'] : fields;
  const article = /^[AEIOU]/.test(type) ? 'An' : 'A';
  return `${[
    `# ${article} ${type}. Fill in what stands in <…>, leave out what does not apply, then: baton graph add FILE`,
    ...(isApproval ? ['# Only a person adds one; the usual way is: baton approve ID'] : []),
    '[GRAPH_UPDATE]',
    'type: add_node',
    `node_id: ${topic}  # letters, digits and _`,
    `node_type: ${type}`,
    '',
    'metadata:',
    `  created_by: ${authorOf(type)}`,
    `  created_at: "${now}"`,
    `  domain: "${domain}"`,
    isUncertainty
      ? `  confidence: ${confidence}  # what is below the threshold goes to a person`
      : `  confidence: ${confidence}  # 0 to 1; below 0.90 a person is asked first`,
    `  output_type: "${outputType}"`,
    '',
    'data:',
    ...(fields.length === 0 ? [`  summary: ${hole('one sentence that says it all')}`] : fields.flatMap(fieldLines)),
    ...(isUncertainty
      ? ['  options:', `    - option: ${hole('one answer')}`, `      impact: ${hole('what follows from it')}`]
      : []),
    '',
    'handoff:',
    `  ready_for_next: ${isUncertainty ? 'false  # until a person has answered' : 'true'}`,
    `  next_stage: "${stage}"  # a stage of config.yaml, an agent, or user`,
    `  required_fields: ${listed(required)}`,
    '  optional_fields: []',
    '',
    'lineage:',
    '  created_from_node: null  # the node that it was made from, if any',
    '  consumed_by_nodes: []  # written down by Baton',
    '[/GRAPH_UPDATE]',
    '',
    'OUTPUT:',
    '  _meta:',
    `    output_type: "${outputType}"`,
    `    created_by: ${authorOf(type)}`,
    `    domain: "${domain}"`,
    `    timestamp: "${now}"`,
    `    confidence: ${confidence}`,
    '  _handoff:',
    `    next_stage: "${stage}"`,
    `    graph_node: ${topic}`,
    `    required_fields: ${listed(required)}`,
    '    optional_fields: []',
    ...(isUncertainty ? ['    escalation_reason: "Confidence below 90% threshold"'] : []),
    ...(isApproval ? ['    approval_status: "approved"'] : []),
  ].join('\n')}\n`;
}
