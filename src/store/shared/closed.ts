/** What a store says that was closed by its own caller. */
import { BatonError } from '../../core/errors.ts';

export const closedStore = (): BatonError => new BatonError('E_STORE_FAILED', 'the store is closed');
