/** The way back: what a task's outputs were before its first attempt, and putting them back when it was aborted or failed for good. */
import type { StoredRecord } from '../core/store.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { lookAt } from '../workspace/artifacts.ts';
import type { Ready } from '../workspace/preflight.ts';
import { discardSnapshots, type Restored, readManifest, restore, takeSnapshots } from '../workspace/snapshots.ts';
import type { Facts } from './facts.ts';
import type { Host } from './host.ts';
import { snapshotFolder } from './places.ts';

/** Once for a task: a later attempt goes back to the same beginning. */
export async function snapshotTask(
  dir: string,
  task: string,
  message: TaskMessage,
  { workspace, writePaths }: Pick<Ready, 'workspace' | 'writePaths'>,
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
  return (await takeSnapshots(wanted, { workspace, dataDir: dir, folder, roots: writePaths })).length;
}

type Trigger = 'TASK_ABORTED' | 'TASK_FAILED' | 'TASK_CANCELLED';

type Snapshots = Awaited<ReturnType<typeof readManifest>>;

/** What there is of each output, by a word for it. */
async function outputsNow(snapshots: Snapshots): Promise<Record<string, string>> {
  const now: Record<string, string> = {};
  for (const { path, except } of snapshots) {
    const look = (await lookAt([path], except)).get(path);
    now[path] = look?.exists === true ? (look.hash ?? 'unreadable') : 'nothing';
  }
  return now;
}

/** What the outputs are when a run ends. What is something else later is a person's. */
export async function noteLeft(dir: string, task: string, facts: Facts): Promise<void> {
  const snapshots = await readManifest(snapshotFolder(dir, task));
  if (snapshots.length > 0) facts.tell('run.left', { outputs: await outputsNow(snapshots) });
}

type Left = Readonly<Record<string, unknown>>;

/** What a run left, by the path; nothing where it died before it could be seen. */
export function leftBy(history: readonly StoredRecord[], run: string | undefined): Left {
  const told = history.flatMap(({ events }) =>
    events.filter((event) => event.type === 'run.left' && event.run === run),
  );
  const outputs = told.at(-1)?.detail?.['outputs'];
  return typeof outputs === 'object' && outputs !== null ? (outputs as Left) : {};
}

/** A sentence for whoever looks on, and one for each that could not be put back. */
export function tellRestored({ warn }: Pick<Host, 'warn'>, task: string, results: readonly Restored[]): void {
  const failed = results.filter(({ status }) => status === 'FAILED');
  warn(`${task}: ${results.length - failed.length} of ${results.length} outputs put back as they were`);
  for (const { error } of failed) warn(error ?? '');
}

/**
 * Restores what there are snapshots of, and writes down the result of each. Null where there are none.
 * @param left what the run left: an output that is something else by now is not touched
 */
export async function rollBack(
  dir: string,
  task: string,
  trigger: Trigger,
  facts: Facts,
  left: Left = {},
): Promise<readonly Restored[] | null> {
  const snapshots = await readManifest(snapshotFolder(dir, task));
  if (snapshots.length === 0) return null;
  const now = await outputsNow(snapshots.filter(({ path }) => left[path] !== undefined));
  const isOurs = ({ path }: { readonly path: string }): boolean => now[path] === left[path];
  const results = [
    ...(await restore(snapshots.filter(isOurs))),
    ...snapshots.filter((one) => !isOurs(one)).map(notOurs),
  ];
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

const notOurs = ({ named, path, place }: Snapshots[number]): Restored => ({
  path: named,
  restored_from: place,
  status: 'FAILED',
  error: `E_ROLLBACK_FAILED: ${path} was not restored: somebody changed it after the run`,
});

/** The work is done and accepted: there is nothing to go back to. */
export async function forgetSnapshots(dir: string, task: string): Promise<void> {
  const snapshots = await readManifest(snapshotFolder(dir, task));
  if (snapshots.length > 0) await discardSnapshots(snapshots);
}
