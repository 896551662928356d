/** The paths that new tasks will write, where they really are: two names of one folder are one place. */
import type { NewTask } from '../core/laws/messages.ts';
import { resolveIn } from '../workspace/paths.ts';

/** @param cwd what relative ones are relative to */
export const withRealWrites = (tasks: readonly NewTask[], cwd: string): Promise<NewTask[]> =>
  Promise.all(
    tasks.map(async (task) =>
      task.writes === undefined
        ? task
        : { ...task, writes: await Promise.all(task.writes.map((path) => resolveIn(cwd, path))) },
    ),
  );
