/** Within one Baton merges are done one after the other: each has to be checked with those before it. */
let last: Promise<unknown> = Promise.resolve();

export function oneByOne<T>(work: () => Promise<T>): Promise<T> {
  const next = last.then(work);
  // The caller gets the error; the next one begins all the same.
  last = next.catch(() => {});
  return next;
}
