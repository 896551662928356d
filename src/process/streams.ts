/**
 * A program's own ends of its output. Whoever holds one got it handed down, so it came from the program, whatever else it has dropped: its
 * parent, its session, its environment. On Linux only.
 */
import { readdirSync, readlinkSync } from 'node:fs';
import { statOf } from './identity.ts';

export interface Streams {
  /** As the system names them. */
  readonly names: ReadonlySet<string>;
  /** The start of the program, in the system's own count: nobody older holds them. */
  readonly since: number;
}

export const NO_STREAMS: Streams = { names: new Set(), since: 0 };

/** To be asked right after its start, before it can have changed them. */
export function streamsOf(pid: number): Streams {
  const started = statOf(pid)?.started;
  const names = [1, 2].flatMap((number) => linkOf(`/proc/${pid}/fd/${number}`) ?? []);
  const ours = names.filter((name) => /^(?:socket|pipe):/.test(name));
  return started === undefined ? NO_STREAMS : { names: new Set(ours), since: ticksOf(started) };
}

export function holds(pid: number, { names, since }: Streams): boolean {
  if (names.size === 0) return false;
  const stat = statOf(pid);
  if (stat === null || ticksOf(stat.started) < since) return false;
  let open: string[];
  try {
    open = readdirSync(`/proc/${pid}/fd`);
  } catch {
    // It ended meanwhile, or it is another user's.
    return false;
  }
  return open.some((number) => names.has(linkOf(`/proc/${pid}/fd/${number}`) ?? ''));
}

const ticksOf = (started: string): number => Number(started.split('/')[1]);

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    // Closed or gone between the list and the look.
    return null;
  }
}
