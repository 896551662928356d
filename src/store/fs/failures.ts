/** What the file system says, as an error that a person can act on. */
import { BatonError, type ErrorCode, RAISE_LIMIT } from '../../core/errors.ts';

const FREE_SPACE = 'free some space, then give the command again: nothing of it was kept';

const CODES: Readonly<Record<string, readonly [ErrorCode, string, string | null]>> = {
  ENOSPC: ['E_STORE_FULL', 'the disk is full', FREE_SPACE],
  EDQUOT: ['E_STORE_FULL', 'the disk quota is used up', FREE_SPACE],
  EMFILE: ['E_OPEN_FILES', 'this process may open no more files', RAISE_LIMIT],
  ENFILE: ['E_OPEN_FILES', 'the system may open no more files', RAISE_LIMIT],
  EROFS: ['E_STORE_UNWRITABLE', 'the file system is read-only', null],
  EACCES: ['E_STORE_UNWRITABLE', 'permission is denied', 'check who owns it and its mode'],
  EPERM: ['E_STORE_UNWRITABLE', 'the operation is not permitted', 'check who owns it and its mode'],
  ENOTDIR: ['E_STORE_FORM', 'there is a file where a folder should be', 'move it out of the way'],
  EEXIST: ['E_STORE_FORM', 'there is a file where a folder should be', 'move it out of the way'],
  EISDIR: ['E_STORE_FORM', 'there is a folder where a file should be', 'move it out of the way'],
};

export function storeFailure(cause: unknown, root: string): BatonError {
  if (cause instanceof BatonError) return cause;
  const { code = '', path = root, message } = cause as NodeJS.ErrnoException;
  const known = CODES[code];
  if (known === undefined) return new BatonError('E_STORE_FAILED', `the data folder ${root} failed: ${message}`);
  const [name, what, hint] = known;
  return new BatonError(name, `${path} could not be written or read: ${what}`, hint);
}
