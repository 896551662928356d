/**
 * The store of one data folder, for the process that owns it. The journal is the truth, memory is its fold, the tree follows.
 * A write that fails is undone: memory is folded again from disk, and nothing is taken until a write succeeds.
 */

import { BatonError } from '../../core/errors.ts';
import type { Facts } from '../../core/laws/decision.ts';
import type { Answer, Ask, EventQuery, Store, StoredRecord } from '../../core/store.ts';
import { isRunning, taskOfRun } from '../../core/task.ts';
import { answer, decideAsk, findTask, inOrder } from '../decide-ask.ts';
import { touches } from '../memory.ts';
import { createSignal } from '../signal.ts';
import { keepText, readText } from './content.ts';
import { type Disk, realDisk } from './disk.ts';
import { storeFailure } from './failures.ts';
import type { Folded } from './folded.ts';
import { type Journal, openJournal, type Written } from './journal.ts';
import { fileOf, journalLines, placeAfter, recordAt } from './journal-files.ts';
import { layoutOf } from './layout.ts';
import { type Loaded, load, type Torn } from './load.ts';
import { decodeLine, type Line, type StoredChange, type StoredFacts } from './record.ts';
import { type Moment, takeMoment, writeSnapshot } from './snapshot.ts';
import { verifyJournal } from './verify.ts';

export interface FsOptions {
  readonly disk?: Disk;
  readonly now?: () => number;
  /** A snapshot is written when this many records, and as many as there are tasks, are not in the last one. */
  readonly snapshotEvery?: number;
}

const SNAPSHOT_EVERY = 20_000;
/** A snapshot when the store is closed saves the next start from reading more than this. */
const TAIL_ON_CLOSE = 2_000;
const RUNTIME = { kind: 'runtime', name: 'baton' } as const;

