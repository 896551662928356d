/** Finds out who owns the data folder: this process, if the lock is free; else the one at the other end of the socket. */
import { BatonError } from '../../core/errors.ts';
import type { Store } from '../../core/store.ts';
import { anyOf, pause } from '../../process/waiting.ts';
import { connectOwner } from './client.ts';
import { closedStore } from './closed.ts';
import type { LockKind } from './lock.ts';
import { takeLock } from './lock.ts';
import { becomeOwner } from './owner.ts';
import { describeOwner, readOwner } from './owner-file.ts';
import type { Place } from './place.ts';
import type { Peer } from './wire.ts';

interface ElectionOptions {
  readonly place: Place;
  readonly lock: LockKind;
  readonly openOwner: () => Promise<Store>;
  /** How long to wait for an owner that has the lock but does not answer. */
  readonly waitMs: number;
  readonly stop: AbortSignal;
  /** The owner that was found went away. */
  readonly onGone: () => void;
}

const FIRST_DELAY_MS = 5;
const LONGEST_DELAY_MS = 100;

export async function elect(options: ElectionOptions): Promise<Peer> {
  const { stop, waitMs } = options;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), waitMs);
  const enough = anyOf([stop, late.signal]);
  try {
    return await tryUntil(enough.signal, options);
  } finally {
    clearTimeout(timer);
    enough.letGo();
  }
}

async function tryUntil(enough: AbortSignal, options: ElectionOptions): Promise<Peer> {
  const { place, stop } = options;
  let reason = '';
  for (let delay = FIRST_DELAY_MS; !enough.aborted; delay = Math.min(delay * 2, LONGEST_DELAY_MS)) {
    const lock = await takeLock(place, options.lock);
    if (lock !== null) return becomeOwner({ place, lock, openOwner: options.openOwner, stop });
    for (const path of socketsOf(place)) {
      const found = await connectOwner({ place, path, stop: enough, onGone: options.onGone });
      if (typeof found !== 'string') return found;
      reason = `${path}: ${found}`;
    }
    await pause(delay, enough);
  }
  throw stop.aborted ? closedStore() : notAnswering(place, options.waitMs, reason);
}

/** Its own first. An owner with another XDG_RUNTIME_DIR or TMPDIR listens elsewhere, and says where. */
function socketsOf(place: Place): readonly string[] {
  const said = readOwner(place.dir)?.socket;
  return typeof said === 'string' && said !== place.socket ? [place.socket, said] : [place.socket];
}

function notAnswering(place: Place, waitMs: number, reason: string): BatonError {
  const owner = readOwner(place.dir);
  return new BatonError(
    'E_STORE_OWNED',
    `the data folder ${place.dir} is held by ${owner === null ? 'a process that left no name' : describeOwner(owner)}, ` +
      `which did not answer within ${waitMs / 1000} s (${reason})`,
    owner === null
      ? 'look for another baton that uses this folder'
      : `see whether process ${owner.pid} is stuck or stopped`,
  );
}
