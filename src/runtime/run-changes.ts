/** What a run of a task of code changed in its workspace, written down while that is as the run left it: before anything is taken back or merged. */
import { join } from 'node:path';
import { taskTypeOfTask } from '../protocol/prompt.ts';
import { type Changes, watchChanges } from '../workspace/changes.ts';
import { resolveIn } from '../workspace/paths.ts';
import type { Prepared } from './prepare.ts';
import { CHANGES, scratchOf } from './type-files.ts';
import { failureOf, type Supervision } from './work.ts';

/** Does the work of a run, and writes down what it changed where that is what its type of task asks for; all others pay nothing. */
export async function withChanges<T>(
  { host, task, prepared }: Supervision,
  folder: string,
  work: () => Promise<T>,
): Promise<T> {
  const changes = taskTypeOfTask(prepared.message) === 'code' ? await changesBefore(host.dir, prepared, folder) : null;
  if (changes === null) return work();
  try {
    return await work();
  } finally {
    try {
      await changes.write(join(folder, CHANGES));
      await changes.close();
    } catch (cause) {
      // How the run ended counts for more than what is told of it.
      host.warn(`${task.id}: ${CHANGES} could not be written: ${failureOf(cause).message}`);
    }
  }
}

async function changesBefore(dir: string, { message, ready }: Prepared, folder: string): Promise<Changes> {
  const { workspace, git, writePaths } = ready;
  const outputs: string[] = [];
  if (git === null) {
    for (const { path } of message.task.expected_outputs ?? []) outputs.push(await resolveIn(workspace, path));
  }
  return watchChanges({ workspace, git, dataDir: dir, within: writePaths, outputs, scratch: scratchOf(folder) });
}
