/** What a stage is told: what it is, the node that it builds upon with the fields that were asked for, and how to hand on. Pure. */
import type { Output } from '../protocol/output/schema.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { writeYaml } from '../protocol/text/yaml.ts';
import { dataOf, type Loadable } from './loading.ts';

interface StageWords {
  readonly title: string;
  readonly stage: string;
  readonly node: Loadable;
  readonly from: string;
  readonly required: readonly string[];
  readonly optional: readonly string[];
  /** The fields that are told, with their values. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Of these, what has to be true in the end. */
  readonly criteria: readonly string[];
  readonly output: Output | null;
}

/** All that a stage is told; the rest is loaded by the node's id. */
const MOST_WORDS = 20_000;
/** Of that, what has to be true in the end. */
const MOST_CRITERIA = 4_000;
/** What is handed on beside a node is at most 2 KB as JSON, which may be much more in words. */
const MOST_INLINE = 3_000;
/** The ids of other nodes, all lists together, and the lists. */
const MOST_REFERENCES = 50;
const MOST_REFERENCE_CHARS = 2_500;
const MOST_LISTS = 10;
/** A field that has less room than this is named only. */
const LEAST_FIELD = 80;
const MOST_NAMED = 10;
const MOST_NAME = 100;

export function stageBody(words: StageWords): string {
  const { title, stage, node, from, output } = words;
  const { confidence, domain, type, id } = node;
  const about = [`confidence ${confidence}`, ...(domain === null ? [] : [`domain ${named(domain)}`])].join(', ');
  const before = [
    title,
    `You are the stage \`${stage}\`. ${from} has handed the node \`${id}\` on to you: a ${named(type)} (${about}).`,
  ];
  const after = [...criteriaTold(words), ...beside(output), section('When you are done', HOW(words))];
  // What stands around the fields is bounded; they have what is left.
  const room = MOST_WORDS - [...before, ...after].reduce((sum, part) => sum + part.length + 2, 0);
  return `${[...before, section('What you are given', told(words, room)), ...after].join('\n\n')}\n`;
}

const named = (name: string): string => shorten(name, MOST_NAME);

/** The fields that say what has to be true in the end. */
const CRITERIA = ['acceptance_criteria', 'success_criteria'];

/** What has to be true in the end, as the node says it. */
export const criteriaOf = (fields: Readonly<Record<string, unknown>>): string[] =>
  CRITERIA.flatMap((field) => (Object.hasOwn(fields, field) ? (fields[field] ?? []) : []))
    .filter((item): item is string => typeof item === 'string' && item.trim() !== '')
    .map((item) => item.replace(/\s+/g, ' ').trim());

/** Whether a field is told among the criteria, whole, and so not once more. */
const isCriteria = (name: string, value: unknown): boolean =>
  CRITERIA.includes(name) && [value].flat().every((item) => typeof item === 'string');

function criteriaTold({ criteria, fields, node }: StageWords): string[] {
  if (criteria.length === 0) return [];
  const said = criteriaOf(fields);
  const all = Math.max(criteria.length, said.length);
  const shown: string[] = [];
  let room = MOST_CRITERIA;
  for (const item of criteria) {
    room -= item.length + 3;
    if (room < 0) break;
    shown.push(item);
  }
  const isCut = said.some((item, i) => i < shown.length && item !== shown[i]);
  const notes = [
    ...(isCut ? ['Some are shortened here'] : []),
    ...(all > shown.length ? [`${all - shown.length} more are not told here`] : []),
  ];
  const more = notes.length === 0 ? '' : `\n\n${notes.join('; ')}; ${whole(node.id)}.`;
  return [section('What has to be true in the end', `${bullets(shown)}${more}`)];
}

const section = (title: string, text: string): string => `## ${title}\n\n${text}`;

const bullets = (items: readonly string[]): string => items.map((item) => `- ${item}`).join('\n');

const whole = (id: string): string => `all of it: the tool baton_load, or \`baton graph load ${id}\``;

