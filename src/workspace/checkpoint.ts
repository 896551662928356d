/**
 * Checkpoints of a working tree: a commit object of all that is in it and not ignored, which only a ref of ours leads to. It is made with a
 * private index, so that the user's branch, index, stash and hooks are untouched.
 *
 * It holds files, links and the executable bit; folders that are empty it does not. Where the workspace is a folder of a repository, that folder is
 * what counts: beside it the commit has what the user's index has, and nothing of that is ever looked at or put back. Contents are kept
 * byte for byte, so a file that git would convert (line ends, LFS) differs from the one in HEAD.
 */
import { BatonError } from '../core/errors.ts';
import { type GitInfo, git, gitBytes, gitText } from './git.ts';
import { repositoryOf, underWay } from './git-state.ts';
import { notBelow, notNested } from './left-out.ts';
import { RESERVED } from './run-refs.ts';
import { type Bytes, toText } from './tree.ts';
import { entriesOf, inScope, lookAtTree, type Scope, SUBMODULE, scopeOf } from './working-tree.ts';
import { slugOf } from './worktree.ts';

interface Checkpoint {
  /** `cp_001` and so on, within its session. */
  readonly id: string;
  readonly ref: string;
  readonly commit: string;
}

interface CheckpointInput {
  readonly workspace: string;
  /** Never looked at: the data folder. */
  readonly exclude: readonly string[];
  /** Not there yet, below `refs/baton/`. */
  readonly ref: string;
  readonly message: string;
  /** Makes a commit on the user's branch first, as the document shows. No hook of the user's runs for it. */
  readonly onBranch?: boolean;
}

export interface TakenCheckpoint {
  readonly commit: string;
  readonly tree: string;
  /** Of the user, when it was taken; with `onBranch` the commit that was made on the branch. Null before the first commit. */
  readonly head: string | null;
  /** Null where HEAD is detached. */
  readonly branch: string | null;
  /** How many files of the workspace are in it. */
  readonly files: number;
}

const MOST_TRIES = 20;
const OURS = 'refs/baton/';

/** The refs of a session's checkpoints are below this. */
export function checkpointRefs(session: string): string {
  const slug = slugOf(session);
  // Those names are no session's, and a session may have any.
  return `${OURS}${RESERVED.includes(slug) ? slugOf(`${session}/`) : slug}`;
}

/** Takes a checkpoint under a ref that the caller names. */
export function takeCheckpoint(input: CheckpointInput): Promise<TakenCheckpoint>;
/** Takes the next checkpoint of a session, whatever number that has. Throws where the folder is in no repository. */
export function takeCheckpoint(
  workspace: string,
  session: string,
  exclude: readonly string[],
  message?: string,
): Promise<Checkpoint>;
export function takeCheckpoint(
  first: string | CheckpointInput,
  session = '',
  exclude: readonly string[] = [],
  message?: string,
): Promise<TakenCheckpoint | Checkpoint> {
  if (typeof first === 'string') return takeNext(first, session, exclude, message);
  return takeNamed(first);
}

async function takeNamed({ workspace, exclude, ref, message, onBranch }: CheckpointInput): Promise<TakenCheckpoint> {
  if (!ref.startsWith(OURS)) {
    throw new BatonError('E_SCHEMA_VALIDATION', `the ref of a checkpoint should be below ${OURS} and is ${ref}`);
  }
  let info = await repositoryOf(workspace);
  if (onBranch === true) {
    await commitOnBranch(info, await scopeOf(info, workspace, exclude), message);
    info = await repositoryOf(workspace);
  }
  // The commit on the branch is the user's, with line ends and filters as the user has them; what is gone back to is this one.
  const taken = await commitOfTree(info, workspace, exclude, message);
  if ((await git(info.root, ['update-ref', ref, taken.commit, ''])).code !== 0) throw await notMade(info.root, ref);
  return { ...taken, head: info.head, branch: info.branch };
}

async function notMade(root: string, ref: string): Promise<BatonError> {
  const isThere = (await git(root, ['show-ref', '--verify', '--quiet', ref])).code === 0;
  return isThere
    ? new BatonError('E_DUPLICATE', `there is a checkpoint at ${ref} already`, 'take the next number')
    : new BatonError('E_UNKNOWN', `the ref ${ref} could not be made in ${root}`);
}

