/** What the system tells about processes: where this one runs, and whether another one is still the same. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** A process, so that a pid used again is not taken for it. `started` is null where the system does not tell. */
export interface ProcessMark {
  readonly pid: number;
  readonly started: string | null;
}

/** The machine and the network a process runs in. Two that are equal here see the same abstract sockets. */
export interface Where {
  readonly host: string;
  readonly boot: string | null;
  readonly netns: string | null;
}

/** Null where the file is not there: no /proc on this system, or no such process any more. */
function told(read: () => string): string | null {
  try {
    return read().trim();
  } catch {
    return null;
  }
}

const bootId = (): string | null => told(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'));

/** The state letter and the start of a process, from /proc; its name may hold spaces and parentheses. */
function statOf(pid: number): { readonly state: string; readonly started: string } | null {
  const text = told(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (text === null) return null;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', started: `${bootId()}/${fields[19]}` };
}

export const thisProcess = (): ProcessMark => ({
  pid: process.pid,
  started: statOf(process.pid)?.started ?? null,
});

export const here = (): Where => ({
  host: hostname(),
  boot: bootId(),
  netns: told(() => readlinkSync('/proc/self/ns/net')),
});

/** One kernel and one network namespace. Containers that share both may well have names of their own. */
export const isSameWhere = (a: Where, b: Where): boolean =>
  a.netns === b.netns && a.boot === b.boot && (a.boot !== null || a.host === b.host);

/** `unsure`: there is a process of that number, but nobody can tell whether it is the same one. */
export function stateOf(mark: ProcessMark): 'alive' | 'gone' | 'unsure' {
  try {
    process.kill(mark.pid, 0);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ESRCH') return 'gone';
  }
  const stat = statOf(mark.pid);
  if (mark.started === null || stat === null) return 'unsure';
  // A zombie answers to its number, but holds nothing any more.
  return stat.started === mark.started && stat.state !== 'Z' && stat.state !== 'X' ? 'alive' : 'gone';
}

export const isMark = (value: unknown): value is ProcessMark => {
  const { pid, started } = (value ?? {}) as Record<string, unknown>;
  return Number.isSafeInteger(pid) && (pid as number) > 0 && (started === null || typeof started === 'string');
};
