/**
 * Proves what is on disk: every record of the journal is what was written, none is missing, none was put in; every long text is the one that
 * its record names; and the snapshot and the graph's file say what the journal says.
 */
import type { Broken, Verification } from '../../core/store.ts';
import { createContentCheck } from './content-check.ts';
import type { Disk } from './disk.ts';
import { createFresh } from './fresh-fold.ts';
import { journalLines } from './journal-files.ts';
import type { Layout } from './layout.ts';
import { decodeLine, genesis, isChained } from './record.ts';
import { openKept } from './verify-kept.ts';

/** The end of what is to be proven. */
interface End {
  readonly day: string | null;
  readonly size: number;
  readonly seq: number;
}

export interface Proof {
  readonly records: number;
  /** The first record that does not fit; what comes after it was not looked at. */
  readonly chain: Broken | null;
  readonly content: readonly Broken[];
  /** How many long texts there are. */
  readonly texts: number;
  readonly snapshot: Broken | null;
  readonly graph: Broken | null;
}

const ALL = Number.POSITIVE_INFINITY;
/** All that is there: where the journal does not open, nobody knows where it ends. */
export const WHOLE: End = { day: null, size: ALL, seq: 0 };

interface ProveOptions {
  readonly end: End;
  /** What seals are keyed with. */
  readonly secret: string;
  /** Only its chain and its texts; numbers that are missing are found in any case. */
  readonly session?: string | undefined;
}

export function prove(disk: Disk, layout: Layout, { end, secret, session }: ProveOptions): Proof {
  const content = createContentCheck(disk, layout);
  const fresh = createFresh();
  const kept = openKept(disk, layout, { ...end, seq: end.size === ALL ? ALL : end.seq }, secret);
  let records = 0;
  const proof = (chain: Broken | null): Proof => ({ records, chain, ...content.found(), ...kept.found() });
  kept.compare(fresh);
  for (const { day, line } of journalLines(disk, layout, undefined, end)) {
    const where = `events/${day}.jsonl, byte ${line.start}`;
    const record = decodeLine(line.text);
    const expected = fresh.folded.seq + 1;
    if (record === null) return proof({ seq: expected, where, reason: 'the record cannot be read' });
    if (record.seq !== expected) {
      const reason = `record ${expected} was expected, and there is record ${record.seq}`;
      return proof({ seq: expected, where, reason });
    }
    if (session === undefined || record.session === session) {
      const head = fresh.folded.heads.get(record.session) ?? genesis(record.session);
      if (!isChained(line.text, record, head)) {
        return proof({ seq: record.seq, where, reason: 'its hash does not fit what it says' });
      }
      records++;
      content.look(record);
    }
    fresh.take(record, day, line.start, line.end);
    kept.compare(fresh);
  }
  const { seq } = fresh.folded;
  const last = Math.max(end.seq, kept.seq ?? 0);
  if (seq >= last) return proof(null);
  const where = end.day === null ? 'events/' : `events/${end.day}.jsonl`;
  return proof({ seq: seq + 1, where, reason: `the journal ends at record ${seq}, and there were ${last}` });
}

export function verificationOf({ records, chain, content, texts, snapshot, graph }: Proof): Verification {
  const problems = [chain, ...content, snapshot, graph].filter((found) => found !== null);
  return { ok: problems.length === 0, records, texts, brokenAt: problems[0] ?? null, problems };
}
