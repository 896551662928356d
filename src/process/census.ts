/**
 * Which processes there are, whose children they are, and which of them carry a mark. On Linux from /proc; elsewhere from `ps`, which
 * is slower and, of processes of other users, tells no environment.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readSync } from 'node:fs';
import { parseStat, type Stat } from './identity.ts';
import { holds, NO_STREAMS, type Streams } from './streams.ts';
import { MARK } from './types.ts';

export type Census = ReadonlyMap<number, Stat>;

/** Whether the cheap and complete way is there. */
export function hasProc(): boolean {
  proc ??= process.platform === 'linux' && existsSync('/proc/self/stat');
  return proc;
}
let proc: boolean | null = null;

/** One buffer for all reads: nothing is kept of it, and nothing else runs between a read and its use. */
let buffer = Buffer.allocUnsafe(16 * 1024);

/** The bytes of a small file, valid until the next read; null where it is gone or not for us. */
function readBytes(path: string): Buffer | null {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    // It ended between the list and the look, or it is another user's.
    return null;
  }
  try {
    let length = 0;
    for (;;) {
      const count = readSync(file, buffer, length, buffer.length - length, null);
      length += count;
      if (count === 0) return buffer.subarray(0, length);
      if (length === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
    }
  } catch {
    // ESRCH: it ended while we read.
    return null;
  } finally {
    closeSync(file);
  }
}

/** All of them; or, where numbers have not come round since, those that were born after the one and not after the other. */
function listPids(after: number | null = null, last: number | null = null): number[] {
  const isRange = after !== null && last !== null && last >= after;
  const pids: number[] = [];
  for (const name of readdirSync('/proc')) {
    const first = name.charCodeAt(0);
    if (first < 49 || first > 57) continue;
    const pid = Number(name);
    if (!isRange || (pid > after && pid <= last)) pids.push(pid);
  }
  return pids;
}

/** All processes, zombies included, from one look. */
export function takeCensus(): Census {
  if (!hasProc()) return censusByPs();
  const found = new Map<number, Stat>();
  for (const pid of listPids()) {
    const bytes = readBytes(`/proc/${pid}/stat`);
    // `latin1`: a name may hold any bytes, and what is wanted comes after it.
    if (bytes !== null && bytes.length > 0) found.set(pid, parseStat(pid, bytes.toString('latin1')));
  }
  return found;
}

/** `pids` themselves are not among them. */
export function descendantsOf(pids: Iterable<number>, census: Census): Stat[] {
  const children = new Map<number, Stat[]>();
  for (const each of census.values()) {
    const siblings = children.get(each.ppid);
    if (siblings === undefined) children.set(each.ppid, [each]);
    else siblings.push(each);
  }
  const seen = new Set(pids);
  const found: Stat[] = [];
  const open = [...seen];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    for (const child of children.get(pid) ?? []) {
      if (seen.has(child.pid)) continue;
      seen.add(child.pid);
      found.push(child);
      open.push(child.pid);
    }
  }
  return found;
}

/** This process, and all that it came from. */
export function ancestorsOfThis(census: Census): Set<number> {
  const found = new Set<number>([1]);
  for (let pid = process.pid; pid > 0 && !found.has(pid); pid = census.get(pid)?.ppid ?? 0) found.add(pid);
  return found;
}

/**
 * The number given last to a process or thread here; null where the system does not tell. Numbers are given in order, so where it is
 * the same before and after a look, nothing was born meanwhile.
 */
export function lastPid(): number | null {
  if (!hasProc()) return null;
  const last = Number(readBytes('/proc/loadavg')?.toString('latin1').trim().split(' ')[4]);
  return Number.isSafeInteger(last) && last > 0 ? last : null;
}

/** Whether a process was started with this mark in its environment. */
export function carries(pid: number, entry: Buffer): boolean {
  const environ = readBytes(`/proc/${pid}/environ`);
  if (environ === null) return false;
  for (let at = environ.indexOf(entry); at >= 0; at = environ.indexOf(entry, at + 1)) {
    const end = at + entry.length;
    if ((at === 0 || environ[at - 1] === 0) && (end === environ.length || environ[end] === 0)) return true;
  }
  return false;
}

/** A mark as it stands in an environment. */
export const markEntry = (mark: string): Buffer => Buffer.from(`${MARK}=${mark}`);

/** How often a look is repeated for what was born during it. Each further look is at a handful of numbers. */
const MOST_LOOKS = 20;

/**
 * The pids that carry a mark; zombies carry nothing. `after` says that nothing older than that pid can be among them, and that it was
 * given so lately that the numbers have not come round since: then only the numbers after it are tried. Whoever holds one of `streams`
 * is among them too.
 */
export function findMarked(mark: string, after: number | null = null, streams: Streams = NO_STREAMS): number[] {
  if (!hasProc()) return markedByPs(mark);
  const entry = markEntry(mark);
  const found = new Set<number>();
  const look = (pids: Iterable<number>): void => {
    for (const pid of pids) if (carries(pid, entry) || holds(pid, streams)) found.add(pid);
  };
  let last = lastPid();
  look(listPids(after, last));
  // One that forks and ends while we look would be missed, and its child too. So what was born meanwhile is looked at as well.
  for (let looks = 1; looks < MOST_LOOKS; looks++) {
    const now = lastPid();
    if (now === last) break;
    look(listPids(last, now));
    last = now;
  }
  found.delete(process.pid);
  return [...found];
}

/** The marks with this end that processes here carry, each once: for whoever knows the place and not the runs. Without /proc there are none to be told. */
export function marksEnding(end: string): string[] {
  if (!hasProc()) return [];
  const found = new Set<string>();
  for (const pid of listPids()) {
    const environ = readBytes(`/proc/${pid}/environ`);
    if (environ === null || pid === process.pid || !environ.includes(end)) continue;
    for (const entry of environ.toString('utf8').split('\0')) {
      if (entry.startsWith(`${MARK}=`) && entry.endsWith(end)) found.add(entry.slice(MARK.length + 1));
    }
  }
  return [...found];
}

const ps = (...options: readonly string[]): string[] => {
  const { stdout } = spawnSync('ps', options, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, env: { LC_ALL: 'C' } });
  // Where there is no `ps` either, only the group and what we started ourselves are known.
  return (stdout ?? '').split('\n').filter((line) => line.trim() !== '');
};

function censusByPs(): Census {
  const found = new Map<number, Stat>();
  for (const line of ps('-axo', 'pid=,ppid=,pgid=,stat=,lstart=')) {
    const [pid = 0, ppid = 0, pgid = 0, state = '', ...started] = line.trim().split(/\s+/);
    // Sessions have no number in this list; the group stands for it.
    const session = Number(pgid);
    const numbers = { pid: Number(pid), ppid: Number(ppid), pgid: Number(pgid), session, terminal: null };
    found.set(Number(pid), { ...numbers, state: state.charAt(0), started: started.join(' ') });
  }
  return found;
}

/** `-E` shows the environment after the command, entries apart by spaces, of this user's processes only. */
const markedByPs = (mark: string): number[] =>
  ps('-axEww', '-o', 'pid=,command=')
    .filter((line) => `${line} `.includes(` ${MARK}=${mark} `))
    .map((line) => Number.parseInt(line, 10))
    .filter((pid) => pid !== process.pid);
