/**
 * JSON values that begin at a line's start, on one line or over many. Ours are handed on, others are text; a value is never
 * looked into, so a message within other JSON is none.
 */

import { type Fields, isFields, parseJson } from '../../core/fields.ts';
import { JSON_KEYS, type JsonDialect, type MarkedDialect, ownerOf, ownerOfHead } from '../dialects.ts';
import { BROKEN, createJsonScan, type JsonScan, OPEN, scanJson } from './json-end.ts';
import { MAX_LINE } from './lines.ts';

interface JsonSink {
  /** A message: the object, and its text as received. */
  value(owner: JsonDialect, value: Fields, received: string, line: number): void;
  /** A mark and then something that is no JSON. */
  broken(owner: MarkedDialect, received: string, line: number): void;
  /** A message that is longer than any may be; it was not kept. */
  oversize(owner: JsonDialect, line: number): void;
  /** A line that is of no message. */
  text(line: string, number: number): void;
  /** A line to be read afresh: it may begin something. */
  again(line: string, number: number): void;
}

interface JsonPieces {
  readonly isOpen: boolean;
  /** @param start where in the line the value begins; @param mark whose mark stands before it */
  open(line: string, start: number, number: number, mark: MarkedDialect | null): void;
  take(line: string, number: number): void;
  end(): void;
}

interface Open {
  readonly line: number;
  /** Where in its first line the value begins. */
  readonly start: number;
  /** Whose mark stands before it. */
  readonly mark: MarkedDialect | null;
  readonly scan: JsonScan;
  lines: string[];
  chars: number;
  /** The beginning of a value that turned out too long to keep; null while it is kept. */
  head: string | null;
}

const HEAD = 65_536;

/** Whether parsing a text could make it ours; most JSON that agents print is not, and need not be parsed. A key may be escaped. */
const mayBeOurs = (text: string): boolean => JSON_KEYS.some((key) => text.includes(key)) || text.includes('\\u');

export function createJsonPieces(sink: JsonSink): JsonPieces {
  let open: Open | null = null;

  /** A complete value: ours or not. Behind a mark it is ours whatever it says. */
  const complete = (received: string, line: number, mark: MarkedDialect | null): boolean => {
    const value = mark !== null || mayBeOurs(received) ? parseJson(received) : undefined;
    const owner = isFields(value) ? (mark ?? ownerOf(value)) : null;
    if (owner === null) {
      // What looks like JSON to the scanner and is none behind all, such as a number 1.2.3.
      if (mark !== null) sink.broken(mark, received, line);
      return mark !== null;
    }
    sink.value(owner, value as Fields, received, line);
    return true;
  };

  /**
   * The values of a line from an index on. Objects one after another may each be a message; words behind one are words. Nothing
   * of a line without a message is taken out of it.
   */
  const values = (line: string, start: number, number: number, mark: MarkedDialect | null): void => {
    let isOurs = false;
    for (let from = start; ; ) {
      const before = from === start ? mark : null;
      const scan = createJsonScan();
      const end = scanJson(scan, line, from);
      if (end === OPEN) {
        open = { line: number, start: from, mark: before, scan, lines: [], chars: 0, head: null };
        return keep(open, line);
      }
      if (end === BROKEN) {
        if (before !== null) sink.broken(before, line.slice(from), number);
        else sink.text(isOurs ? line.slice(from) : line, number);
        return;
      }
      isOurs = complete(line.slice(from, end), number, before) || isOurs;
      const next = skipSpaces(line, end);
      if (line[from] !== '{' || line[next] !== '{') {
        if (!isOurs) sink.text(line, number);
        else if (next < line.length) sink.text(line.slice(next), number);
        return;
      }
      from = next;
    }
  };

  const take = (at: Open, line: string, number: number): void => {
    const end = scanJson(at.scan, line, 0);
    if (end === BROKEN) return giveUp(at, line, number);
    keep(at, line);
    if (end === OPEN) return;
    open = null;
    if (at.head !== null) return tooLong(at);
    const all = at.lines.join('\n');
    const isOurs = complete(all.slice(at.start, all.length - line.length + end), at.line, at.mark);
    const next = skipSpaces(line, end);
    const goesOn = all[at.start] === '{' && line[next] === '{';
    if (!isOurs) {
      if (goesOn) at.lines[at.lines.length - 1] = line.slice(0, end);
      for (const [i, held] of at.lines.entries()) sink.text(held, at.line + i);
    }
    if (goesOn) values(line, next, number, null);
    else if (isOurs && next < line.length) sink.text(line.slice(next), number);
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
    const owner = at.mark ?? ownerOfHead(at.head ?? '');
    if (owner !== null) sink.oversize(owner, at.line);
  };

  /**
   * What looked like JSON is none: a line broke it, or the text ended. Its lines were read as JSON, so all that can still be in
   * them are objects that begin at the margin and are complete. The line that broke it is read afresh.
   */
  const giveUp = (at: Open, line: string | null, number: number): void => {
    open = null;
    if (at.mark !== null) sink.broken(at.mark, at.lines.join('\n').slice(at.start), at.line);
    const lines = line === null ? at.lines : [...at.lines, line];
    let next = 0;
    const textUpTo = (end: number): void => {
      for (; next < end; next++) if (at.mark === null || next > 0) sink.text(lines[next] ?? '', at.line + next);
    };
    for (const { firstLine, lastLine, end } of at.head === null ? at.scan.inner : []) {
      const held = lines.slice(firstLine, lastLine + 1);
      const received = `${held.slice(0, -1).join('\n')}${held.length > 1 ? '\n' : ''}${(held.at(-1) ?? '').slice(0, end)}`;
      textUpTo(firstLine);
      if (complete(received, at.line + firstLine, null)) next = lastLine + 1;
    }
    textUpTo(at.lines.length);
    if (line !== null && next <= at.lines.length) sink.again(line, number);
  };

  return {
    get isOpen() {
      return open !== null;
    },
    open(line, start, number, mark) {
      const received = line.slice(start).trimEnd();
      // The common case, a message on one line, costs one native parse.
      if (received.endsWith('}') && (mark !== null || mayBeOurs(received))) {
        const value = parseJson(received);
        const owner = isFields(value) ? (mark ?? ownerOf(value)) : null;
        if (owner !== null) return sink.value(owner, value as Fields, received, number);
      }
      values(line, start, number, mark);
    },
    take(line, number) {
      if (open !== null) take(open, line, number);
    },
    end() {
      if (open === null) return;
      if (open.head === null) giveUp(open, null, 0);
      else tooLong(open);
      open = null;
    },
  };
}

function skipSpaces(line: string, from: number): number {
  let i = from;
  while (line[i] === ' ' || line[i] === '\t' || line[i] === '\r') i++;
  return i;
}
