/** The store of one data folder, for the process that owns it. The journal is the truth, memory is its fold, the tree follows. */
import { BatonError } from '../../core/errors.ts';
import { fitsFilter, hasText, lineageOf, wholeNode } from '../../core/graph-queries.ts';
import type { Node } from '../../core/node.ts';
import type { AdmitFile, Store, WholeNode } from '../../core/store.ts';
import { isRunning, taskOfRun } from '../../core/task.ts';
import { findEdges, findQuestions, findTask, inOrder } from '../decide-ask.ts';
import { createSignal } from '../signal.ts';
import { journalChecks, keptChecks } from './checks.ts';
import { type Disk, realDisk } from './disk.ts';
import { openEngine } from './engine.ts';
import { storeFailure } from './failures.ts';
import { createFindings } from './findings.ts';
import { openRecordWindow, type ReadRecord } from './journal-files.ts';
import { layoutOf } from './layout.ts';
import { secretOf } from './marker.ts';
import { createReader } from './reads.ts';
import { openTreeKeeper, type TreeKeeper } from './tree-keeper.ts';
import { prove, verificationOf } from './verify.ts';

export interface FsOptions {
  readonly disk?: Disk;
  readonly now?: () => number;
  /** A snapshot is written when the records behind the last one cost a start as much as so many ordinary ones, and as the tasks there are. */
  readonly snapshotEvery?: number;
  /** Hears of a file that was not as Baton wrote it, in a sentence for the user. */
  readonly onWarning?: (sentence: string) => void;
  /** Goes on without records that are damaged. */
  readonly repair?: boolean;
  /** Notices what is changed in the tree as it happens. */
  readonly watch?: boolean;
  /** What every change in the tree has to pass. */
  readonly admit?: AdmitFile;
  /** Names this start of the machine, for tests of what a loss of power leaves. */
  readonly boot?: string;
  /** Of so many tasks every file is looked at when the store is opened; of more, by a process that stays. */
  readonly few?: number;
}

const SNAPSHOT_EVERY = 20_000;
/** A node that is changed all the time is told with a document that may be newer than the rest of it. */
const MOST_TRIES = 5;
/** So many nodes are looked at before others get their turn. */
const AT_ONCE = 200;

