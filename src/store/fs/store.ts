/** The store of one data folder, for the process that owns it. The journal is the truth, memory is its fold, the tree follows. */
import { BatonError } from '../../core/errors.ts';
import type { Actor } from '../../core/laws/messages.ts';
import type { Check, Store } from '../../core/store.ts';
import { isRunning, taskOfRun } from '../../core/task.ts';
import { findTask, inOrder } from '../decide-ask.ts';
import { createSignal } from '../signal.ts';
import { type Disk, realDisk } from './disk.ts';
import { type Engine, openEngine } from './engine.ts';
import { storeFailure } from './failures.ts';
import { fileOf } from './journal-files.ts';
import { layoutOf } from './layout.ts';
import { createReader } from './reads.ts';
import { openTreeKeeper, type TreeKeeper } from './tree-keeper.ts';
import { verifyJournal } from './verify.ts';

export interface FsOptions {
  readonly disk?: Disk;
  readonly now?: () => number;
  /** A snapshot is written when this many records, and as many as there are tasks, are not in the last one. */
  readonly snapshotEvery?: number;
  /** Goes on without records that are damaged. */
  readonly repair?: boolean;
  /** Notices what is changed in the tree as it happens. */
  readonly watch?: boolean;
  /** Names this start of the machine, for tests of what a loss of power leaves. */
  readonly boot?: string;
}

const SNAPSHOT_EVERY = 20_000;
const RUNTIME: Actor = { kind: 'runtime', name: 'baton' };

export async function openFsStore(dir: string, options: FsOptions = {}): Promise<Store> {
  const { disk = realDisk, now = Date.now, snapshotEvery = SNAPSHOT_EVERY, repair = false, watch = false } = options;
  const layout = layoutOf(dir);
  const written = createSignal();
  const closing = new AbortController();
  let tree: TreeKeeper | null = null;
  const engine = openEngine({
    disk,
    layout,
    now,
    snapshotEvery,
    repair,
    onDurable(records) {
      written.raise();
      tree?.follow(records);
    },
  });
  await reportFindings(engine);
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
    distrust: engine.damage.length > 0,
    isGone() {
      const { day } = engine.journal.end;
      return day !== null && disk.stat(fileOf(layout, day)) === null;
    },
    ...(options.boot === undefined ? {} : { boot: options.boot }),
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
    history: (id) => readDisk(() => reader.history(id)),
    async *eventsAfter(query) {
      open();
      await engine.durable();
      yield* reader.eventsAfter(query, closing.signal);
    },
    lastRecord: () => readDisk(() => engine.journal.end.seq),
    verify: (session) => readDisk(() => verifyJournal(disk, layout, engine.journal.end, session)),
    async examine() {
      const proof = await readDisk(() => verifyJournal(disk, layout, engine.journal.end));
      return [...journalChecks(engine, proof), ...(await (tree as TreeKeeper).examine())];
    },
    async settled() {
      open();
      await engine.durable();
      await tree?.settled();
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

/** What was found at the start is written down, where anything can be. */
async function reportFindings({ torn, damage, send }: Engine): Promise<void> {
  const notes = [
    ...(torn === null ? [] : [{ event: 'store.recovered', detail: { file: `events/${torn.day}.jsonl`, ...torn } }]),
    ...(damage.length === 0 ? [] : [{ event: 'store.repaired', detail: { passedOver: damage } }]),
  ];
  try {
    for (const note of notes) await send({ message: { type: 'note', ...note }, by: RUNTIME });
  } catch (cause) {
    // A folder that cannot be written can still be read.
    if (!(cause instanceof BatonError) || cause.code !== 'E_STORE_UNWRITABLE') throw cause;
  }
}

function journalChecks(engine: Engine, { ok, records, brokenAt }: Awaited<ReturnType<Store['verify']>>): Check[] {
  const { torn, damage, snapshotProblem } = engine;
  return [
    {
      name: 'journal',
      ok,
      detail:
        brokenAt === null
          ? `${records} records, every one chained to the one before`
          : `record ${brokenAt.seq ?? '?'} (${brokenAt.where}): ${brokenAt.reason}`,
    },
    ...(torn === null
      ? []
      : [
          {
            name: 'last write',
            ok: true,
            detail: `a crash tore it; ${torn.bytes} bytes that nobody was told of were cut off`,
          },
        ]),
    ...(damage.length === 0
      ? []
      : [{ name: 'damage', ok: true, detail: `${damage.length} damaged records were passed over` }]),
    { name: 'snapshot', ok: snapshotProblem === null, detail: snapshotProblem ?? 'in order' },
  ];
}
