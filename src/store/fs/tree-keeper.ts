/** When the tree is looked at: at the start as far as needed, then whenever a folder says that something changed. */
import type { State } from '../../core/state.ts';
import type { AdmitFile, Answer, Ask, Check } from '../../core/store.ts';
import { TASK_STATUSES } from '../../core/task.ts';
import { pause } from '../../process/waiting.ts';
import type { Disk } from './disk.ts';
import type { Written } from './journal.ts';
import type { Layout } from './layout.ts';
import type { Reader } from './reads.ts';
import { tidy } from './tree/aside.ts';
import { placeOf, statusFolder } from './tree/paths.ts';
import type { ScanOptions } from './tree/scan.ts';
import { type Watch, watchTree } from './tree/watch.ts';
import { createTreeWorker } from './tree/worker.ts';
import { bootId, folderTimes, readMark, type TreeMark, writeMark } from './tree-mark.ts';
import { createTreeSync, type TreeProblem } from './tree-sync.ts';

export interface TreeKeeper {
  /** What can be seen at a glance has been taken in: files that came, went or moved while nobody looked. */
  readonly opened: Promise<void>;
  follow(written: readonly Written[]): void;
  /** With a task: until that one is written, whatever else there is to do. */
  settled(task?: string): Promise<void>;
  /** Compares every file, and says what is left to do. */
  examine(): Promise<Check[]>;
  close(): Promise<void>;
}

interface KeeperOptions {
  readonly disk: Disk;
  readonly layout: Layout;
  readonly reader: Reader;
  readonly state: () => State;
  readonly seq: number;
  readonly send: (ask: Ask) => Promise<Answer>;
  readonly admit?: AdmitFile;
  readonly durable: () => Promise<void>;
  /** Somebody has thrown the data folder away; nothing is to be written into it any more. */
  readonly isGone: () => boolean;
  /** Notices changes as they happen, and writes in a thread of its own when there is much; both need the real disk. */
  readonly watch: boolean;
  /** Records are missing: the tree is compared file by file, and may know more than the journal. */
  readonly distrust: boolean;
  /** What the mark is sealed with. */
  readonly secret: string;
  /** Names this start of the machine. */
  readonly boot?: string;
  readonly few?: number;
}

/** Most commands are over before this; they need not watch anything. */
const WATCH_AFTER_MS = 200;
/** A file's time comes from a clock that goes in steps. */
const CLOCK_STEP_MS = 20;
const FEW = 2_000;
/** A change that is noticed is taken in within this time. */
const HEARD_MS = 2_000;
/** What could not be taken in is tried again. */
const AGAIN_MS = 1_000;
/** Own changes are looked at all at once, so that each is looked at once. */
const OURS_MS = 500;
/** How many records the mark may be behind. */
const MARK_EVERY = 5_000;

