/**
 * Two lines of work made one, without a working tree. Stricter than git in one thing: where both sides changed the same lines in the same
 * way, git takes that for one change. Two agents that each add one to a counter would end at one, so it counts as a conflict here.
 */
import { BatonError } from '../core/errors.ts';
import { git, gitText } from './git.ts';

type Joined =
  /** One of the two holds all of the other. */
  | { readonly kind: 'held'; readonly commit: string }
  | { readonly kind: 'joined'; readonly tree: string }
  | { readonly kind: 'conflict'; readonly paths: readonly string[]; readonly how: 'differently' | 'in the same way' };

export async function joinTrees(root: string, ours: string, theirs: string): Promise<Joined> {
  const holds = async (older: string, younger: string): Promise<boolean> =>
    (await git(root, ['merge-base', '--is-ancestor', older, younger])).code === 0;
  if (await holds(theirs, ours)) return { kind: 'held', commit: ours };
  if (await holds(ours, theirs)) return { kind: 'held', commit: theirs };
  const merged = await git(root, ['merge-tree', '--write-tree', '--name-only', '-z', '--no-messages', ours, theirs]);
  const [tree = '', ...names] = merged.stdout.toString('utf8').split('\0');
  if (merged.code === 1) {
    const paths = [...new Set(names.filter((name) => name !== ''))];
    return { kind: 'conflict', paths, how: 'differently' };
  }
  if (merged.code !== 0) throw new BatonError('E_UNKNOWN', `git could not try the merge: ${merged.stderr}`);
  const paths = await changedAlike(root, await gitText(root, ['merge-base', ours, theirs]), ours, theirs);
  return paths.length > 0 ? { kind: 'conflict', paths, how: 'in the same way' } : { kind: 'joined', tree };
}

interface Change {
  readonly before: string;
  readonly after: string;
}

/** The paths in which both sides changed the same lines since the base. */
async function changedAlike(root: string, base: string, ours: string, theirs: string): Promise<string[]> {
  const [mine, other] = [await changesOf(root, base, ours), await changesOf(root, base, theirs)];
  const alike: string[] = [];
  for (const [path, { before, after }] of mine) {
    const change = other.get(path);
    // Only its mode was changed, which has no lines.
    if (change === undefined || before === after || change.before === change.after) continue;
    const isSame =
      after === change.after ? await hasLines(root, before, after) : await overlap(root, path, base, ours, theirs);
    if (isSame) alike.push(path);
  }
  return alike;
}

async function changesOf(root: string, from: string, to: string): Promise<Map<string, Change>> {
  const args = ['diff-tree', '-r', '-z', '--no-renames', '--no-abbrev', from, to];
  const tokens = (await gitText(root, args)).split('\0');
  const found = new Map<string, Change>();
  for (let i = 0; i + 1 < tokens.length; i += 2) {
    const [, , before = '', after = ''] = (tokens[i] ?? '').split(' ');
    found.set(tokens[i + 1] ?? '', { before, after });
  }
  return found;
}

/** Two empty files of the same name are no change that counts twice. */
async function hasLines(root: string, ...ids: readonly string[]): Promise<boolean> {
  for (const id of ids) {
    if (/^0+$/.test(id)) continue;
    // A submodule is at a commit that need not be here.
    const size = await git(root, ['cat-file', '-s', id]);
    if (size.code !== 0 || size.stdout.toString('utf8').trim() !== '0') return true;
  }
  return false;
}

interface Hunk {
  readonly start: number;
  readonly lines: number;
}

async function overlap(root: string, path: string, base: string, ours: string, theirs: string): Promise<boolean> {
  const [mine, other] = [await hunksOf(root, path, base, ours), await hunksOf(root, path, base, theirs)];
  return mine.some((a) => other.some((b) => touches(a, b)));
}

/** Of what git could merge, hunks touch the same lines only where they are the same change. */
const touches = (a: Hunk, b: Hunk): boolean =>
  a.lines === 0 && b.lines === 0
    ? a.start === b.start
    : a.lines > 0 && b.lines > 0 && a.start < b.start + b.lines && b.start < a.start + a.lines;

async function hunksOf(root: string, path: string, from: string, to: string): Promise<Hunk[]> {
  const args = ['diff-tree', '-r', '-p', '-U0', '--no-renames', '--no-color', '--no-ext-diff', '--no-textconv'];
  const patch = await gitText(root, [...args, from, to, '--', path]);
  return [...patch.matchAll(/^@@ -(\d+)(?:,(\d+))? \+/gm)].map(([, start, lines]) => ({
    start: Number(start),
    lines: lines === undefined ? 1 : Number(lines),
  }));
}
