/**
 * What `baton graph add` is given: blocks and envelopes between other words, or nodes without markers. A text of any size is looked through in
 * pieces; no more of it is held than a report may be.
 */
import { BatonError } from '../core/errors.ts';
import { isFields } from '../core/fields.ts';
import { type Problem, pointer, warning } from '../core/problem.ts';
import { createDetector, detect } from '../protocol/detect.ts';
import type { Message } from '../protocol/message.ts';
import type { GraphUpdate, Output } from '../protocol/output/schema.ts';
import { fieldsOfType, type OwnTypes } from '../protocol/output/templates.ts';
import { quote } from '../protocol/text/quote.ts';
import { MAX_YAML_CHARS, readYaml } from '../protocol/text/yaml.ts';
import { MOST_BLOCKS } from '../runtime/said-graph.ts';
import { readInput, STDIN } from './io.ts';

/** The most that one report may come to, in characters. */
const MOST_REPORT = 10 * 1024 * 1024;

export interface GraphInput {
  /** Blocks and envelopes alone, as any door takes them. */
  readonly text: string;
  readonly updates: readonly GraphUpdate[];
  readonly outputs: readonly Output[];
  /** A sentence for each thing that is not as it should be, and is taken all the same. */
  readonly warnings: readonly string[];
}

export async function readGraphInput(file: string, own: OwnTypes): Promise<GraphInput> {
  const decoder = new TextDecoder();
  const detector = createDetector();
  const found: Message[] = [];
  let [held, length] = ['', 0];
  const take = (text: string): void => {
    length += text.length;
    if (length <= MOST_REPORT) held += text;
    found.push(...detector.feed(text).filter(isOurs));
  };
  for await (const chunk of readInput(file)) take(decoder.decode(chunk, { stream: true }));
  take(decoder.decode());
  found.push(...detector.end().filter(isOurs));
  const name = file === STDIN ? 'standard input' : file;
  const messages = found.length > 0 ? found : withoutMarkers(held, length, name);
  for (const [i, message] of messages.entries()) refuseInvalid(message, i, messages.length);
  if (found.length > 0 && length > MOST_REPORT) throw tooLong(name);
  if (messages.filter(({ kind }) => kind === 'GRAPH_UPDATE').length > MOST_BLOCKS) {
    const sentence = `expected at most ${MOST_BLOCKS} blocks in one report, got ${messages.length} in ${name}`;
    throw new BatonError('E_CONTEXT_OVERFLOW', sentence, 'add them in several parts: nothing was added');
  }
  const updates = messages.filter(({ kind }) => kind === 'GRAPH_UPDATE').map(({ value }) => value as GraphUpdate);
  const outputs = messages.filter(({ kind }) => kind === 'OUTPUT').map(({ value }) => value as Output);
  return {
    text: messages.map(written).join('\n'),
    updates,
    outputs,
    warnings: messages.flatMap((message) => warningsOf(message, own)),
  };
}

const isOurs = ({ dialect }: Message): boolean => dialect === 'output';

const tooLong = (name: string): BatonError =>
  new BatonError(
    'E_CONTEXT_OVERFLOW',
    `expected at most ${MAX_YAML_CHARS} characters in a node and ${MOST_REPORT} in a report, got more in ${name}`,
    'add it in several parts, and keep large contents in files that the nodes name',
  );

/** As JSON on one line, which is YAML too: nothing in it can be taken for the end of its block. */
const written = ({ kind, value }: Message): string =>
  kind === 'OUTPUT'
    ? `OUTPUT: ${JSON.stringify(value)}\n`
    : `[GRAPH_UPDATE]\n${JSON.stringify(value)}\n[/GRAPH_UPDATE]\n`;