export function openTreeKeeper(options: KeeperOptions): TreeKeeper {
  const { disk, layout, reader, state } = options;
  const boot = options.boot ?? bootId();
  const problems = new Map<string, TreeProblem>();
  const closing = new AbortController();
  let mark = options.distrust ? null : readMark(disk, layout, options.secret);
  /** What was changed in the files before this has been taken in. */
  let lookedAt = mark?.at ?? 0;
  /** What has been changed since is noticed. */
  let isWatched = false;
  /** When the watch began: what was changed after that is noticed by it. */
  let watchedFrom = Number.POSITIVE_INFINITY;
  /** Paths that could not be taken in: the disk is full, say. */
  const unheard = new Set<string>();
  let watcher: Watch | null = null;
  /** Files of which a folder told while they were being written here; a person may have been at them as well. */
  const ours = new Set<string>();
  let oursTimer: NodeJS.Timeout | null = null;
  let againTimer: NodeJS.Timeout | null = null;

  const sync = createTreeSync({
    disk,
    layout,
    state,
    textOf: reader.text,
    textNames: reader.textNames,
    asOf: reader.asOf,
    send: options.send,
    admit: options.admit ?? null,
    durable: options.durable,
    isGone: options.isGone,
    worker: options.watch ? () => createTreeWorker(layout.root) : null,
    seq: options.seq,
    onShown: () => {
      if (mark !== null && sync.shown() - mark.seq >= MARK_EVERY) note(null);
    },
    onProblem: (problem) => problems.set(problem.path, problem),
  });

  const note = (folders: readonly number[] | null): void => {
    const at = isWatched && unheard.size === 0 ? Math.max(lookedAt, Date.now() - HEARD_MS) : lookedAt;
    mark = { seq: sync.shown(), boot, at, folders };
    if (options.isGone()) return;
    try {
      writeMark(disk, layout, mark, options.secret);
    } catch (cause) {
      // Without a mark more is looked at than needed, and nothing is lost.
      fail(cause);
    }
  };

  const compare = async (scan: ScanOptions): Promise<void> => {
    if (options.isGone()) return;
    const began = Date.now();
    const findings = await sync.compare(scan, closing.signal);
    if (closing.signal.aborted) return;
    if (scan.full === true) lookedAt = began;
    await sync.settled();
    if (mark === null || mark.boot !== boot || findings.length > 0) note(null);
  };

  /** What may have happened while nobody looked. */
  const catchUp = async (before: TreeMark | null): Promise<void> => {
    const isUnclean = before === null || before.boot !== boot;
    tidy(disk, layout.root, isUnclean ? sync.isCutShort : undefined);
    if (isUnclean) return compare({ full: true, unclean: true });
    sync.again(reader.touchedAfter(before.seq));
    const now = folderTimes(disk, layout);
    if (before.folders === null || before.folders.some((time, i) => time !== now[i])) await compare({});
    // Looking at every file's time is quick where they are few; else a process that stays does it.
    if (state().size <= (options.few ?? FEW)) await lookAtTimes();
  };

  /** Edits in place leave no trace in a folder; a file's own time shows them. */
  const lookAtTimes = async (): Promise<void> => {
    const began = Date.now();
    // A clock that was set back says nothing about what is older.
    const since = lookedAt > began ? Number.NEGATIVE_INFINITY : lookedAt - CLOCK_STEP_MS;
    let turn = began;
    for (const status of TASK_STATUSES) {
      const folder = statusFolder(layout.root, status);
      for (const name of disk.list(folder)) {
        if (closing.signal.aborted) return;
        const path = `${folder}/${name}`;
        const changedAt = disk.stat(path)?.ctimeMs ?? 0;
        const isNoticed = changedAt > watchedFrom + CLOCK_STEP_MS && changedAt <= Date.now();
        if (changedAt > since && !isNoticed) await sync.look([path]);
        if (Date.now() - turn < 5) continue;
        // Whoever opens or closes the store may wait for this; a timer that lets the process end would end it in the middle.
        await pause(5);
        turn = Date.now();
      }
    }
    lookedAt = began;
  };

  const fail = (cause: unknown): void => {
    problems.set(layout.root, { path: layout.root, reason: (cause as Error).message });
  };

  const onPaths = (paths: readonly string[]): void => {
    const isFolder = paths.some((path) => placeOf(layout.root, path) === null);
    (isFolder ? compare({}) : sync.look(paths)).catch((cause: unknown) => {
      fail(cause);
      if (closing.signal.aborted) return;
      for (const path of paths) unheard.add(path);
      againTimer ??= setTimeout(hearAgain, AGAIN_MS).unref();
    });
  };

  const hearAgain = (): void => {
    againTimer = null;
    const paths = [...unheard];
    unheard.clear();
    const isFile = (path: string): boolean => placeOf(layout.root, path) !== null;
    const [files, folders] = [paths.filter(isFile), paths.filter((path) => !isFile(path))];
    for (const some of [files, folders]) if (some.length > 0) onPaths(some);
  };

  const isOwn = (path: string): boolean => {
    if (!sync.isRecent(path)) return false;
    ours.add(path);
    oursTimer ??= setTimeout(lookAtOurs, OURS_MS).unref();
    return true;
  };

  const lookAtOurs = (): void => {
    oursTimer = null;
    for (const path of ours) if (!sync.isOwnDoing(path)) watcher?.note(path);
    ours.clear();
  };

  const startWatching = (): void => {
    if (closing.signal.aborted) return;
    watcher = watchTree(layout.root, onPaths, { onProblem: fail, isOwn, isGone: options.isGone });
    watchedFrom = Date.now();
    // From here on nothing is missed; what came before is looked for once.
    compare({}).catch(fail);
    // Not after the other, which waits until the tree has caught up: under load that may be long.
    lookAtTimes()
      .then(() => {
        isWatched = !closing.signal.aborted;
      })
      .catch(fail);
  };

  let caughtUp = false;
  const catchingUp = catchUp(mark).then(() => {
    caughtUp = !closing.signal.aborted;
  }, fail);
  const timer = options.watch ? setTimeout(startWatching, WATCH_AFTER_MS).unref() : null;

  const isQuick = mark !== null && mark.boot === boot;
  return {
    opened: isQuick ? catchingUp : Promise.resolve(),
    follow: sync.follow,
    async settled(task) {
      if (task !== undefined) return sync.shownTask(task);
      await catchingUp;
      await sync.settled();
    },
    async examine() {
      await catchingUp;
      problems.clear();
      const began = Date.now();
      const findings = await sync.compare({ full: true }, closing.signal);
      if (!closing.signal.aborted) lookedAt = began;
      await sync.settled();
      const mended = findings.filter((finding) => finding.kind !== 'unreadable').length;
      return [
        {
          name: 'file tree',
          ok: true,
          detail:
            mended === 0 ? 'as the journal says' : `${mended} files differed; they were taken in or written again`,
        },
        ...[...problems.values()].map(({ path, reason }) => ({ name: path, ok: false, detail: reason })),
      ];
    },
    async close() {
      if (timer !== null) clearTimeout(timer);
      if (oursTimer !== null) clearTimeout(oursTimer);
      if (againTimer !== null) clearTimeout(againTimer);
      watcher?.close();
      // It is finished once, so that the next command need not begin again.
      await catchingUp;
      closing.abort();
      await sync.settled();
      await sync.close();
      // Without it the next start looks at everything, which is what has to be done then.
      if (caughtUp) note(folderTimes(disk, layout));
    },
  };
}
