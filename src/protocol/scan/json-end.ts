/**
 * Finds where a JSON value ends, line by line, and notices at the first token that cannot be JSON that there is none. Failing
 * at once is what keeps the search linear: whoever looks on from there has not read anything twice.
 *
 * Much of what agents print is JSON of somebody else's, so this is one loop over character codes, longer than it would be
 * otherwise. It does not look at how numbers and escapes are written: what is to be used is parsed after it was found.
 */
import { JSON_KEYS } from '../dialects.ts';

/** The value goes on in the next line. */
export const OPEN = -1;
/** This is not JSON. */
export const BROKEN = -2;

/** Deeper than this is no message; the stack would be what an attacker fills. */
const MAX_STACK = 100_000;

const VALUE = 0;
const VALUE_OR_END = 1;
const KEY = 2;
const KEY_OR_END = 3;
const COLON = 4;
const COMMA_OR_END = 5;

const OBJECT = 0x7b; // {
const ARRAY = 0x5b; // [
const ESCAPE = 0x1b;

/** An object within the value that begins at the margin of a line: a message of its own, if the value around it never ends. */
interface Inner {
  readonly firstLine: number;
  readonly lastLine: number;
  /** The index behind it in its last line. */
  readonly end: number;
}

export interface JsonScan {
  /** The brackets that are open. */
  readonly stack: number[];
  expect: number;
  /** The number of the next line, 0 for the one on which the value begins. */
  line: number;
  /** Objects at the margin that are open, with the depth at which they stand. */
  readonly margins: { readonly depth: number; readonly line: number }[];
  /** Those that are complete, the outermost of each. */
  readonly inner: Inner[];
}

export const createJsonScan = (): JsonScan => ({ stack: [], expect: VALUE, line: 0, margins: [], inner: [] });

/** Takes the next line of a value that begins with `{` or `[`. @returns the index behind the value's end, or OPEN, or BROKEN */
export function scanJson(scan: JsonScan, line: string, from: number): number {
  const { stack } = scan;
  let expect = scan.expect;
  if (scan.line > 0 && line.charCodeAt(0) === OBJECT) scan.margins.push({ depth: stack.length, line: scan.line });
  for (let i = from; i < line.length; ) {
    const c = line.charCodeAt(i);
    if (c === 0x22) {
      if (expect === KEY || expect === KEY_OR_END) expect = COLON;
      else if (expect <= VALUE_OR_END) expect = COMMA_OR_END;
      else return BROKEN;
      i = stringEnd(line, i + 1);
      if (i < 0) return BROKEN;
    } else if (isSpace(c)) i++;
    else if (c === 0x3a) {
      if (expect !== COLON) return BROKEN;
      expect = VALUE;
      i++;
    } else if (c === 0x2c) {
      if (expect !== COMMA_OR_END) return BROKEN;
      expect = stack[stack.length - 1] === OBJECT ? KEY : VALUE;
      i++;
    } else if (c === OBJECT || c === ARRAY) {
      if (expect > VALUE_OR_END || stack.length >= MAX_STACK) return BROKEN;
      stack.push(c);
      expect = c === OBJECT ? KEY_OR_END : VALUE_OR_END;
      i++;
    } else if (c === 0x7d || c === 0x5d) {
      const opening = c - 2; // a closing bracket is two behind its opening one
      const isEmpty = expect === (opening === OBJECT ? KEY_OR_END : VALUE_OR_END);
      if ((expect !== COMMA_OR_END && !isEmpty) || stack.pop() !== opening) return BROKEN;
      expect = COMMA_OR_END;
      i++;
      if (stack.length === 0) return i;
      if (scan.margins.length > 0) closeMargin(scan, i);
    } else {
      const end = scalarEnd(line, i, c);
      if (end === i || expect > VALUE_OR_END) return BROKEN;
      expect = COMMA_OR_END;
      i = end;
    }
  }
  scan.expect = expect;
  scan.line++;
  return OPEN;
}

function closeMargin({ stack, margins, inner, line }: JsonScan, end: number): void {
  const margin = margins[margins.length - 1];
  if (margin === undefined || margin.depth !== stack.length) return;
  margins.pop();
  while ((inner[inner.length - 1]?.firstLine ?? -1) >= margin.line) inner.pop();
  inner.push({ firstLine: margin.line, lastLine: line, end });
}

/** The index behind a number, true, false or null; `i` itself where there is none. */
function scalarEnd(line: string, i: number, c: number): number {
  if (c === 0x74) return line.startsWith('true', i) ? i + 4 : i;
  if (c === 0x66) return line.startsWith('false', i) ? i + 5 : i;
  if (c === 0x6e) return line.startsWith('null', i) ? i + 4 : i;
  if (c !== 0x2d && (c < 0x30 || c > 0x39)) return i;
  let end = i + 1;
  for (; end < line.length; end++) {
    const d = line.charCodeAt(end);
    const isOfNumber = (d >= 0x30 && d <= 0x39) || d === 0x2e || d === 0x2b || d === 0x2d || (d | 0x20) === 0x65;
    if (!isOfNumber) break;
  }
  return end;
}

/** The index behind the closing quote; BROKEN where the line ends first, since a JSON string holds no line end. */
function stringEnd(line: string, from: number): number {
  for (let i = from; ; ) {
    const quote = line.indexOf('"', i);
    if (quote < 0) return BROKEN;
    let escapes = 0;
    while (quote - 1 - escapes >= from && line.charCodeAt(quote - 1 - escapes) === 0x5c) escapes++;
    if (escapes % 2 === 0) return quote + 1;
    i = quote + 1;
  }
}

/**
 * Whether the object that begins at `start` is closed by the last character before `end`, and has no key that would make it a
 * message: a whole line of somebody else's JSON. It need not be valid; what is closed here does not go on in the next line.
 */
export function isForeignObject(text: string, start: number, end: number): boolean {
  let last = end - 1;
  while (isSpace(text.charCodeAt(last))) last--;
  let depth = 0;
  for (let i = start; i <= last; i++) {
    const c = text.charCodeAt(i);
    if (c === ESCAPE) return false; // it goes before the line is read, and may hide a key
    if (c === 0x22) {
      i++;
      if (depth === 1 && isKeyAt(text, i)) return false;
      for (; i <= last && text.charCodeAt(i) !== 0x22; i++) {
        if (text.charCodeAt(i) === ESCAPE) return false;
        if (text.charCodeAt(i) !== 0x5c) continue;
        i++;
        if (text.charCodeAt(i) === 0x75) return false; // an escape may spell a key
      }
    } else if ((c | 0x20) === OBJECT) depth++;
    else if ((c | 0x20) === 0x7d && --depth === 0) return i === last;
  }
  return false;
}

function isKeyAt(text: string, i: number): boolean {
  for (const key of JSON_KEYS) if (text.startsWith(key, i)) return true;
  return false;
}

const isSpace = (c: number): boolean => c === 0x20 || c === 0x09 || c === 0x0d;
