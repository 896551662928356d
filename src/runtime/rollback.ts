/** The way back: what a task's outputs were before its first attempt, and putting them back when it was aborted or failed for good. */
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { discardSnapshots, type Restored, readManifest, restore, takeSnapshots } from '../workspace/snapshots.ts';
import type { Facts } from './facts.ts';
import { snapshotFolder } from './places.ts';

/** Once for a task: a later attempt goes back to the same beginning. */
export async function snapshotTask(
  dir: string,
  task: string,
  message: TaskMessage,
  workspace: string,
): Promise<number> {
  const wanted = (message.task.expected_outputs ?? []).flatMap(({ path, rollback_snapshot: snapshot }) =>
    snapshot === undefined || snapshot.enabled === false
      ? []
      : [
          {
            path,
            strategy: snapshot.snapshot_strategy ?? ('COPY' as const),
            snapshotPath: snapshot.snapshot_path ?? null,
          },
        ],
  );
  if (wanted.length === 0) return 0;
  const folder = snapshotFolder(dir, task);
  const there = await readManifest(folder);
  if (there.length > 0) return there.length;
  return (await takeSnapshots(wanted, { workspace, dataDir: dir, folder })).length;
}

export type Trigger = 'TASK_ABORTED' | 'TASK_FAILED' | 'TASK_CANCELLED';

/** Restores what there are snapshots of, and writes down the result of each. Null where there are none. */
export async function rollBack(
  dir: string,
  task: string,
  trigger: Trigger,
  facts: Facts,
): Promise<readonly Restored[] | null> {
  const snapshots = await readManifest(snapshotFolder(dir, task));
  if (snapshots.length === 0) return null;
  const results = await restore(snapshots);
  const failed = results.filter(({ status }) => status === 'FAILED');
  facts.tell('rollback.initiated', { trigger, artifacts_rolled_back: results });
  if (failed.length > 0) {
    facts.tell('rollback.failed', {
      code: 'E_ROLLBACK_FAILED',
      message: `${failed.length} of ${results.length} could not be restored; the snapshots are kept in ${snapshotFolder(dir, task)}`,
    });
  }
  return results;
}

/** The work is done and accepted: there is nothing to go back to. */
export async function forgetSnapshots(dir: string, task: string): Promise<void> {
  const snapshots = await readManifest(snapshotFolder(dir, task));
  if (snapshots.length > 0) await discardSnapshots(snapshots);
}
