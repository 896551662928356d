/**
 * Finds where a JSON value ends, line by line, and notices at the first token that cannot be JSON that there is none. Failing
 * at once is what keeps the search linear: whoever looks on from there has not read anything twice.
 */

/** Deeper than this is no message; the stack would be what an attacker fills. */
const MAX_STACK = 100_000;

export type JsonEnd =
  /** The value goes on in the next line. */
  | { readonly state: 'open' }
  /** It is complete; `end` is the index behind it in this line. */
  | { readonly state: 'complete'; readonly end: number }
  /** This is not JSON. */
  | { readonly state: 'broken' };

const OPEN: JsonEnd = { state: 'open' };
const BROKEN: JsonEnd = { state: 'broken' };

type Expect = 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'colon' | 'comma-or-end';

const SCALAR = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** A scanner for one value that begins with `{` or `[`; give it the lines in turn. */
export function createJsonEnd(): (line: string, from: number) => JsonEnd {
  const stack: ('{' | '[')[] = [];
  let expect: Expect = 'value';

  const afterValue = (): boolean => {
    expect = 'comma-or-end';
    return stack.length === 0;
  };

  return (line, from) => {
    let i = from;
    while (i < line.length) {
      const c = line[i];
      switch (c) {
        case ' ':
        case '\t':
        case '\r':
          i++;
          continue;
        case '{':
        case '[':
          if ((expect !== 'value' && expect !== 'value-or-end') || stack.length >= MAX_STACK) return BROKEN;
          stack.push(c);
          expect = c === '{' ? 'key-or-end' : 'value-or-end';
          i++;
          continue;
        case '}':
        case ']': {
          const empty = c === '}' ? 'key-or-end' : 'value-or-end';
          const opened = stack.pop();
          if ((expect !== 'comma-or-end' && expect !== empty) || opened !== (c === '}' ? '{' : '[')) return BROKEN;
          i++;
          if (afterValue()) return { state: 'complete', end: i };
          continue;
        }
        case ',':
          if (expect !== 'comma-or-end') return BROKEN;
          expect = stack.at(-1) === '{' ? 'key' : 'value';
          i++;
          continue;
        case ':':
          if (expect !== 'colon') return BROKEN;
          expect = 'value';
          i++;
          continue;
        case '"': {
          const end = stringEnd(line, i + 1);
          if (end < 0) return BROKEN;
          if (expect === 'key' || expect === 'key-or-end') expect = 'colon';
          else if (expect === 'value' || expect === 'value-or-end') afterValue();
          else return BROKEN;
          i = end;
          continue;
        }
        default:
          SCALAR.lastIndex = i;
          if ((expect !== 'value' && expect !== 'value-or-end') || stack.length === 0 || !SCALAR.test(line))
            return BROKEN;
          i = SCALAR.lastIndex;
          afterValue();
      }
    }
    return OPEN;
  };
}

/** The index behind the closing quote; -1 where the line ends first, since a JSON string holds no line end. */
function stringEnd(line: string, from: number): number {
  for (let i = from; ; ) {
    const quote = line.indexOf('"', i);
    if (quote < 0) return -1;
    let escapes = 0;
    while (quote - 1 - escapes >= from && line.charCodeAt(quote - 1 - escapes) === 0x5c) escapes++;
    if (escapes % 2 === 0) return quote + 1;
    i = quote + 1;
  }
}
