/**
 * Who is at the other end of a connection from this machine, as far as the system tells: an agent that has read somebody's token is not that
 * somebody. Linux only; elsewhere nobody knows.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { isOurs, orphanSince, runOfProcess } from './caller.ts';

export interface Connection {
  /** Where the other end says it is; not given, it may be here. */
  readonly remoteAddress?: string;
  readonly localPort: number;
  readonly remotePort: number;
}

/**
 * `run`: a process of a run; of which one is not known where it comes through our own proxy, as from a sandbox. `other`: one that carries no mark of any.
 * `elsewhere`: no process of this machine. `unknown`: nobody can tell.
 */
export type Peer =
  | { readonly kind: 'run'; readonly run: string | null }
  | {
      readonly kind: 'other';
      /** It comes from this process, which starts runs. */
      readonly isOurs?: true;
      /** When that began which it comes from, where that may be what a run left behind. */
      readonly orphans?: readonly number[];
    }
  | {
      readonly kind: 'unknown';
      /** One of this machine, that did not wait for an answer. */
      readonly isGone?: true;
    }
  | { readonly kind: 'elsewhere' };

export function peerOf(connection: Connection): Peer {
  const inodes = inodesOf(connection);
  if (inodes === null) return { kind: 'unknown' };
  // One of this machine that is not in the tables has gone already.
  if (inodes.size === 0) return isHere(connection.remoteAddress) ? GONE : { kind: 'elsewhere' };
  if (inodes.has(NOBODYS)) return GONE;
  const owners = ownersOf(inodes);
  if (owners.length === 0) return { kind: 'unknown' };
  for (const pid of owners) {
    const run = runOfProcess(pid);
    if (run !== null) return { kind: 'run', run };
  }
  if (owners.includes(process.pid)) return { kind: 'run', run: null };
  const orphans = owners.flatMap((pid) => orphanSince(pid) ?? []);
  return {
    kind: 'other',
    ...(owners.some(isOurs) ? { isOurs: true } : {}),
    ...(orphans.length === 0 ? {} : { orphans }),
  };
}

const GONE: Peer = { kind: 'unknown', isGone: true };

/** What the system says of a socket that its process has closed. */
const NOBODYS = '0';

function isHere(address: string | undefined): boolean {
  if (address === undefined) return true;
  const plain = address.replace(/^::ffff:/i, '').replace(/%.*$/, '');
  if (plain === '::1' || plain.startsWith('127.')) return true;
  return Object.values(networkInterfaces()).some((own) => own?.some((one) => one.address === plain));
}

/** Of the other end's sockets, by both ports; null where the system does not tell. */
function inodesOf({ localPort, remotePort }: Connection): Set<string> | null {
  const inodes = new Set<string>();
  let isTold = false;
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    let text: string;
    try {
      text = readFileSync(table, 'latin1');
    } catch {
      // No /proc on this system, or no such version of IP.
      continue;
    }
    isTold = true;
    for (const line of text.split('\n').slice(1)) {
      const [, local = '', remote = '', , , , , , , inode = NOBODYS] = line.trim().split(/\s+/);
      // The other end's own port is our remote one.
      if (portOf(local) === remotePort && portOf(remote) === localPort) inodes.add(inode);
    }
  }
  return isTold ? inodes : null;
}

const portOf = (address: string): number => Number.parseInt(address.slice(address.indexOf(':') + 1), 16);

function ownersOf(inodes: ReadonlySet<string>): number[] {
  const names = new Set([...inodes].map((inode) => `socket:[${inode}]`));
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => holds(pid, names));
}

function holds(pid: number, names: ReadonlySet<string>): boolean {
  const folder = `/proc/${pid}/fd`;
  let files: string[];
  try {
    files = readdirSync(folder);
  } catch {
    // Another user's, or gone.
    return false;
  }
  return files.some((file) => {
    try {
      return names.has(readlinkSync(`${folder}/${file}`));
    } catch {
      // Closed meanwhile.
      return false;
    }
  });
}
