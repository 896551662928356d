/** Where the owner of a data folder is found: the names of its lock and of its socket, both made from the folder's real path. */
import { hash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { BatonError } from '../../core/errors.ts';
import { checkedFolder, runtimeFolder } from '../../process/runtime-folder.ts';

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

const digestOf = (...parts: readonly string[]): string => hash('sha256', parts.join('\0'), 'hex');

interface PlaceOptions {
  readonly dir: string;
  readonly secret: string;
  readonly runtimeDir?: string;
}

export function findPlace({ dir, secret, runtimeDir }: PlaceOptions): Place {
  const real = realpathSync(dir);
  const key = digestOf('key', real, secret);
  const folder = runtimeDir === undefined ? runtimeFolder() : checkedFolder(runtimeDir);
  const name = digestOf(real).slice(0, 24);
  const isWindows = process.platform === 'win32';
  // Pipes have no folder that keeps others out, so their names are not to be guessed.
  const socket = isWindows ? `\\\\.\\pipe\\baton-${digestOf('pipe', real, secret)}` : join(folder, `${name}.sock`);
  if (!isWindows && Buffer.byteLength(socket) > LONGEST_SOCKET_PATH) throw tooLong(socket);
  return {
    dir: real,
    key,
    socket,
    lockName: `\0baton-${digestOf(real, secret)}`,
    lockFile: join(folder, `${name}.lock`),
  };
}

const tooLong = (socket: string): BatonError =>
  new BatonError(
    'E_USAGE',
    `expected a path of at most ${LONGEST_SOCKET_PATH} bytes for a socket, got ${Buffer.byteLength(socket)}: ${socket}`,
    'set XDG_RUNTIME_DIR or TMPDIR to a folder with a shorter path',
  );
