/** The files that runs of a task changed: watched while a run works, recorded when its agent stops, read back for the runs after it. */
import { isFields } from '../../core/fields.ts';
import type { StoredRecord } from '../../core/store.ts';
import { isBelow } from '../../process/files.ts';
import { type FileChange, type FileChanges, type FileWatch, watchFiles } from '../../workspace/file-changes.ts';
import type { Facts } from '../facts.ts';
import { sinceFresh } from '../phases.ts';
import type { Prepared } from '../prepare.ts';

const CHANGED = 'run.changes';
/** So many are recorded; the number of all of them is too. */
const MOST_RECORDED = 500;

/** Null where a run may not write, or writes outside of its workspace: then it is not known what it changed. */
export async function watchRun({ ready }: Pick<Prepared, 'ready'>, dataDir: string): Promise<FileWatch | null> {
  const { workspace, writePaths, git } = ready;
  if (writePaths.some((path) => !isBelow(path, [workspace]))) return null;
  // A worktree lies in the data folder; then nothing of the data folder is in the workspace.
  const except = [dataDir, `${workspace}/.git`].filter((path) => isBelow(path, [workspace]));
  return watchFiles({ workspace, git, except });
}

/** What the agent changed. Baton's own checks may write too, so this is asked before they run. */
export async function recordChanges(watch: FileWatch | null, facts: Facts): Promise<FileChanges | null> {
  const changes = (await watch?.changed()) ?? null;
  if (changes === null || changes.list.length === 0) return changes;
  facts.tell(CHANGED, { count: changes.list.length, files: changes.list.slice(0, MOST_RECORDED) });
  return changes;
}

/** Whether all runs of the task before this one recorded what they changed. One whose Baton died did not. */
export const isEarlierKnown = (history: readonly StoredRecord[]): boolean =>
  !sinceFresh(history).some(({ events }) => events.some(({ type }) => type === 'run.expired'));

/** What other runs of the task changed and left there. */
export function earlierChanges(history: readonly StoredRecord[], run: string | null): FileChange[] {
  return sinceFresh(history)
    .flatMap(({ events }) => events)
    .filter((event) => event.type === CHANGED && event.run !== run)
    .flatMap(({ detail }) => (Array.isArray(detail?.['files']) ? (detail['files'] as unknown[]) : []))
    .filter((file): file is FileChange => isFields(file) && typeof file['path'] === 'string');
}
