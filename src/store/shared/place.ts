/** Where the owner of a data folder is found: the names of its lock and of its socket, both made from the folder's real path. */
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BatonError } from '../../core/errors.ts';

export interface Place {
  /** The data folder's real path. */
  readonly dir: string;
  /** What only a reader of the folder's secret can know; both sides of a connection compare it. */
  readonly key: string;
  /** The request socket, or a named pipe. */
  readonly socket: string;
  /** An abstract socket, which is gone when its process is. */
  readonly lockName: string;
  readonly lockFile: string;
}

/** The shortest limit of the systems we know (macOS: 104 bytes with the zero at the end). A longer path would be cut off in silence. */
const LONGEST_SOCKET_PATH = 103;

const hash = (...parts: readonly string[]): string => createHash('sha256').update(parts.join('\0')).digest('hex');

export interface PlaceOptions {
  readonly dir: string;
  readonly secret: string;
  readonly runtimeDir?: string;
}

export function findPlace({ dir, secret, runtimeDir }: PlaceOptions): Place {
  const real = realpathSync(dir);
  const key = hash('key', real, secret);
  const folder = runtimeDir ?? runtimeFolder();
  checkFolder(folder);
  const name = hash(real).slice(0, 24);
  const isWindows = process.platform === 'win32';
  // Pipes have no folder that keeps others out, so their names are not to be guessed.
  const socket = isWindows ? `\\\\.\\pipe\\baton-${hash('pipe', real, secret)}` : join(folder, `${name}.sock`);
  if (!isWindows && Buffer.byteLength(socket) > LONGEST_SOCKET_PATH) throw tooLong(socket);
  return { dir: real, key, socket, lockName: `\0baton-${hash(real, secret)}`, lockFile: join(folder, `${name}.lock`) };
}

const tooLong = (socket: string): BatonError =>
  new BatonError(
    'E_USAGE',
    `expected a path of at most ${LONGEST_SOCKET_PATH} bytes for a socket, got ${Buffer.byteLength(socket)}: ${socket}`,
    'set XDG_RUNTIME_DIR or TMPDIR to a folder with a shorter path',
  );

/** The user's own folder for sockets. One that is another user's (as under `sudo -E`) is not used: what we leave there would lock its user out. */
function runtimeFolder(): string {
  const user = process.getuid?.();
  const given = process.env['XDG_RUNTIME_DIR'];
  if (given) {
    const found = lstatSync(given, { throwIfNoEntry: false });
    if (found?.isDirectory() && (user === undefined || found.uid === user)) return join(given, 'baton');
  }
  return join(tmpdir(), `baton-${user ?? 'user'}`);
}

/** Whoever may write there could put a socket of their own in the owner's place. */
function checkFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const user = process.getuid?.();
  if (user === undefined) return;
  const found = lstatSync(path);
  const mode = found.mode & 0o777;
  if (found.isDirectory() && found.uid === user && (mode & 0o077) === 0) return;
  const came = found.isDirectory()
    ? `it belongs to user ${found.uid} and has mode ${mode.toString(8).padStart(3, '0')}`
    : 'it is not a folder';
  throw new BatonError(
    'E_PERMISSION_DENIED',
    `expected the runtime folder ${path} to belong to user ${user} alone (mode 700), but ${came}`,
    'remove it, or set XDG_RUNTIME_DIR to a folder that is yours alone',
  );
}
