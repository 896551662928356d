/**
 * Where a new task works: in the user's checkout, in a worktree of its own, beside others, or with its parent. It is decided once, when the
 * task is made, so that every process that runs it does the same.
 */
import { relative } from 'node:path';
import type { Config } from '../../core/config.ts';
import { BatonError } from '../../core/errors.ts';
import type { Access } from '../../core/policy.ts';
import type { Workspace } from '../../core/task.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import { type GitInfo, git, gitInfo } from '../../workspace/git.ts';
import { resolveIn } from '../../workspace/paths.ts';
import { wishesOf } from './order.ts';

interface Placing {
  readonly message: TaskMessage;
  readonly access: Access;
  /** The folder that relative paths of the TASK start from. */
  readonly home: string;
  readonly config: Config;
  /** A person gave this one task to `baton run`: it works in their checkout. */
  readonly inCheckout: boolean;
  readonly isChild: boolean;
  /** Looks a repository up; a batch of tasks for one folder asks git once. */
  readonly look?: typeof gitInfo;
}

export interface Place {
  readonly workspace: Workspace;
  /** The real paths that other tasks may not write while it runs; none where it works in a worktree. */
  readonly writes: readonly string[];
}

export async function placeFor(placing: Placing): Promise<Place> {
  const { message, access, home, look = gitInfo } = placing;
  const path = await resolveIn(home, message.task.environment.workspace_root);
  const wishes = wishesOf(message);
  const info = await look(path);
  const head = info?.head ?? null;
  const declared = message.task.access?.filesystem?.write_paths !== undefined;
  const paths = declared ? access.writePaths : access.writePaths.length === 0 ? [] : [path];
  const writes = await Promise.all(paths.map((one) => resolveIn(path, one)));
  if (info === null || head === null) {
    if (wishes.isolation === 'worktree') throw noWorktree(path, info);
    return { workspace: { ...NO_REPOSITORY, path, isolation: placing.isChild ? 'parent' : 'shared' }, writes };
  }
  const branch = await branchFor(info, message);
  const isolation = isolationOf(placing, writes.length > 0, branch !== info.branch);
  const workspace: Workspace = {
    path,
    repository: await repositoryId(info, head),
    folder: relative(info.root, path),
    branch,
    isolation,
    merge: branch === null ? 'never' : (wishes.merge ?? placing.config.defaults.merge),
    base: null,
  };
  if (isolation === 'worktree') return { workspace, writes: [] };
  // A checkout has one writer, whatever part of it a task means to write.
  return { workspace, writes: isolation === 'checkout' && writes.length > 0 ? [info.root] : writes };
}

/** `gitInfo` that asks once a folder. */
export function rememberedGit(): typeof gitInfo {
  const seen = new Map<string, ReturnType<typeof gitInfo>>();
  return (path) => {
    const before = seen.get(path);
    if (before !== undefined) return before;
    const asked = gitInfo(path);
    seen.set(path, asked);
    return asked;
  };
}

const NO_REPOSITORY = { repository: null, folder: '', branch: null, merge: 'never', base: null } as const;

function isolationOf(
  { message, config, inCheckout, isChild }: Placing,
  mayWrite: boolean,
  isOtherBranch: boolean,
): Workspace['isolation'] {
  const { isolation } = wishesOf(message);
  if (isolation !== null) return isolation;
  if (isChild) return 'parent';
  // Another branch than the one that is checked out is only to be had in a worktree.
  if (isOtherBranch) return 'worktree';
  if (!mayWrite) return 'shared';
  if (config.defaults.isolation !== 'auto') return config.defaults.isolation;
  return inCheckout ? 'checkout' : 'worktree';
}

/** The branch that the TASK names, which need not be checked out; else the one that is. Null on a detached HEAD. */
async function branchFor(info: GitInfo, { task }: TaskMessage): Promise<string | null> {
  const named = task.environment.git_branch;
  if (named === undefined || named === info.branch) return info.branch;
  const found = await git(info.root, ['show-ref', '--verify', '--quiet', `refs/heads/${named}`]);
  if (found.code === 0) return named;
  throw new BatonError(
    'E_SCHEMA_VALIDATION',
    `expected at /task/environment/git_branch a branch of ${info.root}, got ${named}`,
    `make it first: git branch ${named}`,
  );
}

/** By the repository's folder and its tip: the walk to the first commit is long in a long history. */
const known = new Map<string, string>();

/** The root commit; of several the one that git names last, which is that of the first parents in most histories. */
async function repositoryId({ root, commonDir }: GitInfo, head: string): Promise<string | null> {
  const key = `${commonDir} ${head}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const { code, stdout } = await git(root, ['rev-list', '--max-parents=0', head]);
  const id = code === 0 ? stdout.toString('utf8').trim().split('\n').at(-1) : undefined;
  if (id === undefined || id === '') return null;
  known.set(key, id);
  return id;
}

const noWorktree = (path: string, info: GitInfo | null): BatonError =>
  new BatonError(
    'E_FILE_NOT_FOUND',
    info === null
      ? `a worktree needs a git repository, and ${path} is in none`
      : `a worktree needs a commit to begin at, and ${info.root} has none yet`,
    info === null ? 'leave --worktree out, or: git init' : 'commit something first',
  );
