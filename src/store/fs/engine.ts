/**
 * The durable part of the store: decide, append, answer. A write that fails is undone: memory is folded again from disk, and nothing is
 * taken until a write succeeds.
 */
import { BatonError } from '../../core/errors.ts';
import type { Facts } from '../../core/laws/decision.ts';
import type { Answer, Ask } from '../../core/store.ts';
import { answer, decideAsk } from '../decide-ask.ts';
import { keepText } from './content.ts';
import type { Disk } from './disk.ts';
import { storeFailure } from './failures.ts';
import type { Folded } from './folded.ts';
import { type Journal, openJournal, type Written } from './journal.ts';
import { cutBehind, fileOf } from './journal-files.ts';
import type { Layout } from './layout.ts';
import { type Damage, type Loaded, load, type Torn } from './load.ts';
import type { StoredChange, StoredFacts } from './record.ts';
import { type Moment, takeMoment, writeSnapshot } from './snapshot.ts';

export interface Engine {
  send(ask: Ask): Promise<Answer>;
  /** Throws where the store cannot be used; else nothing that was read before this is going to be undone. */
  durable(): Promise<void>;
  /** To be called before memory is read. */
  ready(): void;
  readonly folded: Folded;
  readonly journal: Journal;
  /** What was found at the start. */
  readonly torn: Torn | null;
  readonly damage: readonly Damage[];
  /** Why the last snapshot could not be written. */
  readonly snapshotProblem: string | null;
  /** Waits for a snapshot that is being written. */
  snapshotWritten(): Promise<void>;
  close(): Promise<void>;
}

export interface EngineOptions {
  readonly disk: Disk;
  readonly layout: Layout;
  readonly now: () => number;
  readonly snapshotEvery: number;
  readonly repair: boolean;
  readonly onDurable: (written: readonly Written[]) => void;
}

/** A snapshot when the store is closed saves the next start from reading more than this. */
const TAIL_ON_CLOSE = 2_000;

export function openEngine(options: EngineOptions): Engine {
  const { disk, layout, now, snapshotEvery } = options;
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
  let snapshotProblem: string | null = null;

  const guard = <T>(work: () => T): T => {
    try {
      return work();
    } catch (cause) {
      throw storeFailure(cause, layout.root);
    }
  };

  const start = (): Loaded => {
    const loaded = load(disk, layout, { tolerant: options.repair });
    folded = loaded.folded;
    // A process that was killed may have left records that are there to read, and that no sync has covered.
    const last = folded.day === null ? null : fileOf(layout, folded.day);
    if (last !== null && disk.stat(last) !== null) disk.sync(last);
    tail = loaded.tail;
    moment = null;
    torn = loaded.torn;
    journal = openJournal(disk, layout, folded, { onNumbered, onDurable });
    return loaded;
  };

  const onNumbered = (): void => {
    if (moment === null && tail >= Math.max(snapshotEvery, folded.state.size)) moment = takeMoment(folded);
  };

  const onDurable = (written: readonly Written[]): void => {
    tail += written.length;
    if (moment !== null) startSnapshot(moment);
    moment = null;
    options.onDurable(written);
  };

  const startSnapshot = (taken: Moment): void => {
    tail = 0;
    snapshotting = snapshotting
      .then(() => writeSnapshot(disk, layout, taken))
      .then(
        () => {
          snapshotProblem = null;
        },
        (cause: unknown) => {
          // The journal has it all; the next one is tried when as much has come again. `baton doctor` tells.
          snapshotProblem = storeFailure(cause, layout.root).message;
        },
      );
  };

  /** Cuts off what was not acknowledged, and reads everything again. */
  const repair = (): void => {
    journal.close();
    guard(() => {
      cutBehind(disk, layout, journal.end);
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
    if (isClosed) throw new BatonError('E_STORE_FAILED', `the store of ${layout.root} is closed`);
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
    const mine = journal;
    try {
      await work;
    } catch (cause) {
      // Another may have repaired it in the meantime.
      if (mine === journal) isBroken = true;
      throw storeFailure(cause, layout.root);
    }
  };

  const loaded = guard(start);
  return {
    async send(ask) {
      ready();
      const decision = decideAsk(folded.state, ask, now());
      if (decision.kind !== 'changed') {
        const said = decision.kind === 'same' ? answer(folded.state, 'same', decision.about) : decision;
        // What it was decided by may not be durable yet, and it has to be true after a crash too.
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
    },
    async durable() {
      ready();
      await commit(journal.durable());
    },
    ready,
    get folded() {
      return folded;
    },
    get journal() {
      return journal;
    },
    torn: loaded.torn,
    damage: loaded.damage,
    get snapshotProblem() {
      return snapshotProblem;
    },
    snapshotWritten: () => snapshotting,
    async close() {
      if (isClosed) return;
      // Whoever waits for it is told by their own promise.
      await journal.durable().catch(() => {
        isBroken = true;
      });
      isClosed = true;
      await snapshotting;
      if (!isBroken && (tail > TAIL_ON_CLOSE || loaded.damage.length > 0)) {
        startSnapshot(takeMoment(folded));
        await snapshotting;
      }
      journal.close();
      // What was said to have failed is not to be there at the next start.
      if (isBroken) guard(() => cutBehind(disk, layout, journal.end));
    },
  };
}
