/**
 * Merges the work of a run into one branch and no other, whether or not that is checked out. The branch moves by compare-and-swap to a
 * commit that was made beforehand. Where it is checked out, the files are written first and the branch moves last, so a Baton that dies on the
 * way leaves the branch as it was; files that are what the merge would make them are taken as such the next time.
 */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { git, gitInfo, gitText, whyNotPlain } from './git.ts';
import { underWay } from './git-state.ts';
import { joinTrees } from './join-commits.ts';
import { dropDeadLock, moveCheckout } from './move-checkout.ts';
import { asAuthor, authorOf } from './private-settings.ts';
import { heldRef } from './run-refs.ts';
import { gitlinksIn } from './take-work.ts';

interface MergeInput {
  /** The user's repository. */
  readonly root: string;
  readonly branch: string;
  readonly work: string;
  /** Of the merge commit, where one is needed. */
  readonly message: string;
  /** A person has said yes: changed submodules are merged too. */
  readonly isApproved: boolean;
  /** Only looks whether something is in the way. */
  readonly isDry?: boolean;
  /** Looks at a result that is more than the work itself, before the branch moves. A sentence where it must not. */
  check?(commit: string): Promise<string | null>;
}

export type Merged =
  | { readonly kind: 'merged'; readonly commit: string; readonly from: string }
  /** The branch has all of it already. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'conflict'; readonly because: string; readonly paths: readonly string[] }
  /** The check of the merged result failed. */
  | { readonly kind: 'failed'; readonly because: string }
  /** Something in a checkout is in the way; later it may not be. */
  | { readonly kind: 'waits'; readonly because: string; readonly paths: readonly string[] }
  /** A person has to look at it first. */
  | { readonly kind: 'person'; readonly because: string };

/** Others merge too, so the tip may move while we look; each time all of it is done again. */
const MOST_TRIES = 50;

export async function mergeBranch(input: MergeInput): Promise<Merged> {
  const { root, branch, work } = input;
  const ref = `refs/heads/${branch}`;
  let checked = '';
  for (let i = 0; i < MOST_TRIES; i += 1) {
    const tip = await commitAt(root, ref);
    if (tip === null) return { kind: 'person', because: `the branch ${branch} is gone` };
    const joined = await joinTrees(root, tip, work);
    if (joined.kind === 'conflict') return conflict(branch, joined);
    if (joined.kind === 'held' && joined.commit === tip) return { kind: 'nothing' };
    const commit = joined.kind === 'held' ? joined.commit : await mergeCommit(input, joined.tree, tip);
    const links = input.isApproved
      ? []
      : gitlinksIn(await gitText(root, ['diff-tree', '-r', '-z', '--no-renames', tip, commit]));
    if (links.length > 0)
      return { kind: 'person', because: `it changes submodules or adds repositories: ${some(links)}` };
    const place = await checkoutOf(root, ref);
    const before = await whyWaits(root, branch, place, tip, commit);
    if (before !== null) return before;
    if (input.isDry === true) return { kind: 'nothing' };
    if (joined.kind === 'joined' && checked !== joined.tree && input.check !== undefined) {
      const because = await input.check(commit);
      if (because !== null) return { kind: 'failed', because };
      checked = joined.tree;
      // That took its time: what is in the way may have come since.
      const since = await whyWaits(root, branch, place, tip, commit);
      if (since !== null) return since;
    }
    const moved = await move(root, ref, place, tip, commit);
    if (moved === 'moved') return { kind: 'merged', commit, from: tip };
    if (moved !== 'again') return moved;
  }
  return { kind: 'waits', because: `the branch ${branch} does not stand still`, paths: [] };
}

function conflict(branch: string, { how, paths }: { how: string; paths: readonly string[] }): Merged {
  const lines = how === 'differently' ? 'the same lines' : 'the same lines in the same way';
  return { kind: 'conflict', because: `it and ${branch} changed ${lines} in ${some(paths)}`, paths };
}

/** So many paths are named in a sentence. */
const MOST_NAMED = 5;
const some = (paths: readonly string[]): string =>
  paths.length <= MOST_NAMED
    ? paths.join(', ')
    : `${paths.slice(0, MOST_NAMED).join(', ')} and ${paths.length - MOST_NAMED} more`;

async function commitAt(root: string, ref: string): Promise<string | null> {
  const { code, stdout } = await git(root, ['rev-parse', '-q', '--verify', `${ref}^{commit}`]);
  return code === 0 ? stdout.toString('utf8').trim() : null;
}

async function mergeCommit({ root, work, message }: MergeInput, tree: string, tip: string): Promise<string> {
  const env = asAuthor(await authorOf(root));
  return gitText(root, ['commit-tree', '-p', tip, '-p', work, '-F', '-', tree], { env, stdin: message });
}

/** The top of the checkout that a branch is in; null where it is in none. */
async function checkoutOf(root: string, ref: string): Promise<string | null> {
  const text = await gitText(root, ['worktree', 'list', '--porcelain', '-z']);
  for (const block of text.split('\0\0')) {
    const lines = block.split('\0');
    const path = lines.find((line) => line.startsWith('worktree '))?.slice('worktree '.length);
    const isHere = path !== undefined && lines.includes(`branch ${ref}`) && !lines.includes('bare');
    // A checkout that was removed without git being told is none.
    if (isHere && lstatSync(join(path, '.git'), { throwIfNoEntry: false }) !== undefined) return path;
  }
  return null;
}

