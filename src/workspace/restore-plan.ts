/**
 * What going back to a checkpoint would change, and what stands against it. Nothing is changed by looking.
 *
 * The tree as it is now is compared with the one of the checkpoint: what differs comes back, what was made since goes, what is ignored stays.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { BatonError, type ErrorCode } from '../core/errors.ts';
import { checkCommit, pathIn } from './checkpoint.ts';
import { type GitInfo, git, gitText, quotePath } from './git.ts';
import { openBlobs } from './git-objects.ts';
import { isAncestor, repositoryOf, underWay } from './git-state.ts';
import { at, type Bytes, kindOf, statAt, toBytes, toText, walkTree } from './tree.ts';
import { type Entries, entriesOf, inScope, type Scope, SUBMODULE, scopeOf, type TreeEntry } from './working-tree.ts';

/** What has to be known of a checkpoint: its commit, and where the user was when it was taken. */
interface CheckpointPoint {
  readonly commit: string;
  readonly head: string | null;
  readonly branch: string | null;
}

export interface RollbackInput {
  readonly workspace: string;
  /** Never looked at and never touched: the data folder. */
  readonly exclude: readonly string[];
  readonly checkpoint: CheckpointPoint;
  /** Commits whose rules on what is ignored hold as well: of trees that were kept when a rollback began. */
  readonly rules?: readonly string[];
}

export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string | null;
  /** The same in a word or two. */
  readonly name?: string;
}

export interface Change {
  readonly name: Bytes;
  /** In the checkpoint; null where it was not there. */
  readonly was: TreeEntry | null;
  /** Now; null where it is not there. */
  readonly is: TreeEntry | null;
}

export interface Ground {
  readonly scope: Scope;
  /** What the checkpoint holds. */
  readonly before: Entries;
  /** Commits that say, with it, what is ignored. */
  readonly rules: readonly string[];
}

export interface Sorted {
  /** Changed since. */
  readonly restored: readonly Change[];
  /** Gone since. */
  readonly recreated: readonly Change[];
  /** Made since. */
  readonly removed: readonly Change[];
  /** New to git only: rules of the checkpoint, or of a time since, ignore them, so they are no work of anybody's. They stay. */
  readonly left: readonly Change[];
  /** At another commit than then; they stay. */
  readonly submodules: readonly Change[];
}

const refusal = (code: ErrorCode, message: string, hint: string | null = null, name?: string): Refusal => ({
  code,
  message,
  hint,
  ...(name === undefined ? {} : { name }),
});

/** Where the user has to be for this checkpoint; else why it can't be gone back to. */
export async function groundOf({
  workspace,
  exclude,
  checkpoint,
  rules = [],
}: RollbackInput): Promise<Ground | Refusal> {
  try {
    const info = await repositoryOf(workspace);
    const against = await whyNot(info, checkpoint);
    if (against !== null) return against;
    await checkCommit(info.root, checkpoint.commit);
    return {
      scope: await scopeOf(info, workspace, exclude),
      before: await entriesOf(info.root, checkpoint.commit),
      // A rollback takes away the rules that came after its checkpoint; what they ignored is still not its own.
      rules: [...new Set([...(info.head === null ? [] : [info.head]), ...rules])],
    };
  } catch (cause) {
    if (cause instanceof BatonError) return refusal(cause.code, cause.message, cause.hint);
    throw cause;
  }
}

async function whyNot(info: GitInfo, { head, branch }: CheckpointPoint): Promise<Refusal | null> {
  const { root } = info;
  const busy = underWay(info.gitDir);
  if (busy !== null) {
    return refusal(
      'E_PERMISSION_DENIED',
      `nothing is rolled back while ${busy} is under way in ${root}`,
      'finish or abort it first',
      `${busy.replace(/^an? | \(.*$/g, '').replaceAll(' ', '_')}_under_way`,
    );
  }
  const named = (one: string | null): string => (one === null ? 'no branch (detached)' : one);
  if (info.branch !== branch) {
    return refusal(
      'E_PERMISSION_DENIED',
      `the checkpoint was taken on ${named(branch)}, and ${root} is on ${named(info.branch)} now`,
      branch === null ? `check out ${head}` : `check out ${branch} first`,
      `on_other_branch, check out ${branch ?? head?.slice(0, 12)}`,
    );
  }
  // Before the first commit there is nothing that could have been left.
  if (head === null || head === info.head) return null;
  if (info.head !== null && (await isAncestor(root, head, info.head))) return null;
  return refusal(
    'E_PERMISSION_DENIED',
    `the checkpoint was taken at commit ${head.slice(0, 12)}, and HEAD (${info.head?.slice(0, 12) ?? 'no commit'}) does not come from it`,
    'the branch was reset or rewritten since: go back to where it was, or take single files from the checkpoint',
    'head_rewritten',
  );
}

