/**
 * How many tokens a text or a log has, without ever handing the tokenizer more than it can bear: it is slow on long runs without a break, and a
 * log may be of any size. Up to 64 KB all is counted; of more, pieces from all over it, and the rest is reckoned from those. A vocabulary that is
 * not loaded yet is not loaded for a few words: these are reckoned.
 */
import { type FileHandle, open } from 'node:fs/promises';

export interface CountTokens {
  (text: string): number;
  /** False while it would have to load something large first. */
  isReady?(): boolean;
}

interface Counted {
  readonly tokens: number;
  /** Some of it was reckoned and not counted. */
  readonly estimated: boolean;
}

const PIECE = 4 * 1024;
const PIECES = 16;
const MOST_COUNTED = PIECE * PIECES;

const NOTHING: Counted = { tokens: 0, estimated: false };
const plus = (a: Counted, b: Counted): Counted => ({
  tokens: a.tokens + b.tokens,
  estimated: a.estimated || b.estimated,
});

/** What is said to be the usual length of one. */
const CHARS_PER_TOKEN = 4;
const reckoned = (length: number): Counted => ({ tokens: Math.ceil(length / CHARS_PER_TOKEN), estimated: length > 0 });
const isReady = (count: CountTokens): boolean => count.isReady?.() !== false;

/** @param isWorthIt also where something has to be loaded first */
export function tokensOf(text: string, count: CountTokens, isWorthIt = false): Counted {
  if (!isWorthIt && text.length <= MOST_COUNTED && !isReady(count)) return reckoned(text.length);
  if (text.length <= MOST_COUNTED) return { tokens: countAll(text, count), estimated: false };
  const tokens = startsOf(text.length).reduce((sum, at) => sum + count(text.slice(at, at + PIECE)), 0);
  return { tokens: Math.round((tokens / MOST_COUNTED) * text.length), estimated: true };
}

/** Of several files together; one that is not there has none. */
export async function tokensOfFiles(paths: readonly string[], count: CountTokens): Promise<Counted> {
  const all = await Promise.all(paths.map((path) => tokensOfFile(path, count)));
  return all.reduce(plus, NOTHING);
}

async function tokensOfFile(path: string, count: CountTokens): Promise<Counted> {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch (cause) {
    // An agent that printed nothing there has no such log.
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return NOTHING;
    throw cause;
  }
  try {
    const { size } = await file.stat();
    if (size <= MOST_COUNTED && !isReady(count)) return reckoned(size);
    const piece = async (at: number, most: number): Promise<string> => {
      const buffer = Buffer.alloc(most);
      const { bytesRead } = await file.read(buffer, 0, most, at);
      return buffer.toString('utf8', 0, bytesRead);
    };
    if (size <= MOST_COUNTED) return { tokens: countAll(await piece(0, size), count), estimated: false };
    let tokens = 0;
    for (const at of startsOf(size)) tokens += count(await piece(at, PIECE));
    return { tokens: Math.round((tokens / MOST_COUNTED) * size), estimated: true };
  } finally {
    await file.close();
  }
}

/** Where the pieces of something long begin: the first at its beginning, the last at its end. */
const startsOf = (length: number): number[] =>
  Array.from({ length: PIECES }, (_, i) => Math.floor(((length - PIECE) * i) / (PIECES - 1)));

/** Piece by piece, cut where a token begins: behind a line end or before a space. Where a piece has neither, it is cut as it comes. */
function countAll(text: string, count: CountTokens): number {
  let tokens = 0;
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + PIECE, text.length);
    if (end < text.length) {
      const line = text.lastIndexOf('\n', end - 1) + 1;
      const space = text.lastIndexOf(' ', end - 1);
      end = line > at ? line : space > at ? space : end;
    }
    tokens += count(text.slice(at, end));
    at = end;
  }
  return tokens;
}
