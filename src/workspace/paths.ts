/**
 * Where a path really is, and whether that lies within what is granted. A path is walked as the kernel walks it, part by part, so
 * that `link/..` is the folder above what the link leads to; what does not exist yet is appended.
 *
 * In a path that somebody wrote, `/` and `\` both separate. In a path that was resolved, only the system's own separator does.
 */
import { lstat, readlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize, parse, relative, resolve, sep } from 'node:path';
import { BatonError, isMissing } from '../core/errors.ts';
import { isBelow } from '../process/files.ts';

/** As many links in one path as Linux follows. */
const MAX_LINKS = 40;

/** `C:/x` or `C:\x`: absolute wherever it was written, so it never lands in a workspace of a system without drives. */
const hasDrive = (path: string): boolean => /^[A-Za-z]:[\\/]/.test(path);

/** A path as it was written, made absolute against the workspace; `.` and `..` are still in it. */
function absoluteIn(workspace: string, path: string): string {
  const written = sep === '/' ? path.replaceAll('\\', '/') : path;
  if (sep === '/' && hasDrive(path)) return `/${written}`;
  return isAbsolute(written) ? written : `${resolve(workspace)}${sep}${written}`;
}

/** Null where there is nothing; the link itself where there is one. */
async function linkAt(path: string): Promise<string | null | 'no link'> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : 'no link';
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw cause;
  }
}

async function walk(start: string, path: string): Promise<string> {
  const { root } = parse(start);
  const open = start.slice(root.length).split(sep).reverse();
  let at = root;
  let links = 0;
  while (open.length > 0) {
    const part = open.pop() ?? '';
    if (part === '' || part === '.') continue;
    if (part === '..') {
      at = dirname(at);
      continue;
    }
    const next = join(at, part);
    const target = await linkAt(next);
    if (target === null || target === 'no link') {
      at = next;
      continue;
    }
    links += 1;
    if (links > MAX_LINKS) {
      throw new BatonError(
        'E_FILE_NOT_FOUND',
        `${path} leads in a circle: more than ${MAX_LINKS} symlinks, at ${next}`,
      );
    }
    const above = parse(target).root;
    if (above !== '') at = above;
    open.push(...target.slice(above.length).split(sep).reverse());
  }
  return at;
}

/** A path of a TASK, absolute, against the workspace, with the symlinks of every part that exists resolved. */
export async function resolveIn(workspace: string, path: string): Promise<string> {
  if (path.includes('\0')) {
    throw new BatonError('E_SCHEMA_VALIDATION', `a path holds a NUL character: ${JSON.stringify(path)}`);
  }
  try {
    return await walk(absoluteIn(workspace, path), path);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'EACCES' || code === 'EPERM') {
      throw new BatonError('E_PERMISSION_DENIED', `where ${path} leads may not be looked at: ${message}`);
    }
    if (code === 'ENAMETOOLONG') throw new BatonError('E_FILE_NOT_FOUND', `${path} is longer than a path may be`);
    throw cause;
  }
}

/** As `resolveIn`, but a symlink at the very end is the thing itself and not followed. */
export async function resolveParentIn(workspace: string, path: string): Promise<string> {
  const whole = absoluteIn(workspace, path).replace(/[/\\]+$/, '') || sep;
  const { base } = parse(whole);
  if (base === '' || base === '.' || base === '..') return resolveIn(workspace, path);
  return join(await resolveIn(workspace, dirname(whole)), base);
}

/** Whether a path, where it really is, is one of the roots, where they really are, or below one. Relative ones are of this process. */
export async function withinReal(path: string, roots: readonly string[]): Promise<boolean> {
  const here = process.cwd();
  const real = await resolveIn(here, path);
  return isBelow(real, await Promise.all(roots.map((root) => resolveIn(here, root))));
}

/**
 * Where a path is, if it is below one of the roots and no symlink is on the way from there; null otherwise. Links above the root do not
 * count: the root may be written with them, and the path too.
 */
export async function plainBelow(workspace: string, path: string, roots: readonly string[]): Promise<string | null> {
  const written = normalize(absoluteIn(workspace, path));
  const real = await resolveIn(workspace, path);
  const above = [written];
  for (let at = written; at !== dirname(at); at = dirname(at)) above.unshift(dirname(at));
  const realAbove = await Promise.all(above.map((one) => resolveIn(workspace, one)));
  for (const root of roots) {
    const realRoot = await resolveIn(workspace, root);
    // The topmost one that leads to the root: one further down would be a link inside of it.
    const from = above[realAbove.indexOf(realRoot)];
    if (from !== undefined && join(realRoot, relative(from, written)) === real) return real;
  }
  return null;
}

/** A path that was written for one folder, for another one that stands in for it: a worktree in place of the workspace. */
export function rebase(path: string, from: string, to: string): string {
  const [written, root] = [normalize(absoluteIn(to, path)), normalize(absoluteIn(to, from))];
  // The other one may lie in the first, as a worktree in the data folder does: what is there already stays, and so does a relative path.
  if (isBelow(written, [normalize(absoluteIn(to, to))])) return path;
  return isBelow(written, [root]) ? join(to, relative(root, written)) : path;
}
