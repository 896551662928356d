/** The journal's files, one a day, in order. */
import { join } from 'node:path';
import type { Disk } from './disk.ts';
import type { Layout } from './layout.ts';
import { type FileLine, linesOf } from './lines.ts';
import { dayAt, offsetAt } from './place.ts';
import { decodeLine, type Line } from './record.ts';

const NAME = /^(\d{4}-\d{2}-\d{2})\.jsonl$/;

export const fileOf = (layout: Layout, day: string): string => join(layout.events, `${day}.jsonl`);

export const journalDays = (disk: Disk, layout: Layout): string[] =>
  disk
    .list(layout.events)
    .map((name) => NAME.exec(name)?.[1])
    .filter((day) => day !== undefined)
    .sort();

export interface Place {
  readonly day: string;
  readonly line: FileLine;
}

/** Every line from a place on, over all files, up to an end. */
export function* journalLines(
  disk: Disk,
  layout: Layout,
  from: { readonly day: string | null; readonly size: number } = { day: null, size: 0 },
  to: { readonly day: string | null; readonly size: number } = { day: null, size: Number.POSITIVE_INFINITY },
): Generator<Place> {
  for (const day of journalDays(disk, layout)) {
    if (from.day !== null && day < from.day) continue;
    if (to.day !== null && day > to.day) return;
    const start = day === from.day ? from.size : 0;
    const end = day === to.day ? to.size : Number.POSITIVE_INFINITY;
    for (const line of linesOf(disk, fileOf(layout, day), start, end)) yield { day, line };
  }
}

/** How much stands between two places. */
export function bytesBetween(
  disk: Disk,
  layout: Layout,
  from: { readonly day: string | null; readonly size: number },
  to: { readonly day: string | null; readonly size: number },
): number {
  let bytes = 0;
  for (const day of journalDays(disk, layout)) {
    if (to.day === null || day > to.day || (from.day !== null && day < from.day)) continue;
    const end = day === to.day ? to.size : (disk.stat(fileOf(layout, day))?.size ?? 0);
    bytes += end - (day === from.day ? from.size : 0);
  }
  return bytes;
}

/** Where a journal ends: its last file, how much of it is good, and what stands just before that, by which the file is known again. */
export interface End {
  readonly day: string | null;
  readonly size: number;
  readonly tail: string | null;
}

/** The end of every record, and longer than its hash. */
const TAIL = 100;

export const tailOf = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(-TAIL)).toString('latin1');

/** Null where there is nothing to know it by. */
export function tailAt(disk: Disk, layout: Layout, day: string | null, size: number): string | null {
  if (day === null || size === 0 || (disk.stat(fileOf(layout, day))?.size ?? 0) < size) return null;
  const from = Math.max(0, size - TAIL);
  return tailOf(disk.readAt(fileOf(layout, day), from, size - from));
}

/**
 * Whether the files are those that were left at this end: the folder may have been moved away, thrown away or replaced by another since, which
 * is then somebody else's. What stands behind the end may be in one file alone, of which it is known that it is ours.
 */
export function isAsLeft(disk: Disk, layout: Layout, end: End, own: string | null): boolean {
  if (disk.stat(layout.root) === null || tailAt(disk, layout, end.day, end.size) !== end.tail) return false;
  return journalDays(disk, layout).every((day) => {
    if (day === own || (end.day !== null && day < end.day)) return true;
    return (disk.stat(fileOf(layout, day))?.size ?? 0) <= (day === end.day ? end.size : 0);
  });
}

/** Cuts off all that stands behind an end, for good; what was not acknowledged may have begun a new day. */
export function cutBehind(
  disk: Disk,
  layout: Layout,
  end: { readonly day: string | null; readonly size: number },
): void {
  for (const day of journalDays(disk, layout)) {
    if (end.day !== null && day < end.day) continue;
    const path = fileOf(layout, day);
    const size = day === end.day ? end.size : 0;
    if ((disk.stat(path)?.size ?? 0) <= size) continue;
    disk.truncate(path, size);
    disk.sync(path);
  }
}

/** The record at a place that another record or the snapshot names. */
function recordAt(disk: Disk, layout: Layout, place: number): Line | null {
  for (const { text } of linesOf(disk, fileOf(layout, dayAt(place)), offsetAt(place))) return decodeLine(text);
  return null;
}

