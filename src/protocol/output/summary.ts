/**
 * Many nodes into one summary node that fits a number of tokens (document, "Bridge Agent Pattern"). Deterministic: the prose is put together
 * from the nodes, unless somebody else has written it. What is optional is shortened and then left out first; what is required, of the summary or of
 * a node in it, is only shortened, at sentences.
 */

import { type Fields, isFields } from '../../core/fields.ts';
import type { CountTokens } from '../message.ts';
import { shorten } from '../text/shorten.ts';
import { pluralKey, snakeCase, titleOf } from './node-words.ts';
import type { AddNode, Output } from './schema.ts';
import { domainOf, outputTypeOf } from './type-defaults.ts';

/** A node as a summary needs it. */
export interface Source {
  readonly id: string;
  readonly type: string;
  readonly domain: string | null;
  readonly score: number;
  readonly data: Fields;
  /** What its own next stage needs of it. */
  readonly requiredFields: readonly string[];
}

/** What a configured agent wrote in place of what is put together here. */
export interface Prose {
  readonly by: string;
  readonly overview?: string;
  readonly guidance?: string;
}

export interface SummaryRequest {
  /** The type of the summary, and the fields that it should have. */
  readonly type: string;
  readonly fields: readonly string[];
  readonly id: string;
  readonly topic: string | null;
  /** The best first. */
  readonly sources: readonly Source[];
  readonly neighbours: readonly Source[];
  readonly confidence: number;
  readonly nextStage: string;
  /** ISO 8601. */
  readonly now: string;
  readonly tokens: number;
  readonly countTokens: CountTokens;
  readonly prose?: Prose;
}

export type Summary =
  | {
      readonly ok: true;
      readonly node: AddNode;
      readonly output: Output;
      /** Of all of it, and of its data. */
      readonly nodeTokens: number;
      readonly tokens: number;
      /** Fields that did not fit. */
      readonly dropped: readonly string[];
      /** So many of the neighbours are named. */
      readonly named: number;
    }
  /** Not even the least that has to stay fits; `least` would do. */
  | { readonly ok: false; readonly least: number };

/** So many nodes have an entry of their own in a list. */
const MOST_ENTRIES = 5;
const DESIGN = 'DesignSummary';

/** The lengths that texts are tried at, in characters. Below the last, a sentence would say nothing. */
const LENGTHS = [Number.POSITIVE_INFINITY, 2_000, 1_000, 600, 400, 240, 160, 100] as const;
const SHORT = [240, 160, 100] as const;
const LEAST = 100;

interface Part {
  readonly field: string;
  readonly value: unknown;
  /** Never left out. */
  readonly isKept: boolean;
  /** The same with nothing in it that is not required; the value itself where nothing is said. */
  readonly bare?: unknown;
}

export function summarise(request: SummaryRequest): Summary {
  const few = { ...request, neighbours: request.neighbours.slice(0, named(request)) };
  const made = few.neighbours.length === 0 ? null : withNeighbours(few, false);
  return made?.ok === true ? made : withNeighbours({ ...request, neighbours: [] }, true);
}

/** The names of neighbours, which nothing rests on, take at most this share of the tokens. */
const SHARE_OF_NAMES = 0.25;

