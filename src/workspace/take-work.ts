/**
 * Takes what a run has left in its folder into the user's repository: what is uncommitted is committed, and the commits come over as a bundle
 * whose objects git checks. All of git that reads the agent's files runs inside a sandbox, which shows it the folder and the objects and
 * nothing else, and with Baton's own git directory: the settings, hooks and index of the agent's have no say. Where a machine has no
 * sandbox, it is the same git directory that keeps the agent's settings out.
 */
import { lstatSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BatonError } from '../core/errors.ts';
import { probeSandbox } from '../process/sandbox.ts';
import type { SandboxSpec } from '../process/types.ts';
import { type GitAnswer, git, gitText, quoteAlternate, quotePath } from './git.ts';
import { underWay } from './git-state.ts';
import { asAuthor, authorOf } from './private-settings.ts';
import { copyIndex, objectFolders, ownEnvironment, type PrivateWorktree, privateHead } from './private-worktree.ts';
import { baseRef, runRef } from './run-refs.ts';
import { at, raw, toBytes } from './tree.ts';
import { unbundle } from './unbundle.ts';

export interface Taken {
  /** The result, under the run's ref in the user's repository. The start itself where nothing was changed. */
  readonly commit: string;
  readonly changed: boolean;
  /** What no merge may bring in by itself: submodules that were changed, and repositories inside the folder. */
  readonly gitlinks: readonly string[];
}

interface TakeOptions {
  /** Of the commit for what the agent left uncommitted. */
  readonly message: string;
  /** Below the top, with `/`: they belong to the work though git ignores them. */
  readonly outputs?: readonly string[];
}

/** Longer than any folder takes that is not made to take long. */
const LONGEST_MS = 10 * 60 * 1000;

export async function takeWork(worktree: PrivateWorktree, options: TakeOptions): Promise<Taken> {
  const busy = underWay(join(worktree.path, '.git'));
  if (busy !== null) throw new BatonError('E_EVIDENCE', `${busy} is under way in ${worktree.path}`);
  const run = await runner(worktree);
  await copyIndex(join(worktree.own, 'index'), indexOf(worktree));
  const filled = await filledSubmodules(worktree, run);
  if (filled !== undefined) throw nested(filled);
  const tree = await treeOf(worktree, run, options.outputs ?? []);
  const commit = await commitOf(worktree, run, tree, options.message);
  await bringOver(worktree, run, commit);
  const raws = await gitText(worktree.repo.root, ['diff-tree', '-r', '-z', '--no-renames', worktree.base, commit]);
  return { commit, changed: commit !== worktree.start, gitlinks: gitlinksIn(raws) };
}

type Run = (args: readonly string[], more?: { env?: Record<string, string>; stdin?: string }) => Promise<GitAnswer>;

const indexOf = ({ own }: PrivateWorktree): string => join(own, 'take-index');

async function runner(worktree: PrivateWorktree): Promise<Run> {
  const { path, own, repo } = worktree;
  const author = asAuthor(await authorOf(repo.root));
  const isBoxed = (await probeSandbox()).ok;
  const sandbox: SandboxSpec | null = isBoxed
    ? {
        readPaths: [path, ...objectFolders(repo.commonDir)],
        writePaths: [],
        binds: [{ path: own, writable: true }],
        hide: [],
        network: 'none',
        home: '/home/nobody',
      }
    : null;
  const env = {
    ...ownEnvironment(worktree),
    ...author,
    GIT_INDEX_FILE: indexOf(worktree),
    GIT_ALTERNATE_OBJECT_DIRECTORIES: quoteAlternate(join(path, '.git', 'objects')),
  };
  return (args, more = {}) =>
    git(path, args, {
      env: { ...env, ...more.env },
      sandbox,
      mostMs: LONGEST_MS,
      ...(more.stdin === undefined ? {} : { stdin: more.stdin }),
    });
}

async function said(run: Run, args: readonly string[], more?: Parameters<Run>[1]): Promise<string> {
  const { code, stdout, stderr } = await run(args, more);
  if (code === 0) return stdout.toString('latin1').replace(/\n$/, '');
  throw new BatonError('E_EVIDENCE', `what is in the folder could not be taken: git ${args[0]}: ${stderr}`);
}

const names = (listed: string): string[] => listed.split('\0').filter((name) => name !== '');