export type ReadRecord = (place: number) => Line | null;

/** The bytes of records that are kept decoded. */
const KEPT_BYTES = 4 << 20;

/**
 * Like `recordAt`, keeping what was read last. A task is read several times in a row, and many that were added together stand in one record,
 * which is long: without this each of them would cost as much as all. What is durable never changes.
 */
export function openRecordCache(disk: Disk, layout: Layout): ReadRecord {
  const kept = new Map<number, { readonly line: Line | null; readonly size: number }>();
  let bytes = 0;
  const forget = (place: number): void => {
    bytes -= kept.get(place)?.size ?? 0;
    kept.delete(place);
  };
  return (place) => {
    let found = kept.get(place);
    if (found === undefined) {
      const [text] = linesOf(disk, fileOf(layout, dayAt(place)), offsetAt(place));
      found = { line: text === undefined ? null : decodeLine(text.text), size: text?.text.length ?? 0 };
      // A damaged one may be mended.
      if (found.line === null || found.size > KEPT_BYTES) return found.line;
    }
    // The one asked for last is the last to go.
    forget(place);
    kept.set(place, found);
    bytes += found.size;
    for (const oldest of kept.keys()) {
      if (bytes <= KEPT_BYTES) break;
      forget(oldest);
    }
    return found.line;
  };
}

const NEWLINE = 10;
const WINDOW = 1 << 18;

/** Like `recordAt`, for many places that are mostly near each other: what was read for one is kept for the next. */
export function openRecordWindow(disk: Disk, layout: Layout): ReadRecord {
  let day = '';
  let start = 0;
  let bytes: Buffer = Buffer.alloc(0);
  /** Several nodes may stand in one record. */
  let last: { readonly place: number; readonly line: Line | null } | null = null;
  const find: ReadRecord = (place) => {
    const [its, offset] = [dayAt(place), offsetAt(place)];
    const endOf = (): number => bytes.indexOf(NEWLINE, offset - start);
    const isInside = its === day && offset >= start && offset < start + bytes.length && endOf() >= 0;
    if (!isInside) {
      const read = disk.readAt(fileOf(layout, its), offset, WINDOW);
      [day, start, bytes] = [its, offset, Buffer.from(read.buffer, read.byteOffset, read.byteLength)];
    }
    const end = endOf();
    return end < 0 ? recordAt(disk, layout, place) : decodeLine(bytes.toString('utf8', offset - start, end));
  };
  return (place) => {
    if (last?.place !== place) last = { place, line: find(place) };
    return last.line;
  };
}

/** Just before the first record with a number above `seq`: numbers only grow, so halving finds it. */
export function placeAfter(
  disk: Disk,
  layout: Layout,
  seq: number,
  end: { readonly day: string | null; readonly size: number },
): { day: string | null; size: number } {
  const days = journalDays(disk, layout).filter((day) => end.day !== null && day <= end.day);
  let found: { day: string | null; size: number } = { day: days[0] ?? null, size: 0 };
  for (const day of days) {
    const first = firstAt(disk, layout, day, 0);
    if (first === null || first.seq > seq) break;
    found = { day, size: 0 };
  }
  if (found.day === null || seq === 0) return found;
  let low = 0;
  let high = found.day === end.day ? end.size : (disk.stat(fileOf(layout, found.day))?.size ?? 0);
  // Until it is cheaper to read on than to guess again.
  while (high - low > 1 << 16) {
    const middle = Math.floor((low + high) / 2);
    const record = firstAt(disk, layout, found.day, middle);
    if (record !== null && record.seq <= seq) low = record.start;
    else high = middle;
  }
  return { day: found.day, size: low };
}

/** The first record that starts at or behind a byte. */
function firstAt(disk: Disk, layout: Layout, day: string, byte: number): { seq: number; start: number } | null {
  let isFirst = true;
  for (const { text, start } of linesOf(disk, fileOf(layout, day), Math.max(0, byte - 1))) {
    // Read from one byte before: if that is a line end, the line behind it is whole.
    const isWhole = byte === 0 || !isFirst;
    isFirst = false;
    if (!isWhole) continue;
    const record = decodeLine(text);
    if (record !== null) return { seq: record.seq, start };
  }
  return null;
}
