/** The user's own folder for sockets and what else lives only as long as a process: nobody else may look into it. */
import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { BatonError, messageOf } from '../core/errors.ts';

export const runtimeFolder = (): string => checkedFolder(findFolder());

/** Wherever a Baton of this user may have it: another one's environment may say something else than ours. */
export function runtimeFolders(): string[] {
  const user = process.getuid?.() ?? 'user';
  const given = process.env['XDG_RUNTIME_DIR'] || `/run/user/${user}`;
  const places = [join(given, 'baton'), `/run/user/${user}/baton`];
  return [...new Set([...places, ...[tmpdir(), '/tmp', '/var/tmp'].map((folder) => join(folder, `baton-${user}`))])];
}

/** The user's own folder for sockets. One that is another user's (as under `sudo -E`) is not used: what we leave there would lock its user out. */
function findFolder(): string {
  const user = process.getuid?.();
  const given = process.env['XDG_RUNTIME_DIR'];
  if (given) {
    const found = lstatSync(given, { throwIfNoEntry: false });
    if (found?.isDirectory() && (user === undefined || found.uid === user)) return join(given, 'baton');
  }
  return join(tmpdir(), `baton-${user ?? 'user'}`);
}

/** Makes the folder where it is not there. Whoever may write there could put a socket of their own in the place of ours. */
export function checkedFolder(path: string): string {
  makeFolder(path);
  const user = process.getuid?.();
  if (user === undefined) return path;
  const found = lstatSync(path);
  const mode = found.mode & 0o777;
  if (found.isDirectory() && found.uid === user && (mode & 0o077) === 0) return path;
  const came = found.isDirectory()
    ? `it belongs to user ${found.uid} and has mode ${mode.toString(8).padStart(3, '0')}`
    : 'it is not a folder';
  throw new BatonError(
    'E_PERMISSION_DENIED',
    `expected the runtime folder ${path} to belong to user ${user} alone (mode 700), but ${came}`,
    'remove it, or set XDG_RUNTIME_DIR to a folder that is yours alone',
  );
}

function makeFolder(path: string): void {
  try {
    // Where nothing can be made in a folder that is there, as in /proc, Node would try the folders above for ever.
    mkdirSync(path, { recursive: !existsSync(dirname(path)), mode: 0o700 });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw new BatonError(
      'E_PERMISSION_DENIED',
      `the runtime folder ${path} could not be made: ${messageOf(cause)}`,
      'set XDG_RUNTIME_DIR to a folder that is yours alone',
    );
  }
}
