/** The refs below `refs/baton/` by which the work of runs is kept in the user's repository. */

/** The names below `refs/baton/` that are no session's. */
export const RESERVED: readonly string[] = ['runs', 'bases', 'held', 'snapshots'];

/** The result of a run, whether or not it was merged. */
export const runRef = (run: string): string => `refs/baton/runs/${run}`;
/** The commit that a run started from: it must stay while the run's folder takes its objects from the repository. */
export const baseRef = (run: string): string => `refs/baton/bases/${run}`;
/** The tip of a branch when a rollback left its checkout changed: nothing is merged into it until that is committed or discarded. */
export const heldRef = (branch: string): string => `refs/baton/held/${branch}`;
