/** What a repository is in the middle of, and whether it is one that a checkpoint can be taken of or gone back to. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BatonError } from '../core/errors.ts';
import { type GitInfo, git, gitInfo, whyNotPlain } from './git.ts';

/** What git leaves in its folder while something is under way. The first that is there counts. */
const UNDER_WAY: readonly (readonly [string, string])[] = [
  ['MERGE_HEAD', 'a merge'],
  ['rebase-merge', 'a rebase'],
  // `git am` has the same folder as an old rebase, and this file besides.
  ['rebase-apply/applying', 'applying patches (git am)'],
  ['rebase-apply', 'a rebase'],
  ['CHERRY_PICK_HEAD', 'a cherry-pick'],
  ['REVERT_HEAD', 'a revert'],
  // Between two of several commits, neither of the two above is there.
  ['sequencer', 'a cherry-pick or a revert'],
  ['BISECT_LOG', 'a bisect'],
];

/** Null where nothing is. */
export const underWay = (gitDir: string): string | null =>
  UNDER_WAY.find(([name]) => existsSync(join(gitDir, name)))?.[1] ?? null;

/** The repository of a folder. Throws where there is none, or one that is not what it seems. */
export async function repositoryOf(workspace: string): Promise<GitInfo> {
  const info = await gitInfo(workspace);
  if (info === null) {
    throw new BatonError(
      'E_FILE_NOT_FOUND',
      `a checkpoint needs a git repository, and ${workspace} is in none`,
      'git init makes one',
    );
  }
  const why = whyNotPlain(info);
  if (why !== null) throw new BatonError('E_PERMISSION_DENIED', `${why}; an agent may have written that`, 'look at it');
  return info;
}

/** Whether one commit is the other or comes before it. A commit that is gone does not. */
export const isAncestor = async (root: string, older: string, younger: string): Promise<boolean> =>
  (await git(root, ['merge-base', '--is-ancestor', older, younger])).code === 0;
