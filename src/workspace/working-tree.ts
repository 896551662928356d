/**
 * A working tree as git would hold it, byte for byte: what is tracked and what is new and not ignored, with the contents as they stand in the
 * files. No filter and no line-end conversion has a say, so that what comes back is what was there.
 *
 * It is done in a git folder of our own with a copy of the user's index, which knows the files that need not be read again. That folder has no
 * settings but ours, and attributes that stand above all others: nothing that the repository names is started, and nothing of the user's is
 * written but objects, where those are to stay.
 */
import { copyFile, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { BatonError } from '../core/errors.ts';
import { isBelow } from '../process/files.ts';
import { type GitInfo, git, gitBytes, gitText, quoteAlternate, quotePath } from './git.ts';
import { resolveIn } from './paths.ts';
import { at, type Bytes, statAt, toBytes } from './tree.ts';

export interface TreeEntry {
  /** As git writes it: 100644, 100755, 120000 for a link, 160000 for a submodule. */
  readonly mode: string;
  readonly id: string;
}

/** By path from the top of the repository. */
export type Entries = ReadonlyMap<Bytes, TreeEntry>;

export const SUBMODULE = '160000';
export const LINK = '120000';

/** What of a repository is looked at. */
export interface Scope {
  readonly info: GitInfo;
  /** The workspace, from the top of the repository; empty where it is the top. */
  readonly prefix: Bytes;
  /** Never looked at and never touched, from the top as well. */
  readonly left: readonly Bytes[];
}

export interface WorkingTree {
  /** Outside of the scope they are as in the user's index. */
  readonly entries: Entries;
  /** Where our own git folder, index and objects are. */
  readonly env: Readonly<Record<string, string>>;
  writeTree(): Promise<string>;
  close(): Promise<void>;
}

export async function scopeOf(info: GitInfo, workspace: string, exclude: readonly string[]): Promise<Scope> {
  const here = process.cwd();
  const real = await resolveIn(here, workspace);
  const left = await Promise.all(exclude.map((path) => resolveIn(here, path)));
  return {
    info,
    prefix: toBytes(relative(info.root, real)),
    left: left
      .filter((path) => isBelow(path, [info.root]) && path !== info.root)
      .map((path) => toBytes(relative(info.root, path))),
  };
}

const isAtOrBelow = (name: Bytes, folder: Bytes): boolean => name === folder || name.startsWith(`${folder}/`);

export const inScope = ({ prefix, left }: Scope, name: Bytes): boolean =>
  (prefix === '' || name.startsWith(`${prefix}/`)) && !left.some((folder) => isAtOrBelow(name, folder));

/** The entries of a commit or a tree, all of them. */
export async function entriesOf(root: string, commit: string): Promise<Map<Bytes, TreeEntry>> {
  const listed = (await gitBytes(root, ['ls-tree', '-r', '-z', '--full-tree', commit])).toString('latin1');
  const entries = new Map<Bytes, TreeEntry>();
  for (const line of listed.split('\0')) {
    const tab = line.indexOf('\t');
    const [mode = '', , id = ''] = line.slice(0, tab).split(' ');
    if (tab > 0) entries.set(line.slice(tab + 1), { mode, id });
  }
  return entries;
}

/**
 * Looks at what is there now. The objects stay in the user's repository, or pass with `close`, or are not made at all. `also` are paths that count though they are
 * ignored by now: what a checkpoint holds is not to be lost by a rule that came later.
 */
export async function lookAtTree(
  scope: Scope,
  objects: 'stay' | 'pass' | 'none',
  also: Entries = new Map(),
): Promise<WorkingTree> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-tree-'));
  const close = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const env = await ownGit(scope.info, folder, objects);
    const entries = await fill(scope, env, also, objects === 'none' ? ['--info-only'] : []);
    const { root } = scope.info;
    // In a clone that has not all objects, those of files that are not checked out may be missing.
    return { entries, env, writeTree: () => gitText(root, ['write-tree', '--missing-ok'], { env }), close };
  } catch (cause) {
    await close();
    throw cause;
  }
}

/** Contents as they are. An encoding can't be switched off, only be left unsaid. */
const ATTRIBUTES = '* -text -filter -ident !eol !crlf !working-tree-encoding\n';

async function ownGit(
  { root, gitDir, commonDir }: GitInfo,
  folder: string,
  objects: 'stay' | 'pass' | 'none',
): Promise<Record<string, string>> {
  const own = join(folder, 'git');
  for (const name of ['refs', 'info', 'objects']) await mkdir(join(own, name), { recursive: true, mode: 0o700 });
  const isSha256 = (await gitText(root, ['rev-parse', '--show-object-format'])) === 'sha256';
  const settings = ['[core]', 'bare = false', 'autocrlf = false', 'filemode = true', 'symlinks = true'].concat(
    isSha256
      ? ['repositoryformatversion = 1', '[extensions]', 'objectformat = sha256']
      : ['repositoryformatversion = 0'],
  );
  await writeFile(join(own, 'config'), `${settings.join('\n')}\n`);
  await writeFile(join(own, 'HEAD'), 'ref: refs/heads/none\n');
  await writeFile(join(own, 'info/attributes'), ATTRIBUTES);
  await copyIndex(gitDir, own);
  const theirs = join(commonDir, 'objects');
  return {
    GIT_DIR: own,
    GIT_WORK_TREE: root,
    GIT_INDEX_FILE: join(own, 'index'),
    ...(objects === 'stay'
      ? { GIT_OBJECT_DIRECTORY: theirs }
      : { GIT_OBJECT_DIRECTORY: join(own, 'objects'), GIT_ALTERNATE_OBJECT_DIRECTORIES: quoteAlternate(theirs) }),
  };
}

