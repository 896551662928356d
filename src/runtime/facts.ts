/** What the runtime writes down about a run while it goes: facts that change no task. They are written in order, and waited for once. */
import type { Store } from '../core/store.ts';
import { RUNTIME } from './actor.ts';

export interface Facts {
  tell(event: string, detail: Readonly<Record<string, unknown>>): void;
  /** Until all of them are on disk; throws where one could not be written. */
  written(): Promise<void>;
}

export function createFacts(store: Store, task: string, run: string | null): Facts {
  let pending: Promise<unknown>[] = [];
  return {
    tell(event, detail) {
      const message = { type: 'note' as const, event, task, detail, ...(run === null ? {} : { run }) };
      const sent = store.send({ message, by: RUNTIME });
      // Waited for in `written`; a failure before that is not lost.
      sent.catch(() => {});
      pending.push(sent);
    },
    async written() {
      const all = pending;
      pending = [];
      await Promise.all(all);
    },
  };
}
