/** What every room needs of files: one that is not there is no failure, one is replaced in one step, and what lies below what. */
import { readFileSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { isAbsolute, relative, sep } from 'node:path';
import { isMissing } from '../core/errors.ts';
import { newSuffix } from './new-id.ts';

function orNull(cause: unknown): null {
  if (isMissing(cause)) return null;
  throw cause;
}

/** The text of a file; null where there is none. */
export const readIfThere = (path: string): Promise<string | null> => readFile(path, 'utf8').catch(orNull);

export function readIfThereSync(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    return orNull(cause);
  }
}

/** A name in the same folder for what is to take the path's place. */
const asideOf = (path: string): string => `${path}.${newSuffix(6)}`;

/**
 * Replaces a file in one step: a reader sees the old one or the new one, whole. `write` makes the new one, beside it; where that fails,
 * nothing is left of it. The store has one of its own, on its disk (`store/fs/disk.ts`).
 */
export async function replaceWith(
  path: string,
  write: (aside: string) => Promise<void>,
  aside = asideOf(path),
): Promise<void> {
  try {
    await write(aside);
    await rename(aside, path);
  } catch (cause) {
    await rm(aside, { force: true });
    throw cause;
  }
}

interface ReplaceOptions {
  readonly mode?: number;
  /** On disk before it takes its place. */
  readonly flush?: boolean;
}

/** The same with a text. */
export const replaceFile = (path: string, text: string, options: ReplaceOptions = {}): Promise<void> =>
  replaceWith(path, (aside) => writeFile(aside, text, { flag: 'wx', mode: 0o600, ...options }));

/**
 * Whether a real path is one of the roots or below one; by segments, with the system's separator only. What somebody wrote, who may part by
 * either, is looked at with `isWithin` of core.
 */
export function isBelow(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => {
    const way = relative(root, path);
    return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
  });
}