/** What differs, by what is to become of it. */
export async function sortOut({ scope, before, rules }: Ground, now: Entries): Promise<Sorted> {
  const names = [...new Set([...before.keys(), ...now.keys()])].filter((name) => inScope(scope, name)).sort();
  const changes = names
    .map((name) => ({ name, was: before.get(name) ?? null, is: now.get(name) ?? null }))
    .filter(({ was, is }) => was?.id !== is?.id || was?.mode !== is?.mode);
  const isSubmodule = ({ was, is }: Change): boolean =>
    was?.mode === SUBMODULE || (is?.mode === SUBMODULE && was === null);
  const files = changes.filter((change) => !isSubmodule(change));
  const made = files.filter(({ was }) => was === null);
  const ignored = await ignoredBy(scope.info, before, rules, made);
  return {
    restored: files.filter(({ was, is }) => was !== null && is !== null),
    recreated: files.filter(({ is }) => is === null),
    removed: made.filter(({ name }) => !ignored.has(name)),
    left: made.filter(({ name }) => ignored.has(name)),
    submodules: changes.filter(isSubmodule),
  };
}

function* foldersAbove(name: Bytes): Generator<Bytes> {
  for (let i = name.indexOf('/'); i > 0; i = name.indexOf('/', i + 1)) yield name.slice(0, i);
}

interface Rule {
  readonly below: Bytes;
  readonly blob: string;
}

/** Those that the rules of the checkpoint ignore, or those of the other commits. A rule that was taken away must not make old files look new. */
async function ignoredBy(
  info: GitInfo,
  before: Entries,
  commits: readonly string[],
  made: readonly Change[],
): Promise<Set<Bytes>> {
  if (made.length === 0) return new Set();
  const folders = new Set(made.flatMap(({ name }) => [...foldersAbove(name)]));
  const names = ['.gitignore', ...[...folders].map((folder) => `${folder}/.gitignore`)];
  const rulesIn = (entries: Entries): Rule[] =>
    names.flatMap((name) => {
      const entry = entries.get(name);
      return entry?.mode.startsWith('100') === true ? [{ below: name, blob: entry.id }] : [];
    });
  // The same rules need not be asked twice.
  const all = new Map<string, readonly Rule[]>();
  const take = (rules: readonly Rule[]): void => void all.set(JSON.stringify(rules), rules);
  take(rulesIn(before));
  for (const commit of commits) take(rulesIn(await entriesOf(info.root, commit)));
  const ignored = new Set<Bytes>();
  for (const rules of all.values()) for (const name of await ignoredUnder(info, rules, made)) ignored.add(name);
  return ignored;
}

