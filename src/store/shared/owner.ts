/** The owner's role: lock, socket, name in the folder, store, in this order; and back in the opposite one, the lock last. */
import type { Store } from '../../core/store.ts';
import { closedStore } from './closed.ts';
import type { Lock } from './lock-file.ts';
import { ownedElsewhere, writeOwnerFile } from './owner-file.ts';
import type { Place } from './place.ts';
import { listen } from './server.ts';
import { startStream } from './streams.ts';
import type { Peer } from './wire.ts';
import { CALLS } from './wire.ts';

interface OwnerOptions {
  readonly place: Place;
  readonly lock: Lock;
  readonly openOwner: () => Promise<Store>;
  readonly stop: AbortSignal;
}

/** Releases the lock where it fails. */
export async function becomeOwner({ place, lock, openOwner, stop }: OwnerOptions): Promise<Peer> {
  const undo: (() => unknown)[] = [() => lock.release()];
  const undoAll = async (): Promise<void> => {
    const failures: unknown[] = [];
    for (const step of undo.reverse()) {
      try {
        await step();
      } catch (cause) {
        failures.push(cause);
      }
    }
    undo.length = 0;
    if (failures.length > 0) throw failures[0];
  };

  try {
    // It listens before the store is open, so that others wait on a connection and need not ask again and again.
    const server = await listen(place);
    undo.unshift(() => server.disconnect());
    undo.push(() => server.stopListening());
    const file = await writeOwnerFile(place, stop);
    undo.push(() => file.remove());
    if (stop.aborted) throw closedStore();
    const store = await openOwner();
    undo.push(() => store.close());

    const checkLost = (): void => {
      const winner = file.lostTo();
      if (winner !== null) throw ownedElsewhere(place.dir, winner);
    };
    const peer: Peer = {
      role: 'owner',
      async call(name, args) {
        checkLost();
        return CALLS[name](store, args);
      },
      async *stream(query, ended) {
        checkLost();
        yield* startStream(store, query, ended);
      },
      close: undoAll,
    };
    undo.push(() => server.drain());
    server.open(peer);
    return peer;
  } catch (cause) {
    await undoAll().catch(() => {}); // what went wrong first is what is told
    throw cause;
  }
}