async function takeNext(
  workspace: string,
  session: string,
  exclude: readonly string[],
  message?: string,
): Promise<Checkpoint> {
  const info = await repositoryOf(workspace);
  const { commit } = await commitOfTree(info, workspace, exclude, message ?? `Baton's checkpoint of ${session}`);
  let number = await lastCheckpoint(info.root, session);
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    number += 1;
    const id = `cp_${String(number).padStart(3, '0')}`;
    const ref = `${checkpointRefs(session)}/${id}`;
    // Somebody else may have taken the number meanwhile: then it is refused, and the next one is tried.
    if ((await git(info.root, ['update-ref', ref, commit, ''])).code === 0) return { id, ref, commit };
  }
  throw new BatonError('E_UNKNOWN', `no ref could be made below ${checkpointRefs(session)} in ${info.root}`);
}

/** A commit of the tree as it is, under a ref that is not there yet; HEAD is its parent. Returns its id. */
export async function commitTree(
  workspace: string,
  exclude: readonly string[],
  ref: string,
  message: string,
): Promise<string> {
  const info = await repositoryOf(workspace);
  const { commit } = await commitOfTree(info, workspace, exclude, message);
  await gitText(info.root, ['update-ref', ref, commit, '']);
  return commit;
}

async function commitOfTree(
  info: GitInfo,
  workspace: string,
  exclude: readonly string[],
  message: string,
): Promise<{ readonly commit: string; readonly tree: string; readonly files: number }> {
  const scope = await scopeOf(info, workspace, exclude);
  const now = await lookAtTree(scope, 'stay');
  try {
    const tree = await now.writeTree();
    const commit = await commitOf(info, tree, message);
    const files = [...now.entries].filter(([name, { mode }]) => mode !== SUBMODULE && inScope(scope, name)).length;
    return { commit, tree, files };
  } finally {
    await now.close();
  }
}

/** A commit of a tree, with HEAD before it where there is one. */
export function commitOf({ root, gitDir, head }: GitInfo, tree: string, message: string): Promise<string> {
  const parents = head === null ? [] : ['-p', head];
  // A message may be longer than an argument.
  return gitText(root, ['commit-tree', ...parents, '-F', '-', tree], {
    stdin: message,
    env: { GIT_DIR: gitDir, GIT_WORK_TREE: root },
  });
}

/**
 * `git add -A` and a commit, with the user's index. Hooks do not run: they may refuse, change files or be an agent's, and a checkpoint is no
 * commit that somebody is to review. Programs that the repository's own settings name do not run either.
 */
async function commitOnBranch(info: GitInfo, scope: Scope, message: string): Promise<void> {
  const { root, gitDir, branch } = info;
  if (branch === null) {
    throw new BatonError(
      'E_PERMISSION_DENIED',
      `a checkpoint on the branch needs one, and HEAD is detached in ${root}`,
      'check out a branch, or leave `git: branch` out of the config',
    );
  }
  const busy = underWay(gitDir);
  if (busy !== null) {
    throw new BatonError(
      'E_PERMISSION_DENIED',
      `no commit is made on ${branch} while ${busy} is under way in ${root}`,
      'finish it first',
    );
  }
  const env = { GIT_DIR: gitDir, GIT_WORK_TREE: root, GIT_LITERAL_PATHSPECS: '0' };
  const folder = scope.prefix === '' ? ':(top)' : `:(top,literal)${toText(scope.prefix)}`;
  const left = [...scope.left.map(notBelow), ...(await notNested(info, env))];
  await gitText(root, ['-c', 'core.safecrlf=false', 'add', '-A', '--', folder, ...left], { env });
  await gitText(root, ['commit', '-q', '--no-verify', '--allow-empty', '--cleanup=verbatim', '-F', '-'], {
    env,
    stdin: message,
  });
}

/** The number of the session's latest checkpoint; 0 where it has none. */
export async function lastCheckpoint(root: string, session: string): Promise<number> {
  const numbers = (await refsOf(root, session)).map(({ id }) => /^cp_([0-9]+)$/.exec(id)?.[1]);
  return Math.max(0, ...numbers.map((number) => Number(number ?? 0)));
}

async function refsOf(root: string, session: string): Promise<Checkpoint[]> {
  const { stdout } = await git(root, ['show-ref']);
  const start = `${checkpointRefs(session)}/`;
  return stdout
    .toString('utf8')
    .split('\n')
    .map((line) => ({ commit: line.slice(0, line.indexOf(' ')), ref: line.slice(line.indexOf(' ') + 1) }))
    .filter(({ ref }) => ref.startsWith(start))
    .map(({ commit, ref }) => ({ id: ref.slice(start.length), ref, commit }))
    .filter(({ id }) => /^(?:cp|kept)_[0-9]+(?:-[0-9]+)?$/.test(id));
}