/** One node in YAML or JSON, or a JSON array of them. */
function withoutMarkers(text: string, length: number, name: string): Message[] {
  if (length > MOST_REPORT) throw tooLong(name);
  const nothing = (got: string): BatonError =>
    new BatonError(
      'E_PARSE_FAILURE',
      `expected a [GRAPH_UPDATE] block, or a node in YAML or JSON, in ${name}, got ${got}`,
      'baton graph new TYPE prints one to fill in',
    );
  if (text.trim() === '') throw nothing('nothing');
  const value = parsed(text.replace(/^\ufeff/, ''), name);
  const items = Array.isArray(value) ? value : [value];
  if (items.length === 0) throw nothing('an empty list');
  return items.flatMap((item) => {
    if (!isFields(item))
      throw nothing(isFields(value) || Array.isArray(value) ? quote(item) : 'words that are neither');
    if (isFields(item['OUTPUT'])) return detect(written({ ...EMPTY, kind: 'OUTPUT', value: item['OUTPUT'] }));
    // What has an id and no verb is meant to be added.
    const update = item['type'] === undefined && item['node_id'] !== undefined ? { type: 'add_node', ...item } : item;
    return detect(written({ ...EMPTY, kind: 'GRAPH_UPDATE', value: update }));
  });
}

const EMPTY: Message = { dialect: 'output', kind: null, valid: true, problems: [], value: null };

function parsed(text: string, name: string): unknown {
  if (/^\s*[[{]/.test(text)) {
    try {
      return JSON.parse(text);
    } catch {
      // Not JSON; YAML has brackets too, and says what is wrong.
    }
  }
  if (text.length > MAX_YAML_CHARS) {
    const sentence = `expected a node of at most ${MAX_YAML_CHARS} characters, got ${text.length} in ${name}`;
    throw new BatonError('E_CONTEXT_OVERFLOW', sentence, 'keep large contents in files and name them');
  }
  const yaml = readYaml(text);
  if (!yaml.ok) {
    const sentence = `expected YAML or JSON in ${name}, got a text that is neither: ${yaml.reason}`;
    throw new BatonError('E_PARSE_FAILURE', sentence, 'baton graph new TYPE prints a node to fill in');
  }
  return yaml.value;
}

/** The first thing that is wrong, in one sentence. */
function refuseInvalid({ valid, problems, value, kind }: Message, index: number, of: number): void {
  if (valid) return;
  const first = problems.find(({ severity }) => severity === 'error');
  const id = isFields(value) && typeof value['node_id'] === 'string' ? ` (${quote(value['node_id'])})` : '';
  const which = `${kind}${of > 1 ? ` ${index + 1} of ${of}` : ''}${id}`;
  const where = first?.path ? `${first.path}: ` : '';
  throw new BatonError(
    first?.code ?? 'E_SCHEMA_VALIDATION',
    `${which}: ${where}${first?.message ?? 'it is not valid'}`,
    'nothing was added; baton check lists all that is wrong',
  );
}

/** A project's own types are registered too. */
function warningsOf({ kind, problems, value }: Message, own: OwnTypes): string[] {
  const fields = isFields(value) ? value : {};
  const type = typeof fields['node_type'] === 'string' ? fields['node_type'] : null;
  const isOwn = type !== null && Object.hasOwn(own, type);
  const all: Problem[] = problems.filter(
    ({ severity, code }) => severity === 'warning' && !(isOwn && code === 'E_UNREGISTERED_TYPE'),
  );
  if (isOwn && fields['type'] === 'add_node') {
    const data = isFields(fields['data']) ? fields['data'] : {};
    for (const field of fieldsOfType(type, own) ?? []) {
      const path = pointer(['data', field]);
      if (!Object.hasOwn(data, field) && !all.some((problem) => problem.path === path))
        all.push(warning('E_FIELD_MISSING', path, `${type} nodes should have ${field}`));
    }
  }
  const name = typeof fields['node_id'] === 'string' ? fields['node_id'] : kind;
  return all.map(({ path, message, code }) => `warning: ${name}: ${path === '' ? '' : `${path}: `}${message} ${code}`);
}
