/** Who gives a line of the session language from here: within a run that run, over its socket; elsewhere the person, or with `--as` the agent they name. */
import { connectDoor } from '../runtime/door-client.ts';
import { refuseAsWithinRun } from './caller.ts';
import type { Speaking, SpeakingOptions } from './speaking-folder.ts';

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
