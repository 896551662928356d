/** What a stage is told: what it is, the node that it builds upon with the fields that were asked for, and how to hand on. Pure. */
import type { Output } from '../protocol/output/schema.ts';
import { writeYaml } from '../protocol/text/yaml.ts';
import { dataOf, type Loadable } from './loading.ts';

export interface StageWords {
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

/** So much of a node is told in words; all of it is loaded by its id. */
const MOST_FIELDS = 20_000;
/** An object that is handed on beside a node is at most 2 KB, so all of it is told. */
const MOST_REFERENCES = 100;

export function stageBody(words: StageWords): string {
  const { title, stage, node, from, criteria, output } = words;
  const { confidence, domain, type, id } = node;
  const about = [`confidence ${confidence}`, ...(domain === null ? [] : [`domain ${domain}`])].join(', ');
  const parts = [
    title,
    `You are the stage \`${stage}\`. ${from} has handed the node \`${id}\` on to you: a ${type} (${about}).`,
    section('What you are given', told(words)),
    ...(criteria.length === 0 ? [] : [section('What has to be true in the end', bullets(criteria))]),
    ...beside(output),
    section('When you are done', HOW(words)),
  ];
  return `${parts.join('\n\n')}\n`;
}

const section = (title: string, text: string): string => `## ${title}\n\n${text}`;

const bullets = (items: readonly string[]): string => items.map((item) => `- ${item}`).join('\n');

const whole = (id: string): string => `all of it: the tool baton_load, or \`baton graph load ${id}\``;

/** The fields in their order; where there is not room for all, each has its share of what is left. */
function told({ node, fields }: StageWords): string {
  const texts = Object.entries(fields).map(([name, value]) => [name, writeYaml({ [name]: value })] as const);
  const others = Object.keys(dataOf(node)).filter((name) => !Object.hasOwn(fields, name));
  const cut: string[] = [];
  const shown = new Map<string, string>();
  let room = MOST_FIELDS;
  // The short ones first, so that what they leave over is there for the long ones.
  const sorted = [...texts].sort(([, a], [, b]) => a.length - b.length);
  for (const [i, [name, text]] of sorted.entries()) {
    const share = Math.max(0, Math.floor(room / (sorted.length - i)));
    if (text.length > share) cut.push(`${name} (${share} of ${text.length} characters)`);
    const piece = text.length > share ? `${whole16(text.slice(0, share))} …\n` : text;
    shown.set(name, piece);
    room -= piece.length;
  }
  const yaml = texts.map(([name]) => shown.get(name) ?? '').join('');
  return [
    ...(yaml === '' ? ['No field of it was asked for.'] : [fenced(yaml)]),
    ...(cut.length === 0 ? [] : [`Shortened here: ${cut.join(', ')}; ${whole(node.id)}.`]),
    ...(others.length === 0 || cut.length > 0 ? [] : [`It holds more than this; ${whole(node.id)}.`]),
  ].join('\n\n');
}

/** A character of two units is not cut in two. */
const whole16 = (text: string): string => text.replace(/[\ud800-\udbff]$/, '');

/** What stands in a node must not be able to end its fence. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}yaml\n${text.trimEnd()}\n${fence}`;
}

function beside(output: Output | null): string[] {
  const { inline_data: inline, detail_nodes: details } = output?._handoff ?? {};
  const lists = Object.entries(details ?? {}).filter(([, ids]) => ids.length > 0);
  const named = lists.map(([name, ids]) => {
    const more = ids.length > MOST_REFERENCES ? ` and ${ids.length - MOST_REFERENCES} more` : '';
    return `${name}: ${ids.slice(0, MOST_REFERENCES).join(', ')}${more}`;
  });
  return [
    ...(inline === undefined || inline === null ? [] : [section('Handed on beside it', fenced(writeYaml(inline)))]),
    ...(lists.length === 0
      ? []
      : [
          section(
            'Nodes with the details',
            `${bullets(named)}\n\nLoad one with the tool baton_load, or \`baton graph load ID\`.`,
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
      'Where you are less than 90 % sure, say so: a person is asked before anybody builds upon it.',
    ]),
  ].join('\n');
