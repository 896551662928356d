/** Proves the chains: every record is what was written, none is missing, none was put in. */
import type { Verification } from '../../core/store.ts';
import type { Disk } from './disk.ts';
import { journalLines } from './journal-files.ts';
import type { Layout } from './layout.ts';
import { decodeLine, genesis, isChained } from './record.ts';
import { readSnapshotHeads } from './snapshot.ts';

/** With a session, only its chain; numbers that are missing are found in any case. */
export function verifyJournal(
  disk: Disk,
  layout: Layout,
  end: { readonly day: string | null; readonly size: number; readonly seq: number },
  session?: string,
): Verification {
  const heads = new Map<string, string>();
  const snapshot = readSnapshotHeads(disk, layout);
  let records = 0;
  let seq = 0;
  for (const { day, line } of journalLines(disk, layout, undefined, end)) {
    const where = `events/${day}.jsonl, byte ${line.start}`;
    const broken = (reason: string, number: number | null = null): Verification => ({
      ok: false,
      records,
      brokenAt: { seq: number, where, reason },
    });
    const record = decodeLine(line.text);
    if (record === null) return broken('the record cannot be read', seq + 1);
    if (record.seq !== seq + 1) {
      return broken(`record ${seq + 1} was expected, and there is record ${record.seq}`, seq + 1);
    }
    seq = record.seq;
    const isAsked = session === undefined || record.session === session;
    if (isAsked) {
      const head = heads.get(record.session) ?? genesis(record.session);
      if (!isChained(line.text, record, head)) return broken('its hash does not fit what it says', record.seq);
      records++;
    }
    heads.set(record.session, record.hash);
    if (snapshot?.seq === seq) {
      const other = snapshot.heads.find(([name, hash]) => heads.get(name) !== hash);
      if (other !== undefined) return broken(`the snapshot knows another last record of the session ${other[0]}`, seq);
    }
  }
  if (seq < end.seq || (snapshot !== null && snapshot.seq > seq)) {
    const missing = Math.max(end.seq, snapshot?.seq ?? 0);
    const where = end.day === null ? 'events/' : `events/${end.day}.jsonl`;
    return {
      ok: false,
      records,
      brokenAt: { seq: seq + 1, where, reason: `the journal ends at record ${seq}, and there were ${missing}` },
    };
  }
  return { ok: true, records, brokenAt: null };
}
