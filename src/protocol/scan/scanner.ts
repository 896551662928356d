/**
 * Lines in, the pieces of text that are messages out. It knows where messages begin and end, not what they say: `detect.ts`
 * hands each piece to its dialect.
 *
 * Held at any time: one open piece, bounded by the longest message; the last two aop1 blocks; and the unknown `#NAME` lines of
 * a text that so far has nothing else.
 */
import { type Found as Aop1Found, createBlockReader } from '../aop1/blocks.ts';
import { commandName, isKnownCommand } from '../command/decode.ts';
import { type JsonDialect, type MarkedDialect, ownerOfHead } from '../dialects.ts';
import { stripAnsi } from '../text/clean.ts';
import { createJsonPieces } from './json-pieces.ts';
import type { LineSink } from './lines.ts';
import { indentOf, markOf, type Opener, openerOf } from './openers.ts';
import { openGraph, openOutput, type YamlBlock } from './yaml-blocks.ts';

export type Piece = { readonly line: number } & (
  | {
      readonly kind: 'json';
      readonly owner: JsonDialect;
      readonly value: Record<string, unknown>;
      readonly text: string;
    }
  | { readonly kind: 'oversize'; readonly owner: JsonDialect }
  | { readonly kind: 'broken'; readonly owner: MarkedDialect; readonly text: string }
  | { readonly kind: 'graph'; readonly text: string; readonly closed: boolean }
  | { readonly kind: 'output'; readonly text: string }
  | { readonly kind: 'command'; readonly text: string }
  | { readonly kind: 'aop1'; readonly found: Aop1Found }
);

export interface ScanOptions {
  /** Passes by what stands in code fences: it is shown there, not said. */
  readonly skipFences?: boolean;
}

interface Scanner extends LineSink {
  /** Whether a message was passed by in a code fence. */
  readonly sawFenced: boolean;
  /** Whether a line of a v1 prompt was seen. */
  readonly sawV1: boolean;
  /** Emits what only the whole text decides: the aop1 report, and unknown commands. */
  end(): void;
}

/** A mark, with what stands behind it on its line. */
interface Mark {
  readonly owner: MarkedDialect;
  readonly text: string;
  readonly line: number;
  /** Whether nothing stands before it. */
  readonly isFirst: boolean;
}

/** Unknown commands that are held while the text has nothing else; a text with more of them is no session. */
const MAX_UNKNOWN = 1000;

