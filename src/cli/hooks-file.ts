/** A file of settings as somebody else has made it: read only where it can be written again without a loss. */
import { lstatSync, readFileSync, statSync } from 'node:fs';
import { BatonError } from '../core/errors.ts';

/** Null where there is no file. */
export function settingsText(path: string): string | null {
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null;
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) throw odd(path, 'a link that leads nowhere');
    // A pipe would keep us waiting.
    if (!found.isFile()) throw odd(path, found.isDirectory() ? 'a folder' : 'something else');
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (cause) {
    if (cause instanceof BatonError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    throw odd(
      path,
      code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'bytes that are not UTF-8' : (code ?? String(cause)),
    );
  }
}

const odd = (path: string, came: string): BatonError =>
  new BatonError('E_CONFIG', `${path}: expected a file of settings, got ${came}`, 'mend it first; nothing was changed');
