/** Whether this process was started by a run, however many shells ago: an agent that calls `baton` is not the person. */
import { readFileSync } from 'node:fs';
import { statOf } from './identity.ts';
import { MARK } from './types.ts';

/** The run that this process belongs to; null where it belongs to none, as far as the system tells. */
export function runOfCaller(environment: Readonly<Record<string, string | undefined>> = process.env): string | null {
  const own = environment[MARK];
  return own === undefined ? runOfProcess(process.ppid) : runIn(own);
}

/** The same of another process. Whoever takes the mark out of its own environment still has parents that carry it. */
export function runOfProcess(first: number): string | null {
  for (let pid = first; pid > 1; pid = statOf(pid)?.ppid ?? 0) {
    const mark = markOfProcess(pid);
    if (mark !== null) return runIn(mark);
  }
  return null;
}

const runIn = (mark: string): string => mark.split('@', 1)[0] ?? mark;

function markOfProcess(pid: number): string | null {
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
