/**
 * Changes a JSON text in place: what is not meant stays byte for byte as a person wrote it. Adding at the end of an object or a list and taking
 * that away again leaves the very same text.
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

interface Node {
  readonly start: number;
  readonly end: number;
  /** The parts of an object or a list, in order; null where it is neither. */
  readonly parts: readonly Part[] | null;
  readonly isList: boolean;
}

interface Part {
  /** Where it begins: an object's at its key. */
  readonly start: number;
  readonly key: string | number;
  readonly value: Node;
}

type Path = readonly (string | number)[];

/** The text with the value added last in the list or object at `path`; in an object under `key`. Throws where there is no such place. */
export function addLast(text: string, path: Path, key: string | null, value: Json): string {
  const node = nodeAt(text, path);
  const parts = node.parts ?? [];
  const style = styleOf(text);
  const last = parts.at(-1);
  const label = key === null ? '' : `${JSON.stringify(key)}: `;
  if (last !== undefined) {
    const indent = indentAt(text, last.start);
    const [between, item] =
      indent === null ? [' ', written(value, null, style)] : [style.newline + indent, written(value, indent, style)];
    return insert(text, last.value.end, `,${between}${label}${item}`);
  }
  const [outer, inner] = aroundIn(text, node, style);
  const item = written(value, inner, style);
  return insert(text, node.end - 1, style.newline + inner + label + item + style.newline + outer);
}

/** The text without the part at `path`. */
export function without(text: string, path: Path): string {
  const node = nodeAt(text, path.slice(0, -1));
  const parts = node.parts ?? [];
  const index = parts.findLastIndex(({ key }) => key === path.at(-1));
  const [part, before, after] = [parts[index], parts[index - 1], parts[index + 1]];
  if (part === undefined) throw new Error(`nothing at ${path.join('.')}`);
  if (before !== undefined) return text.slice(0, before.value.end) + text.slice(part.value.end);
  if (after !== undefined) return text.slice(0, part.start) + text.slice(after.start);
  // The only one: what `addLast` puts around one in an empty place goes with it, and what was there before that stays.
  const style = styleOf(text);
  const [outer, inner] = aroundIn(text, node, style);
  const head = cutEnd(text.slice(0, part.start), style.newline + inner);
  const tail = text.slice(part.value.end);
  const around = style.newline + outer;
  return head + (tail.startsWith(`${around}${text[node.end - 1]}`) ? tail.slice(around.length) : tail.trimStart());
}

/** The text with another value in the place of the one at `path`. */
export function replaced(text: string, path: Path, value: Json): string {
  const { start, end } = nodeAt(text, path);
  return text.slice(0, start) + JSON.stringify(value) + text.slice(end);
}

const insert = (text: string, at: number, what: string): string => text.slice(0, at) + what + text.slice(at);
const cutEnd = (text: string, end: string): string =>
  text.endsWith(end) ? text.slice(0, -end.length) : text.trimEnd();

interface Style {
  readonly newline: string;
  readonly unit: string;
}

const styleOf = (text: string): Style => ({
  newline: text.includes('\r\n') ? '\r\n' : '\n',
  unit: /\n([ \t]+)["{[]/.exec(text)?.[1] ?? '  ',
});

/** The white space before what begins its line; null where something else begins it. */
function indentAt(text: string, at: number): string | null {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
  return text.lastIndexOf('\n', at - 1) !== -1 && line.trim() === '' ? line : null;
}

/** How far the line is indented in which an empty object or list stands, and its parts should be. */
function aroundIn(text: string, node: Node, style: Style): [string, string] {
  const line = text.slice(text.lastIndexOf('\n', node.start) + 1, node.start);
  const outer = /^[ \t]*/.exec(line)?.[0] ?? '';
  return [outer, outer + style.unit];
}

/** On one line where there is no indent. */
function written(value: Json, indent: string | null, { newline, unit }: Style): string {
  if (indent === null) return JSON.stringify(value);
  return JSON.stringify(value, null, unit).replaceAll('\n', newline + indent);
}

function nodeAt(text: string, path: Path): Node {
  let node = read(text);
  for (const key of path) {
    const part = node.parts?.findLast((item) => item.key === key);
    if (part === undefined) throw new Error(`nothing at ${path.join('.')}`);
    node = part.value;
  }
  return node;
}

/** Where everything stands. The text has been read as JSON before, so this only has to find ends. */
function read(text: string): Node {
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  const skip = (): void => {
    while (/\s/.test(text[at] ?? '')) at++;
  };
  const skipString = (): void => {
    for (at++; text[at] !== '"'; at++) if (text[at] === '\\') at++;
    at++;
  };
  const value = (): Node => {
    skip();
    const start = at;
    const open = text[at];
    if (open === '"') skipString();
    else if (open === '{' || open === '[') return container(open === '[');
    else while (/[\w.+-]/.test(text[at] ?? '')) at++;
    return { start, end: at, parts: null, isList: false };
  };
  const container = (isList: boolean): Node => {
    const start = at++;
    const parts: Part[] = [];
    for (skip(); text[at] !== (isList ? ']' : '}'); skip()) {
      if (text[at] === ',') {
        at++;
        skip();
      }
      const from = at;
      let key: string | number = parts.length;
      if (!isList) {
        skipString();
        key = JSON.parse(text.slice(from, at)) as string;
        skip();
        at++;
      }
      parts.push({ start: from, key, value: value() });
    }
    return { start, end: ++at, parts, isList };
  };
  return value();
}
