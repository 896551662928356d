/**
 * Going back to a checkpoint. All that is uncommitted or untracked is kept in a commit under a ref first; then the files of the workspace are
 * made what the checkpoint holds. HEAD, the branch, the index and the stash stay as they are: `git reset --hard`, as the document shows it, would
 * drop commits from the branch and what is staged, and no ref of ours would bring that back. For a checkpoint that is a commit on the branch it is
 * the same: commits made since stay, and the files differ from them like any change that is not committed yet.
 *
 * Whoever is stopped half-way begins again: what differs is found anew, and what was kept is kept.
 */
import { BatonError, messageOf } from '../core/errors.ts';
import { counted } from '../core/words.ts';
import { commitOf, pathIn } from './checkpoint.ts';
import { git, gitText } from './git.ts';
import { openBlobs } from './git-objects.ts';
import { putEntry, removeMade } from './restore-files.ts';
import {
  type Change,
  type Ground,
  groundOf,
  inTheWay,
  type Refusal,
  type RollbackInput,
  type Sorted,
  sortOut,
} from './restore-plan.ts';
import { heldRef } from './run-refs.ts';
import { entriesOf, lookAtTree, type TreeEntry, type WorkingTree } from './working-tree.ts';

export type { Refusal } from './restore-plan.ts';

export interface RollbackPlan {
  /** Paths from the workspace. Changed since: their contents, kind or executable bit come back. */
  readonly restored: readonly string[];
  /** Gone since: they come back. */
  readonly recreated: readonly string[];
  /** Made since: they go. */
  readonly removed: readonly string[];
  /** New to git, but ignored by rules of the checkpoint or of a time since: they stay. */
  readonly left: readonly string[];
  /** Submodules that were at another commit; null where there was or is none. They stay. */
  readonly submodules: readonly { readonly path: string; readonly was: string | null; readonly is: string | null }[];
  /** Something is in no commit yet, and would be kept under a ref first. */
  readonly keeps: boolean;
  /** What a person should know before; `force` goes on without asking. */
  readonly questions: readonly string[];
  /** Why it can't be done, with `force` or without. */
  readonly refusal: Refusal | null;
}

export interface RolledBack {
  /** Those that were changed and those that were gone. */
  readonly restored: readonly string[];
  readonly removed: readonly string[];
  /** The ref with what was there before; null where nothing of it was in no commit. */
  readonly kept: string | null;
  /** What stays though it differs, a sentence each: submodules, and files that were ignored then or since. */
  readonly notes: readonly string[];
}

const NOTHING: Omit<RollbackPlan, 'refusal'> = {
  restored: [],
  recreated: [],
  removed: [],
  left: [],
  submodules: [],
  keeps: false,
  questions: [],
};

/** What a rollback would change, and why it would be refused. Nothing is changed. */
export async function planRollback(input: RollbackInput): Promise<RollbackPlan> {
  const ground = await groundOf(input);
  if ('code' in ground) return { ...NOTHING, refusal: ground };
  const now = await lookAtTree(ground.scope, 'none', ground.before);
  try {
    return await planOf(input, ground, await sortOut(ground, now.entries));
  } finally {
    await now.close();
  }
}

async function planOf(input: RollbackInput, ground: Ground, sorted: Sorted): Promise<RollbackPlan> {
  const paths = (changes: readonly Change[]): string[] => changes.map(({ name }) => pathIn(ground.scope, name));
  return {
    restored: paths(sorted.restored),
    recreated: paths(sorted.recreated),
    removed: paths(sorted.removed),
    left: paths(sorted.left),
    submodules: sorted.submodules.map(({ name, was, is }) => ({
      path: pathIn(ground.scope, name),
      was: was?.id ?? null,
      is: is?.id ?? null,
    })),
    keeps: (await unheld(ground, sorted)).length > 0,
    questions: await questionsOf(input, ground),
    refusal: await inTheWay(ground, sorted),
  };
}

/** A branch that has moved on may have the work of people in it, who will see their changes taken back in the files. */
async function questionsOf({ checkpoint: { head } }: RollbackInput, { scope }: Ground): Promise<string[]> {
  const { root, head: now } = scope.info;
  if (now === null || now === head) return [];
  const range = head === null ? [now] : [`${head}..${now}`];
  const count = Number(await gitText(root, ['rev-list', '--count', ...range]));
  const commits = `${counted(count, 'commit')} ${count === 1 ? 'was' : 'were'}`;
  return [`${commits} made since the checkpoint: the files go back to before, the commits stay on the branch`];
}

/** A file that a rollback was making when it was stopped: no more than what the checkpoint holds. */
const isLeftOver = ({ name, was }: Change): boolean => was === null && /(?:^|\/)\.baton-[0-9a-f]{16}$/.test(name);

/** What would be overwritten or removed, and is not at the same path in HEAD. */
async function unheld({ scope }: Ground, { restored, removed }: Sorted): Promise<Change[]> {
  const { root, head } = scope.info;
  const given = [...restored, ...removed].filter((change) => change.is !== null && !isLeftOver(change));
  if (given.length === 0) return [];
  const held = head === null ? new Map<string, TreeEntry>() : await entriesOf(root, head);
  return given.filter(({ name, is }) => !isSame(held.get(name), is));
}

