/** Where things of runs are kept in the data folder, and the short-lived folder that a run has outside of it. */
import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { runtimeFolder } from '../process/runtime-folder.ts';

/** What its agent printed, the output of its checks, its details and its RESPONSE. */
export const logFolder = (dir: string, run: string): string => join(dir, 'logs', run);
/** The state of things before the first attempt of a task. */
export const snapshotFolder = (dir: string, task: string): string => join(dir, 'snapshots', task);
export const worktreeFolder = (dir: string): string => join(dir, 'worktrees');
export const reportFile = (dir: string, session: string): string =>
  join(dir, 'reports', `${session.replace(/[^\w.-]/g, '_')}.json`);

/** What every process of a run carries in its environment; no two runs of this machine have the same. */
export function markOf(dir: string, run: string): string {
  return `${run}@${createHash('sha256').update(realpathSync(dir)).digest('hex').slice(0, 16)}`;
}

/** A folder of one run's own, with a short path: sockets cannot have long ones. Only this user may look into it. */
export const openRunFolder = (): Promise<string> => mkdtemp(join(runtimeFolder(), 'r-'));
