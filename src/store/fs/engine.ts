/**
 * The durable part of the store: decide, append, answer. A write that fails is undone: memory is folded again from disk, and nothing is
 * taken until a write succeeds.
 */
import { BatonError } from '../../core/errors.ts';
import type { Graph } from '../../core/graph.ts';
import type { Facts } from '../../core/laws/decision.ts';
import type { Answer, Ask } from '../../core/store.ts';
import { dayOf } from '../../core/time.ts';
import { answerChanged, answerSame, decideAsk } from '../decide-ask.ts';
import { keepText } from './content.ts';
import type { Disk } from './disk.ts';
import { storeFailure } from './failures.ts';
import type { Folded } from './folded.ts';
import { type GraphMoment, takeGraphMoment, writeGraphFile } from './graph-file.ts';
import { loadGraph } from './graph-load.ts';
import { type Journal, notOurs, openJournal, type Written } from './journal.ts';
import { bytesBetween, cutBehind, fileOf, journalDays } from './journal-files.ts';
import type { Layout } from './layout.ts';
import { type Damage, type Loaded, load, type Torn } from './load.ts';
import { changesGraph, type StoredChange, type StoredFacts, type StoredGraphChange } from './record.ts';
import { hashBefore } from './record-hash.ts';
import { NO_SEAL } from './seal.ts';
import { type Moment, takeMoment, withGraphFile, writeSnapshot } from './snapshot.ts';
import { costOf } from './start-cost.ts';

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
  /** Null once another snapshot has been written. */
  readonly distrusted: Loaded['distrusted'];
  /** What was found when the graph was read: why its file was of no use, and damage that was passed over. */
  readonly graphProblem: string | null;
  readonly graphDamage: readonly Damage[];
  /** Writes the graph's file where it was of no use. */
  mendGraph(): Promise<void>;
  /** Reads the journal from its beginning, and writes the snapshot and the graph's file anew. False where records are on their way: the next start does it. */
  rebuild(): Promise<boolean>;
  /** Why the last snapshot could not be written. */
  readonly snapshotProblem: string | null;
  /** Whether the folder is still the one that was opened; else nothing is to be written into it. */
  isOurs(): boolean;
  /** Waits for a snapshot that is being written. */
  snapshotWritten(): Promise<void>;
  close(): Promise<void>;
}

interface EngineOptions {
  readonly disk: Disk;
  readonly layout: Layout;
  readonly now: () => number;
  /** What seals are keyed with. */
  readonly secret: string;
  readonly snapshotEvery: number;
  readonly repair: boolean;
  /** A file was not believed, and what it says was read from the journal instead. */
  readonly onDistrust: (distrusted: Distrusted) => void;
  readonly onDurable: (written: readonly Written[]) => void;
}

/** A file that was not as Baton wrote it. */
export interface Distrusted {
  readonly file: 'snapshot.jsonl' | 'graph.jsonl';
  readonly reason: string;
}

/** A snapshot when the store is closed saves the next start from more than this, as `costOf` counts it. */
const TAIL_ON_CLOSE = 2_000;

