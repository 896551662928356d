/** What a line may begin. Looking at its first characters is all that most lines of an agent's output ever cost. */

export type Opener = 'marker' | 'graph' | 'output' | 'json' | 'aof' | 'command' | 'fence' | 'v1';

const FIRST = new Uint8Array(128);
for (const c of '[*{#`~\x1b') FIRST[c.charCodeAt(0)] = 1;
for (const c of 'taoecrTAOECR') FIRST[c.charCodeAt(0)] = 2;

/** A line of white space alone. */
export const BLANK = 0;
/** A line that begins nothing. */
export const PLAIN = 1;
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
  if (c >= 128 || FIRST[c] === 0) return PLAIN;
  if (FIRST[c] === 1) return MAYBE;
  return wordAt(text, i, c) ? MAYBE : PLAIN;
}

/** Whether `OUTPUT:`, `AOF/1` or the length of a v1 label and its colon stand here. */
function wordAt(text: string, i: number, c: number): boolean {
  const colon = (length: number): boolean => text.charCodeAt(i + length) === 0x3a;
  switch (c | 0x20) {
    case 0x74: // task
      return colon(4);
    case 0x61: // agent, AOF/1
      return colon(5) || text.startsWith('AOF/1', i);
    case 0x6f: // objective, OUTPUT:
      return colon(9) || colon(6);
    case 0x65: // executor
      return colon(8);
    case 0x63: // context
      return colon(7);
    default: // requirements
      return colon(12);
  }
}

const OPENERS: readonly (readonly [Opener, RegExp])[] = [
  ['marker', /^[ \t]*(?:\*\*)?\[AOP:[A-Z]/],
  ['graph', /^[ \t]*(?:\*\*)?\[GRAPH_UPDATE\](?:\*\*)?\s*$/],
  ['output', /^[ \t]*OUTPUT:[ \t]*(?:#[\s\S]*|\{[\s\S]*)?$/],
  ['json', /^[ \t]*[{[]/],
  ['aof', /^[ \t]*AOF\/1(?:[ \t]|$)/],
  ['command', /^#[A-Z]/],
  ['fence', /^[ \t]*(?:`{3,}|~{3,})/],
  ['v1', /^(?:task|objective|agent|executor|context|requirements):/i],
];

/** What the line, free of terminal escapes, begins. */
export const openerOf = (line: string): Opener | null => OPENERS.find(([, pattern]) => pattern.test(line))?.[0] ?? null;

export function indentOf(line: string): number {
  let i = 0;
  while (line[i] === ' ' || line[i] === '\t') i++;
  return i;
}
