/** Start-up: the snapshot and the journal's tail, and what a crash left at its end. */
import { BatonError } from '../../core/errors.ts';
import type { Disk } from './disk.ts';
import { emptyFold, type Folded, fold, headOf } from './folded.ts';
import { fileOf, journalDays, journalLines, type Place } from './journal-files.ts';
import type { Layout } from './layout.ts';
import { decodeLine, isChained, type Line } from './record.ts';
import { readSnapshot } from './snapshot.ts';
import { readMark } from './tree-mark.ts';

/** What was written but never acknowledged: it begins here and is to be cut off. */
export interface Torn {
  readonly day: string;
  readonly from: number;
  readonly bytes: number;
}

export interface Damage {
  readonly day: string;
  readonly offset: number;
  readonly seq: number | null;
  readonly reason: string;
}

export interface Loaded {
  readonly folded: Folded;
  readonly torn: Torn | null;
  /** Records that were passed over; only where that was asked for. */
  readonly damage: readonly Damage[];
  /** How many records the snapshot did not have. */
  readonly tail: number;
  /** The journal's last line, which was passed over, has no line end. */
  readonly isOpenEnded: boolean;
}

interface LoadOptions {
  /** Passes over what is damaged. */
  readonly tolerant?: boolean;
}

export function load(disk: Disk, layout: Layout, { tolerant = false }: LoadOptions = {}): Loaded {
  const snapshot = readSnapshot(disk, layout);
  const folded = snapshot ?? emptyFold();
  const damage: Damage[] = [];
  const before = folded.seq;
  // The tree shows durable records only: one that it has shown was not torn by a crash.
  const acknowledged = readMark(disk, layout)?.seq ?? 0;
  const report = (found: Damage): void => {
    if (!tolerant) throw damaged(layout, found);
    damage.push(found);
  };
  const missing = snapshot === null ? null : missingTail(disk, layout, folded);
  if (missing !== null) {
    report(missing);
    folded.size = missing.offset;
  }
  for (const place of journalLines(disk, layout, folded)) {
    const { day, line } = place;
    const record = line.whole ? decodeLine(line.text) : null;
    const reason = record === null ? 'it cannot be read' : misfit(folded, line.text, record);
    if (record !== null && reason === null) {
      fold(folded, record, day, line.start, line.end);
      continue;
    }
    const torn = folded.seq < acknowledged ? null : endsHere(disk, layout, place);
    if (torn !== null) return { folded, torn, damage, tail: folded.seq - before, isOpenEnded: false };
    report({ day, offset: line.start, seq: record?.seq ?? null, reason: reason ?? '' });
    // What can be read behind the damage still counts.
    if (record !== null && record.seq > folded.seq) fold(folded, record, day, line.start, line.end);
    // And what comes next is written behind it.
    else Object.assign(folded, { day, size: line.end, hash: null });
  }
  if (folded.seq < acknowledged && damage.length === 0) {
    const size = folded.day === null ? 0 : folded.size;
    const reason = `the journal ends at record ${folded.seq}, and the file tree has shown record ${acknowledged}`;
    report({ day: folded.day ?? '?', offset: size, seq: folded.seq + 1, reason });
  }
  const isOpenEnded = damage.length > 0 && !endsLine(disk, layout, folded);
  return { folded, torn: null, damage, tail: folded.seq - before, isOpenEnded };
}

/** Whether what is written next begins a line. */
function endsLine(disk: Disk, layout: Layout, { day, size }: Folded): boolean {
  if (day === null || size === 0) return true;
  return Buffer.from(disk.readAt(fileOf(layout, day), size - 1, 1)).toString('latin1') === '\n';
}

/** Why a record does not follow the one before; null where it does. */
function misfit(folded: Folded, text: string, record: Line): string | null {
  if (record.seq !== folded.seq + 1) return `it has the number ${record.seq}, and ${folded.seq + 1} was expected`;
  if (!isChained(text, record, headOf(folded, record.session))) return 'its hash does not fit what it says';
  return null;
}

/**
 * One write is under way at a time, and the next begins only when it is durable. So what a crash tears is in the last write: a line that
 * cannot be read, behind which no other write begins, was never acknowledged. Anything else is damage.
 */
function endsHere(disk: Disk, layout: Layout, { day, line }: Place): Torn | null {
  for (const later of journalLines(disk, layout, { day, size: line.end })) {
    if (decodeLine(later.line.text)?.batch != null) return null;
  }
  const size = disk.stat(fileOf(layout, day))?.size ?? line.end;
  return { day, from: line.start, bytes: size - line.start };
}

/** A snapshot is written when its records are durable; a journal that ends before it has lost some. */
function missingTail(disk: Disk, layout: Layout, { day, size, seq }: Folded): Damage | null {
  if (day === null) return null;
  const there = disk.stat(fileOf(layout, day))?.size ?? 0;
  const isThere = journalDays(disk, layout).includes(day) && there >= size;
  return isThere ? null : { day, offset: there, seq, reason: 'the journal ends before the snapshot does' };
}

export const damaged = (layout: Layout, { day, offset, reason }: Damage): BatonError =>
  new BatonError(
    'E_STORE_DAMAGED',
    `the journal ${fileOf(layout, day)} has been changed at byte ${offset}: ${reason}`,
    'baton doctor says more; baton doctor --fix goes on without that record',
  );