async function whyWaits(
  root: string,
  branch: string,
  place: string | null,
  tip: string,
  commit: string,
): Promise<Merged | null> {
  if (place === null) return null;
  const waits = (because: string, paths: readonly string[] = []): Merged => ({ kind: 'waits', because, paths });
  const info = await gitInfo(place);
  if (info === null) return waits(`${place} could not be looked at`);
  const odd = whyNotPlain(info);
  if (odd !== null) return { kind: 'person', because: `${odd}; an agent may have written that` };
  const busy = underWay(info.gitDir);
  if (busy !== null) return waits(`${busy} is under way in ${place}`);
  await dropDeadLock(info.gitDir);
  const held = await stillHeld(root, branch, place);
  if (held !== null) return waits(held.because, held.paths);
  const paths = await inTheWay(place, tip, commit);
  if (paths.length === 0) return null;
  return waits(`${some(paths)} changed in ${place} and ${paths.length === 1 ? 'is' : 'are'} not committed`, paths);
}

/** What a rollback left in the checkout of a branch, where it was not committed or discarded since. */
async function stillHeld(
  root: string,
  branch: string,
  place: string,
): Promise<{ readonly because: string; readonly paths: readonly string[] } | null> {
  const ref = heldRef(branch);
  if ((await commitAt(root, ref)) === null) return null;
  const paths = [...(await changedIn(place)).keys()];
  if (paths.length > 0)
    return { because: `a rollback left ${place} changed (${some(paths)}); commit that or discard it`, paths };
  await git(root, ['update-ref', '-d', ref]);
  return null;
}

/** Tracked files of a checkout that are modified or staged, with their two letters. */
async function changedIn(place: string): Promise<ReadonlyMap<string, string>> {
  const args = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=no', '--ignore-submodules=dirty'];
  const text = await gitText(place, args);
  return new Map(
    text
      .split('\0')
      .filter((line) => line !== '')
      .map((line) => [line.slice(3), line.slice(0, 2)]),
  );
}

interface Target {
  readonly path: string;
  /** Null where the merge removes it. */
  readonly after: { readonly mode: string; readonly id: string } | null;
  readonly isNew: boolean;
}

async function targetsOf(place: string, tip: string, commit: string): Promise<Target[]> {
  const args = ['diff-tree', '-r', '-z', '--no-renames', '--no-abbrev', tip, commit];
  const tokens = (await gitText(place, args)).split('\0');
  const found: Target[] = [];
  for (let i = 0; i + 1 < tokens.length; i += 2) {
    const [, mode = '', , id = '', status] = (tokens[i] ?? '').split(' ');
    found.push({ path: tokens[i + 1] ?? '', after: status === 'D' ? null : { mode, id }, isNew: status === 'A' });
  }
  return found;
}

/** The paths that a merge would change and that are not as the branch has them; what is as the merge would make it is not in its way. */
async function inTheWay(place: string, tip: string, commit: string): Promise<string[]> {
  const changed = await changedIn(place);
  const paths: string[] = [];
  const alike: Target[] = [];
  for (const target of await targetsOf(place, tip, commit)) {
    const isThere = lstatSync(join(place, target.path), { throwIfNoEntry: false }) !== undefined;
    const isChanged = changed.has(target.path) || (target.isNew && (isThere || fileAbove(place, target.path)));
    if (!isChanged) continue;
    if (await isAlready(place, target)) alike.push(target);
    else paths.push(target.path);
  }
  if (paths.length === 0 && alike.length > 0) await stage(place, alike);
  return paths;
}

/** A file where a folder has to be. */
function fileAbove(place: string, path: string): boolean {
  for (let i = path.indexOf('/'); i > 0; i = path.indexOf('/', i + 1)) {
    const found = lstatSync(join(place, path.slice(0, i)), { throwIfNoEntry: false });
    if (found === undefined) return false;
    if (!found.isDirectory()) return true;
  }
  return false;
}

async function isAlready(place: string, { path, after }: Target): Promise<boolean> {
  const found = lstatSync(join(place, path), { throwIfNoEntry: false });
  if (after === null) return found === undefined;
  if (found?.isFile() !== true || after.mode === '120000') return false;
  const { code, stdout } = await git(place, ['hash-object', '--no-filters', '--', path]);
  return code === 0 && stdout.toString('utf8').trim() === after.id;
}

/** Tells the checkout's index of files that are what the merge makes them: they were written by a merge that was cut off. */
async function stage(place: string, targets: readonly Target[]): Promise<void> {
  for (const { path, after } of targets) {
    const args = after === null ? ['--force-remove', '--', path] : ['--add', '--cacheinfo', after.mode, after.id, path];
    await gitText(place, ['update-index', ...args]);
  }
}

async function move(
  root: string,
  ref: string,
  place: string | null,
  tip: string,
  commit: string,
): Promise<'moved' | 'again' | Merged> {
  if (place === null) {
    const { code, stderr } = await git(root, ['update-ref', '-m', 'baton: merge', ref, commit, tip]);
    if (code === 0) return 'moved';
    return (await commitAt(root, ref)) === tip
      ? { kind: 'person', because: `git does not move ${ref}: ${stderr}` }
      : 'again';
  }
  const info = await gitInfo(place);
  if (info === null) return 'again';
  const moved = await moveCheckout(info, ref, tip, commit);
  if (moved === 'moved' || moved === 'again') return moved;
  return { kind: 'waits', because: moved, paths: [] };
}
