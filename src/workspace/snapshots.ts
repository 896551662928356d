/**
 * COPY, GIT_STASH and DIFF before a run, and the rollback that restores exactly these and nothing else.
 *
 * What a path was is noted in a listing with the hash of every file; the manifest in the data folder holds the listings, so that
 * another process can restore after a crash. The strategies differ only in where the contents are: in files, in a commit of the user's
 * repository under `refs/baton/snapshots/`, or in a patch against HEAD. Whatever comes back is checked against its hash.
 */
import { constants } from 'node:fs';
import { copyFile, mkdir, open, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { BatonError, messageOf } from '../core/errors.ts';
import { isBelow, readIfThere, replaceFile } from '../process/files.ts';
import { newSuffix } from '../process/new-id.ts';
import { type GitInfo, git, gitInfo, gitText, quoteAlternate } from './git.ts';
import { applyPatch, emptyTree, keepBlobs, openBlobs, patchBetween, treeWith } from './git-objects.ts';
import { Entry, type FileEntry, listAt } from './listing.ts';
import { resolveIn, resolveParentIn } from './paths.ts';
import { type Contents, putBack } from './put-back.ts';
import { snapshotPlace } from './snapshot-path.ts';
import { at, type Bytes, hashFile, raw, removeTree, statAt, toBytes, toText } from './tree.ts';

export interface Wanted {
  readonly path: string;
  readonly strategy: 'COPY' | 'GIT_STASH' | 'DIFF' | 'NONE';
  readonly snapshotPath: string | null;
}

interface Where {
  readonly workspace: string;
  readonly dataDir: string;
  /** Where the snapshots of this run are kept, in the data folder. */
  readonly folder: string;
  /** Nothing is put back outside of these, nor taken for that; the workspace where they are left out. */
  readonly roots?: readonly string[];
}

const Snapshot = z.strictObject({
  id: z.string(),
  /** As it was asked for. */
  named: z.string(),
  /** Where that really is: absolute, the folders above it without symlinks. */
  path: z.string(),
  /** What was done, which is COPY where git could not. */
  strategy: z.enum(['COPY', 'GIT_STASH', 'DIFF']),
  /** Why it is not as it was asked for, or not where; null where it is. */
  note: z.string().nullable(),
  /** Where it is kept, for people: a path or a ref. */
  place: z.string(),
  folder: z.string(),
  /** A second copy, where `snapshot_path` asks for one. */
  second: z.string().nullable(),
  /** The repository, the ref and the commit that it stands on, for the strategies of git. */
  repo: z.string().nullable(),
  ref: z.string().nullable(),
  base: z.string().nullable(),
  /** Never looked at and never touched, though it may be below `path`. */
  except: z.array(z.string()),
  /** Empty where nothing was there. */
  listing: z.array(Entry),
});
type Snapshot = z.infer<typeof Snapshot>;

export interface Restored {
  readonly path: string;
  readonly restored_from: string;
  readonly status: 'SUCCESS' | 'FAILED';
  readonly error?: string;
}

const MANIFEST = 'manifest.json';
const REPOSITORY = 'repository';
const Manifest = z.strictObject({ version: z.literal(1), snapshots: z.array(Snapshot) });

/** Takes all of them, or throws and leaves none. Those with NONE are left out. */
export async function takeSnapshots(wanted: readonly Wanted[], where: Where): Promise<Snapshot[]> {
  if ((await readManifest(where.folder)).length > 0) {
    throw new BatonError(
      'E_DUPLICATE',
      `there are snapshots in ${where.folder} already`,
      'restore or discard them first',
    );
  }
  const workspace = await resolveIn(process.cwd(), where.workspace);
  const place = { ...where, workspace, dataDir: await resolveIn(process.cwd(), where.dataDir) };
  const taken: Snapshot[] = [];
  try {
    for (const one of wanted) {
      if (one.strategy === 'NONE') continue;
      for (const each of await withTarget(one, workspace)) taken.push(await take(each, place));
    }
    if (taken.length > 0) await writeManifest(where.folder, taken);
    return taken;
  } catch (cause) {
    await discardSnapshots(taken);
    await dropEmpty(where.folder);
    throw cause;
  }
}

/** A symlink that leads to something in the workspace: what is written through it changes that, so both are kept. */
async function withTarget(wanted: Wanted, workspace: string): Promise<Wanted[]> {
  const path = await resolveParentIn(workspace, wanted.path);
  if ((await statAt(toBytes(path)))?.isSymbolicLink() !== true) return [wanted];
  const real = await resolveIn(workspace, wanted.path);
  if (!isBelow(real, [workspace]) || isBelow(path, [real])) return [wanted];
  return [
    { ...wanted, snapshotPath: null },
    { ...wanted, path: real },
  ];
}

async function take(wanted: Wanted, where: Where): Promise<Snapshot> {
  const id = newSuffix();
  const folder = join(where.folder, id);
  try {
    return await takeOne(id, folder, wanted, where);
  } catch (cause) {
    await dropUnlisted(folder, id);
    if (cause instanceof BatonError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const known = code === 'ENOSPC' || code === 'EDQUOT' ? 'E_STORE_FULL' : 'E_PERMISSION_DENIED';
    throw new BatonError(known, `no snapshot could be taken of ${wanted.path}: ${messageOf(cause)}`);
  }
}

async function takeOne(id: string, folder: string, wanted: Wanted, where: Where): Promise<Snapshot> {
  const path = await resolveParentIn(where.workspace, wanted.path);
  if (isBelow(path, [where.dataDir])) {
    throw new BatonError('E_PERMISSION_DENIED', `${wanted.path} is in the data folder, of which no snapshot is taken`);
  }
  if (!isBelow(path, where.roots ?? [where.workspace])) {
    throw new BatonError('E_PERMISSION_DENIED', `${wanted.path} is at ${path}, which is not ours to put back`);
  }
  const repo = await repositoryOf(path);
  const asked = await askedPlace(wanted, where);
  const except = [where.dataDir, repo?.gitDir, repo?.commonDir, repo && join(repo.root, '.git'), asked]
    .filter((one) => one !== null && one !== undefined)
    .filter((one, i, all) => all.indexOf(one) === i && isBelow(one, [path]));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const listing = await listAt(toBytes(path), except.map(toBytes));
  const [second, moved] = await freePlace(asked, wanted.strategy === 'COPY' ? listing : null);
  const untouched = second !== null && second !== asked && isBelow(second, [path]) ? [...except, second] : except;
  const common = { id, named: wanted.path, path, folder: where.folder, except: untouched };
  const why = wanted.strategy === 'COPY' ? 'asked' : whyNoGit(wanted.strategy, path, repo, listing);
  if (why === null && repo !== null) {
    const kept = await (wanted.strategy === 'DIFF' ? keepPatch : keepCommit)(id, folder, path, listing, repo);
    if (second !== null && kept.patch !== null) await copyOut(kept.patch, second);
    const notes = [
      moved,
      second !== null && kept.patch === null ? 'the snapshot is a commit; nothing is at snapshot_path' : null,
    ];
    return {
      ...common,
      strategy: kept.patch === null ? 'GIT_STASH' : 'DIFF',
      note: notes.filter((note) => note !== null).join('; ') || null,
      place: kept.patch === null ? kept.ref : (second ?? kept.patch),
      second: kept.patch === null ? null : second,
      repo: repo.root,
      ref: kept.ref,
      base: repo.head,
      listing: kept.listing,
    };
  }
  const own = join(folder, 'content');
  await copyTree(toBytes(path), toBytes(own), listing);
  if (second !== null && listing.length > 0 && !(await holds(second, listing))) {
    await mkdir(dirname(second), { recursive: true });
    await copyTree(toBytes(own), toBytes(second), listing);
  }
  const note = [why === 'asked' ? null : why, moved].filter((one) => one !== null).join('; ') || null;
  return {
    ...common,
    strategy: 'COPY',
    note,
    place: second ?? own,
    second,
    repo: null,
    ref: null,
    base: null,
    listing,
  };
}

async function repositoryOf(path: string): Promise<GitInfo | null> {
  // The path itself may be a folder with a repository; more often it is below one.
  for (let dir = path; ; dir = dirname(dir)) {
    const found = await statAt(toBytes(dir));
    if (found?.isDirectory() === true) return gitInfo(dir);
    if (dir === dirname(dir)) return null;
  }
}

/** Where `snapshot_path` is; null where there is none. */
async function askedPlace(wanted: Wanted, where: Where): Promise<string | null> {
  if (wanted.snapshotPath === null) return null;
  const { workspace, dataDir, roots = [workspace] } = where;
  return snapshotPlace(wanted.snapshotPath, wanted.snapshotPath, { workspace, dataDir, writePaths: roots });
}

/** That place, with a number behind it where there is something else: that is not ours to replace. With it, why it is not the one asked for. */
async function freePlace(asked: string | null, same: readonly Entry[] | null): Promise<[string | null, string | null]> {
  if (asked === null) return [null, null];
  for (let n = 1; ; n++) {
    const free = n === 1 ? asked : `${asked}.${n}`;
    const isFree = (await statAt(toBytes(free))) === null || (same !== null && (await holds(free, same)));
    if (isFree) return [free, n === 1 ? null : `there was something at ${asked} already; the snapshot is at ${free}`];
  }
}

/** Whether a copy of the listing, as an earlier attempt leaves one, is at a place. */
async function holds(place: string, listing: readonly Entry[]): Promise<boolean> {
  try {
    return outline(await listAt(toBytes(place), [])) === outline(listing);
  } catch {
    // What can't be read, or is a pipe, is no copy of ours.
    return false;
  }
}

const outline = (listing: readonly Entry[]): string =>
  JSON.stringify(
    listing
      .filter((entry) => entry.kind !== 'link')
      .map((entry) => [entry.kind, entry.below, entry.kind === 'file' ? entry.hash : null]),
  );

/** Why git can't keep it; null where it can. */
function whyNoGit(strategy: string, path: string, repo: GitInfo | null, listing: readonly Entry[]): string | null {
  const instead = `a COPY was made instead of ${strategy}`;
  if (repo === null) return `${path} is in no git repository: ${instead}`;
  if (!isBelow(path, [repo.root]) || isBelow(path, [repo.gitDir, repo.commonDir])) {
    return `${path} is not in the working tree of ${repo.root}: ${instead}`;
  }
  const names = [toBytes(path.slice(repo.root.length)), ...listing.map(({ below }) => below)];
  // Git takes no such name into a tree.
  if (names.some((name) => /(^|\/)\.git(\/|$)/i.test(name))) return `${path} holds a repository of its own: ${instead}`;
  return null;
}

interface Kept {
  readonly ref: string;
  readonly patch: string | null;
  readonly listing: Entry[];
}

const refOf = (id: string): string => `refs/baton/snapshots/${id}`;
const wayOf = (path: string, repo: GitInfo): Bytes => toBytes(path).slice(toBytes(repo.root).length).replace(/^\//, '');

/** Before there is a ref: by this it is found again if we die before the manifest names it. */
const noteRepository = (folder: string, { root }: GitInfo): Promise<void> =>
  writeFile(join(folder, REPOSITORY), root, { mode: 0o600, flush: true });

/** GIT_STASH: HEAD's tree with the path as it is now, as a commit that only our ref leads to. */
async function keepCommit(
  id: string,
  folder: string,
  path: string,
  listing: readonly Entry[],
  repo: GitInfo,
): Promise<Kept> {
  const env = { GIT_INDEX_FILE: join(folder, 'index') };
  const kept = await keepBlobs(repo.root, toBytes(path), listing, env);
  const tree = await treeWith(repo.root, repo.head, wayOf(path, repo), kept, env);
  const parents = repo.head === null ? [] : ['-p', repo.head];
  const commit = await gitText(repo.root, ['commit-tree', ...parents, '-m', `Baton's snapshot of ${path}`, tree], {
    env,
  });
  await noteRepository(folder, repo);
  await gitText(repo.root, ['update-ref', refOf(id), commit, ''], { env });
  await rm(join(folder, 'index'), { force: true });
  return { ref: refOf(id), patch: null, listing: kept };
}

/** Objects that are needed for the moment only go to a folder of ours and not into the user's repository. */
async function scratch(
  folder: string,
  repo: { readonly root: string; readonly commonDir: string },
): Promise<Record<string, string>> {
  const objects = join(folder, 'objects');
  await mkdir(objects, { recursive: true, mode: 0o700 });
  return {
    GIT_INDEX_FILE: join(folder, 'index'),
    GIT_OBJECT_DIRECTORY: objects,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: quoteAlternate(join(repo.commonDir, 'objects')),
  };
}

async function clearScratch(folder: string): Promise<void> {
  for (const name of ['objects', 'index']) await rm(join(folder, name), { recursive: true, force: true });
}

/** DIFF: a patch from HEAD to what is there, and a ref that keeps HEAD where it is. */
async function keepPatch(
  id: string,
  folder: string,
  path: string,
  listing: readonly Entry[],
  repo: GitInfo,
): Promise<Kept> {
  const env = await scratch(folder, repo);
  const kept = await keepBlobs(repo.root, toBytes(path), listing, env);
  const tree = await treeWith(repo.root, repo.head, wayOf(path, repo), kept, env);
  const from = repo.head ?? (await emptyTree(repo.root, env));
  const patch = join(folder, 'snapshot.patch');
  await writeFile(patch, await patchBetween(repo.root, from, tree, env), { mode: 0o600 });
  await noteRepository(folder, repo);
  if (repo.head !== null) await gitText(repo.root, ['update-ref', refOf(id), repo.head, '']);
  await clearScratch(folder);
  return { ref: refOf(id), patch, listing: kept };
}

async function copyOut(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await copyFile(from, to, constants.COPYFILE_EXCL);
}

/** Copies what the listing names, for its user alone. What changed since the listing was made is an error. */
async function copyTree(from: Bytes, to: Bytes, listing: readonly Entry[]): Promise<void> {
  for (const entry of listing) {
    const own = at(to, entry.below);
    if (entry.kind === 'folder') await mkdir(raw(own), { mode: 0o700 });
    else if (entry.kind === 'file') {
      if (!(await copyChecked(at(from, entry.below), own, entry))) {
        throw new Error(`${toText(at(from, entry.below))} changed while it was copied`);
      }
    }
    // Where links lead is in the listing.
  }
}

/** Copies a file; false, and nothing is there, where it is not the one that the entry means. */
async function copyChecked(from: Bytes, to: Bytes, entry: FileEntry): Promise<boolean> {
  // A link or a pipe may have been put in its place.
  if ((await statAt(from))?.isFile() !== true) return false;
  await copyFile(raw(from), raw(to), constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  const file = await open(raw(to), 'r');
  try {
    await file.chmod(0o600);
    await file.sync();
  } finally {
    await file.close();
  }
  if ((await hashFile(to))?.hash === entry.hash) return true;
  await removeTree(to);
  return false;
}

/** Restores each of them, and tells what became of each; a snapshot that could not be restored is kept. Twice is as good as once. */
export async function restore(snapshots: readonly Snapshot[]): Promise<Restored[]> {
  const results: Restored[] = [];
  const done: Snapshot[] = [];
  for (const snapshot of snapshots) {
    const { named: path } = snapshot;
    try {
      results.push({ path, restored_from: await restoreOne(snapshot), status: 'SUCCESS' });
      done.push(snapshot);
    } catch (cause) {
      const error = `E_ROLLBACK_FAILED: ${snapshot.path} could not be restored: ${messageOf(cause)}`;
      results.push({ path, restored_from: snapshot.place, status: 'FAILED', error });
    }
  }
  for (const folder of new Set(done.map((snapshot) => snapshot.folder))) {
    const ids = new Set(done.map(({ id }) => id));
    const rest = (await readManifest(folder)).filter(({ id }) => !ids.has(id));
    if (rest.length > 0) await writeManifest(folder, rest);
    else await rm(join(folder, MANIFEST), { force: true });
  }
  // Only now: as long as the manifest names them, another process may need them. A copy that was asked for stays where it is.
  for (const snapshot of done) await dropOwn(snapshot);
  for (const { folder } of done) await dropEmpty(folder);
  return results;
}

async function restoreOne(snapshot: Snapshot): Promise<string> {
  const { path, listing, except } = snapshot;
  if (snapshot.strategy === 'COPY') {
    const from = copiesOf(snapshot);
    await putBack(path, listing, except, from.contents);
    return from.place();
  }
  // Git is asked only where something has to be fetched: most files are as they were.
  const blobs = lazyBlobs(snapshot);
  try {
    await putBack(path, listing, except, blobs.contents);
  } finally {
    await blobs.close();
  }
  return snapshot.place;
}

/** The copy that was asked for, where it is still what it was; else our own, which no agent gets to. */
function copiesOf({ second, folder, id, place }: Snapshot): { contents: Contents; place(): string } {
  const own = join(folder, id, 'content');
  let usedOwn = false;
  return {
    async contents(entry, to) {
      if (second !== null && (await tryCopy(at(toBytes(second), entry.below), to, entry))) return;
      usedOwn = true;
      if (await copyChecked(at(toBytes(own), entry.below), to, entry)) return;
      throw new Error(`its snapshot at ${own} is gone or was changed`);
    },
    place: () => (usedOwn ? own : place),
  };
}

async function tryCopy(from: Bytes, to: Bytes, entry: FileEntry): Promise<boolean> {
  try {
    return await copyChecked(from, to, entry);
  } catch {
    // Whatever was done to that copy, there is a second one.
    await removeTree(to);
    return false;
  }
}

function lazyBlobs(snapshot: Snapshot): { contents: Contents; close(): Promise<void> } {
  let opened: ReturnType<typeof openContents> | null = null;
  return {
    async contents(entry, to) {
      opened ??= openContents(snapshot);
      await (await opened).read(entry, to);
      if ((await hashFile(to))?.hash !== entry.hash) throw new Error('what git gave back is not what was kept');
    },
    async close() {
      if (opened === null) return;
      // That it could not be opened was told to who asked for the contents.
      const blobs = await opened.catch(() => null);
      await blobs?.close();
      await clearScratch(join(snapshot.folder, snapshot.id));
    },
  };
}

async function openContents({ repo, strategy, folder, id, base, listing }: Snapshot): ReturnType<typeof openBlobs> {
  const info = repo === null ? null : await gitInfo(repo);
  if (info === null || info.root !== repo) throw new Error(`the git repository ${repo} is not there any more`);
  if (strategy === 'GIT_STASH') return openBlobs(info.root, {});
  const own = join(folder, id);
  const env = await scratch(own, info);
  const patch = join(own, 'snapshot.patch');
  // What is as in HEAD has no patch, and needs none.
  if (listing.length > 0 && (await statAt(toBytes(patch)))?.size !== 0n) await applyPatch(info.root, base, patch, env);
  return openBlobs(info.root, env);
}

async function dropRef({ repo, ref, id }: Snapshot): Promise<void> {
  if (repo === null || ref !== refOf(id)) return;
  const info = await gitInfo(repo);
  // A ref that is gone already, or a repository that is, needs nothing.
  if (info !== null) await git(info.root, ['update-ref', '-d', ref]);
}

async function dropOwn(snapshot: Snapshot): Promise<void> {
  await dropRef(snapshot);
  await rm(join(snapshot.folder, snapshot.id), { recursive: true, force: true });
}

/** Throws away what is not needed any more: refs, copies, the manifest. */
export async function discardSnapshots(snapshots: readonly Snapshot[]): Promise<void> {
  for (const folder of new Set(snapshots.map((snapshot) => snapshot.folder))) {
    const ids = new Set(snapshots.map(({ id }) => id));
    const rest = (await readManifest(folder)).filter(({ id }) => !ids.has(id));
    if (rest.length > 0) await writeManifest(folder, rest);
    else await rm(join(folder, MANIFEST), { force: true });
  }
  for (const snapshot of snapshots) {
    if (snapshot.second !== null) await discardSecond(snapshot, snapshot.second);
    await dropOwn(snapshot);
  }
  for (const { folder } of snapshots) await dropEmpty(folder);
}

/** A snapshot that no manifest names, with its ref, where it got that far. */
async function dropUnlisted(own: string, id: string): Promise<void> {
  // Without the note there is no ref, and without the repository neither.
  const root = await readFile(join(own, REPOSITORY), 'utf8').catch(() => null);
  const info = root === null ? null : await gitInfo(root).catch(() => null);
  if (info !== null) await git(info.root, ['update-ref', '-d', refOf(id)]);
  await rm(own, { recursive: true, force: true });
}

async function dropEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((cause: NodeJS.ErrnoException) => {
    // Something is in it, or another one was faster.
    if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(cause.code ?? '')) throw cause;
  });
}

const isSnapshot = (name: string): boolean => /^[0-9a-f]{16}$/.test(name);
const isHalfManifest = (name: string): boolean => name.startsWith(`${MANIFEST}.`);

/** The names in a folder of snapshots that are none of ours. */
export const strangersIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name !== MANIFEST && !isSnapshot(name) && !isHalfManifest(name));

/**
 * Removes what somebody who died left in a folder of snapshots beside those that the manifest names. Who may be taking some is asked for
 * after they were listed: those that come later are not in the list.
 */
export async function sweepSnapshots(folder: string, isInUse: () => Promise<boolean>): Promise<void> {
  const names = await readdir(folder);
  if (await isInUse()) return;
  const known = new Set((await readManifest(folder)).map(({ id }) => id));
  for (const name of names) {
    if (isSnapshot(name) && !known.has(name)) await dropUnlisted(join(folder, name), name);
    else if (isHalfManifest(name)) await rm(join(folder, name), { force: true });
  }
  await dropEmpty(folder);
}

/** The copy in the workspace goes only where it still is one: somebody may have put something else there. */
async function discardSecond({ strategy, listing, folder, id }: Snapshot, second: string): Promise<void> {
  const parent = await resolveIn(process.cwd(), dirname(second));
  if (parent !== dirname(second)) return;
  if (listing.length === 0) return;
  const mine = strategy === 'COPY' ? listing : await listAt(toBytes(join(folder, id, 'snapshot.patch')), []);
  if (await holds(second, mine)) await removeTree(toBytes(second));
}

async function writeManifest(folder: string, snapshots: readonly Snapshot[]): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await replaceFile(join(folder, MANIFEST), JSON.stringify({ version: 1, snapshots }), { flush: true });
}

/** The snapshots that a folder holds and that were not restored yet; none where there is no manifest. */
export async function readManifest(folder: string): Promise<Snapshot[]> {
  const path = join(folder, MANIFEST);
  const text = await readIfThere(path);
  if (text === null) return [];
  try {
    return Manifest.parse(JSON.parse(text)).snapshots;
  } catch (cause) {
    throw new BatonError(
      'E_STORE_FORM',
      `${path} should be a manifest of snapshots and is not: ${messageOf(cause).slice(0, 200)}`,
    );
  }
}
