/**
 * A seal ends each file that a start would otherwise have to believe: a checksum over every byte before it, keyed with the secret of the data
 * folder. A flipped bit, a cut or doubled file and a file of another data folder are all noticed. Whoever can read the secret can make a
 * seal; `baton audit verify` and `baton doctor` compare such a file with the journal.
 */
import { createHmac } from 'node:crypto';
import type { Disk } from './disk.ts';

/** Begins the last line. */
const WORD = '"seal ';
const lineOf = (sum: string): string => `${WORD}${sum}"\n`;
const LENGTH = lineOf('0'.repeat(64)).length;
const PIECE = 1 << 20;

/** Why a file is not believed. */
export const BROKEN_SEAL = 'its checksum does not fit what it says';
/** The file is as 0.1.0 wrote it. */
export const NO_SEAL = 'it has no checksum';

export const sealOf = (text: string, secret: string): string => createHmac('sha256', secret).update(text).digest('hex');

/** The same pieces, and the seal behind them. */
export function* sealed(pieces: Iterable<string>, secret: string): Generator<string> {
  const sum = createHmac('sha256', secret);
  for (const piece of pieces) {
    sum.update(piece);
    yield piece;
  }
  yield lineOf(sum.digest('hex'));
}

/** How long a file is without its seal; null where the seal does not fit what is before it, or where there is none. */
export function sealedLength(disk: Disk, path: string, secret: string): number | null {
  const length = (disk.stat(path)?.size ?? 0) - LENGTH;
  if (length < 0) return null;
  const last = Buffer.from(disk.readAt(path, length, LENGTH)).toString('latin1');
  if (!last.startsWith(WORD)) return null;
  const sum = createHmac('sha256', secret);
  for (let offset = 0; offset < length; offset += PIECE) {
    sum.update(disk.readAt(path, offset, Math.min(PIECE, length - offset)));
  }
  return last === lineOf(sum.digest('hex')) ? length : null;
}

export function endsWith(disk: Disk, path: string, end: string): boolean {
  const size = disk.stat(path)?.size ?? 0;
  return Buffer.from(disk.readAt(path, Math.max(0, size - end.length), end.length)).toString('latin1') === end;
}
