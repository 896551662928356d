/** The whole tree against the state: at start by names alone, for a doctor and after a loss of power file by file. */
import { TASK_STATUSES, type Task, type TaskStatus } from '../../../core/task.ts';
import type { Disk } from '../disk.ts';
import { NOT_A_FOLDER } from './batch.ts';
import { isForeignName, statusFolder, stemOf, tasksFolder } from './paths.ts';
import { type Finding, type LookOptions, look, type TreeState } from './reader.ts';

export interface ScanState extends TreeState {
  tasks(): Iterable<Task>;
}

export interface ScanOptions extends LookOptions {
  /** Reads every file; else only those that are not where they should be. */
  readonly full?: boolean;
}

export type ScanFinding =
  | Finding
  /** A companion folder that is not where its task is: a job with `from` set to `folder` brings it along. */
  | { readonly kind: 'astray'; readonly id: string; readonly path: string; readonly folder: TaskStatus };

/**
 * Each thing that differs, one by one; what is as it should be is not told. One listing a folder, and no look at a file whose name is in
 * its place. Of a folder, only the names are held, and of the state, the ids that have a file.
 */
export function* scan(disk: Disk, root: string, state: ScanState, options: ScanOptions = {}): Generator<ScanFinding> {
  const seen = new Set<string>();
  for (const status of TASK_STATUSES) yield* scanFolder(disk, root, status, state, options, seen);
  for (const { id } of state.tasks()) if (!seen.has(id)) yield { kind: 'missing', id };
}

function* scanFolder(
  disk: Disk,
  root: string,
  status: TaskStatus,
  state: ScanState,
  options: ScanOptions,
  seen: Set<string>,
): Generator<ScanFinding> {
  const folder = statusFolder(root, status);
  const link = [tasksFolder(root), folder].find((path) => (disk.stat(path)?.kind ?? 'folder') !== 'folder');
  if (link !== undefined) {
    yield { kind: 'unreadable', id: null, path: link, reason: NOT_A_FOLDER };
    return;
  }
  for (const name of disk.list(folder)) {
    const path = `${folder}/${name}`;
    if (isForeignName(name)) {
      const task = state.task(name);
      if (task !== undefined && task.status !== status) yield { kind: 'astray', id: name, path, folder: status };
      continue;
    }
    const task = state.task(stemOf(name));
    if (task?.status === status && options.full !== true) {
      seen.add(task.id);
      continue;
    }
    const finding = look(disk, root, path, state, options);
    if (finding.kind === 'foreign' || finding.kind === 'gone') continue;
    if (task !== undefined) seen.add(task.id);
    if (finding.kind !== 'same') yield finding;
  }
}
