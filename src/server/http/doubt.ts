/**
 * Whether the person's token is in the person's hands. A run without a sandbox can read every file of this user, so while one is under way the
 * token alone is not enough to be the person (DESIGN: an agent must not be able to play the person).
 */
import type { Socket } from 'node:net';
import { BatonError } from '../../core/errors.ts';
import type { Store } from '../../core/store.ts';
import { isRunning } from '../../core/task.ts';
import type { Connection, Peer } from '../../process/peer.ts';
import type { PersonCaller } from './tokens.ts';

type Doubt = (person: PersonCaller, socket: Socket | undefined) => Promise<PersonCaller>;

export function createDoubt(store: Store, peerOf: ((connection: Connection) => Peer) | undefined): Doubt {
  /** A connection stays with its process for as long as it is open. */
  const known = new WeakMap<Socket, Peer>();
  return async (person, socket) => {
    const runningSince = peerOf === undefined ? null : await firstStart(store);
    if (peerOf === undefined || runningSince === null) return person;
    const { localPort, remotePort, remoteAddress } = socket ?? {};
    if (socket === undefined || localPort === undefined || remotePort === undefined || remoteAddress === undefined)
      return { ...person, isUnsure: true };
    const peer = known.get(socket) ?? peerOf({ localPort, remotePort, remoteAddress, runningSince });
    known.set(socket, peer);
    if (peer.kind === 'run') {
      const whose = peer.run === null ? 'a run' : `the run ${peer.run}`;
      throw new BatonError(
        'E_PERMISSION_DENIED',
        `expected the person, got their token from a process of ${whose}`,
        'a run speaks with its own token: BATON_TOKEN',
      );
    }
    return peer.kind === 'unknown' ? { ...person, isUnsure: true } : person;
  };
}

/** When the first of the runs began that are live; null where none is. */
async function firstStart(store: Store): Promise<number | null> {
  let first: number | null = null;
  for await (const task of store.tasks({ status: ['in-progress'] }))
    if (isRunning(task) && task.run !== null) first = Math.min(first ?? task.run.startedAt, task.run.startedAt);
  return first;
}
