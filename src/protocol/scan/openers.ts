/** What a line may begin. Looking at its first characters is all that most lines of an agent's output ever cost. */
import { MARKS, type MarkedDialect } from '../dialects.ts';
import { isForeignObject } from './json-end.ts';

export type Opener = 'marker' | 'graph' | 'output' | 'json' | 'marked' | 'command' | 'fence' | 'v1';

/** What a first character may begin, and the pattern that decides. All else about a line is looked at only if its pattern fits. */
const BEGINS: Readonly<Record<string, readonly (readonly [Opener, RegExp])[]>> = {
  '[': [
    ['marker', /^[ \t]*\[AOP:[A-Z]/],
    ['graph', /^[ \t]*\[GRAPH_UPDATE\](?:\*\*)?\s*$/],
    ['json', /^[ \t]*\[\s*(?:$|[[{"\]tfn0-9-])/],
  ],
  '*': [
    ['marker', /^[ \t]*\*\*\[AOP:[A-Z]/],
    ['graph', /^[ \t]*\*\*\[GRAPH_UPDATE\](?:\*\*)?\s*$/],
  ],
  '{': [['json', /^[ \t]*\{/]],
  '#': [['command', /^#[A-Z]/]],
  '`': [['fence', /^[ \t]*`{3,}/]],
  '~': [['fence', /^[ \t]*~{3,}/]],
  O: [['output', /^[ \t]*OUTPUT:\s*(?:#[\s\S]*|\{[\s\S]*)?$/]],
};
const V1 = /^(?:task|objective|agent|executor|context|requirements):/i;

/** What the line, free of terminal escapes, begins. */
export function openerOf(line: string): Opener | null {
  const found = BEGINS[line[indentOf(line)] ?? '']?.find(([, pattern]) => pattern.test(line));
  return found ? found[0] : markOf(line) !== null ? 'marked' : V1.test(line) ? 'v1' : null;
}

/** The mark that a line begins with, whose it is, and where what stands behind it begins; null where there is none. */
export function markOf(
  line: string,
): { readonly mark: string; readonly owner: MarkedDialect; readonly behind: number } | null {
  const start = indentOf(line);
  for (const [mark, owner] of MARKS) {
    if (!line.startsWith(mark, start)) continue;
    const end = start + mark.length;
    const behind = line.slice(end).search(/\S/);
    if (behind === 0) continue;
    return { mark, owner, behind: behind < 0 ? line.length : end + behind };
  }
  return null;
}

const NEVER = 0;
const ALWAYS = 1;
const BRACKET = 2;
const WORD = 3;
const BRACE = 4;
const FIRST = new Uint8Array(128).fill(NEVER);
for (const c of '*#`~\x1b\v\f') FIRST[c.charCodeAt(0)] = ALWAYS;
for (const c of 'taoecrTAOECR') FIRST[c.charCodeAt(0)] = WORD;
for (const [mark] of MARKS) FIRST[mark.charCodeAt(0)] ||= WORD;
FIRST[0x5b] = BRACKET;
FIRST[0x7b] = BRACE;

/** A line of white space alone. */
export const BLANK = 0;
/** A line that begins nothing. */
const PLAIN = 1;
/** A line to be looked at. */
export const MAYBE = 2;

/** By the first characters of `text[start, end)`; may say MAYBE too often, never too rarely. */
export function glance(text: string, start: number, end: number): typeof BLANK | typeof PLAIN | typeof MAYBE {
  let i = start;
  let c = 0;
  for (; i < end; i++) {
    c = text.charCodeAt(i);
    if (c !== 0x20 && c !== 0x09 && c !== 0x0d) break;
  }
  if (i >= end) return BLANK;
  // Blanks of other kinds may be all there is to the line.
  const first = c < 128 ? FIRST[c] : /\s/.test(String.fromCharCode(c)) ? ALWAYS : NEVER;
  if (first === NEVER) return PLAIN;
  if (first === BRACKET) return bracketAt(text, i + 1) ? MAYBE : PLAIN;
  if (first === BRACE) return isForeignObject(text, i, end) ? PLAIN : MAYBE;
  if (first === WORD) return wordAt(text, i, c) || isMarked(text, i) ? MAYBE : PLAIN;
  return MAYBE;
}

/** Whether `[` may begin a marker, a block or JSON: `[INFO]` and `[link](…)` do not. */
function bracketAt(text: string, i: number): boolean {
  const c = text.charCodeAt(i);
  if (c === 0x41) return text.charCodeAt(i + 1) === 0x4f; // AOP
  if (c === 0x47) return text.charCodeAt(i + 1) === 0x52; // GRAPH_UPDATE
  const isUpper = c >= 0x42 && c <= 0x5a;
  const isLower = c >= 0x61 && c <= 0x7a && c !== 0x74 && c !== 0x66 && c !== 0x6e; // not true, false, null
  return !isUpper && !isLower;
}

/** Whether `OUTPUT:` or the length of a v1 label and its colon stand here. */
function wordAt(text: string, i: number, c: number): boolean {
  switch (c | 0x20) {
    case 0x74: // task
      return text.charCodeAt(i + 4) === COLON;
    case 0x61: // agent
      return text.charCodeAt(i + 5) === COLON;
    case 0x6f: // objective, OUTPUT:
      return text.charCodeAt(i + 9) === COLON || text.charCodeAt(i + 6) === COLON;
    case 0x65: // executor
      return text.charCodeAt(i + 8) === COLON;
    case 0x63: // context
      return text.charCodeAt(i + 7) === COLON;
    default: // requirements
      return text.charCodeAt(i + 12) === COLON;
  }
}
const COLON = 0x3a;

function isMarked(text: string, i: number): boolean {
  for (const [mark] of MARKS) if (text.startsWith(mark, i)) return true;
  return false;
}

export function indentOf(line: string): number {
  let i = 0;
  while (line[i] === ' ' || line[i] === '\t') i++;
  return i;
}
