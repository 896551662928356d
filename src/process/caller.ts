/** Whether this process was started by a run, however many shells ago: an agent that calls `baton` is not the person. */
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { type Stat, statOf } from './identity.ts';
import { MARK } from './types.ts';

interface CallerMark {
  readonly run: string;
  /** As it stands in the environment. */
  readonly text: string;
  /** The parent of the first process that carries it. */
  readonly startedBy: number;
}

/**
 * The mark that this process has, or one of those that it comes from. Whoever writes another one into its own environment still has parents that
 * carry the first: that one counts.
 */
export function markOfCaller(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): CallerMark | null {
  const own = environment[MARK];
  const found = own === undefined ? null : { run: runIn(own), text: own, startedBy: process.ppid };
  return markOfProcess(process.ppid) ?? found;
}

/** The run that this process belongs to; null where it belongs to none, as far as the system tells. */
export const runOfCaller = (): string | null => markOfCaller()?.run ?? null;

/** The same of another process. Whoever takes the mark out of its own environment still has parents that carry it. */
export const runOfProcess = (pid: number): string | null => markOfProcess(pid)?.run ?? null;

function markOfProcess(first: number): CallerMark | null {
  let found: CallerMark | null = null;
  for (const { pid, ppid } of lineOf(first)) {
    const text = markIn(pid);
    if (text !== null) found = { run: runIn(text), text, startedBy: ppid };
  }
  return found;
}

/** A process and those that it comes from, the nearest first, without the system's own first one. */
function lineOf(first: number): Stat[] {
  const line: Stat[] = [];
  for (let pid = first; pid > 1; ) {
    const stat = statOf(pid);
    if (stat === null) break;
    line.push(stat);
    pid = stat.ppid;
  }
  return line;
}

/** The processes that this one comes from. */
export const lineOfCaller = (): readonly number[] => lineOf(process.ppid).map(({ pid }) => pid);

/** Whether a process comes from this one. */
export const isOurs = (pid: number): boolean => lineOf(pid).some((one) => one.pid === process.pid);

/**
 * When that began which a process, this one or another, comes from, where it has no terminal and that one has no parent but the system: it may have lost
 * it, and been left by whatever ran at that moment. Null where it cannot have been, or the system does not tell.
 */
export function orphanSince(of = process.pid): number | null {
  const line = lineOf(of);
  if ((line[0]?.terminal ?? 1) !== 0) return null;
  const reaper = line.findIndex(({ pid }) => isReaper(pid));
  const top = reaper < 0 ? line.at(-1) : line[reaper - 1];
  // Nobody is given to 0: that one was put here from outside, as into a container.
  if (top === undefined || top.ppid === 0) return null;
  return Date.now() - uptime() * 1000 + Number(top.started.split('/').at(-1)) * MS_OF_A_TICK;
}

/** Linux counts them a hundred to the second for whoever asks. */
const MS_OF_A_TICK = 10;

/** A user's own systemd takes in what lost its parent, as the first process does. */
function isReaper(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'systemd';
  } catch {
    // Gone: it takes in nobody.
    return false;
  }
}

const runIn = (mark: string): string => mark.split('@', 1)[0] ?? mark;

function markIn(pid: number): string | null {
  let environ: string;
  try {
    environ = readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    // Another user's, gone, or a system without /proc: nothing is known of it.
    return null;
  }
  const entry = environ.split('\0').find((item) => item.startsWith(`${MARK}=`));
  return entry?.slice(MARK.length + 1) ?? null;
}
