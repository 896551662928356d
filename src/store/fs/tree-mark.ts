/** How far the tree has followed the journal, so that a start looks only at what it may have missed. */
import { readFileSync } from 'node:fs';
import { TASK_STATUSES } from '../../core/task.ts';
import { type Disk, replaceFile } from './disk.ts';
import type { Layout } from './layout.ts';
import { sealOf } from './seal.ts';
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

/** Null where there is none, or none that can be believed: it was torn by a loss of power, changed, or written by 0.1.0, which did not seal it. */
export function readMark(disk: Disk, layout: Layout, secret: string): TreeMark | null {
  const found = parseMark(disk, layout);
  return found !== null && found.seal === sealOf(JSON.stringify(found.mark), secret) ? found.mark : null;
}

/** The last record that the tree has shown, so that it was durable; 0 where nothing can be believed of it. */
export function shownBefore(disk: Disk, layout: Layout, secret: string): number {
  const found = parseMark(disk, layout);
  if (found === null) return 0;
  return found.seal === undefined ? found.mark.seq : (readMark(disk, layout, secret)?.seq ?? 0);
}

function parseMark(disk: Disk, layout: Layout): { readonly mark: TreeMark; readonly seal: unknown } | null {
  const bytes = disk.read(layout.treeMark);
  if (bytes === null) return null;
  try {
    const { seal, ...rest } = JSON.parse(new TextDecoder().decode(bytes)) as TreeMark & { readonly seal?: unknown };
    const { seq, boot, at, folders } = rest;
    if (typeof seq !== 'number' || typeof boot !== 'string' || typeof at !== 'number') return null;
    return { mark: { seq, boot, at, folders: Array.isArray(folders) ? folders : null }, seal };
  } catch {
    return null;
  }
}

export function writeMark(disk: Disk, layout: Layout, { seq, boot, at, folders }: TreeMark, secret: string): void {
  const mark: TreeMark = { seq, boot, at, folders };
  const text = JSON.stringify({ ...mark, seal: sealOf(JSON.stringify(mark), secret) });
  disk.mkdir(layout.tmp);
  replaceFile(disk, layout.treeMark, `${text}\n`, `${layout.tmp}/tree-mark`);
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
