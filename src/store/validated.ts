/** The stores as other programs get them: each message is checked before it is sent. Baton's own doors make theirs from what they have checked already. */
import type { Store } from '../core/store.ts';
import { openMemoryStore as openMemory } from './memory.ts';
import { refusalOf } from './messages/check.ts';
import { type OpenOptions, openStore as open } from './open.ts';

const validated = (store: Store): Store => ({
  ...store,
  async send(ask) {
    const refusal = refusalOf(ask);
    return refusal === null ? store.send(ask) : { kind: 'refused', refusal };
  },
});

export const openStore = async (dir: string, options?: OpenOptions): Promise<Store> =>
  validated(await open(dir, options));

export const openMemoryStore = (options?: { now?: () => number }): Store => validated(openMemory(options));
