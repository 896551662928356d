/**
 * What has to be so before anything is changed: the folder is there, the system and the branch are the ones that the TASK was written
 * for, its inputs can be read and may be, its snapshots go where they may. Nothing here writes.
 *
 * What is missing is `E_FILE_NOT_FOUND` (a folder, an input, a shell, a repository); what may not be is `E_PERMISSION_DENIED`, a lack
 * of a terminal among it; a TASK for another system or another branch does not fit: `E_SCHEMA_VALIDATION`.
 */
import { constants, existsSync } from 'node:fs';
import { access as mayAccess, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { BatonError, isMissing, messageOf } from '../core/errors.ts';
import type { Access } from '../core/policy.ts';
import { isBelow } from '../process/files.ts';
import { whereIs } from '../process/where.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { lookAt } from './artifacts.ts';
import { type GitInfo, gitInfo, whyNotPlain } from './git.ts';
import { rebase, resolveIn } from './paths.ts';
import { checkOutputPath, snapshotPlace } from './snapshot-path.ts';

interface PreflightInput {
  readonly message: TaskMessage;
  /** The folder that is worked in: the TASK's own, or a worktree that stands in for it. */
  readonly workspace: string;
  readonly access: Access;
  /** Whether there is a terminal for an agent that can't do without one. */
  readonly hasTerminal: boolean;
  readonly dataDir: string;
  /** The repository there, where it is known; else it is found by the folder. */
  readonly git?: GitInfo | undefined;
}

interface ReadyInput {
  readonly path: string;
  /** It must not change. What the task itself asks to be written goes before that. */
  readonly readOnly: boolean;
  readonly hash: string | null;
}

export interface Ready {
  /** Absolute, symlinks resolved; so are all the others. */
  readonly workspace: string;
  readonly readPaths: readonly string[];
  readonly writePaths: readonly string[];
  readonly inputs: readonly ReadyInput[];
  /** What the task is to make. */
  readonly outputs: readonly string[];
  /** What is left out where a folder is looked at: the data folder, `.git`, and what the task makes in it. */
  readonly apart: readonly string[];
  readonly git: GitInfo | null;
}

/** Throws what stands in the way; the first thing that does. */
export async function preflight(input: PreflightInput): Promise<Ready> {
  const { message, access, dataDir } = input;
  const { environment } = message.task;
  if (message.target.capabilities?.headless_mode === false && !input.hasTerminal) {
    throw new BatonError(
      'E_PERMISSION_DENIED',
      `task ${message.task.task_id} asks for an agent with a terminal (headless_mode: false) and there is none here`,
      'leave out headless_mode, or run it where a terminal is',
    );
  }
  const workspace = await realFolder(input.workspace);
  checkSystem(environment.os);
  checkShell(environment.shell);
  await checkPlace(workspace, dataDir);
  const git = input.git ?? (await gitInfo(workspace));
  checkSettings(git);
  checkBranch(environment.git_branch, git, workspace);

  const here = inPlaceOf(environment.workspace_root, input.workspace, workspace);
  const real = (paths: readonly string[]): Promise<string[]> =>
    Promise.all(paths.map((path) => resolveIn(workspace, here(path))));
  const grants = (paths: readonly string[]): Promise<string[]> =>
    Promise.all(paths.map((path) => realGrant(path, here(path), workspace, input.workspace)));
  const [readPaths, writePaths] = await Promise.all([grants(access.readPaths), grants(access.writePaths)]);
  const made = await real((message.task.expected_outputs ?? []).map(({ path }) => path));
  const apart = [dataDir, join(workspace, '.git'), ...made.map(topmostNew)];
  // What may be written may be read.
  const granted = [...new Set([...readPaths, ...writePaths])];
  const inputs: ReadyInput[] = [];
  for (const { path, read_only: readOnly = true } of message.task.inputs ?? []) {
    const input = await readyInput(path, here(path), workspace, granted, apart);
    inputs.push({ ...input, readOnly: readOnly && !made.includes(input.path) });
  }
  for (const { path, rollback_snapshot: snapshot } of message.task.expected_outputs ?? []) {
    if (snapshot === undefined || snapshot.enabled === false) continue;
    const bounds = { workspace, writePaths, dataDir: await resolveIn(process.cwd(), dataDir) };
    await checkOutputPath(path, here(path), bounds);
    if (snapshot.snapshot_path !== undefined)
      await snapshotPlace(snapshot.snapshot_path, here(snapshot.snapshot_path), bounds);
  }
  return { workspace, readPaths, writePaths, inputs, outputs: made, apart, git };
}

/** No agent sees the data folder; only the worktrees that Baton makes there are worked in. */
async function checkPlace(workspace: string, dataDir: string): Promise<void> {
  const data = await resolveIn(process.cwd(), dataDir);
  if (!isBelow(workspace, [data]) || isBelow(workspace, [join(data, 'worktrees')])) return;
  throw new BatonError(
    'E_PERMISSION_DENIED',
    `the workspace ${workspace} lies in the data folder ${data}, which no agent sees`,
    'work in another folder, or keep the data elsewhere',
  );
}

function checkSettings(git: GitInfo | null): void {
  const why = git === null ? null : whyNotPlain(git);
  if (why !== null) throw new BatonError('E_PERMISSION_DENIED', `${why}; an agent may have written that`, 'look at it');
}

/** A path, or the folder above it that has to be made with it. */
function topmostNew(path: string): string {
  let at = path;
  while (!existsSync(at) && dirname(at) !== at && !existsSync(dirname(at))) at = dirname(at);
  return at;
}

/** Where a path that is granted really is. One of the workspace stays in it: an agent could make a link there, for the next one to follow. */
async function realGrant(named: string, path: string, workspace: string, given: string): Promise<string> {
  const real = await resolveIn(workspace, path);
  if (!isBelow(resolve(workspace, path), [workspace, resolve(given)]) || isBelow(real, [workspace])) return real;
  throw new BatonError(
    'E_PERMISSION_DENIED',
    `${named} is granted as a path of the workspace, and a symlink leads from there to ${real}`,
    `name ${real} itself, if that is meant`,
  );
}

async function realFolder(path: string): Promise<string> {
  const workspace = await resolveIn(process.cwd(), path);
  const found = await stat(workspace).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'EACCES')
      throw new BatonError('E_PERMISSION_DENIED', `the workspace ${path} may not be entered`);
    // Not there, which is said below.
    return null;
  });
  if (found?.isDirectory() !== true) {
    const what = found === null ? 'there is nothing' : 'there is a file';
    throw new BatonError('E_FILE_NOT_FOUND', `the workspace has to be a folder, and at ${path} ${what}`);
  }
  return workspace;
}

