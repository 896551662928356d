/** Opens the store of a data folder: this process owns it, or talks to the one that does. Nobody needs to know which. */
import { BatonError } from '../core/errors.ts';
import type { AdmitFile, Store } from '../core/store.ts';
import { newSuffix } from '../process/new-id.ts';
import { realDisk } from './fs/disk.ts';
import { storeFailure } from './fs/failures.ts';
import { type Layout, layoutOf } from './fs/layout.ts';
import { type Marker, makeFolder, readMarker } from './fs/marker.ts';
import { openFsStore } from './fs/store.ts';
import { openShared } from './shared/open.ts';

export interface OpenOptions {
  /** Makes the folder where it is not there. */
  readonly create?: boolean;
  /** Goes on without records that are damaged, and writes that down. */
  readonly repair?: boolean;
  /** Hears, in a sentence, of a file that was not as Baton wrote it and was built again. Only where this process owns the folder. */
  readonly onWarning?: (sentence: string) => void;
  /** What every change in the file tree has to pass before it is a message like any other. */
  readonly admit?: AdmitFile;
  /** Told at first, and after each hand-over. */
  readonly onRole?: (role: 'owner' | 'client') => void;
}

export async function openStore(dir: string, options: OpenOptions = {}): Promise<Store> {
  const { create = false, repair = false, onRole, onWarning, admit } = options;
  const marker = findMarker(layoutOf(dir), create);
  const opening = openShared({
    dir,
    secret: marker.secret,
    openOwner: () =>
      openFsStore(dir, {
        repair,
        watch: true,
        ...(onWarning === undefined ? {} : { onWarning }),
        ...(admit === undefined ? {} : { admit }),
      }),
    ...(onRole === undefined ? {} : { onRole }),
  });
  return opening.catch((cause: unknown) => {
    throw storeFailure(cause, dir);
  });
}

function findMarker(layout: Layout, create: boolean): Marker {
  try {
    const found = readMarker(realDisk, layout);
    if (found !== null) return found;
    if (create) return makeFolder(realDisk, layout, newSuffix(16));
  } catch (cause) {
    throw storeFailure(cause, layout.root);
  }
  throw new BatonError('E_NOT_FOUND', `there is no data folder at ${layout.root}`, 'make one: baton init');
}