function named(request: SummaryRequest): number {
  const { neighbours, tokens, countTokens } = request;
  const most = tokens * SHARE_OF_NAMES;
  const sizeOf = (count: number): number => {
    const ids = neighbours.slice(0, count).map(({ id }) => id);
    return countTokens(JSON.stringify([ids, ids]));
  };
  let [low, high] = [0, neighbours.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (sizeOf(middle) <= most) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** @param isLast whether nothing else can be left out but what need not be said of the nodes */
function withNeighbours(request: SummaryRequest, isLast: boolean): Summary {
  const { tokens, countTokens } = request;
  const parts = partsOf(request);
  const kept = parts.filter(({ isKept }) => isKept);
  const optional = parts.filter(({ isKept }) => !isKept);
  const sizeOf = (value: unknown): number => countTokens(JSON.stringify(value));
  const fits = (data: Fields): boolean => sizeOf(nodeOf(request, data)) <= tokens;
  const data =
    fitted(kept, optional, fits) ??
    (isLast ? firstOf([Number.POSITIVE_INFINITY, ...SHORT], (length) => bareOf(kept, length), fits) : null);
  if (data === null) return { ok: false, least: sizeOf(nodeOf(request, bareOf(kept, LEAST))) };
  const dropped = optional.map(({ field }) => field).filter((field) => !Object.hasOwn(data, field));
  const node = nodeOf(request, data);
  return {
    ok: true,
    node,
    output: outputOf(request, node),
    tokens: sizeOf(data),
    nodeTokens: sizeOf(node),
    dropped,
    named: request.neighbours.length,
  };
}

/** The first length at which it fits. */
function firstOf(
  lengths: readonly number[],
  make: (length: number) => Fields,
  fits: (data: Fields) => boolean,
): Fields | null {
  for (const length of lengths) {
    const data = make(length);
    if (fits(data)) return data;
  }
  return null;
}

/** The most that fits: first the optional fields get shorter, then they go one by one from the last, then the required ones get shorter. */
function fitted(kept: readonly Part[], optional: readonly Part[], fits: (data: Fields) => boolean): Fields | null {
  const whole = dataOf(kept, Number.POSITIVE_INFINITY);
  const shorter = firstOf(LENGTHS, (length) => ({ ...whole, ...dataOf(optional, length) }), fits);
  if (shorter !== null) return inOrder(shorter, kept, optional);
  for (let count = optional.length - 1; count >= 0; count--) {
    const data = { ...whole, ...dataOf(optional.slice(0, count), LEAST) };
    if (fits(data)) return inOrder(data, kept, optional);
  }
  return firstOf(LENGTHS, (length) => dataOf(kept, length), fits);
}

/** Required fields first, as they stand in the registry. */
const inOrder = (data: Fields, kept: readonly Part[], optional: readonly Part[]): Fields =>
  Object.fromEntries(
    [...kept, ...optional].flatMap(({ field }) => (Object.hasOwn(data, field) ? [[field, data[field]]] : [])),
  );

const dataOf = (parts: readonly Part[], length: number): Fields =>
  Object.fromEntries(parts.map(({ field, value }) => [field, cut(value, length)]));

const bareOf = (parts: readonly Part[], length: number): Fields =>
  dataOf(
    parts.map((part) => ({ ...part, value: part.bare ?? part.value })),
    length,
  );

/** Every text in a value, however deep, cut to a length. Names of nodes stay whole. */
function cut(value: unknown, length: number): unknown {
  if (typeof value === 'string') return length === Number.POSITIVE_INFINITY ? value : shorten(value, length);
  if (Array.isArray(value)) return value.map((item) => cut(item, length));
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, key === 'node' ? item : cut(item, length)]),
  );
}

function partsOf(request: SummaryRequest): Part[] {
  const parts = request.type === DESIGN ? designParts(request) : typeParts(request);
  const rest = requiredBeside(request.sources, parts);
  return rest.length === 0 ? parts : [...parts, { field: DETAILS, value: rest, isKept: true }];
}

/** What nodes need that stands in no list: there are more of them than a list has entries, or they are not what it is about. */
const DETAILS = 'required_details';

function requiredBeside(sources: readonly Source[], parts: readonly Part[]): Fields[] {
  const kept = parts.filter(({ isKept }) => isKept);
  const told = new Map<unknown, Set<string>>();
  for (const item of kept.flatMap(({ value }) => asList(value)).filter(isFields)) {
    const fields = told.get(item['node']) ?? new Set();
    for (const field of Object.keys(item)) fields.add(field);
    told.set(item['node'], fields);
  }
  return sources.flatMap(({ id, data, requiredFields }) => {
    const isTold = (field: string): boolean =>
      told.get(id)?.has(field) === true || kept.some((part) => part.field === field && part.value === data[field]);
    const missing = [...new Set(requiredFields)].filter((field) => isSaid(data[field]) && !isTold(field));
    return missing.length === 0 ? [] : [{ node: id, ...Object.fromEntries(missing.map((name) => [name, data[name]])) }];
  });
}

function typeParts(request: SummaryRequest): Part[] {
  const { type, fields, sources } = request;
  const own = type === 'ValidationSummary' ? validation(request) : {};
  const parts = fields.map((field): Part => {
    if (field === 'key_findings') return list(field, sources);
    return { field, value: own[field] ?? gathered(request, field), isKept: true };
  });
  const has = (name: string): boolean => parts.some(({ field }) => field === name);
  if (!has('summary') && !has('key_findings') && Object.keys(own).length === 0)
    parts.push({ field: 'summary', value: overview(request), isKept: false });
  if (!has('key_findings')) parts.push(list('key_points', sources));
  return parts;
}

