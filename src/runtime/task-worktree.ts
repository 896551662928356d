/** A task in a git worktree of its own: its paths there, and what becomes of it at the end. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Task } from '../core/task.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { rebase, resolveIn } from '../workspace/paths.ts';
import { type Closed, closeWorktree, openWorktree, slugOf } from '../workspace/worktree.ts';
import { taskMessage } from './child.ts';
import type { Finding } from './evidence.ts';
import { createFacts, type Facts } from './facts.ts';
import type { Host } from './host.ts';
import { worktreeFolder } from './places.ts';
import { failureOf } from './work.ts';

export interface TaskWorktree {
  /** The TASK with all its paths in the worktree. */
  readonly message: TaskMessage;
  /** Merges back what is accepted. Null where the user's branch has all of it; else what keeps it, and where the work is. */
  merge(facts: Facts): Promise<Finding | null>;
  /** Keeps what is not accepted, and says where. */
  leave(facts: Facts): Promise<void>;
}

/** Null where the task works in its own folder, as most do. */
export async function inWorktree(host: Host, task: Task, message: TaskMessage): Promise<TaskWorktree | null> {
  const asked = message.task.extensions?.['x_worktree'] === true;
  if (!asked) return null;
  const said = message.task.environment.workspace_root;
  const repo = await resolveIn(host.workspace, said);
  const worktree = await oneByOne(() => openWorktree({ repo, taskId: task.id, folder: worktreeFolder(host.dir) }));
  const { branch, path } = worktree;
  const close = async (merge: boolean, facts: Facts): Promise<Closed> => {
    const result = await oneByOne(() => closeWorktree(worktree, { merge })).catch((cause: unknown): Closed => {
      const reason = `${failureOf(cause).message}; the work is on the branch ${branch} in ${path}`;
      return { merged: false, kept: true, unmerged: true, reason };
    });
    facts.tell('run.worktree', { branch, path, ...result });
    host.warn(`${task.id}: ${result.reason}`);
    return result;
  };
  return {
    message: moved(message, said, worktree.workspace),
    async merge(facts) {
      const { unmerged, reason } = await close(true, facts);
      return unmerged ? { code: 'E_EVIDENCE', message: `the work is not merged: ${reason}` } : null;
    },
    async leave(facts) {
      await close(false, facts);
    },
  };
}

let last: Promise<unknown> = Promise.resolve();
/** Git locks what it writes: two that make, merge or remove worktrees at once would stand in each other's way. */
function oneByOne<T>(work: () => Promise<T>): Promise<T> {
  const next = last.then(work);
  // Whoever asked for it is told; the next one begins all the same.
  last = next.catch(() => {});
  return next;
}

/** For a task that somebody else accepts than its run: what is still in its worktree is merged. What keeps it from that, else null. */
export async function mergeAccepted(host: Host, task: Task): Promise<Finding | null> {
  if (!existsSync(join(worktreeFolder(host.dir), slugOf(task.id)))) return null;
  const told = (await host.store.history(task.id)).flatMap(({ events }) =>
    events.filter(({ type, task: of }) => type === 'run.worktree' && of === task.id),
  );
  const { merged, unmerged } = told.at(-1)?.detail ?? {};
  if (merged === true || unmerged === false) return null;
  const worktree = await inWorktree(host, task, await taskMessage(host.store, task, host.workspace));
  const facts = createFacts(host.store, task.id, task.run?.id ?? null);
  const finding = (await worktree?.merge(facts)) ?? null;
  await facts.written();
  return finding;
}

/** The folder that a task's worktree was made of. */
export async function workspaceOf(
  { store, workspace }: Pick<Host, 'store' | 'workspace'>,
  task: Task,
): Promise<string> {
  const { environment } = (await taskMessage(store, task, workspace)).task;
  return resolveIn(workspace, environment.workspace_root);
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
