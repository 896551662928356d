/**
 * Quoted text in a line of plain words. While a line is read, each quotation is one private character, so no rule can see what is
 * inside it; whoever takes a value out of the line puts the text back.
 */

interface Masked {
  /** The line with one character for each quotation. */
  readonly text: string;
  /** What each of them stands for, its quotes included, by its place. */
  readonly quotes: readonly string[];
}

const FIRST = 0xe000;
/** More than these are left as they are: a line is short. */
const MOST = 1000;

/** One of the characters that stand for a quotation, for use within a character class. */
export const QUOTED_CHARS = '\\uE000-\\uE3FF';

/** A single quote opens only at a word's start and closes only at its end: `don't` quotes nothing. */
const QUOTATION = /"[^"\n]*"|`[^`\n]*`|(?<![^\s(])'[^'\n]+'(?![\w'])/g;

export function maskQuotes(line: string): Masked {
  const quotes: string[] = [];
  const text = line.replace(QUOTATION, (quoted) => {
    if (quotes.length >= MOST) return ' ';
    quotes.push(quoted);
    return String.fromCharCode(FIRST + quotes.length - 1);
  });
  return { text, quotes };
}

/** The text with its quotations back in place. One that is nothing but a quotation is said without its quotes. */
export function unmask(text: string, quotes: readonly string[]): string {
  const trimmed = text.trim();
  const only = trimmed.length === 1 ? quotes[trimmed.charCodeAt(0) - FIRST] : undefined;
  if (only !== undefined) return only.slice(1, -1).trim();
  return trimmed.replace(/[\uE000-\uE3FF]/g, (char) => quotes[char.charCodeAt(0) - FIRST] ?? '');
}
