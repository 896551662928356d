/** The two blocks of YAML in a text: `[GRAPH_UPDATE]` with a closing marker, and `OUTPUT:` with its indentation. Held up to a bound. */
import { commandName, isKnownCommand } from '../command/decode.ts';
import { MAX_YAML_CHARS } from '../text/yaml.ts';
import { indentOf, openerOf } from './openers.ts';

export interface YamlBlock {
  readonly kind: 'graph' | 'output';
  /** The number of its first line. */
  readonly line: number;
  /** Takes a line, which may be the last one of the block; or says that the block has ended before it. */
  take(line: string): 'taken' | 'last' | 'ended';
  /** Whether it is what it began as: a block that was closed, an envelope. */
  readonly complete: boolean;
  text(): string;
  /** What of an incomplete block is to be read afresh, and how many lines behind the block's first it begins. */
  rest(): { readonly lines: readonly string[]; readonly offset: number };
}

const CLOSE = /^[ \t]*(?:\*\*)?\[\/GRAPH_UPDATE\](?:\*\*)?\s*$/;

export function openGraph(first: string, line: number): YamlBlock {
  const base = indentOf(first);
  const held = createHeld();
  /** Where the marker that closes may stand: as far right as the YAML itself, not within its texts. */
  let margin: number | null = null;
  const block = {
    kind: 'graph' as const,
    line,
    complete: false as boolean,
    text: held.text,
    rest: () => behindUnclosed(held.lines, base),
    take(next: string) {
      const indent = indentOf(next);
      if (indent <= Math.max(base, margin ?? base) && CLOSE.test(next)) {
        block.complete = true;
        return 'last';
      }
      if (indent <= base && endsUnclosed(next)) return 'ended';
      if (margin === null && next.trim() !== '') margin = indent;
      held.push(next);
      return 'taken';
    },
  } satisfies YamlBlock;
  return block;
}

/** No YAML of a node has these at its own margin: whoever forgot to close the block has gone on to something else. */
function endsUnclosed(line: string): boolean {
  const opener = openerOf(line);
  return opener === 'marker' || opener === 'graph' || opener === 'output' || opener === 'fence' || opener === 'marked';
}

/** In a block that is closed, `{…}` may be its YAML and `#NAME` a comment of it; in one that is not, they are what comes after it. */
function behindUnclosed(lines: readonly string[], base: number): ReturnType<YamlBlock['rest']> {
  const begun = lines.findIndex((line) => line.trim() !== '' && !/^\s*[{[]/.test(line));
  const offset = lines.findIndex((line, i) => {
    if (indentOf(line) > base) return false;
    const name = commandName(line);
    return (name !== null && isKnownCommand(name)) || (begun >= 0 && i > begun && /^\s*\{/.test(line));
  });
  return offset < 0 ? { lines: [], offset: 0 } : { lines: lines.slice(offset), offset: offset + 1 };
}

/** `OUTPUT:` is an envelope if one of its two parts stands under it; else it is a heading, and what stands under it is text. */
const PART = /^\s*["']?(?:_meta|_handoff)["']?\s*:/;
const COLON = /^\s*:(?:\s|$)/;

/** Whether a line is a key of a mapping, or closes brackets. Step by step: one expression for it takes the square of a line of blanks. */
function isKey(line: string): boolean {
  const text = line.trimStart();
  const first = text.charAt(0);
  if (first === '}' || first === ']') return true;
  if (first === '' || '#:{[-'.includes(first)) return false;
  if (first !== '"' && first !== "'") return COLON.test(text.slice(Math.max(0, text.indexOf(':'))));
  const close = text.indexOf(first, 1);
  return close > 0 && COLON.test(text.slice(close + 1));
}

/** A `#` in YAML begins a comment, with or without a blank behind it; a command stands at a line's start. */
function isComment(line: string): boolean {
  if (line.charAt(indentOf(line)) !== '#') return false;
  const name = commandName(line);
  return name === null || !isKnownCommand(name);
}

export function openOutput(first: string, line: number): YamlBlock {
  const held = createHeld();
  held.push(first);
  const block = {
    kind: 'output' as const,
    line,
    complete: false as boolean,
    text: held.text,
    rest: () => ({ lines: held.lines.slice(1), offset: 1 }),
  };
  const isPart = (): void => {
    block.complete = true;
  };
  return Object.assign(block, {
    take: first.includes('{') ? takeFlow(first, held, isPart) : takeIndented(first, held, isPart),
  });
}

type Take = YamlBlock['take'];

function takeIndented(first: string, held: Held, isPart: () => void): Take {
  const base = indentOf(first);
  let margin: number | null = null;
  return (next) => {
    const indent = indentOf(next);
    if (next.trim() !== '' && !isComment(next)) {
      if (indent <= base) return 'ended';
      margin ??= indent;
      // Left of the envelope's own margin, or at it and no key: words that someone indented.
      if (indent < margin || (indent === margin && !isKey(next))) return 'ended';
      if (indent === margin && PART.test(next)) isPart();
    }
    held.push(next);
    return 'taken';
  };
}

/** `OUTPUT: {…}` goes on until its brackets are closed. */
function takeFlow(first: string, held: Held, isPart: () => void): Take {
  let depth = 0;
  const read = (line: string): void => {
    depth += openedIn(line);
    if (/_meta|_handoff/.test(line)) isPart();
  };
  read(first);
  return (next) => {
    if (depth <= 0 || endsUnclosed(next)) return 'ended';
    held.push(next);
    read(next);
    return depth <= 0 ? 'last' : 'taken';
  };
}

/** How many more brackets a line opens than it closes. One within a quoted text is none; a quote that does not close is taken to the line's end. */
function openedIn(line: string): number {
  let opened = 0;
  /** Only where a value may begin does a quote open a text: `it's` has none. */
  let mayQuote = true;
  for (let i = 0; i < line.length; i++) {
    const c = line.charAt(i);
    if (c === '{' || c === '[') opened++;
    else if (c === '}' || c === ']') opened--;
    if ((c === '"' || c === "'") && mayQuote) i = quoteEnd(line, i);
    if (c !== ' ' && c !== '\t') mayQuote = c === '{' || c === '[' || c === ',' || c === ':';
  }
  return opened;
}

/** The index of the quote that closes the one at `open`, or the line's end. */
function quoteEnd(line: string, open: number): number {
  const quote = line.charAt(open);
  let i = open + 1;
  while (i < line.length && line.charAt(i) !== quote) i += quote === '"' && line.charAt(i) === '\\' ? 2 : 1;
  return i;
}

interface Held {
  readonly lines: string[];
  push(line: string): void;
  text(): string;
}

function createHeld(): Held {
  const lines: string[] = [];
  let chars = 0;
  return {
    lines,
    push(line) {
      // A little beyond the bound is kept, so that the decoder sees that there was more.
      if (chars > MAX_YAML_CHARS + 1) return;
      chars += line.length + 1;
      lines.push(line.endsWith('\r') ? line.slice(0, -1) : line);
    },
    text: () => lines.join('\n'),
  };
}
