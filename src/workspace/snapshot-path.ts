/**
 * Where the second copy of a snapshot may be kept, and what may have a snapshot at all. Baton writes and reads these outside of the sandbox, so they
 * stay where the run itself may write, and never touch git's own files or a data folder.
 */
import { relative, sep } from 'node:path';
import { BatonError } from '../core/errors.ts';
import { isBelow } from '../process/files.ts';
import { plainBelow, resolveParentIn } from './paths.ts';

interface SnapshotBounds {
  readonly workspace: string;
  /** Where the run may write. */
  readonly writePaths: readonly string[];
  readonly dataDir: string;
}

/** Throws where an output has a snapshot and is not one that the run may write: to take something back is to write it. */
export async function checkOutputPath(named: string, path: string, bounds: SnapshotBounds): Promise<void> {
  const real = await resolveParentIn(bounds.workspace, path);
  if (isBelow(real, bounds.writePaths) && !isReserved(real, bounds)) return;
  throw new BatonError(
    'E_PERMISSION_DENIED',
    `the output ${named} has a snapshot and is at ${real}, which is not in a path that may be written`,
    'name it in write_paths, or leave out rollback_snapshot',
  );
}

/** Where `snapshot_path` is. Throws where it is not in a path that may be written. */
export async function snapshotPlace(named: string, path: string, bounds: SnapshotBounds): Promise<string> {
  const place = await plainBelow(bounds.workspace, path, bounds.writePaths);
  if (place !== null && !isReserved(place, bounds)) return place;
  throw new BatonError(
    'E_PERMISSION_DENIED',
    `snapshot_path ${named} is not in a path that may be written, or a symlink leads there, or it is in .git or a data folder`,
    'choose a path within write_paths, or leave it out',
  );
}

/** Names of folders that belong to git and to Baton, wherever they are. */
const RESERVED = ['.git', '.baton'];

function isReserved(path: string, { workspace, dataDir }: SnapshotBounds): boolean {
  const isHere = isBelow(path, [workspace]);
  // A worktree lies in the data folder, and is a workspace like any other.
  if (isBelow(path, [dataDir]) && !(isHere && isBelow(workspace, [dataDir]))) return true;
  const parts = (isHere ? relative(workspace, path) : path).split(sep);
  return parts.some((part) => RESERVED.includes(part.toLowerCase()));
}