async function ignoredUnder(info: GitInfo, rules: readonly Rule[], made: readonly Change[]): Promise<Set<Bytes>> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-rules-'));
  try {
    const tree = join(folder, 'tree');
    await mkdir(tree);
    if (rules.length > 0) {
      const blobs = await openBlobs(info.root, {});
      try {
        for (const rule of rules) {
          const path = join(tree, toText(rule.below));
          await mkdir(dirname(path), { recursive: true });
          await blobs.read(rule, toBytes(path));
        }
      } finally {
        await blobs.close();
      }
    }
    const { stdout, code, stderr } = await git(tree, ['check-ignore', '--stdin', '-v', '-n', '--no-index'], {
      env: {
        GIT_DIR: info.gitDir,
        GIT_WORK_TREE: tree,
        GIT_INDEX_FILE: join(folder, 'index'),
        // It knows no literal paths; with a dot before it a name is none but a name.
        GIT_LITERAL_PATHSPECS: '0',
      },
      stdin: made.map(({ name }) => `${quotePath(`./${name}`)}\n`).join(''),
    });
    // 1 is that none is ignored.
    if (code !== 0 && code !== 1) throw new BatonError('E_UNKNOWN', `git check-ignore failed: ${stderr}`);
    const lines = stdout.toString('utf8').split('\n');
    // `<file>:<line>:<pattern>` and a tab, nothing but the colons where no rule fits. The last rule that fits may be one that takes back.
    const isIgnored = (line: string): boolean => !line.startsWith('::\t') && !/^.*?:[0-9]+:!/.test(line);
    return new Set(made.filter((_, i) => isIgnored(lines[i] ?? '::\t')).map(({ name }) => name));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What is in the way of the files that have to be written; null where nothing is. */
export async function inTheWay({ scope }: Ground, sorted: Sorted): Promise<Refusal | null> {
  const { root } = scope.info;
  const goes = new Set(sorted.removed.map(({ name }) => name));
  const written = [...sorted.restored, ...sorted.recreated];
  const blocked = (name: Bytes, by: string): Refusal =>
    refusal(
      'E_PERMISSION_DENIED',
      `${pathIn(scope, name)} cannot be put back: ${by}`,
      'it is in no commit and not ours to remove: move it away, and roll back again',
      `in_the_way ${pathIn(scope, name)}`,
    );
  const checked = new Set<Bytes>();
  for (const { name, is } of written) {
    if (name.split('/').some((part) => part === '' || part === '..' || /^\.git$/i.test(part))) {
      return refusal('E_PERMISSION_DENIED', `the checkpoint holds a path that no checkpoint can: ${toText(name)}`);
    }
    if (is?.mode === SUBMODULE) return blocked(name, 'a submodule is in its place, and submodules are never touched');
    for (const folder of foldersAbove(name)) {
      if (checked.has(folder)) continue;
      const path = at(toBytes(root), folder);
      const found = await statAt(path);
      if (found === null || goes.has(folder)) break;
      if (!found.isDirectory()) return blocked(name, `${pathIn(scope, folder)} is an ignored ${kindOf(found)} now`);
      if ((await statAt(`${path}/.git`)) !== null) {
        return blocked(name, `${pathIn(scope, folder)} is a repository of its own now`);
      }
      checked.add(folder);
    }
    const below = await firstThatStays(scope, name, goes);
    if (below !== null) return blocked(name, `a folder is in its place that holds ${pathIn(scope, below)}`);
  }
  return missingObjects(root, written);
}

/** Where a folder is in the place of a file: something in it that would not be removed; null where there is none. */
async function firstThatStays(scope: Scope, name: Bytes, goes: ReadonlySet<Bytes>): Promise<Bytes | null> {
  const path = at(toBytes(scope.info.root), name);
  const found = await statAt(path);
  if (found === null || found.isFile() || found.isSymbolicLink()) return null;
  if (!found.isDirectory()) return name;
  const walk = await walkTree(path, []);
  const stays = walk.found.find(({ below, kind }) => kind !== 'folder' && !goes.has(at(name, below)));
  if (stays !== undefined) return at(name, stays.below);
  const hidden = walk.unreadable[0];
  return hidden === undefined ? null : at(name, hidden);
}

/** All that is needed is there before anything is changed. */
async function missingObjects(root: string, written: readonly Change[]): Promise<Refusal | null> {
  if (written.length === 0) return null;
  const stdin = written.map(({ was }) => `${was?.id ?? ''}\n`).join('');
  const lines = (await gitText(root, ['cat-file', '--batch-check'], { stdin })).split('\n');
  const at = lines.findIndex((line) => !/^[0-9a-f]+ blob [0-9]+$/.test(line));
  const lost = written[at];
  if (lost === undefined) return null;
  return refusal('E_NOT_FOUND', `git does not have what the checkpoint holds of ${toText(lost.name)} any more`);
}
