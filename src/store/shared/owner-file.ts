/**
 * `owner.json` in the data folder: who owns it, refreshed while it lives. It is no lock. It tells those whom the lock cannot reach (another
 * network namespace, another machine, another path to the same folder) that there is an owner, and everybody else where it listens.
 */
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { BatonError } from '../../core/errors.ts';
import { newId } from '../../process/new-id.ts';
import { pause } from '../../process/waiting.ts';
import type { Place } from './place.ts';
import type { ProcessMark, Where } from './system.ts';
import { here, isMark, isSameWhere, stateOf, thisProcess } from './system.ts';

interface OwnerNote extends ProcessMark, Where {
  /** The folder and the socket as the owner knows them. */
  readonly dir: string;
  readonly socket: string;
}

interface OwnerFile {
  /** Whether another owner has put its name there since: this process was asleep for too long, or the folder was replaced. */
  lostTo(): OwnerNote | null;
  remove(): void;
}

interface OwnerTimes {
  readonly refreshMs: number;
  readonly staleMs: number;
}

const TIMES: OwnerTimes = { refreshMs: 3000, staleMs: 15_000 };

const pathOf = (dir: string): string => join(dir, 'owner.json');

/** A folder that cannot be written has no such file, and is opened all the same. */
const UNWRITABLE = ['EROFS', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT'];

interface Found {
  readonly note: OwnerNote;
  readonly text: string;
  readonly mtimeMs: number;
}

/** Null where there is none, or nothing that could be read as one. */
function find(path: string): Found | null {
  try {
    const text = readFileSync(path, 'utf8');
    const note: unknown = JSON.parse(text);
    if (!isMark(note)) return null;
    return { note: note as OwnerNote, text, mtimeMs: statSync(path).mtimeMs };
  } catch {
    return null;
  }
}

export const readOwner = (dir: string): OwnerNote | null => find(pathOf(dir))?.note ?? null;

export const describeOwner = (note: OwnerNote): string => `process ${note.pid} on ${note.host}`;

/** Puts this process's name there. Only for the holder of the lock. Refuses where an owner that the lock cannot reach is alive. */
export async function writeOwnerFile(place: Place, signal: AbortSignal, times: OwnerTimes = TIMES): Promise<OwnerFile> {
  const path = pathOf(place.dir);
  const note: OwnerNote = { ...thisProcess(), ...here(), dir: place.dir, socket: place.socket };
  const text = JSON.stringify(note);
  await refuseAlive(path, note, signal);
  await awaitForeign(path, note, times, signal);
  const isWritten = withNewFile(path, text, (aside) => renameSync(aside, path));
  return isWritten ? keepFresh(path, text, note, times) : { lostTo: () => null, remove: () => {} };
}

/** Writes a file beside the path for as long as `use` takes. False where the folder cannot be written. */
function withNewFile(path: string, text: string, use: (aside: string) => void): boolean {
  const aside = `${path}.${newId()}`;
  try {
    writeFileSync(aside, text, { flag: 'wx', mode: 0o600 });
    use(aside);
    return true;
  } catch (cause) {
    if (UNWRITABLE.includes((cause as NodeJS.ErrnoException).code ?? '')) return false;
    throw cause;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** By the clock of the disk, which may be another machine's. */
function diskNow(path: string): number {
  let now = Date.now();
  withNewFile(path, '', (aside) => {
    now = statSync(aside).mtimeMs;
  });
  return now;
}

/** The lock reaches those in the same place who know the folder by the same path. */
const isWithinReach = (a: OwnerNote, b: OwnerNote): boolean => isSameWhere(a, b) && a.dir === b.dir;

/** Another process that owns the folder, or may: out of reach, or alive with a lock of another name. */
const isAnother = (note: OwnerNote, mine: OwnerNote): boolean =>
  !isWithinReach(note, mine) || (note.pid !== mine.pid && stateOf(note) !== 'gone');

/** A process that was killed gives up its lock a moment before it is gone; with much memory, or on a busy machine, that takes a while. */
const DYING_MS = 5_000;

/** Whoever has the lock is alone, unless the name of the lock has changed: then another may live, and hold the old one. */
async function refuseAlive(path: string, mine: OwnerNote, signal: AbortSignal): Promise<void> {
  const patience = performance.now() + DYING_MS;
  for (let found = find(path); found !== null; found = find(path)) {
    const { note } = found;
    if (note.pid === mine.pid || !isWithinReach(note, mine) || stateOf(note) !== 'alive') return;
    if (performance.now() > patience || signal.aborted) throw ownedElsewhere(mine.dir, note);
    await pause(20, signal);
  }
}

/** Waits until an owner out of reach has either shown that it lives, which is refused, or has been silent for long enough. */
async function awaitForeign(path: string, mine: OwnerNote, times: OwnerTimes, signal: AbortSignal): Promise<void> {
  const first = find(path);
  if (first === null || isWithinReach(first.note, mine)) return;
  const patience = performance.now() + times.staleMs - Math.max(0, diskNow(path) - first.mtimeMs);
  while (performance.now() < patience && !signal.aborted) {
    await pause(Math.min(100, times.staleMs / 10), signal);
    const found = find(path);
    if (found === null || isWithinReach(found.note, mine)) return;
    if (found.mtimeMs !== first.mtimeMs || found.text !== first.text) throw ownedElsewhere(mine.dir, found.note);
  }
}

export const ownedElsewhere = (dir: string, owner: OwnerNote): BatonError =>
  new BatonError(
    'E_STORE_OWNED',
    `the data folder ${dir} is in use by ${describeOwner(owner)}, which cannot be reached from here: it runs on another machine, ` +
      'in another network namespace, knows the folder by another path, or began before its baton.json was replaced',
    'run the command where that process runs, or stop it',
  );

function keepFresh(path: string, text: string, mine: OwnerNote, times: OwnerTimes): OwnerFile {
  let lost: OwnerNote | null = null;
  const refresh = (): void => {
    const found = find(path);
    if (found !== null && found.text !== text && isAnother(found.note, mine)) {
      lost = found.note;
      clearInterval(timer);
      return;
    }
    try {
      if (found?.text === text) touch(path, text);
      else writeFileSync(path, text, { mode: 0o600 });
    } catch {
      // The folder is full, gone or read-only by now. The store itself says so to whoever uses it.
    }
  };
  const timer = setInterval(refresh, times.refreshMs);
  timer.unref();
  return {
    lostTo: () => lost,
    remove() {
      clearInterval(timer);
      if (find(path)?.text === text) rmSync(path, { force: true });
    },
  };
}

/** The same bytes once more: whoever reads meanwhile sees no other, and the time is that of the disk's own clock. */
function touch(path: string, text: string): void {
  const file = openSync(path, 'r+');
  try {
    writeSync(file, text, 0);
  } finally {
    closeSync(file);
  }
}
