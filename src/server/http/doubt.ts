/**
 * Whether the person's token is in the person's hands. A run without a sandbox can read every file of this user, and leave somebody behind who does, so
 * the token alone is not enough to be the person (DESIGN: an agent must not be able to play the person).
 */
import type { Socket } from 'node:net';
import { BatonError } from '../../core/errors.ts';
import type { Store } from '../../core/store.ts';
import { isRunning } from '../../core/task.ts';
import type { Connection, Peer } from '../../process/peer.ts';
import { hadRunAt } from '../../runtime/runs-then.ts';
import type { PersonCaller } from './tokens.ts';

type Doubt = (person: PersonCaller, socket: Socket | undefined) => Promise<PersonCaller>;

export function createDoubt(store: Store, peerOf: ((connection: Connection) => Peer) | undefined): Doubt {
  /** A connection stays with its process for as long as it is open. */
  const known = new WeakMap<Socket, Peer>();
  return async (person, socket) => {
    if (peerOf === undefined) return person;
    const isLive = await hasRun(store);
    const { localPort, remotePort, remoteAddress } = socket ?? {};
    if (socket === undefined || localPort === undefined || remotePort === undefined || remoteAddress === undefined)
      return isLive ? { ...person, isUnsure: true } : person;
    const peer = known.get(socket) ?? peerOf({ localPort, remotePort, remoteAddress });
    known.set(socket, peer);
    // What comes through ourselves is of a run only where there is one.
    if (peer.kind === 'run' && (isLive || peer.run !== null)) {
      const whose = peer.run === null ? 'a run' : `the run ${peer.run}`;
      throw new BatonError(
        'E_PERMISSION_DENIED',
        `expected the person, got their token from a process of ${whose}`,
        'a run speaks with its own token: BATON_TOKEN',
      );
    }
    return (await isHidden(store, peer, isLive)) ? { ...person, isUnsure: true } : person;
  };
}

async function isHidden(store: Store, peer: Peer, isLive: boolean): Promise<boolean> {
  // Somebody else's process, or a system that does not tell, is doubtful only while there is a run; whoever does not wait to be looked at always is.
  if (peer.kind === 'unknown') return isLive || peer.isGone === true;
  if (peer.kind !== 'other') return false;
  if (isLive && peer.isOurs === true) return true;
  for (const began of peer.orphans ?? []) if (await hadRunAt(store, began)) return true;
  return false;
}

async function hasRun(store: Store): Promise<boolean> {
  for await (const task of store.tasks({ status: ['in-progress'] })) if (isRunning(task)) return true;
  return false;
}
