/** Notices what is changed in the status folders, by whomever. It costs nothing while nothing happens. */
import { type FSWatcher, lstatSync, mkdirSync, watch } from 'node:fs';
import { TASK_STATUSES, type TaskStatus } from '../../../core/task.ts';
import { NOT_A_FOLDER } from './batch.ts';
import { isForeignName, statusFolder } from './paths.ts';

export interface Watch {
  /** Something may have happened to this file: it is handed over once it keeps still. */
  note(path: string): void;
  close(): void;
}

export interface WatchOptions {
  /** The data folder was thrown away: its folders are not made again. */
  readonly isGone?: () => boolean;
  /** Whoever makes changes of its own hears of them too; a path for which this says true is passed over. */
  readonly isOwn?: (path: string) => boolean;
  /** The system cannot watch (it has no watches left, say); from now on the folders' times are looked at, which shows files that come and go. */
  readonly onProblem?: (problem: Error) => void;
  /** For tests: how a folder is watched. */
  readonly watchFolder?: (folder: string, onEvent: (name: string | null) => void) => FSWatcher;
}

/** Events of this long are gathered, since one save of an editor is several. */
const GATHER_MS = 50;
/** A file that has not changed for so long is whole. */
const STILL_MS = 100;
const POLL_MS = 500;
const MADE_AGAIN_MS = 300;

/** What a file looked like, and since when. */
interface Sight {
  readonly size: number;
  readonly mtimeMs: number;
  readonly since: number;
}

const inotify = (folder: string, onEvent: (name: string | null) => void): FSWatcher =>
  watch(folder, { persistent: false }, (_, name) => onEvent(name));

/**
 * Hands over the paths of task files that came, went or changed, once they keep still. The path of a status folder stands for anything in
 * it: which, is not known.
 */
export function watchTree(root: string, onPaths: (paths: string[]) => void, options: WatchOptions = {}): Watch {
  const pending = new Map<string, Sight | null>();
  const watchers = new Map<TaskStatus, FSWatcher>();
  let timer: NodeJS.Timeout | null = null;
  let isClosed = false;

  const note = (path: string): void => {
    if (!pending.has(path)) pending.set(path, null);
    timer ??= setTimeout(settle, GATHER_MS).unref();
  };

  const hear = (path: string): void => {
    if (options.isOwn?.(path) !== true) note(path);
  };

  const settle = (): void => {
    timer = null;
    const still: string[] = [];
    for (const [path, sight] of pending) {
      const now = look(path);
      if (now !== null && !isStill(sight, now)) pending.set(path, sight !== null && isSame(sight, now) ? sight : now);
      else {
        pending.delete(path);
        still.push(path);
      }
    }
    if (pending.size > 0) timer = setTimeout(settle, GATHER_MS).unref();
    if (still.length > 0) onPaths(still);
  };

  const start = (status: TaskStatus): void => {
    const folder = statusFolder(root, status);
    mkdirSync(folder, { recursive: true });
    if (!lstatSync(folder).isDirectory()) throw new Error(`${folder}: ${NOT_A_FOLDER}`);
    const watcher = (options.watchFolder ?? inotify)(folder, (name) => {
      if (isClosed || watchers.get(status) !== watcher) return;
      if (name === status) again(status);
      else if (name === null) onPaths([folder]);
      else if (!isForeignName(name)) hear(`${folder}/${name}`);
    });
    watcher.on('error', fail);
    watchers.set(status, watcher);
  };

  /**
   * The folder itself was removed or replaced; what watched it watches nothing any more. It is made again a little later: whoever throws all
   * of it away has come to the end by then, and does not find a new folder in an old one.
   */
  const again = (status: TaskStatus): void => {
    watchers.get(status)?.close();
    setTimeout(() => {
      if (isClosed || stopPolling !== null || options.isGone?.() === true) return;
      guarded(() => start(status));
      onPaths([statusFolder(root, status)]);
    }, MADE_AGAIN_MS).unref();
  };

  const guarded = (step: () => void): void => {
    try {
      step();
    } catch (cause) {
      fail(cause as Error);
    }
  };

  const stopWatching = (): void => {
    for (const watcher of watchers.values()) watcher.close();
    watchers.clear();
  };

  let stopPolling: (() => void) | null = null;
  const fail = (problem: Error): void => {
    if (isClosed || stopPolling !== null) return;
    stopWatching();
    stopPolling = pollFolders(root, onPaths);
    options.onProblem?.(problem);
  };

  guarded(() => {
    for (const status of TASK_STATUSES) start(status);
  });

  return {
    note,
    close() {
      isClosed = true;
      stopWatching();
      stopPolling?.();
      if (timer !== null) clearTimeout(timer);
    },
  };
}

function look(path: string): Sight | null {
  try {
    const { size, mtimeMs } = lstatSync(path);
    return { size, mtimeMs, since: performance.now() };
  } catch {
    // Gone, or in a place that may not be looked at; whoever is told of it finds out which.
    return null;
  }
}

const isSame = (a: Sight, b: Sight): boolean => a.size === b.size && a.mtimeMs === b.mtimeMs;

const isStill = (before: Sight | null, now: Sight): boolean =>
  before !== null && isSame(before, now) && now.since - before.since >= STILL_MS;

/** A folder's time changes when a name in it comes or goes, not when a file is written in its place. */
function pollFolders(root: string, onPaths: (paths: string[]) => void): () => void {
  const folders = TASK_STATUSES.map((status) => statusFolder(root, status));
  const times = new Map(folders.map((folder) => [folder, look(folder)?.mtimeMs]));
  const timer = setInterval(() => {
    const changed = folders.filter((folder) => look(folder)?.mtimeMs !== times.get(folder));
    for (const folder of changed) times.set(folder, look(folder)?.mtimeMs);
    if (changed.length > 0) onPaths(changed);
  }, POLL_MS).unref();
  return () => clearInterval(timer);
}
