/**
 * Appending to the journal. What arrives while a write is under way is written together with the next one, and one sync covers it all;
 * nobody is answered before that.
 */
import { BatonError } from '../../core/errors.ts';
import { dayOf } from '../../core/time.ts';
import type { Appender, Disk } from './disk.ts';
import { documented, type Folded, headOf, noteGraph, notePlaces, touched } from './folded.ts';
import { type End, fileOf, isAsLeft, tailAt, tailOf } from './journal-files.ts';
import type { Layout } from './layout.ts';
import { placeOf } from './place.ts';
import { encodeLine, type StoredFacts } from './record.ts';

export interface Journal {
  /** Resolves when it is durable; rejects when it will never be. Order is that of the calls. */
  append(facts: StoredFacts): Promise<void>;
  /** Resolves when all that was appended so far is durable. */
  durable(): Promise<void>;
  /** The end of what is durable. */
  readonly end: End & { readonly seq: number };
  /** Whether the files are still those that were read and written here; else they are not ours to touch. `torn` is a file that a crash left longer. */
  isOurs(torn?: string): boolean;
  /** Whether nothing is on its way to the disk. */
  readonly isIdle: boolean;
  /** Of a record that has its place and is not durable yet: where the records before are. */
  backOf(place: number): Readonly<Record<string, number>> | undefined;
  close(): void;
}

interface Waiting {
  readonly facts: StoredFacts;
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

export interface Written {
  readonly facts: StoredFacts;
  readonly seq: number;
  /** How long its line is. */
  readonly bytes: number;
}

interface JournalHooks {
  /** Records have their numbers, and the state is just behind the last of them; they are not durable yet. */
  onNumbered(written: readonly Written[]): void;
  onDurable(written: readonly Written[]): void;
}

/** `folded` is the journal's to advance; after a failure it is worth nothing and the journal takes no more. */
export function openJournal(
  disk: Disk,
  layout: Layout,
  folded: Folded,
  hooks: JournalHooks,
  isOpenEnded = false,
): Journal {
  /** Whoever opens a folder that is not there makes it with the first record. */
  let isMade = disk.stat(layout.root) !== null;
  let waiting: Waiting[] = [];
  let file: { readonly day: string; readonly appender: Appender } | null = null;
  let end = {
    day: folded.day,
    size: folded.size,
    seq: folded.seq,
    tail: tailAt(disk, layout, folded.day, folded.size),
  };
  /** Somebody else has been at our file: what stands behind the end may be theirs. */
  let isShared = false;
  /** What is missing before the next record: the last line was damaged, and has no end. */
  let gap = isOpenEnded ? '\n' : '';
  /** What is being written. */
  let flying: { readonly place: number; readonly back: Readonly<Record<string, number>> }[] = [];
  let last: Promise<void> = Promise.resolve();
  let isWriting = false;
  let failure: { readonly cause: unknown } | null = null;

  const open = (day: string): Appender => {
    if (file?.day === day) return file.appender;
    if (!isOurs()) throw notOurs(layout, day);
    file?.appender.close();
    file = null;
    disk.mkdir(layout.events);
    const appender = disk.appender(fileOf(layout, day));
    try {
      // A file whose name is lost is lost with all that was synced into it; and one that is there may be so without a sync, from a process that was killed.
      disk.sync(layout.events);
      disk.sync(layout.root);
    } catch (cause) {
      appender.close();
      throw cause;
    }
    file = { day, appender };
    return appender;
  };

  const isOurs = (torn: string | null = null): boolean => {
    const own = file !== null && !isShared && file.appender.size() !== null ? file.day : torn;
    return !isMade || isAsLeft(disk, layout, end, own);
  };

  const checkSize = (day: string, appender: Appender, size: number): void => {
    if (appender.size() === size) return;
    isShared = true;
    throw notOurs(layout, day);
  };

  const writeBatch = async (batch: readonly Waiting[]): Promise<void> => {
    // A clock that was set back does not go back to an older file.
    const today = dayOf((batch[0] as Waiting).facts.at);
    const day = folded.day !== null && folded.day > today ? folded.day : today;
    const appender = open(day);
    let size = day === folded.day ? folded.size : 0;
    checkSize(day, appender, size);
    const texts: Buffer[] = [];
    if (gap !== '' && size > 0) texts.push(Buffer.from(gap));
    size += texts.length;
    gap = '';
    const written: Written[] = [];
    for (const [i, { facts }] of batch.entries()) {
      const back: Record<string, number> = {};
      for (const [id] of touched(facts)) {
        const before = folded.places.get(id)?.last;
        if (before !== undefined) back[id] = before;
      }
      for (const id of documented(facts)) {
        const before = folded.nodePlaces.get(id);
        if (before !== undefined) back[`node:${id}`] = before;
      }
      const seq = folded.seq + 1;
      const line = encodeLine(facts, seq, back, i === 0 ? batch.length : null, headOf(folded, facts.session));
      const bytes = Buffer.from(line.text);
      const place = placeOf(day, size);
      noteGraph(folded, facts, { seq: seq - 1, day, size });
      notePlaces(folded, facts, place);
      flying.push({ place, back });
      folded.heads.set(facts.session, line.hash);
      folded.seq = seq;
      folded.hash = line.hash;
      size += bytes.length;
      texts.push(bytes);
      written.push({ facts, seq, bytes: bytes.length });
    }
    folded.day = day;
    folded.size = size;
    hooks.onNumbered(written);
    const bytes = texts.length === 1 ? (texts[0] as Buffer) : Buffer.concat(texts);
    await appender.append(bytes);
    await appender.sync();
    checkSize(day, appender, size);
    end = { day, size, seq: folded.seq, tail: tailOf(bytes) };
    flying = [];
    isMade = true;
    hooks.onDurable(written);
  };

  const pump = async (): Promise<void> => {
    while (waiting.length > 0 && failure === null) {
      const batch = waiting;
      waiting = [];
      try {
        await writeBatch(batch);
      } catch (cause) {
        failure = { cause };
        for (const { reject } of [...batch, ...waiting]) reject(cause);
        waiting = [];
        break;
      }
      for (const { resolve } of batch) resolve();
    }
    isWriting = false;
  };

  return {
    append(facts) {
      if (failure !== null) return Promise.reject(failure.cause);
      last = new Promise((resolve, reject) => waiting.push({ facts, resolve, reject }));
      // The rejection reaches whoever appended; those who only wait for it ask later.
      last.catch(() => {});
      if (!isWriting) {
        isWriting = true;
        // What the same turn brings goes with it.
        setImmediate(pump);
      }
      return last;
    },
    durable: () => last,
    get end() {
      return end;
    },
    isOurs,
    get isIdle() {
      return !isWriting;
    },
    backOf: (place) => flying.find((record) => record.place === place)?.back,
    close() {
      file?.appender.close();
      file = null;
    },
  };
}

export const notOurs = (layout: Layout, day: string): BatonError =>
  new BatonError(
    'E_STORE_FORM',
    `the journal ${fileOf(layout, day)} was removed, replaced or changed by somebody else while Baton was using it`,
    'put it back, or end the running baton and start again',
  );
