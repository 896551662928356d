/** The knowledge graph as a picture: Mermaid and Graphviz (DOT). Labels may hold anything, so nothing in them can end a label. Pure. */

export interface PictureNode {
  readonly id: string;
  readonly type: string;
  /** What it is about, in a few words; empty where it does not say. */
  readonly title: string;
  readonly confidence: number;
  readonly isStale: boolean;
}

export interface PictureEdge {
  readonly from: string;
  readonly to: string;
  readonly relation: string | null;
}

const MOST_TITLE = 60;

/** The lines of a label, each short and on one line. */
const linesOf = ({ id, type, title, confidence, isStale }: PictureNode): string[] => [
  `${flat(type)} ${confidence}${isStale ? ' (stale)' : ''}`,
  id,
  ...(title === '' ? [] : [flat(title)]),
];

function flat(text: string): string {
  const chars = [...text.replace(/[\s\p{Cc}]+/gu, ' ').trim()];
  return chars.length > MOST_TITLE ? `${chars.slice(0, MOST_TITLE - 1).join('')}…` : chars.join('');
}

/** `nodes` and `edges` in the order in which they are drawn; an edge whose ends are not both there is left out. */
export function* mermaid(nodes: Iterable<PictureNode>, edges: Iterable<PictureEdge>): Generator<string> {
  const names = new Map<string, string>();
  const stale: string[] = [];
  yield 'flowchart LR\n';
  for (const node of nodes) {
    const name = `n${names.size + 1}`;
    names.set(node.id, name);
    if (node.isStale) stale.push(name);
    yield `  ${name}["${linesOf(node).map(entities).join('<br/>')}"]\n`;
  }
  for (const { from, to, relation } of edges) {
    const [a, b] = [names.get(from), names.get(to)];
    if (a === undefined || b === undefined) continue;
    if (relation === null) yield `  ${a} --> ${b}\n`;
    else yield `  ${a} ${relation === 'used' ? '-.->' : '-->'}|"${entities(flat(relation))}"| ${b}\n`;
  }
  if (stale.length > 0) yield `  classDef stale stroke-dasharray: 4 4\n  class ${stale.join(',')} stale\n`;
}

/** Mermaid's own entities. All but letters, digits and a few harmless characters: what is markup to it differs from version to version. */
const entities = (text: string): string =>
  [...text].map((char) => (/[\p{L}\p{N} _.,]/u.test(char) ? char : `#${char.codePointAt(0)};`)).join('');

export function* dot(nodes: Iterable<PictureNode>, edges: Iterable<PictureEdge>): Generator<string> {
  const drawn = new Set<string>();
  yield 'digraph baton {\n  rankdir=LR;\n  node [shape=box];\n';
  for (const node of nodes) {
    drawn.add(node.id);
    const label = linesOf(node).map(escaped).join('\\n');
    yield `  ${quoted(node.id)} [label="${label}"${node.isStale ? ', style=dashed' : ''}];\n`;
  }
  for (const { from, to, relation } of edges) {
    if (!drawn.has(from) || !drawn.has(to)) continue;
    const style = relation === 'used' ? ', style=dotted' : '';
    const label = relation === null ? '' : ` [label=${quoted(flat(relation))}${style}]`;
    yield `  ${quoted(from)} -> ${quoted(to)}${label};\n`;
  }
  yield '}\n';
}

const escaped = (text: string): string => text.replace(/[\\"]/g, '\\$&');
const quoted = (text: string): string => `"${escaped(text)}"`;
