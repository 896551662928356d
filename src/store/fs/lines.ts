/** The lines of a file, read piece by piece. */
import type { Disk } from './disk.ts';

export interface FileLine {
  readonly text: string;
  /** Where it starts, in bytes. */
  readonly start: number;
  /** Just behind its line end. */
  readonly end: number;
  /** False for a last line that has no line end. */
  readonly whole: boolean;
}

/** The first piece is small, for whoever wants one line; the next are larger and larger. */
const FIRST_PIECE = 1 << 13;
const MOST_PIECE = 1 << 20;
const NEWLINE = 10;

export function* linesOf(disk: Disk, path: string, from = 0, to = Number.POSITIVE_INFINITY): Generator<FileLine> {
  const size = Math.min(disk.stat(path)?.size ?? 0, to);
  let start = from;
  let offset = from;
  let held: Buffer[] = [];
  let most = FIRST_PIECE;
  while (offset < size) {
    const piece = asBuffer(disk.readAt(path, offset, Math.min(most, size - offset)));
    most = Math.min(most * 4, MOST_PIECE);
    if (piece.length === 0) break;
    let at = 0;
    for (let end = piece.indexOf(NEWLINE, at); end >= 0; end = piece.indexOf(NEWLINE, at)) {
      const rest = piece.subarray(at, end);
      const text = held.length === 0 ? rest.toString('utf8') : Buffer.concat([...held, rest]).toString('utf8');
      held = [];
      at = end + 1;
      yield { text, start, end: offset + at, whole: true };
      start = offset + at;
    }
    if (at < piece.length) held.push(piece.subarray(at));
    offset += piece.length;
  }
  if (held.length > 0) yield { text: Buffer.concat(held).toString('utf8'), start, end: offset, whole: false };
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
