/**
 * JSON values that begin at a line's start, on one line or over many. Ours are handed on, others are text; a value is never
 * looked into, so a message within other JSON is none.
 */
import { isAop2 } from '../aop2/version.ts';
import { type Fields, isFields, parseJson } from '../text/fields.ts';
import { BROKEN, createJsonScan, type JsonScan, OPEN, scanJson } from './json-end.ts';
import { MAX_LINE } from './lines.ts';

export type JsonOwner = 'aof' | 'aop2';

export interface JsonSink {
  /** A message: the object, and its text as received. */
  value(owner: JsonOwner, value: Fields, received: string, line: number): void;
  /** `AOF/1` and then something that is no JSON. */
  brokenAof(received: string, line: number): void;
  /** A message that is longer than any may be; it was not kept. */
  oversize(owner: JsonOwner, line: number): void;
  /** A line that is of no message. */
  text(line: string, number: number): void;
  /** A line to be read afresh: it may begin something. */
  again(line: string, number: number): void;
}

export interface JsonPieces {
  readonly isOpen: boolean;
  /** @param start where in the line the value begins; @param prefixed whether `AOF/1` stands before it */
  open(line: string, start: number, number: number, prefixed: boolean): void;
  take(line: string, number: number): void;
  end(): void;
}

interface Open {
  readonly line: number;
  readonly start: number;
  readonly prefixed: boolean;
  readonly scan: JsonScan;
  lines: string[];
  chars: number;
  /** The beginning of a value that turned out too long to keep; null while it is kept. */
  head: string | null;
}

const HEAD = 65_536;

/** Whose JSON an object is. Anything that is not ours is passed by. */
export function ownerOf(value: Fields): JsonOwner | null {
  if (value['protocol'] === 'aof') return 'aof';
  return isAop2(value) ? 'aop2' : null;
}

/** Whether parsing a text could make it ours; most JSON that agents print is not, and need not be parsed. A key may be escaped. */
const mayBeOurs = (text: string): boolean =>
  text.includes('aop_version') || text.includes('protocol') || text.includes('\\u');

/** The same question for a text that is too long to parse: asked of its beginning. */
export function ownerOfHead(head: string): JsonOwner | null {
  if (/"protocol"\s*:\s*"aof"/.test(head)) return 'aof';
  return /"aop_version"\s*:\s*"2\./.test(head) ? 'aop2' : null;
}

export function createJsonPieces(sink: JsonSink): JsonPieces {
  let open: Open | null = null;

  /** A complete value. Behind `AOF/1` it is ours whatever it says. */
  const complete = (value: unknown, received: string, line: number, prefixed: boolean): boolean => {
    if (!isFields(value)) return false;
    const owner = prefixed ? 'aof' : ownerOf(value);
    if (owner === null) return false;
    sink.value(owner, value, received, line);
    return true;
  };

  const take = (at: Open, line: string, number: number): void => {
    const end = scanJson(at.scan, line, number === at.line ? at.start : 0);
    if (end === BROKEN) {
      const isFirst = number === at.line;
      giveUp(at);
      if (!isFirst) sink.again(line, number);
      else if (!at.prefixed) sink.text(line, number);
      return;
    }
    keep(at, line);
    if (end === OPEN) return;
    open = null;
    if (at.head !== null) return tooLong(at);
    const all = at.lines.join('\n');
    const received = all.slice(at.start, all.length - line.length + end);
    const value = at.prefixed || mayBeOurs(received) ? parseJson(received) : null;
    if (value === undefined) return giveUp(at);
    const isOurs = complete(value, received, at.line, at.prefixed);
    const rest = line.slice(end);
    // Objects one after another on a line may each be a message; words behind one are words.
    const goesOn = received.startsWith('{') && rest.trimStart().startsWith('{');
    if (!isOurs) {
      if (goesOn) at.lines[at.lines.length - 1] = line.slice(0, end);
      for (const [i, held] of at.lines.entries()) sink.text(held, at.line + i);
    }
    if (goesOn) sink.again(rest.trimStart(), number);
    else if (isOurs) sink.text(rest, number);
  };

  const keep = (at: Open, line: string): void => {
    at.chars += line.length + 1;
    if (at.head !== null) return;
    at.lines.push(line);
    if (at.chars <= MAX_LINE) return;
    at.head = at.lines.join('\n').slice(at.start, at.start + HEAD);
    at.lines = [];
  };

  const tooLong = (at: Open): void => {
    const owner = at.prefixed ? 'aof' : ownerOfHead(at.head ?? '');
    if (owner !== null) sink.oversize(owner, at.line);
  };

  /**
   * What looked like JSON is none. Its lines were read as JSON, so all that can still be in them is a message that is whole on
   * one line, at the margin.
   */
  const giveUp = (at: Open): void => {
    open = null;
    if (at.prefixed) sink.brokenAof(at.lines.join('\n').slice(at.start), at.line);
    for (const [i, line] of at.lines.entries()) {
      const value = i > 0 && line.startsWith('{') && line.trimEnd().endsWith('}') ? parseJson(line) : undefined;
      if (!complete(value, line.trimEnd(), at.line + i, false) && !at.prefixed) sink.text(line, at.line + i);
    }
  };

  return {
    get isOpen() {
      return open !== null;
    },
    open(line, start, number, prefixed) {
      const received = line.slice(start).trimEnd();
      // The common case, a value on one line, costs one native parse.
      if (received.endsWith('}') && (prefixed || mayBeOurs(received))) {
        const value = parseJson(received);
        if (value !== undefined) {
          if (!complete(value, received, number, prefixed)) sink.text(line, number);
          return;
        }
      }
      open = { line: number, start, prefixed, scan: createJsonScan(), lines: [], chars: 0, head: null };
      take(open, line, number);
    },
    take(line, number) {
      if (open !== null) take(open, line, number);
    },
    end() {
      if (open === null) return;
      if (open.head === null) giveUp(open);
      else tooLong(open);
      open = null;
    },
  };
}