export function createScanner(emit: (piece: Piece) => void, { skipFences = false }: ScanOptions = {}): Scanner {
  const aop1 = createBlockReader();
  const json = createJsonPieces({
    value: (owner, value, text, line) => found({ kind: 'json', line, owner, value, text }),
    broken: (owner, text, line) => found({ kind: 'broken', line, owner, text }),
    oversize: (owner, line) => found({ kind: 'oversize', line, owner }),
    text: (line, number) => text(line, number),
    again: (line, number) => begin(line, number),
  });
  const unknown: Piece[] = [];
  let yaml: YamlBlock | null = null;
  let fence: string | null = null;
  let onlyCommands = true;
  let sawV1 = false;
  let sawFenced = false;
  /** What stands in the code fence that is open, where those are passed by. */
  let fenced: Fenced | null = null;
  let isFirst = true;
  let isRereading = false;
  /** A line of a mark alone: the JSON may follow on the next. */
  let prefix: Mark | null = null;

  const found = (piece: Piece): void => {
    aop1.interrupt();
    onlyCommands = false;
    emit(piece);
  };

  /** A line that begins no message: it is prose, and part of a summary if one is open. */
  const text = (line: string, number: number): void => {
    if (onlyCommands && line.trim() !== '') onlyCommands = false;
    if (aop1.collecting) aop1.line(line, number, fence !== null);
  };

  const begin = (line: string, number: number): void => {
    const isBlank = line.trim() === '';
    if (prefix !== null && !isBlank) {
      const before = prefix;
      prefix = null;
      if (line.trimStart().startsWith('{')) return json.open(line, indentOf(line), number, before.owner);
      brokenMark(before);
    }
    const opener = openerOf(line);
    if (fenced !== null && opener !== 'fence') {
      fenced.line(line, number);
      text(line, number);
    } else if (opener === null) text(line, number);
    else begins[opener](line, number);
    if (!isBlank) isFirst = false;
  };

  /** Prose may begin with the name; a text that begins with it is ours, whatever follows. */
  const brokenMark = ({ owner, text: said, line, isFirst: wasFirst }: Mark): void => {
    if (wasFirst) found({ kind: 'broken', line, owner, text: said.trim() });
    else text(said, line);
  };

  const begins: Record<Opener, (line: string, number: number) => void> = {
    marker(line, number) {
      onlyCommands = false;
      aop1.line(line, number, fence !== null);
    },
    graph(line, number) {
      if (isRereading) text(line, number);
      else yaml = openGraph(line, number);
    },
    output(line, number) {
      if (isRereading) text(line, number);
      else yaml = openOutput(line, number);
    },
    json(line, number) {
      json.open(line, indentOf(line), number, null);
    },
    marked(line, number) {
      const found = markOf(line);
      if (found === null) return text(line, number);
      const { mark, owner, behind } = found;
      if (behind === line.length) prefix = { owner, text: mark, line: number, isFirst };
      else if (line[behind] === '{') json.open(line, behind, number, owner);
      else brokenMark({ owner, text: line, line: number, isFirst });
    },
    command(line, number) {
      const name = commandName(line);
      if (name === null) return text(line, number);
      const piece: Piece = { kind: 'command', line: number, text: line };
      if (isKnownCommand(name)) emit(piece);
      else if (unknown.length < MAX_UNKNOWN) unknown.push(piece);
      // In a summary it is part of the summary as well.
      if (aop1.collecting) aop1.line(line, number, fence !== null);
    },
    fence(line, number) {
      const [, ticks = '', info = ''] = /(`{3,}|~{3,})([\s\S]*)$/.exec(line) ?? [];
      if (fence === null) {
        fence = ticks;
        if (skipFences) fenced = holdFenced();
      } else if (ticks.startsWith(fence) && info.trim() === '') {
        fence = null;
        if (fenced !== null && fenced.end().length > 0) sawFenced = true;
        fenced = null;
        aop1.interrupt(true);
      }
      text(line, number);
    },
    v1(line, number) {
      sawV1 = true;
      text(line, number);
    },
  };

  const closeYaml = (block: YamlBlock): void => {
    yaml = null;
    if (block.kind === 'graph') found({ kind: 'graph', line: block.line, text: block.text(), closed: block.complete });
    else if (block.complete) found({ kind: 'output', line: block.line, text: block.text() });
    else text(block.text().split('\n', 1)[0] ?? '', block.line);
    if (!block.complete) reread(block);
  };

  /** What was held for a block that was none may hold other messages. Blocks are not looked for again: that would have no end. */
  const reread = (block: YamlBlock): void => {
    const { lines, offset } = block.rest();
    isRereading = true;
    for (const [i, line] of lines.entries()) {
      if (json.isOpen) json.take(line, block.line + offset + i);
      else begin(line, block.line + offset + i);
    }
    isRereading = false;
  };

  /** The beginning of a line that is longer than any message: its rest was dropped. */
  const cutLine = (line: string, number: number): void => {
    const opener = openerOf(line);
    const owner =
      opener === 'marked'
        ? (markOf(line)?.owner ?? null)
        : opener === 'json'
          ? ownerOfHead(line.slice(0, 65_536))
          : null;
    if (owner !== null) found({ kind: 'oversize', line: number, owner });
    else if (opener === 'json') text(line, number);
    else begin(line, number);
  };

  return {
    get wantsAll() {
      return yaml !== null || json.isOpen || aop1.collecting || prefix !== null;
    },
    get sawFenced() {
      return sawFenced;
    },
    get sawV1() {
      return sawV1;
    },
    passed() {
      onlyCommands = false;
      isFirst = false;
    },
    line(raw, number, cut) {
      const line = stripAnsi(raw);
      if (yaml !== null) {
        const taken = yaml.take(line);
        if (taken !== 'taken') closeYaml(yaml);
        if (taken !== 'ended') return;
      }
      if (json.isOpen) json.take(line, number);
      else if (cut) cutLine(line, number);
      else begin(line, number);
    },
    end() {
      if (yaml !== null) closeYaml(yaml);
      if (prefix !== null) brokenMark(prefix);
      json.end();
      // A fence that nothing closes is none: an odd mark in what a program prints hides no message.
      for (const piece of fenced?.end() ?? []) emit(piece);
      const report = aop1.end();
      if (report !== null) emit({ kind: 'aop1', line: report.block.line, found: report });
      if (onlyCommands) for (const piece of unknown) emit(piece);
    },
  };
}

interface Fenced {
  line(line: string, number: number): void;
  end(): readonly Piece[];
}

/** So many messages of a code fence are held, until it is known whether it is closed; the last ones. */
const MOST_FENCED = 50;

function holdFenced(): Fenced {
  let pieces: Piece[] = [];
  const scanner = createScanner((piece) => {
    pieces = [...pieces.slice(1 - MOST_FENCED), piece];
  });
  return {
    line: (line, number) => scanner.line(line, number, false),
    end() {
      scanner.end();
      return pieces;
    },
  };
}