/** The document's example, field by field. */
function designParts(request: SummaryRequest): Part[] {
  const { sources, neighbours, prose, fields } = request;
  const decisions = sources.filter(({ type }) => type === 'ADR');
  const components = sources.filter(({ data }) => isSaid(data['component_name']) || isSaid(data['purpose']));
  const constraints = [...sources, ...neighbours].flatMap(({ data }) => asList(data['constraints']));
  const others = fields.filter((field) => !DESIGN_FIELDS.has(field));
  const isNeeded = (field: string): boolean => components.some(({ requiredFields }) => requiredFields.includes(field));
  return [
    list('key_decisions', decisions.length > 0 ? decisions : sources),
    { field: 'architecture_overview', value: prose?.overview ?? overview(request), isKept: true },
    { field: 'implementation_guidance', value: prose?.guidance ?? guidance(request), isKept: true },
    ...others.map((field): Part => ({ field, value: gathered(request, field), isKept: true })),
    {
      field: 'critical_components',
      value: components
        .slice(0, MOST_ENTRIES)
        .map((source) => entry(source, ['component_name', 'purpose'], (field) => field !== 'interfaces')),
      isKept: isNeeded('component_name') || isNeeded('purpose'),
    },
    {
      field: 'interfaces',
      value: components
        .filter(({ data }) => isSaid(data['interfaces']))
        .slice(0, MOST_ENTRIES)
        .map(({ id, data }) => ({ node: id, interfaces: data['interfaces'] })),
      isKept: isNeeded('interfaces'),
    },
    { field: 'constraints', value: constraints.slice(0, 4 * MOST_ENTRIES), isKept: false },
  ].filter(({ isKept, value }) => isKept || !Array.isArray(value) || value.length > 0);
}

const DESIGN_FIELDS = new Set(['key_decisions', 'architecture_overview', 'implementation_guidance']);

/** What a decision is, what a brief asks for, what came of a task: in an entry where the node has it. */
const TOLD = ['title', 'summary', 'decision', 'rationale'] as const;

const entries = (sources: readonly Source[], told: readonly string[] = TOLD): Fields[] =>
  sources.slice(0, MOST_ENTRIES).map((source) => entry(source, told, () => true));

/** A list of nodes that stays, with the least that it may come to. */
const list = (field: string, sources: readonly Source[]): Part => ({
  field,
  value: entries(sources),
  isKept: true,
  bare: entries(sources, []).map((bare, i) => (Object.keys(bare).length > 1 ? bare : entries(sources, LEADS)[i])),
});

/** What an entry has at least where its node does not say what is needed of it. */
const LEADS = ['title', 'summary', 'decision'] as const;

/** A node in a list: the fields that tell of it, and all that its own next stage needs. */
function entry(
  { id, data, requiredFields }: Source,
  told: readonly string[],
  isMeant: (field: string) => boolean,
): Fields {
  const fields = [...new Set([...told, ...requiredFields.filter(isMeant)])].filter((field) => isSaid(data[field]));
  const found = Object.fromEntries(fields.map((field) => [field, data[field]]));
  // A type of one's own may have none of these: its first field that is words speaks for it.
  const first = fields.length > 0 ? undefined : Object.entries(data).find(([, value]) => typeof value === 'string');
  return { node: id, ...found, ...(first === undefined ? {} : { [first[0]]: first[1] }) };
}

/** What nodes say under this name; where none does, what they are all about. */
function gathered(request: SummaryRequest, field: string): unknown {
  const { prose, sources } = request;
  if (field === 'summary') return prose?.overview ?? overview(request);
  const found = sources.filter(({ data }) => isSaid(data[field])).slice(0, MOST_ENTRIES);
  if (found.length === 0) return overview(request);
  if (found.length === 1) return found[0]?.data[field];
  return found.map(({ id, data }) => ({ node: id, [field]: data[field] }));
}

function validation(request: SummaryRequest): Fields {
  const { sources, prose } = request;
  const verdicts = sources.flatMap(({ type, data }) =>
    type === 'TestResults'
      ? [Number(data['tests_failed'] ?? 0) === 0]
      : type === 'Review'
        ? [!/reject|fail|block|chang/i.test(String(data['overall_status'] ?? ''))]
        : [],
  );
  const failed = verdicts.filter((passed) => !passed).length;
  const result = verdicts.length === 0 ? 'unverified' : failed === 0 ? 'passed' : 'failed';
  const mean = sources.reduce((sum, { score }) => sum + score, 0) / Math.max(1, sources.length);
  return {
    validation_result: result,
    priority_score: Math.round(mean * 100) / 100,
    recommendation: prose?.guidance ?? VALIDATED[result],
  };
}

const VALIDATED: Readonly<Record<string, string>> = {
  passed: 'Go on. Every test result and review that was looked at has passed.',
  failed: 'Do not go on before what failed is mended. The nodes named in key_findings say what it is.',
  unverified: 'Look at the nodes named here before you go on. None of them is a test result or a review.',
};