export async function openFsStore(dir: string, options: FsOptions = {}): Promise<Store> {
  const { disk = realDisk, now = Date.now, snapshotEvery = SNAPSHOT_EVERY, repair = false, watch = false } = options;
  const layout = layoutOf(dir);
  const written = createSignal();
  const closing = new AbortController();
  const secret = secretOf(disk, layout);
  let tree: TreeKeeper | null = null;
  const findings = createFindings(dir, options.onWarning);
  const engine = openEngine({
    disk,
    layout,
    now,
    secret,
    snapshotEvery,
    repair,
    onDistrust: findings.distrust,
    onDurable(records) {
      written.raise();
      tree?.follow(records);
    },
  });
  await findings.report(engine);
  const reader = createReader(
    disk,
    layout,
    () => engine.folded,
    () => engine.journal,
    written,
  );
  tree = openTreeKeeper({
    disk,
    layout,
    reader,
    state: () => engine.folded.state,
    seq: engine.folded.seq,
    send: engine.send,
    durable: engine.durable,
    watch,
    secret,
    distrust: engine.damage.length > 0,
    isGone: () => !engine.isOurs(),
    ...(options.admit === undefined ? {} : { admit: options.admit }),
    ...(options.boot === undefined ? {} : { boot: options.boot }),
    ...(options.few === undefined ? {} : { few: options.few }),
  });

  await tree.opened;

  /** Reads of memory are answered when what they saw is durable. */
  const read = async <T>(look: () => T): Promise<T> => {
    open();
    engine.ready();
    const value = look();
    await engine.durable();
    return value;
  };

  /** Reads of the journal see what is durable. */
  const readDisk = async <T>(look: () => T): Promise<T> => {
    open();
    await engine.durable();
    try {
      return look();
    } catch (cause) {
      throw storeFailure(cause, dir);
    }
  };

  /** A node and its document as of the same record. It may change while its record is on its way to the disk; then once more. */
  const nodeOf = async (id: string, window?: ReadRecord): Promise<WholeNode | undefined> => {
    for (let tries = 0; ; tries++) {
      const node = await read(() => engine.folded.state.graph.node(id));
      const { graph } = engine.folded.state;
      if (node === undefined) return undefined;
      if (graph.node(id) === node || tries >= MOST_TRIES) return wholeOf(node, window);
    }
  };

  const wholeOf = (node: Node, window?: ReadRecord): WholeNode => {
    try {
      return wholeNode(engine.folded.state.graph, node, reader.document(node.id, window));
    } catch (cause) {
      throw storeFailure(cause, dir);
    }
  };

  const open = (): void => {
    if (closing.signal.aborted) throw new BatonError('E_STORE_FAILED', `the store of ${dir} is closed`);
  };

  return {
    async send(ask) {
      open();
      return engine.send(ask);
    },
    async alive(run) {
      open();
      engine.ready();
      const { state } = engine.folded;
      const task = state.task(taskOfRun(run) ?? '');
      if (task === undefined || !isRunning(task) || task.run?.id !== run) return false;
      state.alive(task.run, now());
      return true;
    },
    find: (id, session) => read(() => findTask(engine.folded.state, id, session)),
    async *tasks({ status, session } = {}) {
      for (const task of await read(() => inOrder(engine.folded.state.all()))) {
        if (status !== undefined && !status.includes(task.status)) continue;
        if (session === undefined || task.session === session) yield task;
      }
    },
    text: (id, name) => readDisk(() => reader.text(id, name)),
    node: (id) => nodeOf(id),
    async *nodes(filter = {}) {
      const { text, after } = filter;
      const window = openRecordWindow(disk, layout);
      let isBehind = after === undefined;
      let looked = 0;
      for (const node of await read(() => [...engine.folded.state.graph.all()])) {
        const isAsked = isBehind && fitsFilter(node, filter);
        isBehind ||= node.id === after;
        if (!isAsked) continue;
        if (++looked % AT_ONCE === 0) await new Promise(setImmediate);
        open();
        engine.ready();
        const isSame = engine.folded.state.graph.node(node.id) === node;
        const found = isSame ? wholeOf(node, window) : await nodeOf(node.id, window);
        if (found === undefined || !fitsFilter(found, filter)) continue;
        if (text === undefined || hasText(found, found.document, text)) yield found;
      }
    },
    lineage: (id, query) => read(() => lineageOf(engine.folded.state.graph, id, query)),
    edges: (id) => read(() => findEdges(engine.folded.state, id)),
    question: (id) => read(() => engine.folded.state.question(id)),
    questions: (filter) => read(() => findQuestions(engine.folded.state, filter)),
    session: (id) => read(() => engine.folded.state.session(id)?.json()),
    sessions: () => read(() => [...engine.folded.state.sessions()].map((session) => session.json())),
    history: (id) => readDisk(() => reader.history(id)),
    async *eventsAfter(query) {
      open();
      await engine.durable();
      yield* reader.eventsAfter(query, closing.signal);
    },
    lastRecord: () => readDisk(() => engine.journal.end.seq),
    async verify(session) {
      await engine.snapshotWritten();
      return readDisk(() => verificationOf(prove(disk, layout, { end: engine.journal.end, secret, session })));
    },
    async examine() {
      await engine.snapshotWritten();
      const proof = await readDisk(() => prove(disk, layout, { end: engine.journal.end, secret }));
      return [
        ...journalChecks(engine, proof),
        ...(await keptChecks(engine, proof)),
        ...(await (tree as TreeKeeper).examine()),
      ];
    },
    async settled(task) {
      open();
      await engine.durable();
      await tree?.settled(task);
      if (task !== undefined) return;
      await engine.durable();
      await engine.snapshotWritten();
    },
    async close() {
      if (closing.signal.aborted) return;
      closing.abort();
      // Disk trouble with the tree, which can be written again, keeps nobody from closing the journal.
      try {
        await tree?.close();
      } finally {
        await engine.close();
      }
    },
  };
}
