/**
 * Any text → the messages in it, in order, with what they are. `detect` takes a whole text; `createDetector` takes it in
 * pieces as an agent prints it, bounded in memory, and finds the same.
 */
import { error, warning } from '../core/problem.ts';
import { type Aop1Report, decodeAop1 } from './aop1/decode.ts';
import { readV1 } from './aop2/v1.ts';
import { decodeCommand } from './command/decode.ts';
import { type JsonDialect, ownerOf } from './dialects.ts';
import { type CountTokens, type Message, message } from './message.ts';
import { decodeGraphUpdate, decodeOutput } from './output/decode.ts';
import { PARTS } from './parts.ts';
import { createLineCutter, MAX_MESSAGE } from './scan/lines.ts';
import { createScanner, type Piece, type ScanOptions } from './scan/scanner.ts';
import { exceedsBytes, stripAnsi } from './text/clean.ts';

export interface DetectOptions extends ScanOptions {
  /** Counts tokens where a value may be over its limit; without it such a value is let pass. */
  readonly countTokens?: CountTokens;
}

/** A message and the number of the line it begins on. */
export interface Found extends Message {
  readonly line: number;
}

export interface Detector {
  /** @returns the messages that are complete now */
  feed(chunk: string | Uint8Array): Found[];
  /** @returns what only the end of the text decides: its aop1 report, unknown commands, a v1 prompt, or that there is nothing */
  end(): Found[];
  /** Whether a message was passed by in a code fence. */
  readonly sawFenced: boolean;
}

/** What is kept of a text that may turn out to be a v1 prompt. */
const MAX_V1_CHARS = 262_144;

export function createDetector(options: DetectOptions = {}): Detector {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let ready: Found[] = [];
  let count = 0;
  let head = '';
  const scanner = createScanner((piece) => {
    count++;
    ready.push({ ...decode(piece, options), line: piece.line });
  }, options);
  const lines = createLineCutter(scanner);

  const take = (): Found[] => {
    const taken = ready;
    ready = [];
    return taken;
  };

  const feedText = (text: string): void => {
    if (count > 0) head = '';
    else if (head.length < MAX_V1_CHARS) head += text.slice(0, MAX_V1_CHARS - head.length);
    lines.feed(text);
  };

  return {
    get sawFenced() {
      return scanner.sawFenced;
    },
    feed(chunk) {
      feedText(typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }));
      return take();
    },
    end() {
      feedText(decoder.decode());
      lines.end();
      scanner.end();
      if (count === 0) ready.push({ ...(scanner.sawV1 ? v1Prompt(head) : unstructured()), line: 1 });
      return take();
    },
  };
}

export function detect(input: string | Uint8Array, options: DetectOptions = {}): Found[] {
  const text = typeof input === 'string' ? input : new TextDecoder('utf-8', { ignoreBOM: true }).decode(input);
  const whole = wholeJson(text);
  if (whole !== null) return [{ ...decode(whole, options), line: whole.line }];
  const detector = createDetector(options);
  const found = [...detector.feed(text), ...detector.end()];
  return found.sort((a, b) => a.line - b.line);
}

/** A text that is one JSON message and nothing else: the common case, and not worth looking through line by line. */
function wholeJson(text: string): Piece | null {
  if (text.length > MAX_MESSAGE) return null;
  // Only what may stand before a message in the lines of a text, too: `trim` takes more than that.
  const start = /^\ufeff?[ \t\r\n]*(?=\{)/.exec(text)?.[0].length;
  if (start === undefined) return null;
  const received = text.slice(start).trimEnd();
  if (!received.endsWith('}')) return null;
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(received) as Record<string, unknown>;
  } catch {
    return null;
  }
  const owner = ownerOf(value);
  const line = text.slice(0, start).split(/\r\n|\r|\n/).length;
  return owner && { kind: 'json', line, owner, value, text: received };
}

function decode(piece: Piece, options: DetectOptions): Message {
  switch (piece.kind) {
    case 'json': {
      if (exceedsBytes(piece.text, MAX_MESSAGE)) return oversize(piece.owner);
      return withEncodingCheck(PARTS[piece.owner].json(piece.value, piece.text), piece.text);
    }
    case 'oversize':
      return oversize(piece.owner);
    case 'broken':
      return PARTS[piece.owner].broken(piece.text);
    case 'graph':
      return withEncodingCheck(decodeGraphUpdate(piece.text, piece.closed), piece.text);
    case 'output':
      return withEncodingCheck(decodeOutput(piece.text), piece.text);
    case 'command':
      return withEncodingCheck(decodeCommand(piece.text, options), piece.text);
    case 'aop1': {
      const decoded = decodeAop1(piece.found);
      const { task, summary, detailsFile } = decoded.value as Aop1Report;
      return withEncodingCheck(decoded, `${task}${summary}${detailsFile}`);
    }
  }
}

const oversize = (owner: JsonDialect): Message =>
  message(owner, null, null, [
    error('E_CONTEXT_OVERFLOW', '', `expected a message of at most ${MAX_MESSAGE} bytes, got a longer one`),
  ]);

function withEncodingCheck(decoded: Message, text: string): Message {
  if (!text.includes('\ufffd')) return decoded;
  const problem = warning(
    'E_INVALID_UTF8',
    '',
    'the text holds U+FFFD: here or on its way, bytes that are not UTF-8 were replaced',
  );
  return { ...decoded, problems: [...decoded.problems, problem] };
}

/** Line by line, as the search saw it: an escape that does not end takes the rest of its line and no more. */
const asSeen = (text: string): string => (text.includes('\x1b') ? text.replace(/[^\r\n]+/g, stripAnsi) : text);

const v1Prompt = (text: string): Message =>
  message(
    'v1',
    'prompt',
    readV1(asSeen(text.replace(/^\ufeff/, ''))),
    text.length < MAX_V1_CHARS
      ? []
      : [
          warning(
            'E_PAYLOAD_SIZE_WARNING',
            '/text',
            `only the first ${MAX_V1_CHARS} characters of the prompt were kept`,
          ),
        ],
  );

const unstructured = (): Message =>
  message('unstructured', null, null, [
    error('E_PARSE_FAILURE', '', 'expected a message of one of the dialects, got a text that has none'),
  ]);
