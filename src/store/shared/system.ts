/** What the system tells about processes: where this one runs, and whether another one is still the same. */
import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { bootId } from '../../process/identity.ts';

export type { ProcessMark } from '../../process/identity.ts';
export { isAlive as stateOf, isMark, self as thisProcess } from '../../process/identity.ts';

/** The machine and the network a process runs in. Two that are equal here see the same abstract sockets. */
export interface Where {
  readonly host: string;
  readonly boot: string | null;
  readonly netns: string | null;
}

/** Null where there is no /proc. */
function networkOfThis(): string | null {
  try {
    return readlinkSync('/proc/self/ns/net');
  } catch {
    return null;
  }
}

export const here = (): Where => ({ host: hostname(), boot: bootId(), netns: networkOfThis() });

/** One kernel and one network namespace. Containers that share both may well have names of their own. */
export const isSameWhere = (a: Where, b: Where): boolean =>
  a.netns === b.netns && a.boot === b.boot && (a.boot !== null || a.host === b.host);
