/** Who gives a line of the session language from here: within a run that run, over its socket; elsewhere the person, or with `--as` the agent they name. */
import type { Store } from '../core/store.ts';
import { connectDoor } from '../runtime/door-client.ts';
import type { DoneLine, LineAsk } from '../runtime/doors.ts';
import type { Voice } from '../session/call.ts';
import { refuseAsWithinRun } from './caller.ts';
import type { Globals } from './globals.ts';
import { note } from './io.ts';

export interface SpeakingOptions extends Globals {
  readonly session?: string;
  readonly as?: string;
}

/** Where one speaks oneself, and not through the door of a run. */
export interface Place {
  readonly store: Store;
  readonly dir: string;
  readonly voice: Voice;
}

export interface Speaking {
  /** Null through the door of a run: there is nothing to be seen but answers. */
  readonly place: Place | null;
  say(ask: Omit<LineAsk, 'session'>, signal?: AbortSignal): Promise<DoneLine>;
}

export async function speaking<T>(
  { session, as, ...globals }: SpeakingOptions,
  leaving: AbortSignal,
  work: (speaking: Speaking) => Promise<T>,
): Promise<T> {
  refuseAsWithinRun(as);
  const within = session === undefined ? {} : { session };
  const socket = process.env['BATON_SOCKET'] ?? '';
  if (socket !== '') {
    const door = await connectDoor(socket);
    // On the other side a wait ends with the connection.
    leaving.addEventListener('abort', () => void door.close(), { once: true });
    try {
      return await work({ place: null, say: (ask) => door.do({ ...ask, ...within }) });
    } finally {
      await door.close();
    }
  }
  // The store is much to load, and a run has no use for it.
  return (await import('./speaking-folder.ts')).onFolder({ ...globals, ...within }, as, leaving, work);
}

export const warn = (text: string): void => note(`baton: ${text}`);
