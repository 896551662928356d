/** Start-up: the snapshot and the journal's tail, and what a crash left at its end. */
import { BatonError } from '../../core/errors.ts';
import type { Disk } from './disk.ts';
import { emptyFold, type Folded, fold, headOf } from './folded.ts';
import { fileOf, journalDays, journalLines, type Place } from './journal-files.ts';
import type { Layout } from './layout.ts';
import { decodeLine, isChained, type Line } from './record.ts';
import { readSnapshot, type Snapshot } from './snapshot.ts';
import { costOf } from './start-cost.ts';
import { shownBefore } from './tree-mark.ts';

/** The event by which a repair writes down what it passed over. */
export const REPAIRED = 'store.repaired';

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
  /** What the records that no snapshot had cost this start, as `costOf` counts it. */
  readonly tail: number;
  /** The journal's last line, which was passed over, has no line end. */
  readonly isOpenEnded: boolean;
  /** Why the snapshot was not believed, so that the journal was read from its beginning; `isOld`: it is of a Baton that knew no seals. */
  readonly distrusted: { readonly reason: string; readonly isOld: boolean } | null;
}

interface LoadOptions {
  /** What seals are keyed with. */
  readonly secret: string;
  /** Passes over what is damaged. */
  readonly tolerant?: boolean;
}

export function load(disk: Disk, layout: Layout, { secret, tolerant = false }: LoadOptions): Loaded {
  const snapshot = readSnapshot(disk, layout, secret);
  const folded = snapshot.kind === 'usable' ? snapshot.folded : emptyFold();
  const found: Damage[] = [];
  const missing = missingTail(disk, layout, snapshot);
  if (missing !== null) {
    found.push(missing);
    if (snapshot.kind === 'usable') folded.size = missing.offset;
  }
  // The tree shows durable records only: one that it has shown was not torn by a crash.
  const acknowledged = shownBefore(disk, layout, secret);
  const { torn, tail, passedOver } = foldTail(disk, layout, { folded, acknowledged, found });
  const damage = found.filter(({ day, offset }) => !passedOver.has(`${day} ${offset}`));
  const [first] = damage;
  if (first !== undefined && !tolerant) throw damaged(layout, first);
  const isOpenEnded = torn === null && found.length > 0 && !endsLine(disk, layout, folded);
  const distrusted = snapshot.kind === 'unusable' ? { reason: snapshot.reason, isOld: snapshot.by !== null } : null;
  return { folded, torn, damage, tail, isOpenEnded, distrusted };
}

interface Tail {
  readonly torn: Torn | null;
  readonly tail: number;
  /** Damage that a record names as passed over: a person has been told of it, and has said to go on. */
  readonly passedOver: ReadonlySet<string>;
}

interface Folding {
  readonly folded: Folded;
  readonly acknowledged: number;
  /** Damage that was found; it is added to. */
  readonly found: Damage[];
}

/** Takes in the records behind what is folded already. */
function foldTail(disk: Disk, layout: Layout, { folded, acknowledged, found }: Folding): Tail {
  const passedOver = new Set<string>();
  let tail = 0;
  for (const place of journalLines(disk, layout, folded)) {
    const { day, line } = place;
    const record = line.whole ? decodeLine(line.text) : null;
    const reason = record === null ? 'it cannot be read' : misfit(folded, line.text, record);
    if (record !== null && reason === null) {
      fold(folded, record, day, line.start, line.end);
      tail += costOf(line.end - line.start);
      for (const known of passedOverIn(record)) passedOver.add(known);
      continue;
    }
    const torn = folded.seq < acknowledged ? null : endsHere(disk, layout, place);
    if (torn !== null) return { torn, tail, passedOver };
    found.push({ day, offset: line.start, seq: record?.seq ?? null, reason: reason ?? '' });
    // What can be read behind the damage still counts.
    if (record !== null && record.seq > folded.seq) fold(folded, record, day, line.start, line.end);
    // And what comes next is written behind it.
    else Object.assign(folded, { day, size: line.end, hash: null });
  }
  if (folded.seq < acknowledged && found.length === 0) {
    const size = folded.day === null ? 0 : folded.size;
    const reason = `the journal ends at record ${folded.seq}, and the file tree has shown record ${acknowledged}`;
    found.push({ day: folded.day ?? '?', offset: size, seq: folded.seq + 1, reason });
  }
  return { torn: null, tail, passedOver };
}

/** What a repair has written down. */
function passedOverIn({ events, by }: Line): readonly string[] {
  const { type, detail } = events[0] ?? {};
  if (type !== REPAIRED || by.kind !== 'runtime' || !Array.isArray(detail?.['passedOver'])) return [];
  return (detail['passedOver'] as readonly Damage[]).map(({ day, offset }) => `${day} ${offset}`);
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
function missingTail(disk: Disk, layout: Layout, snapshot: Snapshot): Damage | null {
  const mark = snapshot.kind === 'usable' ? snapshot.folded : snapshot.kind === 'unusable' ? snapshot.by : null;
  if (mark === null || mark.day === null) return null;
  const { day, size, seq } = mark;
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