const isSame = (one: TreeEntry | undefined, other: TreeEntry | null): boolean =>
  one !== undefined && one.id === other?.id && one.mode === other.mode;

/** Keeps what is there, and makes the files what the checkpoint holds. `force` goes on where there are questions; refusals stay refusals. */
export async function rollBackTo(
  input: RollbackInput & { readonly keepRef: string; readonly force?: boolean },
): Promise<RolledBack> {
  const { keepRef } = input;
  if (!keepRef.startsWith('refs/baton/')) {
    throw new BatonError(
      'E_SCHEMA_VALIDATION',
      `the ref to keep things under should be below refs/baton/ and is ${keepRef}`,
    );
  }
  const ground = await groundOf(input);
  if ('code' in ground) throw new BatonError(ground.code, ground.message, ground.hint);
  const now = await lookAtTree(ground.scope, 'stay', ground.before);
  try {
    const sorted = await sortOut(ground, now.entries);
    const { refusal, questions, ...plan } = await planOf(input, ground, sorted);
    if (refusal !== null) throw new BatonError(refusal.code, refusal.message, refusal.hint);
    if (questions.length > 0 && input.force !== true) {
      throw new BatonError('E_PERMISSION_DENIED', questions.join('; '), 'roll back with `force` if that is meant');
    }
    const kept = await keep(input, ground, sorted, now);
    const held = await applyHeld(ground, sorted, kept);
    const restored = [...plan.restored, ...plan.recreated].sort();
    return { restored, removed: plan.removed, kept, notes: [...notesOf(plan), ...held] };
  } finally {
    await now.close();
  }
}

/**
 * Goes back, and holds merges into the branch (`merge-branch.ts`) where that leaves its checkout changed: a merge would mix with it. The hold
 * comes first, so that it is there also where Baton dies on the way; a checkout that is clean again takes it away.
 */
async function applyHeld(ground: Ground, sorted: Sorted, kept: string | null): Promise<string[]> {
  const { root, branch, head } = ground.scope.info;
  const { restored, recreated, removed } = sorted;
  const isHeld = branch !== null && head !== null && restored.length + recreated.length + removed.length > 0;
  if (isHeld) await gitText(root, ['update-ref', heldRef(branch), head]);
  await apply(ground, sorted, kept);
  if (!isHeld) return [];
  const args = ['status', '--porcelain', '--untracked-files=no', '--ignore-submodules=dirty'];
  if ((await gitText(root, args)) !== '')
    return [`merges into ${branch} wait until what differs from it now is committed or discarded`];
  await git(root, ['update-ref', '-d', heldRef(branch)]);
  return [];
}

function notesOf({ left, submodules }: Pick<RollbackPlan, 'left' | 'submodules'>): string[] {
  const short = (id: string | null): string => (id === null ? 'not there' : `at ${id.slice(0, 12)}`);
  return [
    ...submodules.map(
      ({ path, was, is }) => `the submodule ${path} was ${short(was)} and is ${short(is)}: it is left as it is`,
    ),
    ...left.map((path) => `${path} is ignored by rules of then or since: it is left as it is`),
  ];
}

/** The whole tree as it is now, under the ref; null where all that would go is in HEAD. */
async function keep(
  { keepRef, checkpoint }: RollbackInput & { readonly keepRef: string },
  ground: Ground,
  sorted: Sorted,
  now: WorkingTree,
): Promise<string | null> {
  const given = await unheld(ground, sorted);
  const { info } = ground.scope;
  const { root } = info;
  let commit: string | null = null;
  for (let n = 1; ; n++) {
    const ref = n === 1 ? keepRef : `${keepRef}-${n}`;
    const there = await git(root, ['rev-parse', '-q', '--verify', `${ref}^{commit}`]);
    if (there.code === 0) {
      // A rollback that was stopped half-way has kept it already. Otherwise it is somebody else's.
      const held = await entriesOf(root, there.stdout.toString('utf8').trim());
      if (given.every(({ name, is }) => isSame(held.get(name), is))) return ref;
      continue;
    }
    if (given.length === 0) return null;
    const message = `What was there before Baton went back to ${checkpoint.commit}`;
    commit ??= await commitOf(info, await now.writeTree(), message);
    await gitText(root, ['update-ref', ref, commit, '']);
    return ref;
  }
}

/** What goes makes room for what comes: a file may come where a folder is. */
async function apply({ scope }: Ground, sorted: Sorted, kept: string | null): Promise<void> {
  const written = [...sorted.restored, ...sorted.recreated];
  if (sorted.removed.length === 0 && written.length === 0) return;
  const step = async (change: Change, act: () => Promise<void>): Promise<void> => {
    try {
      await act();
    } catch (cause) {
      const where = kept === null ? 'nothing of it is lost' : `what was there before is kept in ${kept}`;
      const why = messageOf(cause);
      throw new BatonError(
        'E_ROLLBACK_FAILED',
        `${pathIn(scope, change.name)} could not be put back: ${why}; ${where}`,
        'roll back again: what is done already is not done twice',
      );
    }
  };
  for (const change of sorted.removed) await step(change, () => removeMade(scope, change));
  const blobs = await openBlobs(scope.info.root, {});
  try {
    for (const change of written) await step(change, () => putEntry(scope, change, blobs));
  } finally {
    await blobs.close();
  }
}
