/** Git locks what it writes: within one Baton, whatever makes, takes or merges worktrees is done one after the other. */
let last: Promise<unknown> = Promise.resolve();

export function oneByOne<T>(work: () => Promise<T>): Promise<T> {
  const next = last.then(work);
  // Whoever asked for it gets the error; the next one begins all the same.
  last = next.catch(() => {});
  return next;
}
