/**
 * `{{NAME}}` in a text (§4): declared `{{NAME}}: "value"` on a line of its own, used as `{{NAME}}` or `{{NAME:-default}}`.
 *
 * One pass over the text, so a value is never looked at for variables again. The patterns stop at the next brace or line end,
 * and a quoted value is scanned by hand (a repeated alternative would fill the regexp engine's stack): linear for any text.
 */
import { error, type Problem, pointer } from '../../core/problem.ts';
import type { CountTokens } from '../message.ts';
import { exceedsTokens } from './tokens.ts';

/** §4. */
export const VARIABLE_TOKENS = 50;

export type Variables = ReadonlyMap<string, string>;

export interface Substituted {
  readonly text: string;
  readonly problems: readonly Problem[];
}

/** The declarations of a text; of two for one name the later counts. */
export function readVariables(text: string): Variables {
  const variables = new Map<string, string>();
  for (const { name, value } of declarations(text)) variables.set(name, value);
  return variables;
}

/** One declaration at the beginning of a line, and what stands behind it; null where there is none. */
export function readDeclaration(
  line: string,
): { readonly name: string; readonly value: string; readonly rest: string } | null {
  const { value: first } = declarations(line).next();
  if (first === undefined || line.slice(0, first.start).trim() !== '') return null;
  return { name: first.name, value: first.value, rest: line.slice(first.end).trim() };
}

/**
 * The text with its variables filled in. A variable that has no value and no default is E002, a value over 50 tokens E004;
 * both are said once a name and left in place. Declarations stay as they are.
 */
export function substitute(
  text: string,
  variables: Variables,
  { countTokens }: { readonly countTokens?: CountTokens } = {},
): Substituted {
  const problems = new Map<string, Problem>();
  const tooLong = new Map<string, boolean>(); // a value used a thousand times is counted once
  const exceeds = (value: string): boolean => {
    const known = tooLong.get(value) ?? exceedsTokens(value, VARIABLE_TOKENS, countTokens);
    tooLong.set(value, known);
    return known;
  };
  const fill = (written: string, name: string, fallback: string | undefined): string => {
    const value = variables.get(name) ?? fallback;
    if (value !== undefined && !exceeds(value)) return value;
    problems.set(name, refusal(name, value !== undefined));
    return written;
  };
  const parts: string[] = [];
  let done = 0;
  for (const { start, end } of declarations(text)) {
    parts.push(text.slice(done, start).replace(REFERENCE, fill), text.slice(start, end));
    done = end;
  }
  parts.push(text.slice(done).replace(REFERENCE, fill));
  return { text: parts.join(''), problems: [...problems.values()] };
}

/** A default holds no braces and no line break. */
const REFERENCE = /\{\{([A-Z][A-Z0-9_]*)(?::-([^{}\r\n]*))?\}\}/g;

/** At a line's start, indented or a list item at most. */
const DECLARED = /^[ \t]*(?:[-*•][ \t]+)?\{\{([A-Z][A-Z0-9_]*)\}\}[ \t]*:[ \t]*"/gm;

interface Declaration {
  readonly name: string;
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

function* declarations(text: string): Generator<Declaration> {
  for (const match of text.matchAll(DECLARED)) {
    const from = match.index + match[0].length;
    const quote = closingQuote(text, from);
    if (quote === null) continue;
    const value = text.slice(from, quote).replace(/\\(["\\])/g, '$1');
    yield { name: match[1] as string, value, start: match.index, end: quote + 1 };
  }
}

/** On the same line; `\"` and `\\` stand for a quote and a backslash. */
function closingQuote(text: string, from: number): number | null {
  for (let i = from; i < text.length; i++) {
    const char = text[i];
    if (char === '"') return i;
    if (char === '\n' || char === '\r') return null;
    if (char === '\\') i++;
  }
  return null;
}

const refusal = (name: string, hasValue: boolean): Problem =>
  hasValue
    ? error('E004', pointer([name]), `expected at most ${VARIABLE_TOKENS} tokens for {{${name}}}, got more`)
    : error('E002', pointer([name]), `expected a value or a default for {{${name}}}, got none`);
