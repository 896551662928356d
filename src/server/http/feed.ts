/**
 * The journal for many readers at once: what just happened is held ready for all of them, within bounds, and who is further behind reads the store
 * from where he is. So nothing is kept for anybody, and nobody misses anything.
 */
import type { StoredRecord } from '../../core/store.ts';
import { type EventJson, eventsOf } from '../../core/task-json.ts';
import type { Host } from '../../runtime/host.ts';

/** An event and how it goes over the wire; made once for all readers. */
interface Told {
  readonly event: EventJson;
  readonly frame: string;
}
interface ToldRecord {
  readonly seq: number;
  readonly told: readonly Told[];
}

/** Where a reader is: after this record, and of the next one after so many events. */
export interface Place {
  readonly seq: number;
  readonly skip: number;
}

export interface Feed {
  /** Every record after this one, for ever, several at a time where there are several; none when nothing has happened for a while. */
  after(seq: number, until: AbortSignal): AsyncGenerator<readonly ToldRecord[]>;
  lastRecord(): Promise<number>;
  /** Events told since it was opened. */
  readonly count: number;
  /** Nothing more will happen: who has read all there is has come to the end. */
  close(): void;
}

interface FeedOptions {
  readonly heartbeatMs: number;
  /** Characters of frames that are held ready. */
  readonly mostHeld?: number;
}

const MOST_HELD = 4 * 1024 * 1024;
export const HEARTBEAT_MS = 15_000;

export function createFeed({ store, watch }: Pick<Host, 'store' | 'watch'>, options: FeedOptions): Feed {
  const { heartbeatMs, mostHeld = MOST_HELD } = options;
  const held: ToldRecord[] = [];
  let heldChars = 0;
  let seen = 0;
  let count = 0;
  let isClosed = false;
  const sleepers = new Set<() => void>();
  const forget = watch.onRecord((record) => {
    const told = tell(record);
    held.push(told);
    heldChars += charsOf(told);
    while (heldChars > mostHeld && held.length > 1) heldChars -= charsOf(held.shift() as ToldRecord);
    seen = record.seq;
    count += told.told.length;
    for (const wake of sleepers) wake();
  });

  /** Until there is more than this, or it is time for a sign of life. */
  const more = (seq: number, until: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        sleepers.delete(done);
        until.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, heartbeatMs);
      sleepers.add(done);
      until.addEventListener('abort', done, { once: true });
      if (seen > seq || until.aborted || isClosed) done();
    });

  return {
    get count() {
      return count;
    },
    lastRecord: () => store.lastRecord(),
    async *after(from, until) {
      let at = from;
      // What was written before anybody watched.
      let known = await store.lastRecord();
      while (!until.aborted) {
        known = Math.max(known, seen);
        if (at >= known) {
          if (isClosed) return;
          await more(at, until);
          if (seen <= at && !until.aborted && !isClosed) yield [];
          continue;
        }
        const oldest = held[0]?.seq ?? Infinity;
        if (oldest <= at + 1) {
          const next = upTo(held, firstAfter(held, at));
          const last = next.at(-1);
          if (last !== undefined) {
            yield next;
            at = last.seq;
            continue;
          }
        }
        const before = at;
        for await (const record of store.eventsAfter({ after: at })) {
          if (until.aborted) return;
          yield [tell(record)];
          at = record.seq;
          if ((held[0]?.seq ?? Infinity) <= at + 1) break;
        }
        // Records that were passed over as damaged are nobody's to wait for.
        if (at === before) at = known;
      }
    },
    close() {
      isClosed = true;
      forget();
      for (const wake of [...sleepers]) wake();
    },
  };
}

const tell = (record: StoredRecord): ToldRecord => ({
  seq: record.seq,
  told: eventsOf(record).map((event) => ({ event, frame: `id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n` })),
});

const charsOf = ({ told }: ToldRecord): number => told.reduce((sum, { frame }) => sum + frame.length, 64);

/** So much at once is written in one piece. */
const PIECE = 65_536;

function upTo(records: readonly ToldRecord[], from: number): ToldRecord[] {
  const taken: ToldRecord[] = [];
  for (let i = from, chars = 0; i < records.length && chars < PIECE; i++) {
    const record = records[i] as ToldRecord;
    taken.push(record);
    chars += charsOf(record);
  }
  return taken;
}

function firstAfter(records: readonly ToldRecord[], seq: number): number {
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((records[middle]?.seq ?? 0) > seq) high = middle;
    else low = middle + 1;
  }
  return low;
}
