/** How far the tree has followed the journal, so that a start looks only at what it may have missed. */
import { readFileSync } from 'node:fs';
import { TASK_STATUSES } from '../../core/task.ts';
import { type Disk, replaceFile } from './disk.ts';
import type { Layout } from './layout.ts';
import { statusFolder } from './tree/paths.ts';

export interface TreeMark {
  /** The tree shows every record up to this one. */
  readonly seq: number;
  /** Which start of the machine it was: what was not synced survives a killed process, but not a loss of power. */
  readonly boot: string;
  /** What a person had changed in the files by then has been taken in. */
  readonly at: number;
  /** The folders' times, where nobody was at work any more; a folder that has another has been changed by somebody else. */
  readonly folders: readonly number[] | null;
}

export function readMark(disk: Disk, layout: Layout): TreeMark | null {
  const bytes = disk.read(layout.treeMark);
  if (bytes === null) return null;
  try {
    const { seq, boot, at, folders } = JSON.parse(new TextDecoder().decode(bytes)) as TreeMark;
    if (typeof seq !== 'number' || typeof boot !== 'string' || typeof at !== 'number') return null;
    return { seq, boot, at, folders: Array.isArray(folders) ? folders : null };
  } catch {
    // Torn by a loss of power; then everything is looked at.
    return null;
  }
}

export function writeMark(disk: Disk, layout: Layout, mark: TreeMark): void {
  disk.mkdir(layout.tmp);
  replaceFile(disk, layout.treeMark, `${JSON.stringify(mark)}\n`, `${layout.tmp}/tree-mark`);
}

export const folderTimes = (disk: Disk, layout: Layout): number[] =>
  TASK_STATUSES.map((status) => disk.stat(statusFolder(layout.root, status))?.mtimeMs ?? 0);

/** Names this start of the machine; where the system has no name for it, no two are alike. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