export function openEngine(options: EngineOptions): Engine {
  const { disk, layout, now, secret, snapshotEvery } = options;
  let folded: Folded;
  let journal: Journal;
  let isBroken = false;
  let isClosed = false;
  /** What the records that no snapshot has would cost a start. */
  let tail = 0;
  /** Why the snapshot on disk was not believed; the next one is written whatever it saves. */
  let distrusted: Loaded['distrusted'] = null;
  let moment: Moment | null = null;
  let graphMoment: GraphMoment | null = null;
  /** What the records behind the graph's file would cost who reads it, or behind the last try to write it. */
  let graphCost = 0;
  let graphProblem: string | null = null;
  let isGraphToMend = false;
  const graphDamage: Damage[] = [];
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
    const loaded = load(disk, layout, { secret, tolerant: options.repair });
    folded = loaded.folded;
    folded.readGraph = () => readGraph(loaded.folded);
    // A process that was killed may have left records that are there to read, and that no sync has covered; or files that it had just
    // emptied, whose records a loss of power would bring back.
    for (const day of journalDays(disk, layout)) {
      if (folded.day === null || day >= folded.day) disk.sync(fileOf(layout, day));
    }
    tail = loaded.tail;
    distrusted = loaded.distrusted;
    if (distrusted !== null && !distrusted.isOld) {
      options.onDistrust({ file: 'snapshot.jsonl', reason: distrusted.reason });
    }
    moment = null;
    graphMoment = null;
    graphCost = 0;
    torn = loaded.torn;
    journal = openJournal(disk, layout, folded, { onNumbered, onDurable }, loaded.isOpenEnded);
    return loaded;
  };

  /**
   * What is not durable yet changes no graph: whatever does has had it read first. So what is durable is all of it, also in the middle of
   * many questions.
   */
  const readGraph = (mine: Folded): Graph =>
    guard(() => {
      const { graph, places, base, from, problem, damage } = loadGraph(disk, layout, {
        marks: mine.graph,
        end: journal.end,
        tolerant: options.repair,
        secret,
      });
      mine.nodePlaces = places;
      Object.assign(mine.graph, { base, from, next: from });
      graphCost = from === null ? 0 : costOf(bytesBetween(disk, layout, from, journal.end));
      if (problem !== null) graphProblem = problem;
      if (problem !== null && problem !== NO_SEAL) options.onDistrust({ file: 'graph.jsonl', reason: problem });
      isGraphToMend ||= problem !== null || damage.length > 0;
      graphDamage.push(...damage);
      return graph;
    });

  /** What reading the graph costs beside its file; 0 where nothing is missing in it. */
  const graphTail = (): number => (folded.state.hasGraph && folded.graph.from !== null ? graphCost : 0);

  const isGraphDue = (): boolean => {
    const behind = graphTail();
    return isGraphToMend || (behind > 0 && behind >= Math.max(snapshotEvery, folded.state.graph.size));
  };

  const takeGraph = (): GraphMoment => {
    graphCost = 0;
    isGraphToMend = false;
    Object.assign(folded.graph, { next: null, isTaken: true });
    lastHash();
    return takeGraphMoment(folded);
  };

  /** Of the last record; null before the first. Where nothing has come since the start, all is on disk. */
  const lastHash = (): string | null => {
    if (folded.day !== null) folded.hash ??= hashBefore(disk, layout, folded.day, folded.size);
    return folded.hash;
  };

  const takeState = (): Moment => takeMoment(folded, lastHash());

  const onNumbered = (written: readonly Written[]): void => {
    for (const { bytes } of written) {
      tail += costOf(bytes);
      if (folded.graph.from !== null) graphCost += costOf(bytes);
    }
    if (moment === null && tail >= Math.max(snapshotEvery, folded.state.size)) moment = takeState();
    if (folded.graph.isTaken || !folded.state.hasGraph || !isGraphDue()) return;
    // The snapshot says how far the file goes; one that was of no use may have ended elsewhere.
    if (isGraphToMend) moment ??= takeState();
    graphMoment = takeGraph();
  };

  const onDurable = (written: readonly Written[]): void => {
    if (moment !== null || graphMoment !== null) startSnapshot(moment, graphMoment);
    moment = null;
    graphMoment = null;
    options.onDurable(written);
  };

  const startSnapshot = (taken: Moment | null, takenGraph: GraphMoment | null): void => {
    if (taken !== null) tail = 0;
    const mine = folded;
    const write = async (): Promise<void> => {
      const isReady = await succeeds(checkOurs());
      const isWritten =
        isReady && takenGraph !== null && (await succeeds(writeGraphFile(disk, layout, takenGraph, secret)));
      if (isWritten) Object.assign(mine.graph, { base: takenGraph.header.seq, from: mine.graph.next });
      if (takenGraph !== null) mine.graph.isTaken = false;
      // After the graph's own file, which it speaks of.
      const isBoth = isWritten && taken?.header.seq === takenGraph.header.seq;
      const whole = isBoth ? withGraphFile(taken) : taken;
      if (isReady && whole !== null && (await succeeds(writeSnapshot(disk, layout, whole, secret)))) distrusted = null;
    };
    snapshotting = snapshotting.then(write);
  };

  const succeeds = (work: Promise<void>): Promise<boolean> =>
    work.then(
      () => {
        snapshotProblem = null;
        return true;
      },
      (cause: unknown) => {
        // The journal has it all; the next one is tried when as much has come again. `baton doctor` tells.
        snapshotProblem = storeFailure(cause, layout.root).message;
        return false;
      },
    );

  /** Where not, the folder was moved, thrown away or replaced, and what is there now is somebody else's. */
  const isOurs = (): boolean => guard(() => journal.isOurs(torn?.day));

  const checkOurs = async (): Promise<void> => {
    if (!isOurs()) throw lost();
  };

  const lost = (): BatonError => notOurs(layout, journal.end.day ?? dayOf(now()));

  /** Cuts off what was not acknowledged, and reads everything again. */
  const repair = (): void => {
    if (!isOurs()) throw lost();
    const failed = journal;
    guard(() => {
      cutBehind(disk, layout, failed.end);
      start();
    });
    // Not before: by its file it is known whose the rest was.
    failed.close();
    isBroken = false;
  };

  /** Nothing is appended behind a torn record. */
  const cutTorn = (): void => {
    if (torn === null) return;
    const path = fileOf(layout, torn.day);
    if (!isOurs() || disk.stat(path)?.size !== torn.from + torn.bytes) throw lost();
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
    const stored = keepTaskTexts(facts);
    return facts.graph === undefined ? stored : { ...stored, graph: facts.graph.map(keepDocument) };
  };

  const keepDocument = (change: NonNullable<Facts['graph']>[number]): StoredGraphChange => {
    if (change.kind !== 'node' || change.document === null) return change as StoredGraphChange;
    const { isNew, text } = change.document;
    const kept = keepText(disk, layout, text);
    return kept === text ? (change as StoredGraphChange) : { ...change, document: { isNew, text: kept } };
  };

  const keepTaskTexts = (facts: Facts): StoredFacts => {
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

  /** So that the next start, and the first question about the graph after it, find little to read and no damage. */
  const lastSnapshot = async (): Promise<void> => {
    const isDamaged = loaded.damage.length > 0 || graphDamage.length > 0;
    if (isDamaged) void folded.state.graph;
    const isDue = tail > TAIL_ON_CLOSE || isDamaged || distrusted !== null;
    const isGraphLast = graphTail() > TAIL_ON_CLOSE || isDamaged || (isGraphToMend && folded.state.hasGraph);
    if (!isDue && !isGraphLast) return;
    startSnapshot(isDue ? takeState() : null, isGraphLast ? takeGraph() : null);
    await snapshotting;
  };

  const loaded = guard(start);
  return {
    async send(ask) {
      ready();
      const decision = decideAsk(folded.state, ask, now());
      if (decision.kind !== 'changed') {
        const said = decision.kind === 'same' ? answerSame(folded.state, decision.about) : decision;
        // What it was decided by may not be durable yet, and it has to be true after a crash too.
        await commit(journal.durable());
        return said;
      }
      const facts = guard(() => {
        cutTorn();
        return keepTexts(decision.facts);
      });
      // A law may name nodes without having looked at any.
      if (!folded.state.hasGraph && changesGraph(facts)) void folded.state.graph;
      folded.state.apply(decision.facts);
      const said = answerChanged(folded.state, facts);
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
    get distrusted() {
      return distrusted;
    },
    get graphProblem() {
      return graphProblem;
    },
    graphDamage,
    async mendGraph() {
      ready();
      await commit(journal.durable());
      // Where something is on its way, its write takes this with it.
      if (!isGraphToMend || !folded.state.hasGraph || !journal.isIdle || folded.graph.isTaken) return snapshotting;
      startSnapshot(takeState(), takeGraph());
      await snapshotting;
    },
    async rebuild() {
      ready();
      await commit(journal.durable());
      await snapshotting;
      if (!isOurs()) throw lost();
      guard(() => {
        for (const kept of [layout.snapshot, layout.graph]) disk.remove(kept);
      });
      if (!journal.isIdle) return false;
      const before = journal;
      guard(start);
      before.close();
      const isGraphToo = folded.state.graph.size > 0;
      startSnapshot(takeState(), isGraphToo ? takeGraph() : null);
      await snapshotting;
      return true;
    },
    get snapshotProblem() {
      return snapshotProblem;
    },
    isOurs,
    snapshotWritten: () => snapshotting,
    async close() {
      if (isClosed) return;
      // Whoever waits for it is told by their own promise.
      await journal.durable().catch(() => {
        isBroken = true;
      });
      isClosed = true;
      await snapshotting;
      if (!isBroken) await succeeds(lastSnapshot());
      const isToCut = isBroken && isOurs();
      journal.close();
      // What was said to have failed is not to be there at the next start.
      if (isToCut) guard(() => cutBehind(disk, layout, journal.end));
    },
  };
}