/** What an overview says of one node, in characters. */
const MOST_OF_ONE = 160;

/** One sentence for all, then one for each, the best first. */
function overview({ sources, topic }: SummaryRequest): string {
  const counts = new Map<string, number>();
  for (const { type } of sources) counts.set(type, (counts.get(type) ?? 0) + 1);
  const kinds = [...counts].map(([type, count]) => `${count} ${type}`).join(', ');
  const about = topic === null ? '' : ` about ${topic.replace(/_/g, ' ')}`;
  const lines = sources.flatMap(({ data }) => {
    const [title, more] = [titleOf(data), detailOf(data)];
    const text = title === '' ? more : more === '' ? title : `${title}: ${more}`;
    return text === '' ? [] : [sentence(shorten(text, MOST_OF_ONE))];
  });
  return [`A summary of ${kinds}${about}.`, ...lines].join(' ');
}

function detailOf(data: Fields): string {
  for (const field of ['decision', 'purpose', 'goal', 'problem_statement']) {
    const value = data[field];
    if (typeof value === 'string' && value.trim() !== '') return value.replace(/\s+/g, ' ').trim();
  }
  return '';
}

const sentence = (text: string): string => (/[.!?…。！？]$/.test(text) ? text : `${text}.`);

function guidance({ sources }: SummaryRequest): string {
  const steps = sources.flatMap(({ data }) =>
    ['implementation_guidance', 'consequences', 'implementation_plan', 'recommendation', 'next_steps'].flatMap(
      (field) => asList(data[field]).filter((item) => typeof item === 'string'),
    ),
  );
  const told = [...new Set(steps.map((step) => sentence(String(step).replace(/\s+/g, ' ').trim())))];
  const start = 'Keep to the decisions named here, in their order.';
  const end = 'The nodes under _references have the details: baton graph load ID.';
  return [start, ...told, end].join(' ');
}

const isSaid = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);

const asList = (value: unknown): unknown[] => (!isSaid(value) ? [] : Array.isArray(value) ? value : [value]);

/** `adrs: […]`, `specifications: […]`, in the order in which they were picked. */
function byType(sources: readonly Source[]): Record<string, string[]> {
  const groups: Record<string, string[]> = {};
  for (const { type, id } of sources) {
    const key = pluralKey(type);
    groups[key] = [...(groups[key] ?? []), id];
  }
  return groups;
}

const createdByOf = (type: string): string => (type === DESIGN ? 'design-bridge' : 'bridge');

function metaOf({ type, sources, confidence }: SummaryRequest): {
  created_by: string;
  domain: string;
  confidence: number;
  output_type: Output['_meta']['output_type'];
} {
  const domains = new Set(sources.map(({ domain }) => domain).filter((domain) => domain !== null));
  const [only] = domains;
  return {
    created_by: createdByOf(type),
    domain: domains.size === 1 && only !== undefined ? only : domainOf(type),
    confidence,
    output_type: outputTypeOf(type),
  };
}

function fieldsOf({ fields }: SummaryRequest, data: Fields): { required_fields: string[]; optional_fields: string[] } {
  const required = [...fields, DETAILS].filter((field) => Object.hasOwn(data, field));
  return { required_fields: required, optional_fields: Object.keys(data).filter((field) => !required.includes(field)) };
}

function nodeOf(request: SummaryRequest, data: Fields): AddNode {
  const { id, type, topic, now, nextStage, sources, neighbours, prose } = request;
  const { created_by, ...meta } = metaOf(request);
  const all = [...sources, ...neighbours];
  const references = Object.entries(byType(all)).map(([key, ids]) => [`detailed_${key}`, ids]);
  return {
    type: 'add_node',
    node_id: id,
    node_type: type,
    metadata: {
      created_by,
      created_at: now,
      ...meta,
      ...(topic === null ? {} : { topic: snakeCase(topic) }),
      ...(prose === undefined ? {} : { prose_by: prose.by }),
    },
    data,
    handoff: { ready_for_next: true, next_stage: nextStage, ...fieldsOf(request, data) },
    lineage: { created_from_nodes: all.map((source) => source.id), consumed_by_nodes: [] },
    _references: Object.fromEntries(references),
  };
}

function outputOf(request: SummaryRequest, node: AddNode): Output {
  const { created_by, domain, confidence, output_type } = metaOf(request);
  return {
    _meta: { output_type, created_by, domain, timestamp: request.now, confidence },
    _handoff: {
      next_stage: request.nextStage,
      graph_node: node.node_id,
      ...fieldsOf(request, node.data),
      detail_nodes: byType([...request.sources, ...request.neighbours]),
    },
  };
}
