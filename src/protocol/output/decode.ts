/** The YAML of an OUTPUT envelope or of a GRAPH_UPDATE block → a message with its problems. */

import { type Fields, isFields } from '../../core/fields.ts';
import { error, type Problem, pointer, warning } from '../../core/problem.ts';
import { type Message, message } from '../message.ts';
import { utf8Length } from '../text/clean.ts';
import { quote } from '../text/quote.ts';
import { toProblems, type Validate, validator } from '../text/validate.ts';
import { MAX_YAML_CHARS, readYaml } from '../text/yaml.ts';
import { isPascalCase, requiredFields } from './registry.ts';
import { GraphUpdate, Output } from './schema.ts';

/** The most an envelope may carry beside its reference: data belongs in the node. */
const INLINE_BYTES = 2048;

const validateOutput = validator(Output);
const validateUpdate = new Map<unknown, Validate>(
  GraphUpdate.options.map((option) => [option.shape.type.value, validator(option)]),
);

/** @param text the YAML that begins with `OUTPUT:` */
export function decodeOutput(text: string): Message {
  const read = readMapping(text);
  if ('problem' in read) return message('output', 'OUTPUT', null, [read.problem]);
  const value = read.value['OUTPUT'];
  if (!isFields(value)) {
    const problem = error('E_SCHEMA_VALIDATION', '', `expected a mapping under OUTPUT, got ${quote(value)}`);
    return message('output', 'OUTPUT', value ?? null, [problem]);
  }
  const problems = toProblems(validateOutput(value), value, 'E_SCHEMA_VALIDATION');
  return message('output', 'OUTPUT', value, [...problems, ...checkInlineData(value), ...filledIn(value, ENVELOPE)]);
}

/**
 * @param text the YAML between the markers
 * @param closed whether there was a closing marker
 */
export function decodeGraphUpdate(text: string, closed: boolean): Message {
  const update = (value: unknown, problems: readonly Problem[]): Message =>
    message('output', 'GRAPH_UPDATE', value, problems);
  if (!closed)
    return update(null, [
      error('E_PARSE_FAILURE', '', 'expected a line [/GRAPH_UPDATE] that closes the block, got none'),
    ]);
  if (text.trim() === '')
    return update(null, [error('E_PARSE_FAILURE', '', 'expected a change of the graph, got an empty block')]);
  const read = readMapping(text);
  if ('problem' in read) return update(null, [read.problem]);
  const { value } = read;
  const validate = validateUpdate.get(value['type']);
  if (!validate) {
    const known = [...validateUpdate.keys()].join(' ');
    return update(value, [
      error('E_SCHEMA_VALIDATION', '/type', `expected one of ${known}, got ${quote(value['type'])}`),
    ]);
  }
  return update(value, [...toProblems(validate(value), value, 'E_SCHEMA_VALIDATION'), ...checkNode(value)]);
}

function readMapping(text: string): { value: Fields } | { problem: Problem } {
  if (text.length > MAX_YAML_CHARS) {
    return {
      problem: error('E_CONTEXT_OVERFLOW', '', `expected at most ${MAX_YAML_CHARS} characters of YAML, got more`),
    };
  }
  const read = readYaml(text);
  if (!read.ok)
    return { problem: error('E_PARSE_FAILURE', '', `expected YAML, got a text that is none: ${read.reason}`) };
  if (!isFields(read.value)) {
    return { problem: error('E_SCHEMA_VALIDATION', '', `expected a mapping, got ${quote(read.value)}`) };
  }
  return { value: read.value };
}

function checkInlineData(value: Fields): Problem[] {
  const inline = isFields(value['_handoff']) ? value['_handoff']['inline_data'] : undefined;
  const bytes = utf8Length(typeof inline === 'string' ? inline : JSON.stringify(inline ?? null));
  if (bytes <= INLINE_BYTES) return [];
  const path = '/_handoff/inline_data';
  return [
    error(
      'E_CONTEXT_OVERFLOW',
      path,
      `expected at most ${INLINE_BYTES} bytes, got ${bytes}: the node is the place for data`,
    ),
  ];
}

const ENVELOPE = [
  ['_meta', 'domain'],
  ['_meta', 'timestamp'],
] as const;
const NODE = [
  ['metadata', 'created_at'],
  ['metadata', 'domain'],
  ['metadata', 'output_type'],
  ['handoff', 'ready_for_next'],
  ['lineage'],
] as const;

/** A warning for each field that is not there and that the runtime fills in where it knows it. */
function filledIn(value: Fields, paths: readonly (readonly string[])[]): Problem[] {
  const isThere = (path: readonly string[]): boolean => {
    let at: unknown = value;
    for (const key of path) at = isFields(at) ? at[key] : undefined;
    return at !== undefined && at !== null;
  };
  const missing = paths.filter((path) => !isThere(path));
  return missing.map((path) =>
    warning('E_FIELD_MISSING', pointer(path), 'not given; filled in where the runtime knows it'),
  );
}

/** `{type}_{topic}_{YYYYMMDD_HHmmss}`, the `T` form of the time, and the `_2` of a collision. */
const NODE_ID_FORM = /^[a-z0-9]+_[a-z0-9_]+_\d{8}[_T]\d{6}(?:_\d+)?$/;

function checkNode(value: Fields): Problem[] {
  const { type, node_id: id, node_type: nodeType } = value;
  const problems: Problem[] = [];
  if (typeof id === 'string' && !NODE_ID_FORM.test(id)) {
    problems.push(warning('E_FIELD_FORM', '/node_id', `expected {type}_{topic}_{YYYYMMDD_HHmmss}, got ${quote(id)}`));
  }
  if (typeof nodeType === 'string') problems.push(...checkNodeType(nodeType));
  if (type !== 'add_node') return problems;
  problems.push(...filledIn(value, NODE));
  const data = value['data'];
  if (!isFields(data)) return problems;
  const missing =
    (typeof nodeType === 'string' ? requiredFields(nodeType) : null)?.filter((field) => !Object.hasOwn(data, field)) ??
    [];
  for (const field of missing) {
    problems.push(warning('E_FIELD_MISSING', pointer(['data', field]), `${nodeType} nodes should have ${field}`));
  }
  if (Object.keys(data).length === 0 && !hasSource(value)) {
    problems.push(warning('E_EVIDENCE_MISSING', '/data', 'expected data or a source in lineage, got neither'));
  }
  return problems;
}

function checkNodeType(nodeType: string): Problem[] {
  if (!isPascalCase(nodeType)) {
    return [warning('E_FIELD_FORM', '/node_type', `expected a type in PascalCase, got ${quote(nodeType)}`)];
  }
  if (requiredFields(nodeType) !== null) return [];
  return [warning('E_UNREGISTERED_TYPE', '/node_type', `${quote(nodeType)} is not a registered node type`)];
}

function hasSource(value: Fields): boolean {
  const lineage = isFields(value['lineage']) ? value['lineage'] : {};
  const many = lineage['created_from_nodes'];
  return typeof lineage['created_from_node'] === 'string' || (Array.isArray(many) && many.length > 0);
}
