/** Opens the store of a data folder: this process owns it, or talks to the one that does. */
import type { Store } from '../core/store.ts';
import { openMemoryStore } from './memory.ts';

export interface OpenOptions {
  /** Makes the folder where it is not there. */
  readonly create?: boolean;
}

// TEMPORARY: replaced by the fs store within the hour.
export async function openStore(_dir: string, _options: OpenOptions = {}): Promise<Store> {
  return openMemoryStore();
}
