/** What happens in a session, for all who wait in it: one look at the journal serves every wait of this process. */
import type { Store, StoredRecord } from '../core/store.ts';

/** Null where the store could not be followed any further: whoever waits looks for itself. */
type Listener = (record: StoredRecord | null) => void;

interface Shared {
  readonly listeners: Set<Listener>;
  readonly ending: AbortController;
  /** From then on nothing is missed. */
  readonly ready: Promise<void>;
}

const followed = new WeakMap<Store, Map<string, Shared>>();

/** What is written after this has answered is told; what was written before is seen by whoever asks the store. Returns how to stop. */
export async function listen(store: Store, session: string, listener: Listener): Promise<() => void> {
  const bySession = followed.get(store) ?? new Map<string, Shared>();
  followed.set(store, bySession);
  const shared = bySession.get(session) ?? follow(store, session, bySession);
  shared.listeners.add(listener);
  const stop = (): void => {
    shared.listeners.delete(listener);
    if (shared.listeners.size > 0) return;
    shared.ending.abort();
    if (bySession.get(session) === shared) bySession.delete(session);
  };
  try {
    await shared.ready;
  } catch (cause) {
    stop();
    throw cause;
  }
  return stop;
}

function follow(store: Store, session: string, bySession: Map<string, Shared>): Shared {
  const ending = new AbortController();
  const listeners = new Set<Listener>();
  const from = store.lastRecord();
  const shared: Shared = { listeners, ending, ready: from.then(() => undefined) };
  bySession.set(session, shared);
  void (async () => {
    try {
      const after = await from;
      for await (const record of store.eventsAfter({ after, session, follow: ending.signal })) {
        for (const listener of listeners) listener(record);
      }
    } catch {
      // A store that is away is asked by whoever waits, and tells there what is wrong with it.
    }
    // The next who waits follows anew.
    if (bySession.get(session) === shared) bySession.delete(session);
    for (const listener of listeners) listener(null);
  })();
  return shared;
}