/** The names that systems go by in TASKs, beside Node's own. */
const SYSTEMS: Readonly<Record<string, string>> = {
  windows: 'win32',
  macos: 'darwin',
  'mac os': 'darwin',
  osx: 'darwin',
};

function checkSystem(os: string | undefined): void {
  if (os === undefined) return;
  const name = os.trim().toLowerCase();
  if ((SYSTEMS[name] ?? name) === process.platform) return;
  throw new BatonError('E_SCHEMA_VALIDATION', `the task is for the system ${os}, and this one is ${process.platform}`);
}

function checkShell(shell: string | undefined): void {
  if (shell === undefined || whereIs(shell) !== null) return;
  throw new BatonError('E_FILE_NOT_FOUND', `the task asks for the shell ${shell}, which is not on PATH`);
}

function checkBranch(branch: string | undefined, git: GitInfo | null, workspace: string): void {
  if (branch === undefined) return;
  if (git === null) {
    throw new BatonError(
      'E_FILE_NOT_FOUND',
      `the task asks for the branch ${branch}, and ${workspace} is in no git repository`,
    );
  }
  // A worktree of Baton's own stands for the branch that it was made from.
  const isOurs = git.gitDir !== git.commonDir && git.branch?.startsWith('baton/') === true;
  if (git.branch === branch || isOurs) return;
  const is = git.branch ?? `no branch (HEAD is at ${git.head?.slice(0, 12) ?? 'nothing'})`;
  throw new BatonError(
    'E_SCHEMA_VALIDATION',
    `the task asks for the branch ${branch}, and ${is} is checked out in ${git.root}`,
    `git switch ${branch}`,
  );
}

/** Paths that were written for the TASK's own folder, in the one that stands in for it. */
function inPlaceOf(root: string, given: string, workspace: string): (path: string) => string {
  if (!isAbsolute(root) || root === given) return (path) => path;
  return (path) => rebase(path, root, workspace);
}

async function readyInput(
  named: string,
  path: string,
  workspace: string,
  granted: readonly string[],
  apart: readonly string[],
): Promise<Omit<ReadyInput, 'readOnly'>> {
  const real = await resolveIn(workspace, path);
  if (!isBelow(real, granted)) {
    throw new BatonError(
      'E_PERMISSION_DENIED',
      `the input ${named} is at ${real}, which is in none of the paths that may be read (${granted.join(', ') || 'there are none'})`,
    );
  }
  try {
    const found = await stat(real);
    await mayAccess(real, found.isDirectory() ? constants.R_OK | constants.X_OK : constants.R_OK);
  } catch (cause) {
    if (isMissing(cause)) {
      throw new BatonError('E_FILE_NOT_FOUND', `the input ${named} is not there: nothing is at ${real}`);
    }
    throw new BatonError('E_PERMISSION_DENIED', `the input ${named} could not be read: ${messageOf(cause)}`);
  }
  const look = (await lookAt([real], apart)).get(real);
  return { path: real, hash: look?.hash ?? null };
}