async function copyIndex(gitDir: string, own: string): Promise<void> {
  const from = join(gitDir, 'index');
  const found = await stat(from).catch((cause: NodeJS.ErrnoException) => {
    // Before anything was added there is none.
    if (cause.code === 'ENOENT') return null;
    throw cause;
  });
  if (found === null) return;
  // An index may be split in two; git looks for the other half in its folder.
  for (const name of await readdir(gitDir)) {
    if (name.startsWith('sharedindex.')) await copyFile(join(gitDir, name), join(own, name));
  }
  await copyFile(from, join(own, 'index'));
  // Git reads again what may have changed in the moment in which its index was written: the copy must not look younger than it is.
  const seconds = Math.floor(found.mtimeMs / 1000) - 1;
  await utimes(join(own, 'index'), seconds, seconds);
}

interface Known extends TreeEntry {
  readonly name: Bytes;
  readonly stage: number;
  /** Marked by the user as not to be looked at (assume-unchanged), or as not checked out (skip-worktree). */
  readonly isUnseen: boolean;
  readonly isSparse: boolean;
}

type Env = Readonly<Record<string, string>>;

async function known(root: string, env: Env): Promise<Known[]> {
  const listed = (await gitBytes(root, ['ls-files', '-s', '-v', '-z'], { env })).toString('latin1');
  return listed.split('\0').flatMap((line) => {
    const tab = line.indexOf('\t');
    const [tag = '', mode = '', id = '', stage = ''] = line.slice(0, tab).split(' ');
    if (tab < 0) return [];
    const isSparse = tag.toUpperCase() === 'S';
    return [{ name: line.slice(tab + 1), mode, id, stage: Number(stage), isUnseen: /[a-z]/.test(tag), isSparse }];
  });
}

const add = ({ mode, id, name }: Known): string => `${mode} ${id} 0\t${quotePath(name)}\n`;
const remove = (name: Bytes, { length }: string): string => `0 ${'0'.repeat(length)}\t${quotePath(name)}\n`;

async function edit(root: string, env: Env, lines: readonly string[]): Promise<void> {
  if (lines.length > 0) await gitBytes(root, ['update-index', '--index-info'], { env, stdin: lines.join('') });
}

async function fill(scope: Scope, env: Env, also: Entries, how: readonly string[]): Promise<Entries> {
  const { root } = scope.info;
  const before = await known(root, env);
  await edit(root, env, [...(await anew(scope, before)), ...(await submodules(scope, before))]);
  const { changed, gone } = await changedIn(scope, env);
  await edit(root, env, gone);
  const news = await newIn(scope, env);
  const there = new Set((await known(root, env)).map(({ name }) => name).concat(news));
  const more: Bytes[] = [];
  for (const [name, { mode }] of also) {
    if (mode !== SUBMODULE && !there.has(name) && inScope(scope, name) && (await isFileIn(root, name))) more.push(name);
  }
  await take(root, env, [...changed, ...news, ...more], how);
  return new Map((await known(root, env)).map(({ name, mode, id }) => [name, { mode, id }]));
}

/**
 * Entries that are put into the index again without what it knows of their files, so that those are read: what is in conflict, what is marked as
 * not to be looked at though it is there, and what git has converted when it was added.
 */
async function anew(scope: Scope, entries: readonly Known[]): Promise<string[]> {
  const lines = new Map<Bytes, string>();
  const plain: Bytes[] = [];
  for (const entry of entries) {
    const { name } = entry;
    // Of the sides of a conflict any will do: the file is read in its place.
    if (entry.stage > 0) lines.set(name, add(entry));
    else if (!inScope(scope, name) || entry.mode === SUBMODULE) continue;
    else if (entry.isSparse && (await statAt(at(toBytes(scope.info.root), name))) === null) continue;
    else if (entry.isUnseen || entry.isSparse) lines.set(name, add(entry));
    else if (entry.mode !== LINK) plain.push(name);
  }
  const converted = await convertedOf(scope.info, plain);
  for (const entry of entries) if (converted.has(entry.name)) lines.set(entry.name, add(entry));
  return [...lines.values()];
}

/** Each by itself says that the object is not what is in the file. */
const CONVERTING = ['filter', 'ident', 'working-tree-encoding', 'text', 'crlf', 'eol'];

