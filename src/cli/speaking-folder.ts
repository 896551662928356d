/** Speaking in a session of the data folder, not through the door of a run. */
import { realpathSync } from 'node:fs';
import type { Store } from '../core/store.ts';
import type { DoneLine, LineAsk } from '../runtime/doors.ts';
import type { Voice } from '../session/call.ts';
import { voiceOf } from '../session/voice.ts';
import { actorOf, runSender } from './caller.ts';
import type { Globals } from './globals.ts';
import { note } from './io.ts';
import { doLineFor } from './language.ts';
import { followConfig } from './live-config.ts';
import { personSender } from './send.ts';
import { writing } from './with-store.ts';

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

const warn = (text: string): void => note(`baton: ${text}`);

export function onFolder<T>(
  { session, ...globals }: SpeakingOptions,
  as: string | undefined,
  leaving: AbortSignal,
  work: (speaking: Speaking) => Promise<T>,
): Promise<T> {
  return writing(globals, async (store, dir) => {
    const config = followConfig(dir, warn);
    const sender = (await runSender(store, dir, 'cli')) ?? personSender(await actorOf(store), as);
    const voice = await voiceOf({ store, config }, sender, session);
    const doLine = doLineFor({ store, dir, config, warn, leaving });
    return work({
      place: { store, dir: realpathSync(dir), voice },
      say: (ask, signal) => doLine({ ...ask, session: voice.session }, sender, signal),
    });
  });
}
