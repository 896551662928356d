/** A task in a git worktree of its own: its paths there, and what becomes of it at the end. */
import type { Task } from '../core/task.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { rebase, resolveIn } from '../workspace/paths.ts';
import { closeWorktree, openWorktree } from '../workspace/worktree.ts';
import type { Facts } from './facts.ts';
import type { Host } from './host.ts';
import { worktreeFolder } from './places.ts';

export interface TaskWorktree {
  /** The TASK with all its paths in the worktree. */
  readonly message: TaskMessage;
  /** Merges back what is done; keeps what is not, and says where. */
  close(isDone: boolean, facts: Facts): Promise<void>;
}

/** Null where the task works in its own folder, as most do. */
export async function inWorktree(host: Host, task: Task, message: TaskMessage): Promise<TaskWorktree | null> {
  const asked = message.task.extensions?.['x_worktree'] === true;
  if (!asked) return null;
  const said = message.task.environment.workspace_root;
  const repo = await resolveIn(host.workspace, said);
  const worktree = await openWorktree({ repo, taskId: task.id, folder: worktreeFolder(host.dir) });
  return {
    message: moved(message, said, worktree.workspace),
    async close(isDone, facts) {
      const result = await closeWorktree(worktree, { merge: isDone });
      facts.tell('run.worktree', { branch: worktree.branch, path: worktree.path, ...result });
      host.warn(`${task.id}: ${result.reason}`);
    },
  };
}

function moved(message: TaskMessage, from: string, to: string): TaskMessage {
  const there = (path: string): string => rebase(path, from, to);
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