/** Files whose object git may have made of something else than what they hold. */
async function convertedOf({ root, gitDir }: GitInfo, names: readonly Bytes[]): Promise<Set<Bytes>> {
  if (names.length === 0) return new Set();
  const env = { GIT_DIR: gitDir, GIT_WORK_TREE: root };
  const always = (await git(root, ['config', '--get', 'core.autocrlf'], { env })).stdout.toString('utf8').trim();
  if (!['', 'false', 'no', 'off', '0'].includes(always.toLowerCase())) return new Set(names);
  const stdin = names.map((name) => `${quotePath(name)}\n`).join('');
  const told = (await gitText(root, ['check-attr', '--stdin', ...CONVERTING], { env, stdin })).split('\n');
  // One line for each attribute of each file, in the order in which they were asked for.
  return new Set(
    names.filter((_, i) =>
      CONVERTING.some((_, j) => !/: (?:unspecified|unset)$/.test(told[i * CONVERTING.length + j] ?? '')),
    ),
  );
}

/** The commit that a submodule is at now. It is asked for that and nothing else: what is in it is its own, and its settings may be an agent's. */
async function submodules(scope: Scope, entries: readonly Known[]): Promise<string[]> {
  const lines: string[] = [];
  const { root } = scope.info;
  for (const entry of entries) {
    if (entry.mode !== SUBMODULE || entry.stage > 0 || !inScope(scope, entry.name) || entry.isSparse) continue;
    const path = at(toBytes(root), entry.name);
    if ((await statAt(path))?.isDirectory() !== true) lines.push(remove(entry.name, entry.id));
    else if ((await statAt(`${path}/.git`)) !== null) {
      const folder = Buffer.from(path, 'latin1').toString('utf8');
      const head = await git(folder, ['rev-parse', '-q', '--verify', 'HEAD^{commit}']);
      const id = head.stdout.toString('utf8').trim();
      if (head.code === 0 && id.length === entry.id.length && id !== entry.id) lines.push(add({ ...entry, id }));
    }
  }
  return lines;
}

/** Writes the commits that submodules are at now into a private index. */
export async function noteSubmodules(scope: Scope, env: Env): Promise<void> {
  const { root } = scope.info;
  await edit(root, env, await submodules(scope, await known(root, env)));
}

async function changedIn(
  scope: Scope,
  env: Env,
): Promise<{ readonly changed: readonly Bytes[]; readonly gone: readonly string[] }> {
  const args = ['diff-files', '--raw', '-z', '--no-abbrev', '--no-renames', '--no-ext-diff', '--ignore-submodules=all'];
  const tokens = (await gitBytes(scope.info.root, args, { env })).toString('latin1').split('\0');
  const changed: Bytes[] = [];
  const gone: string[] = [];
  for (let i = 0; i + 1 < tokens.length; i += 2) {
    const [, mode, id = '', , status] = (tokens[i] ?? '').split(' ');
    const name = tokens[i + 1] ?? '';
    if (!inScope(scope, name)) continue;
    // In place of a file there is a repository: the file is gone, and the repository stays out.
    if (status === 'D' || mode === SUBMODULE) gone.push(remove(name, id));
    else changed.push(name);
  }
  return { changed, gone };
}

/** What is neither tracked nor ignored, by the user's own rules. A folder that has a repository of its own is named with a slash, and left alone. */
async function newIn(scope: Scope, env: Env): Promise<Bytes[]> {
  const { root, gitDir } = scope.info;
  const folder = join(root, Buffer.from(scope.prefix, 'latin1').toString('utf8'));
  const listed = await gitBytes(folder, ['ls-files', '-z', '--others', '--exclude-standard', '--full-name'], {
    env: { GIT_DIR: gitDir, GIT_WORK_TREE: root, GIT_INDEX_FILE: env['GIT_INDEX_FILE'] ?? '' },
  });
  const names = listed.toString('latin1').split('\0');
  return names.filter((name) => name !== '' && !name.endsWith('/') && inScope(scope, name));
}

async function take(root: string, env: Env, names: readonly Bytes[], how: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const stdin = names.map((name) => `${quotePath(name)}\n`).join('');
  // What goes away meanwhile is as good as never there.
  const args = ['update-index', '--add', '--remove', '--replace', ...how, '--stdin'];
  const { code, stderr } = await git(root, args, { env, stdin });
  if (code === 0) return;
  const known = /permission denied/i.test(stderr)
    ? 'E_PERMISSION_DENIED'
    : /no space/i.test(stderr)
      ? 'E_STORE_FULL'
      : 'E_UNKNOWN';
  throw new BatonError(known, `git cannot keep what is in ${root}: ${stderr.split('\n').join('; ')}`);
}

/** Whether a file or a link is at a path, with folders above it that are none but folders. */
async function isFileIn(root: string, name: Bytes): Promise<boolean> {
  const top = toBytes(root);
  for (let i = name.indexOf('/'); i > 0; i = name.indexOf('/', i + 1)) {
    if ((await statAt(at(top, name.slice(0, i))))?.isDirectory() !== true) return false;
  }
  const found = await statAt(at(top, name));
  return found !== null && (found.isFile() || found.isSymbolicLink());
}
