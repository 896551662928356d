/** A process by pid and start time, so that a pid used again is not taken for it. */
import { readFileSync } from 'node:fs';

/** `started` is null where the system does not tell. */
export interface ProcessMark {
  readonly pid: number;
  readonly started: string | null;
}

/** Null where the file is not there: no /proc on this system, or no such process any more. */
function told(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

let boot: string | null | undefined;

/** The same for as long as this machine runs; null where the system does not tell. */
export function bootId(): string | null {
  boot ??= told('/proc/sys/kernel/random/boot_id');
  return boot;
}

/** What /proc/N/stat says of a process. */
export interface Stat {
  readonly pid: number;
  readonly ppid: number;
  readonly pgid: number;
  readonly session: number;
  /** The number of its controlling terminal; 0 where it has none, null where nobody asked. */
  readonly terminal: number | null;
  readonly state: string;
  readonly started: string;
}

/** Its name comes second and may hold spaces and parentheses, so the fields are counted from the last one of them. */
export function parseStat(pid: number, text: string): Stat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ', 20);
  return {
    pid,
    state: fields[0] ?? '',
    ppid: Number(fields[1]),
    pgid: Number(fields[2]),
    session: Number(fields[3]),
    terminal: Number(fields[4]),
    started: `${bootId()}/${fields[19]}`,
  };
}

export function statOf(pid: number): Stat | null {
  const text = told(`/proc/${pid}/stat`);
  return text === null ? null : parseStat(pid, text);
}

/** A zombie answers to its number, but does and holds nothing any more. */
export const isDead = ({ state }: { readonly state: string }): boolean => state === 'Z' || state === 'X';

export const self = (): ProcessMark => ({ pid: process.pid, started: statOf(process.pid)?.started ?? null });

/** `unsure`: there is a process of that number, but nobody can tell whether it is the same one. */
export function isAlive(mark: ProcessMark): 'alive' | 'gone' | 'unsure' {
  try {
    process.kill(mark.pid, 0);
  } catch (cause) {
    // Any other refusal is one by a process that is there.
    if ((cause as NodeJS.ErrnoException).code === 'ESRCH') return 'gone';
  }
  const stat = statOf(mark.pid);
  if (mark.started === null || stat === null) return 'unsure';
  return stat.started === mark.started && !isDead(stat) ? 'alive' : 'gone';
}

export const isMark = (value: unknown): value is ProcessMark => {
  const { pid, started } = (value ?? {}) as Record<string, unknown>;
  return Number.isSafeInteger(pid) && (pid as number) > 0 && (started === null || typeof started === 'string');
};
