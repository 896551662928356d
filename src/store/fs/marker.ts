/** What makes a folder a data folder: the marker that says which Baton made it, and a `.gitignore` that keeps all of it out of git. */
import { dirname } from 'node:path';
import { BatonError } from '../../core/errors.ts';
import { VERSION } from '../../core/version.ts';
import type { Disk } from './disk.ts';
import { FORMAT, type Layout } from './layout.ts';

export interface Marker {
  readonly format: number;
  readonly version: string;
  /** Every user who may read the folder can read it. It names the lock and the socket, and it is the key of the seals. */
  readonly secret: string;
}

/** Null where there is no data folder yet. */
export function readMarker(disk: Disk, layout: Layout): Marker | null {
  const bytes = disk.read(layout.marker);
  if (bytes === null) {
    const found = disk.stat(layout.root);
    if (found !== null && found.kind === 'file') {
      throw new BatonError('E_STORE_FORM', `expected the data folder at ${layout.root}, got a file`);
    }
    return null;
  }
  const marker = parse(bytes);
  if (marker === null) {
    throw new BatonError(
      'E_STORE_FORM',
      `expected ${layout.marker} to say which Baton made the folder, got something else`,
      'if the folder is a data folder, baton doctor --fix writes the file anew',
    );
  }
  if (marker.format > FORMAT) {
    throw new BatonError(
      'E_STORE_VERSION',
      `the data folder ${layout.root} has format ${marker.format} of Baton ${marker.version}, and this is Baton ${VERSION} with format ${FORMAT}`,
      'use that version or a newer one; nothing was touched',
    );
  }
  return marker;
}

/** What seals are keyed with; empty where nothing was marked, as in a folder that a test made. */
export const secretOf = (disk: Disk, layout: Layout): string => readMarker(disk, layout)?.secret ?? '';

function parse(bytes: Uint8Array): Marker | null {
  try {
    const { format, version, secret } = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Marker>;
    if (typeof format !== 'number' || typeof version !== 'string' || typeof secret !== 'string') return null;
    return { format, version, secret };
  } catch {
    return null;
  }
}

/** A folder full of other things is not made into a data folder: its `.gitignore` would hide them all. */
function refuseForeign(disk: Disk, layout: Layout): void {
  const other = disk.list(layout.root).find((name) => !KNOWN.test(name));
  if (other === undefined) return;
  throw new BatonError(
    'E_STORE_FORM',
    `expected an empty folder or a data folder at ${layout.root}, got one with ${other} in it`,
    `name a folder of its own: --dir ${layout.root}/.baton`,
  );
}

const KNOWN =
  /^(?:\.gitignore|baton\.json.*|owner\.json.*|config\.yaml|serve\.token|(?:snapshot|graph)\.jsonl|(?:tree|context-sums)\.json|history|events|tasks|runs|content|refused|tmp|inbox|logs|reports|snapshots|worktrees|exports|hooks|audit)$/;

/** Several processes may do this at once: the first marker that is there counts. */
export function makeFolder(disk: Disk, layout: Layout, secret: string): Marker {
  disk.mkdir(layout.root);
  refuseForeign(disk, layout);
  if (disk.stat(layout.ignore) === null) disk.write(layout.ignore, '*\n');
  const marker: Marker = { format: FORMAT, version: VERSION, secret };
  disk.create(layout.marker, `${JSON.stringify(marker)}\n`);
  disk.sync(layout.root);
  disk.sync(dirname(layout.root));
  return readMarker(disk, layout) ?? marker;
}
