/** A TASK that was written for one folder, for another one that stands in for it. */
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import { rebase } from '../../workspace/paths.ts';

/** A branch need not be checked out to be worked on in a worktree. */
export const withoutBranch = (message: TaskMessage): TaskMessage => ({
  ...message,
  task: { ...message.task, environment: { ...message.task.environment, git_branch: undefined } },
});

/** @param real where the folder that the TASK names really is: paths may be written either way */
export function movedTo(message: TaskMessage, real: string, to: string): TaskMessage {
  const said = message.task.environment.workspace_root;
  const there = (path: string): string => rebase(rebase(path, said, to), real, to);
  const { task } = message;
  const files = task.access?.filesystem;
  return {
    ...message,
    task: {
      ...task,
      environment: { ...task.environment, workspace_root: to, git_branch: undefined },
      inputs: task.inputs?.map((input) => ({ ...input, path: there(input.path) })),
      // The user's tree is not touched before all is accepted: there is nothing in it to go back to.
      expected_outputs: task.expected_outputs?.map((output) => ({
        ...output,
        path: there(output.path),
        rollback_snapshot: undefined,
      })),
      access:
        files === undefined
          ? task.access
          : {
              ...task.access,
              filesystem: {
                ...files,
                read_paths: files.read_paths?.map(there),
                write_paths: files.write_paths?.map(there),
              },
            },
    },
    phases: message.phases?.map((phase) => ({
      ...phase,
      checkpoints: phase.checkpoints?.map((checkpoint) => ({
        ...checkpoint,
        expected_artifacts: checkpoint.expected_artifacts?.map((artifact) => ({
          ...artifact,
          path: there(artifact.path),
        })),
      })),
    })),
  };
}
