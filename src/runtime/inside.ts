/** Files of the data folder, and only of it: neither a name nor a link leads out. */

import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { basename, dirname, sep } from 'node:path';
import { isMissing } from '../core/errors.ts';
import { isBelow } from '../process/files.ts';

/** Null where there is no such file, or it is not one of the folder's own. */
export async function openInside(dir: string, path: string): Promise<FileHandle | null> {
  try {
    const folder = await realpath(dirname(path));
    if (!isBelow(folder, [dir])) return null;
    // A link in the file's place is not followed, and a pipe does not keep us waiting.
    const file = await open(
      `${folder}${sep}${basename(path)}`,
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
    const found = await file.stat();
    // A second name of somebody else's file is no file of a run.
    if (found.isFile() && found.nlink === 1) return file;
    await file.close();
    return null;
  } catch (cause) {
    if (isMissing(cause) || (cause as NodeJS.ErrnoException).code === 'ELOOP') return null;
    throw cause;
  }
}