/** The fields in their order; where there is not room for all, each has its share of what is left. */
function told({ node, fields }: StageWords, most: number): string {
  const given = Object.entries(fields).filter(([name, value]) => !isCriteria(name, value));
  // For the fence and the sentences below.
  let room = Math.max(0, most - 2_000);
  const texts = given
    .slice(0, Math.floor(room / LEAST_FIELD))
    .map(([name, value]) => [name, writeYaml({ [name]: value })] as const);
  const others = Object.keys(dataOf(node)).filter((name) => !Object.hasOwn(fields, name));
  const cut: string[] = [];
  const shown = new Map<string, string>();
  // The short ones first, so that what they leave over is there for the long ones.
  const sorted = [...texts].sort(([, a], [, b]) => a.length - b.length);
  for (const [i, [name, text]] of sorted.entries()) {
    const share = Math.max(0, Math.floor(room / (sorted.length - i)));
    if (text.length > share) cut.push(`${named(name)} (${share} of ${text.length} characters)`);
    const piece = text.length > share ? `${whole16(text.slice(0, share - 3))} …\n` : text;
    shown.set(name, piece);
    room -= piece.length;
  }
  const yaml = texts.map(([name]) => shown.get(name) ?? '').join('');
  const left = given.length - texts.length;
  const notes = [
    ...(cut.length === 0 ? [] : [`Shortened here: ${firstOf(cut)}`]),
    ...(left === 0 ? [] : [`${left} more fields were asked for`]),
  ];
  if (notes.length === 0 && others.length > 0) notes.push('It holds more than this');
  return [
    ...(yaml === '' ? [Object.keys(fields).length === 0 ? 'No field of it was asked for.' : ''] : [fenced(yaml)]),
    ...(notes.length === 0 ? [] : [`${notes.join('; ')}; ${whole(node.id)}.`]),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** A character of two units is not cut in two. */
const whole16 = (text: string): string => text.replace(/[\ud800-\udbff]$/, '');

/** A fence is longer than what it holds, so that is not let grow. */
const MOST_TICKS = 20;
const LONG_TICKS = new RegExp(`\`{${MOST_TICKS + 1},}`, 'g');

/** What stands in a node must not be able to end its fence. */
function fenced(text: string): string {
  const inside = text.trimEnd().replace(LONG_TICKS, (ticks) => `${ticks.slice(0, MOST_TICKS)}…`);
  const longest = [...inside.matchAll(/`+/g)].reduce((most, [ticks]) => Math.max(most, ticks.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${fence}yaml\n${inside}\n${fence}`;
}

const firstOf = (names: readonly string[]): string =>
  [...names.slice(0, MOST_NAMED), ...(names.length > MOST_NAMED ? [`${names.length - MOST_NAMED} more`] : [])].join(
    ', ',
  );

function inlineTold(inline: unknown): string {
  const text = writeYaml(inline);
  if (text.length <= MOST_INLINE) return fenced(text);
  return `${fenced(`${whole16(text.slice(0, MOST_INLINE))} …`)}\n\nShortened here (${MOST_INLINE} of ${text.length} characters); all of it is in inputs/output.yaml of your task.`;
}

function beside(output: Output | null): string[] {
  const { inline_data: inline, detail_nodes: details } = output?._handoff ?? {};
  const lists = Object.entries(details ?? {}).filter(([, ids]) => ids.length > 0);
  let room = MOST_REFERENCES;
  let chars = MOST_REFERENCE_CHARS;
  const told = lists.slice(0, MOST_LISTS).map(([name, ids]) => {
    const shown: string[] = [];
    for (const id of ids) {
      if (--room < 0 || chars < id.length) break;
      chars -= id.length;
      shown.push(id);
    }
    const more = ids.length > shown.length ? [`${ids.length - shown.length} more`] : [];
    return `${named(name)}: ${[...shown, ...more].join(', ')}`;
  });
  if (lists.length > told.length) told.push(`${lists.length - told.length} more lists`);
  return [
    ...(inline === undefined || inline === null ? [] : [section('Handed on beside it', inlineTold(inline))]),
    ...(lists.length === 0
      ? []
      : [
          section(
            'Nodes with the details',
            `${bullets(told)}\n\nLoad one with the tool baton_load, or \`baton graph load ID\`.`,
          ),
        ]),
  ];
}

/** Told in words and not shown: what is shown could be taken for the real thing where it is repeated. */
const HOW = ({ node, stage }: StageWords): string =>
  [
    'Write your result into the knowledge graph, and say where it goes next:',
    '',
    bullets([
      `A line \`[GRAPH_UPDATE]\`, then YAML, then a line \`[/GRAPH_UPDATE]\`. The YAML has \`type: add_node\`, \`node_id\` (like \`{type}_{topic}_{YYYYMMDD_HHmmss}\`), \`node_type\` (Implementation, TestResults, Review, …), \`metadata\` with \`created_by: ${stage}\` and \`confidence\` from 0 to 1, \`data\` with all that the next stage needs, \`handoff\` with \`ready_for_next: true\`, and \`lineage\` with \`created_from_node: ${node.id}\`.`,
      'Then a line `OUTPUT:` and, indented under it, `_meta` with `output_type` (brief, specification, implementation, review or analysis), `created_by` and `confidence`, and `_handoff` with `next_stage` (a stage, or `user` where you are the last), `graph_node` (your own node_id) and `required_fields` (those of your data that the next stage cannot do without).',
      'Where a person has to agree before it goes on: `next_stage: user`, with `approval_required: true` and an `approval_question`; where it goes after a yes stands in `next_stage` of the `handoff` of your node.',
      'Where you are less than 90 % sure, say so: a person is asked before anybody builds upon it.',
    ]),
  ].join('\n');
