/** What an agent prints, on disk as it comes: all of it, in two files, never more of it in memory than one piece. */
import { existsSync, watch } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { anyOf, pause } from '../process/waiting.ts';

export type Stream = 'out' | 'err';

export interface RunLog {
  /** Resolves when the piece is written, so that a fast agent waits for a slow disk. */
  write(stream: Stream, chunk: Uint8Array): Promise<void>;
  /** Bytes so far, of both. */
  readonly bytes: number;
  /** Characters so far, of both. */
  readonly chars: number;
  readonly paths: Readonly<Record<Stream, string>>;
  close(): Promise<void>;
}

/** The files are made when there is something to write. */
export function openLog(folder: string): RunLog {
  const paths = { out: `${folder}/out.log`, err: `${folder}/err.log` };
  const files = new Map<Stream, Promise<FileHandle>>();
  let bytes = 0;
  let chars = 0;

  const fileOf = (stream: Stream): Promise<FileHandle> => {
    let file = files.get(stream);
    if (file === undefined) {
      file = mkdir(dirname(paths[stream]), { recursive: true }).then(() => open(paths[stream], 'a', 0o600));
      files.set(stream, file);
    }
    return file;
  };

  return {
    async write(stream, chunk) {
      bytes += chunk.length;
      chars += charsIn(chunk);
      await (await fileOf(stream)).writeFile(chunk);
    },
    get bytes() {
      return bytes;
    },
    get chars() {
      return chars;
    },
    paths,
    async close() {
      // One that could not be opened was told when it was written.
      for (const file of files.values()) await (await file.catch(() => null))?.close();
      files.clear();
    },
  };
}

/** In UTF-8 every byte begins a character but those that begin with the bits 10; so a character may be cut in two by its pieces. */
function charsIn(chunk: Uint8Array): number {
  let count = 0;
  for (let i = 0; i < chunk.length; i++) if (((chunk[i] as number) & 0xc0) !== 0x80) count++;
  return count;
}

/** How soon a log is looked at again when nobody tells that it has grown. */
const LOOK_AGAIN_MS = 500;

/** Until something is written in the folder of a log, or a moment has passed: the folder may not be there yet. */
export async function logGrown(folder: string, until: AbortSignal): Promise<void> {
  const grown = new AbortController();
  const watcher = existsSync(folder) ? watch(folder, () => grown.abort()) : null;
  // Without it the moment is enough.
  watcher?.on('error', () => {});
  const { signal, letGo } = anyOf([until, grown.signal]);
  await pause(LOOK_AGAIN_MS, signal);
  letGo();
  watcher?.close();
}
