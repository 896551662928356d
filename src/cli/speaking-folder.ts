/** Speaking in a session of the data folder, not through the door of a run. */
import { realpathSync } from 'node:fs';
import { voiceOf } from '../session/voice.ts';
import { actorOf, runSender } from './caller.ts';
import { readConfig } from './config-file.ts';
import { doLineFor } from './language.ts';
import { personSender } from './send.ts';
import { type Speaking, type SpeakingOptions, warn } from './speaking.ts';
import { writing } from './with-store.ts';

export function onFolder<T>(
  { session, ...globals }: SpeakingOptions,
  as: string | undefined,
  leaving: AbortSignal,
  work: (speaking: Speaking) => Promise<T>,
): Promise<T> {
  return writing(globals, async (store, dir) => {
    const config = readConfig(dir);
    const sender = (await runSender(store, dir, 'cli')) ?? personSender(await actorOf(store), as);
    const voice = await voiceOf({ store, config }, sender, session);
    const doLine = doLineFor({ store, dir, config, warn, leaving });
    return work({
      place: { store, dir: realpathSync(dir), voice },
      say: (ask, signal) => doLine({ ...ask, session: voice.session }, sender, signal),
    });
  });
}
