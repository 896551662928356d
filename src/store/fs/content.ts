/** Texts too long for a record: a file each, named by its hash, there before the record that names it. */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Disk } from './disk.ts';
import type { Layout } from './layout.ts';
import type { StoredText } from './record.ts';

/** In bytes of UTF-8. */
const MOST_INLINE = 16 * 1024;

export const contentPath = (layout: Layout, sha256: string): string => join(layout.content, sha256.slice(0, 2), sha256);

/** The text itself where it is short; else it is put on disk, for good, and named. */
export function keepText(disk: Disk, layout: Layout, text: string): StoredText {
  // A UTF-16 unit is at most three bytes; most texts need no counting.
  if (text.length * 3 <= MOST_INLINE) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= MOST_INLINE) return text;
  const sha256 = hash('sha256', bytes, 'hex');
  const path = contentPath(layout, sha256);
  const folder = join(layout.content, sha256.slice(0, 2));
  // One that was damaged since would be named for nothing.
  if (disk.stat(path)?.size !== bytes.length || !bytes.equals(disk.read(path) ?? Buffer.alloc(0))) {
    disk.mkdir(folder);
    disk.mkdir(layout.tmp);
    writeDurably(disk, path, bytes, join(layout.tmp, `content-${sha256}`));
  }
  // Also of one that is there: whoever put it there may have been stopped before this.
  for (const each of [folder, layout.content, layout.root]) disk.sync(each);
  return { sha256, bytes: bytes.length };
}

function writeDurably(disk: Disk, path: string, bytes: Uint8Array, aside: string): void {
  try {
    disk.write(aside, bytes);
    disk.sync(aside);
    disk.rename(aside, path);
  } catch (cause) {
    // On a full disk above all, nothing is left of what failed.
    disk.remove(aside);
    throw cause;
  }
}

/** Null where the file is gone or is not what it was. */
export function readText(disk: Disk, layout: Layout, text: StoredText): string | null {
  if (typeof text === 'string') return text;
  const bytes = disk.read(contentPath(layout, text.sha256));
  if (bytes === null || hash('sha256', bytes, 'hex') !== text.sha256) return null;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
