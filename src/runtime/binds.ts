/** What a run sees in its sandbox otherwise than its access says: the history of its worktree, and files that must not change where the rest may. */
import { statSync } from 'node:fs';
import { isWithin } from '../core/policy.ts';
import type { Bind } from '../process/types.ts';
import type { GitInfo } from '../workspace/git.ts';
import type { Ready } from '../workspace/preflight.ts';

export const bindsOf = (ready: Ready): readonly Bind[] =>
  [...historyOf(ready.git), ...lockedInputs(ready)].map((path) => ({ path, writable: false }));

/** In a worktree of ours, what its repository holds: to be read with git, and committed by Baton. */
const historyOf = (git: GitInfo | null): readonly string[] =>
  git !== null && git.gitDir !== git.commonDir && git.branch?.startsWith('baton/') === true ? [git.commonDir] : [];

/** Files only. Whether a folder has changed is found out afterwards: tools write beside what they read. */
const lockedInputs = ({ inputs, writePaths }: Ready): readonly string[] =>
  inputs
    .filter(({ path, readOnly }) => readOnly && isWithin(path, writePaths) && !writePaths.includes(path))
    .map(({ path }) => path)
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
