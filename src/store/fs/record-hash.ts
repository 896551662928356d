/** The hash of a record, read where the record ends: by it a file that speaks of the journal is known to speak of this one. */
import type { Disk } from './disk.ts';
import { fileOf } from './journal-files.ts';
import type { Layout } from './layout.ts';
import { HASH_LENGTH, HASH_TAIL } from './record.ts';

/** The hash of the record that ends there. */
export const hashBefore = (disk: Disk, layout: Layout, day: string, size: number): string =>
  Buffer.from(disk.readAt(fileOf(layout, day), Math.max(0, size - HASH_TAIL), HASH_LENGTH)).toString('latin1');