const nested = (name: string): BatonError =>
  new BatonError('E_EVIDENCE', `${name} is a repository inside the worktree whose content would not be committed`);

/** Git would ask a filled submodule what has changed in it, and so obey settings that are the agent's. */
async function filledSubmodules({ path }: PrivateWorktree, run: Run): Promise<string | undefined> {
  const known = names(await said(run, ['ls-files', '-s', '-z']));
  return known
    .filter((line) => line.startsWith('160000 '))
    .map((line) => line.slice(line.indexOf('\t') + 1))
    .find((name) => lstatSync(raw(at(toBytes(path), `${name}/.git`)), { throwIfNoEntry: false }) !== undefined);
}

/** The files as they are: all that git does not ignore, what the agent has added all the same, and the expected outputs. */
async function treeOf({ path }: PrivateWorktree, run: Run, outputs: readonly string[]): Promise<string> {
  await said(run, ['-c', 'core.safecrlf=false', '-c', 'advice.addEmbeddedRepo=false', 'add', '-A', '--', '.']);
  const ours = new Set(names(await said(run, ['ls-files', '-z'])));
  const isThere = (name: string): boolean => {
    const found = lstatSync(raw(at(toBytes(path), name)), { throwIfNoEntry: false });
    return found?.isFile() === true || found?.isSymbolicLink() === true;
  };
  const head = privateHead(path);
  const listed = [
    await run(['ls-files', '-z'], { env: { GIT_INDEX_FILE: join(path, '.git', 'index') } }),
    ...(head === null ? [] : [await run(['ls-tree', '-r', '-z', '--name-only', head])]),
  ];
  // An index or a commit that git cannot read names nothing.
  const theirs = listed.flatMap(({ code, stdout }) => (code === 0 ? names(stdout.toString('latin1')) : []));
  const more = [...new Set(theirs)].filter((name) => !ours.has(name) && isThere(name));
  if (more.length > 0) {
    const stdin = more.map((name) => `${quotePath(name)}\n`).join('');
    await said(run, ['update-index', '--add', '--stdin'], { stdin });
  }
  for (const output of outputs) {
    if (lstatSync(join(path, output), { throwIfNoEntry: false }) !== undefined)
      await said(run, ['-c', 'core.safecrlf=false', 'add', '-f', '-A', '--', output]);
  }
  return said(run, ['write-tree']);
}

/**
 * One commit for the whole run, on top of where it started; what the agent has committed itself comes in as a second parent. Two agents that
 * commit the same change in the same second make the same commit: without one of our own the second would pass for merged already.
 */
async function commitOf(
  { path, base, start }: PrivateWorktree,
  run: Run,
  tree: string,
  message: string,
): Promise<string> {
  if ((await said(run, ['rev-parse', `${start}^{tree}`])) === tree) return start;
  const head = privateHead(path);
  const isOwn = head !== null && head !== start && (await run(['merge-base', '--is-ancestor', base, head])).code === 0;
  const parents = [start, ...(isOwn ? [head] : [])].flatMap((id) => ['-p', id]);
  return said(run, ['commit-tree', ...parents, '-F', '-', tree], { stdin: message });
}

async function bringOver(
  { own, repo, run: id, base, start }: PrivateWorktree,
  run: Run,
  commit: string,
): Promise<void> {
  if (commit !== start) {
    const bundle = join(own, 'work.bundle');
    await said(run, ['update-ref', 'refs/baton/work', commit]);
    await said(run, ['bundle', 'create', '-q', bundle, 'refs/baton/work', `^${base}`, `^${start}`]);
    try {
      await unbundle(repo.root, bundle, commit);
    } finally {
      await rm(bundle, { force: true });
    }
  }
  await gitText(repo.root, ['update-ref', runRef(id), commit]);
  // The result holds its start.
  await git(repo.root, ['update-ref', '-d', baseRef(id)]);
}

/** Of raw lines of `diff-tree -z`, the paths at which a submodule or a repository was added, changed or removed. */
export function gitlinksIn(raws: string): string[] {
  const tokens = raws.split('\0');
  const found: string[] = [];
  for (let i = 0; i + 1 < tokens.length; i += 2) {
    const [before = '', after = ''] = (tokens[i] ?? '').split(' ');
    if (before === ':160000' || after === '160000') found.push(tokens[i + 1] ?? '');
  }
  return found;
}