export async function openFsStore(dir: string, options: FsOptions = {}): Promise<Store> {
  const { disk = realDisk, now = Date.now, snapshotEvery = SNAPSHOT_EVERY } = options;
  const layout = layoutOf(dir);
  const written = createSignal();
  let folded: Folded;
  let journal: Journal;
  let isBroken = false;
  let isClosed = false;
  /** Records that no snapshot has. */
  let tail = 0;
  let moment: Moment | null = null;
  /** What a crash left behind the last good record, until it is cut off. */
  let torn: Torn | null = null;
  let snapshotting: Promise<void> = Promise.resolve();

  const guard = <T>(work: () => T): T => {
    try {
      return work();
    } catch (cause) {
      throw storeFailure(cause, dir);
    }
  };

  const start = (): Loaded => {
    const loaded = load(disk, layout);
    folded = loaded.folded;
    tail = loaded.tail;
    moment = null;
    torn = loaded.torn;
    journal = openJournal(disk, layout, folded, { onNumbered, onDurable });
    return loaded;
  };

  const onNumbered = (): void => {
    if (moment !== null || tail < Math.max(snapshotEvery, folded.state.size)) return;
    moment = takeMoment(folded);
  };

  const onDurable = (records: readonly Written[]): void => {
    tail += records.length;
    written.raise();
    if (moment === null) return;
    const taken = moment;
    tail = 0;
    moment = null;
    snapshotting = snapshotting
      .then(() => writeSnapshot(disk, layout, taken))
      .catch(() => {
        // The journal has it all; the next snapshot is tried when as much has come again.
      });
  };

  /** Cuts off what was not acknowledged, and reads everything again. */
  const repair = (): void => {
    const { day, size } = journal.end;
    journal.close();
    guard(() => {
      if (day !== null && (disk.stat(fileOf(layout, day))?.size ?? 0) > size) disk.truncate(fileOf(layout, day), size);
      start();
    });
    isBroken = false;
  };

  /** Nothing is appended behind a torn record. */
  const cutTorn = (): void => {
    if (torn === null) return;
    const path = fileOf(layout, torn.day);
    disk.truncate(path, torn.from);
    disk.sync(path);
    torn = null;
  };

  const ready = (): void => {
    if (isClosed) throw new BatonError('E_STORE_FAILED', `the store of ${dir} is closed`);
    if (isBroken) repair();
  };

  /** Long texts go to files of their own, before anything names them. */
  const keepTexts = (facts: Facts): StoredFacts => {
    if (facts.changes.every(({ texts }) => texts === undefined)) return facts as StoredFacts;
    const changes = facts.changes.map((change): StoredChange => {
      if (change.texts === undefined) return change as StoredChange;
      const texts = Object.entries(change.texts).map(([name, text]) => [name, keepText(disk, layout, text)] as const);
      return { ...change, texts: Object.fromEntries(texts) };
    });
    return { ...facts, changes };
  };

  const commit = async (work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (cause) {
      isBroken = true;
      throw storeFailure(cause, dir);
    }
  };

  const send = async (ask: Ask): Promise<Answer> => {
    ready();
    const decision = decideAsk(folded.state, ask, now());
    // What it was decided by may not be durable yet, and a refusal too has to be true after a crash.
    if (decision.kind === 'refused') {
      await commit(journal.durable());
      return decision;
    }
    if (decision.kind === 'same') {
      const said = answer(folded.state, 'same', decision.about);
      await commit(journal.durable());
      return said;
    }
    const facts = guard(() => {
      cutTorn();
      return keepTexts(decision.facts);
    });
    folded.state.apply(decision.facts);
    const said = answer(folded.state, 'changed', facts.about);
    await commit(journal.append(facts));
    return said;
  };

  /** Reads of memory are answered when what they saw is durable. */
  const settledRead = async <T>(read: () => T): Promise<T> => {
    ready();
    const value = read();
    await commit(journal.durable());
    return value;
  };

  const inFull = (line: Line): StoredRecord => {
    const { back: _back, batch: _batch, hash: _hash, changes, ...rest } = line;
    return {
      ...rest,
      changes: changes.map(({ texts, ...change }) => ({
        ...change,
        ...(texts === undefined ? {} : { texts: textsInFull(texts) }),
      })),
    };
  };

  const textsInFull = (texts: NonNullable<StoredChange['texts']>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(texts).map(([name, text]) => {
        const whole = readText(disk, layout, text);
        if (whole === null) throw lostText(name, typeof text === 'string' ? '' : text.sha256);
        return [name, whole] as const;
      }),
    );

  const lostText = (name: string, sha256: string): BatonError =>
    new BatonError('E_STORE_DAMAGED', `the text ${name} is gone or changed: content ${sha256} in ${dir}`);

  /** A task's records, newest first. */
  function* recordsOf(id: string): Generator<Line> {
    let place = folded.places.get(id)?.last;
    while (place !== undefined && place > 0) {
      const line = recordAt(disk, layout, place);
      if (line === null) {
        throw new BatonError('E_STORE_DAMAGED', `a record of ${id} cannot be read`, 'baton audit verify says where');
      }
      yield line;
      place = line.back[id];
    }
  }

  const textOf = (id: string, name: string): string | null => {
    const body = folded.places.get(id)?.body;
    if (name === 'body' && (body === undefined || body === 0)) return null;
    const lines = name === 'body' ? [recordAt(disk, layout, body as number)] : recordsOf(id);
    for (const line of lines) {
      const text = line?.changes.find(({ task }) => task === id)?.texts?.[name];
      if (text === undefined) continue;
      const whole = readText(disk, layout, text);
      if (whole === null) throw lostText(name, typeof text === 'string' ? '' : text.sha256);
      return whole;
    }
    return null;
  };

  async function* eventsAfter({ after, task, session, follow }: EventQuery): AsyncGenerator<StoredRecord> {
    ready();
    await commit(journal.durable());
    let seq = after;
    let from = after >= journal.end.seq ? journal.end : placeAfter(disk, layout, after, journal.end);
    for (;;) {
      const to = journal.end;
      for (const { day, line } of journalLines(disk, layout, from, to)) {
        const record = decodeLine(line.text);
        if (record === null) {
          throw new BatonError(
            'E_STORE_DAMAGED',
            `a record of ${fileOf(layout, day)} at byte ${line.start} is unreadable`,
          );
        }
        if (record.seq <= seq) continue;
        seq = record.seq;
        const whole = inFull(record);
        if (task !== undefined && !touches(whole, task)) continue;
        if (session === undefined || whole.session === session) yield whole;
      }
      from = to;
      if (follow === undefined || !(await written.wait(follow, () => journal.end.seq > to.seq))) return;
    }
  }

  const loaded = guard(start);
  const store: Store = {
    send,
    async alive(run) {
      ready();
      const task = folded.state.task(taskOfRun(run) ?? '');
      if (task === undefined || !isRunning(task) || task.run?.id !== run) return false;
      folded.state.alive(task.run, now());
      return true;
    },
    find: (id, session) => settledRead(() => findTask(folded.state, id, session)),
    async *tasks({ status, session } = {}) {
      const all = await settledRead(() => inOrder(folded.state.all()));
      for (const task of all) {
        if (status !== undefined && !status.includes(task.status)) continue;
        if (session === undefined || task.session === session) yield task;
      }
    },
    async text(id, name) {
      ready();
      await commit(journal.durable());
      return guard(() => textOf(id, name));
    },
    async history(id) {
      ready();
      await commit(journal.durable());
      return guard(() => [...recordsOf(id)].reverse().map(inFull));
    },
    eventsAfter,
    async verify(session) {
      ready();
      await commit(journal.durable());
      return guard(() => verifyJournal(disk, layout, journal.end, session));
    },
    async settled() {
      ready();
      await commit(journal.durable());
      await snapshotting;
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      try {
        await journal.durable();
      } catch {
        // Whoever asked for it has been told.
        isBroken = true;
      }
      await snapshotting;
      if (!isBroken && tail > TAIL_ON_CLOSE) await writeSnapshot(disk, layout, takeMoment(folded));
      journal.close();
    },
  };
  if (loaded.torn !== null) await reportTorn(store, loaded.torn);
  return store;
}

/** A crash tore the last write. That it was cut off is written down, where anything can be. */
async function reportTorn(store: Store, { day, from, bytes }: Torn): Promise<void> {
  const detail = { file: `events/${day}.jsonl`, from, bytes };
  try {
    await store.send({ message: { type: 'note', event: 'store.recovered', detail }, by: RUNTIME });
  } catch (cause) {
    // A folder that cannot be written can still be read.
    if (!(cause instanceof BatonError) || cause.code !== 'E_STORE_UNWRITABLE') throw cause;
  }
}