/** What a session has in a repository: its checkpoints (`cp_001`) and what was kept before a rollback (`kept_001`). None where there is none. */
export async function listCheckpointRefs(workspace: string, session: string): Promise<readonly Checkpoint[]> {
  return refsOf((await repositoryOf(workspace)).root, session);
}

/** Drops these refs of a session, or all that it has; their objects go when git next cleans up. Returns those that are gone. */
export async function dropRefs(
  workspace: string,
  session: string,
  only?: (one: Checkpoint) => boolean,
): Promise<readonly Checkpoint[]> {
  const { root } = await repositoryOf(workspace);
  const gone = (await refsOf(root, session)).filter(only ?? ((): boolean => true));
  // As it was listed: one that has moved on meanwhile is somebody else's by now.
  const stdin = gone.map(({ ref, commit }) => `delete ${ref} ${commit}\n`).join('');
  if (gone.length > 0) await gitText(root, ['update-ref', '--stdin'], { stdin });
  return gone;
}

interface FileChange {
  /** From the workspace. */
  readonly path: string;
  readonly status: 'added' | 'changed' | 'deleted';
  /** Lines; null where it is no text, or a submodule. */
  readonly added: number | null;
  readonly removed: number | null;
}

interface TreeDiff {
  readonly files: number;
  readonly added: number;
  readonly removed: number;
  readonly list: readonly FileChange[];
}

const STATUS: Readonly<Record<string, FileChange['status']>> = { A: 'added', D: 'deleted' };

/** What is different in the workspace now from what a checkpoint holds, untracked files too. */
export async function diffSince(input: {
  readonly workspace: string;
  readonly exclude: readonly string[];
  readonly commit: string;
}): Promise<TreeDiff> {
  const info = await repositoryOf(input.workspace);
  const { root } = info;
  await checkCommit(root, input.commit);
  const scope = await scopeOf(info, input.workspace, input.exclude);
  const now = await lookAtTree(scope, 'pass', await entriesOf(root, input.commit));
  try {
    const tree = await now.writeTree();
    const args = ['diff-tree', '-r', '--raw', '--numstat', '-z', '--no-renames', '--no-ext-diff', '--no-textconv'];
    const told = await gitBytes(root, [...args, input.commit, tree], { env: now.env });
    const list = changesOf(told.toString('latin1').split('\0'), scope);
    const sum = (of: (one: FileChange) => number | null): number => list.reduce((all, one) => all + (of(one) ?? 0), 0);
    return { files: list.length, added: sum((one) => one.added), removed: sum((one) => one.removed), list };
  } finally {
    await now.close();
  }
}

/** First there is a line for each file with what became of it, and then one for each with its lines. */
function changesOf(tokens: readonly string[], scope: Scope): FileChange[] {
  const states = new Map<Bytes, { readonly status: FileChange['status']; readonly isSubmodule: boolean }>();
  const list: FileChange[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] ?? '';
    if (token.startsWith(':')) {
      const [was, is, , , status = ''] = token.slice(1).split(' ');
      i += 1;
      states.set(tokens[i] ?? '', {
        status: STATUS[status] ?? 'changed',
        isSubmodule: was === SUBMODULE || is === SUBMODULE,
      });
      continue;
    }
    const [, added = '', removed = '', name = ''] = /^([0-9]+|-)\t([0-9]+|-)\t(.*)$/s.exec(token) ?? [];
    const state = states.get(name);
    if (state === undefined || !inScope(scope, name)) continue;
    const lines = (text: string): number | null => (text === '-' || state.isSubmodule ? null : Number(text));
    list.push({ path: pathIn(scope, name), status: state.status, added: lines(added), removed: lines(removed) });
  }
  return list;
}

/** A path of the repository as one of the workspace. */
export const pathIn = ({ prefix }: Scope, name: Bytes): string =>
  toText(prefix === '' ? name : name.slice(prefix.length + 1));

const ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/** Throws where a commit is not there with all of its folders. */
export async function checkCommit(root: string, commit: string): Promise<void> {
  const isThere = ID.test(commit) && (await git(root, ['cat-file', '-e', `${commit}^{tree}`])).code === 0;
  if (isThere) return;
  throw new BatonError(
    'E_NOT_FOUND',
    `the checkpoint's commit ${commit} is not in ${root} any more`,
    'take another checkpoint: the ref of this one was removed, and git has cleaned up',
  );
}
