/**
 * The stamp in the second line of a task file: `# baton <seq> <12 hex of sha256> <bytes>`, both over the whole text without this line.
 * A file tells by it whether it is exactly what Baton wrote, and as of which record. It proves nothing to who would forge it.
 */

import { isUtf8 } from 'node:buffer';
import { createHash, hash } from 'node:crypto';

export interface Stamp {
  /** The number of the record that the file shows. */
  readonly seq: number;
  readonly hash: string;
  readonly bytes: number;
}

const OPENING = '---\n';
const HEX = 12;
const LINE = /^---\n# baton (\d{1,15}) ([0-9a-f]{12}) (\d{1,15})\r?\n/;
/** More than the longest stamp takes. */
const MOST = 80;

/** The text of a task file with its stamp; the text begins with `---`. */
export function stamped(text: string, seq: number): string {
  const digest = hash('sha256', text, 'hex').slice(0, HEX);
  return `${OPENING}# baton ${seq} ${digest} ${Buffer.byteLength(text)}\n${text.slice(OPENING.length)}`;
}

/** What the stamp says, whether or not the rest still fits it. */
export function stampOf(bytes: Uint8Array): Stamp | null {
  const found = lineOf(asBuffer(bytes));
  return found === null ? null : toStamp(found);
}

/** The stamp of a file that is exactly what Baton wrote; null for any other. */
export function oursOf(bytes: Uint8Array): Stamp | null {
  const buffer = asBuffer(bytes);
  const found = lineOf(buffer);
  if (found === null) return null;
  const stamp = toStamp(found);
  const rest = buffer.subarray(found[0].length);
  if (OPENING.length + rest.length !== stamp.bytes) return null;
  const digest = createHash('sha256').update(OPENING).update(rest).digest('hex');
  return digest.startsWith(stamp.hash) ? stamp : null;
}

/** Names a file's exact content, so that what was read can be replaced and nothing else. */
export const digestOf = (bytes: Uint8Array | string): string => hash('sha256', bytes, 'hex');

/** Null where the bytes are not UTF-8: what could not be written back as it was is not taken in. */
export const textOf = (bytes: Uint8Array): string | null => (isUtf8(bytes) ? asBuffer(bytes).toString('utf8') : null);

export const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const lineOf = (buffer: Buffer): RegExpExecArray | null => LINE.exec(buffer.toString('latin1', 0, MOST));

const toStamp = (found: RegExpExecArray): Stamp => ({
  seq: Number(found[1]),
  hash: found[2] as string,
  bytes: Number(found[3]),
});
