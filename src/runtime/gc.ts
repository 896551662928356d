/**
 * Removing what nothing needs any more: logs of runs, folders of snapshots, worktrees. What may go is decided from the store alone, and each that
 * stays has its reason. In three steps, so that a Baton that is killed leaves nothing that is taken for something else, and nothing is gone that
 * the journal does not tell of: it gets a name that no task has, it is written down, it is removed. The next time finishes what was left.
 */
import type { Stats } from 'node:fs';
import { lstat, readdir, realpath, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing, messageOf } from '../core/errors.ts';
import type { Actor } from '../core/laws/messages.ts';
import type { Store } from '../core/store.ts';
import { isFinal, runId, type Task, taskOfRun } from '../core/task.ts';
import { counted } from '../core/words.ts';
import { isAlive } from '../process/identity.ts';
import { newSuffix } from '../process/new-id.ts';
import { readManifest, strangersIn, sweepSnapshots } from '../workspace/snapshots.ts';
import { removeTree, toBytes, walkTree } from '../workspace/tree.ts';
import { dropAside, mergedWorktree, removeAside, setWorktreeAside, slugOf } from '../workspace/worktree.ts';
import { type Needs, needsOf } from './gc-needs.ts';
import { folderOf } from './worktrees/linked.ts';
import { dropPrivate, isPrivate, setPrivateAside, whyNeeded } from './worktrees/unneeded.ts';

export interface GcOptions {
  readonly store: Store;
  readonly dir: string;
  /** Where tasks work that do not say where. */
  readonly workspace: string;
  readonly by: Actor;
  /** So many days have to be over since the task was. */
  readonly keepDays: number;
  readonly dryRun: boolean;
  readonly now: number;
}

/** Paths are below the data folder, with `/`. */
export interface Collected {
  readonly removed: readonly { readonly path: string; readonly bytes: number }[];
  readonly kept: readonly { readonly path: string; readonly because: string }[];
}

const FOLDERS = ['logs', 'snapshots', 'worktrees'] as const;

interface Entry {
  readonly folder: (typeof FOLDERS)[number];
  readonly name: string;
  readonly path: string;
  /** Below the data folder. */
  readonly shown: string;
  /** What it was called before it was set aside; its name where it was not. */
  readonly of: string;
}

/** What may go, and how: `aside` is quick and comes first, `drop` does the work. Both say why they could not, or null. */
interface Removable {
  readonly entry: Entry;
  readonly bytes: number;
  aside(): Promise<void>;
  drop(): Promise<string | null>;
}

const ASIDE = /^(.+)\.gone-[0-9a-f]{12}(?:\.git)?$/;
/** How the name of Baton's own git directory for a worktree ends. */
const OWN = '.git';
const OWN_END = /\.git$/;
const asideOf = (path: string): string => `${path}.gone-${newSuffix(6)}`;

export async function collect(options: GcOptions): Promise<Collected> {
  const removed: { path: string; bytes: number }[] = [];
  const kept: { path: string; because: string }[] = [];
  const going: Removable[] = [];
  const dir = await realpath(options.dir);
  const needs = await needsOf(options.store);
  const keep = ({ shown }: Entry, because: string): void => void kept.push({ path: shown, because });
  for (const folder of FOLDERS) {
    const listed = await entriesIn(dir, folder);
    if (typeof listed === 'string') kept.push({ path: folder, because: listed });
    else {
      for (const entry of listed) {
        const found = await unlessGone(entry, () => judge({ ...options, dir }, needs, entry));
        if (typeof found === 'string') keep(entry, found);
        else if (found !== null) going.push(found);
      }
    }
  }
  if (options.dryRun) {
    for (const { entry, bytes } of going) removed.push({ path: entry.shown, bytes });
    return { removed, kept };
  }
  const aside: Removable[] = [];
  for (const one of going) {
    const found = await unlessGone(one.entry, () => one.aside().then(() => one));
    if (typeof found === 'string') keep(one.entry, found);
    else if (found !== null) aside.push(found);
  }
  await tell(
    options,
    'gc.removed',
    aside.map(({ entry }) => entry.shown),
  );
  const failures: string[] = [];
  for (const { entry, bytes, drop } of aside) {
    const failed = await drop().catch(notRemoved);
    if (failed === null) removed.push({ path: entry.shown, bytes });
    else {
      keep(entry, failed);
      failures.push(`${entry.shown}: ${failed}`);
    }
  }
  await tell(options, 'gc.failed', failures);
  return { removed, kept };
}

const notRemoved = (cause: unknown): string => `it could not be removed: ${messageOf(cause)}`;

/** One that cannot be removed must not keep the others; null where another one was faster. */
const unlessGone = <T>(entry: Entry, work: () => Promise<T>): Promise<T | string | null> =>
  work().catch(async (cause: unknown) => ((await lookAt(entry.path)) === null ? null : notRemoved(cause)));

/** So many in one record, which is one line. */
const MOST_TOLD = 1_000;

async function tell({ store, by, keepDays }: GcOptions, event: string, entries: readonly string[]): Promise<void> {
  for (let i = 0; i < entries.length; i += MOST_TOLD) {
    const detail = { keep_days: keepDays, entries: entries.slice(i, i + MOST_TOLD) };
    await store.send({ message: { type: 'note', event, detail }, by });
  }
}

/** What is in one of the folders; a sentence where it is not ours to look into. */
async function entriesIn(dir: string, folder: Entry['folder']): Promise<Entry[] | string> {
  const stat = await lookAt(join(dir, folder));
  if (stat === null) return [];
  if (!stat.isDirectory()) return notFolder(stat);
  const names = (await readdir(join(dir, folder))).sort();
  // The git directory of Baton's own goes with the folder that it is for.
  const isPart = (name: string): boolean => name.endsWith(OWN) && names.includes(name.slice(0, -OWN.length));
  return names
    .filter((name) => folder !== 'worktrees' || !isPart(name))
    .map((name) => ({
      folder,
      name,
      path: join(dir, folder, name),
      shown: `${folder}/${name}`,
      of: (ASIDE.exec(name)?.[1] ?? name).replace(folder === 'worktrees' ? OWN_END : '', ''),
    }));
}

const lookAt = (path: string): Promise<Stats | null> =>
  lstat(path).catch((cause: unknown) => {
    if (isMissing(cause)) return null;
    throw cause;
  });

const notFolder = (stat: Stats): string =>
  stat.isSymbolicLink() ? 'it is a link, and no link is followed' : 'it is no folder';

/** How it is removed, or why it is kept; null where it is gone already. */
async function judge(options: GcOptions, needs: Needs, entry: Entry): Promise<Removable | string | null> {
  if (entry.shown === 'logs/sessions') return 'the commands of sessions are kept';
  const task = await taskBehind(options.store, entry);
  if (task === null) return 'nobody knows it';
  const stat = await lookAt(entry.path);
  if (stat === null) return null;
  if (!stat.isDirectory()) return notFolder(stat);
  // It was judged when it was set aside.
  if (ASIDE.test(entry.name)) return leftover(options, task, entry);
  const why = whyKept(task, options) ?? needs.tasks.get(task.id) ?? null;
  if (why !== null) return why;
  // Its folder is gone: a Baton died between the two.
  if (entry.of !== entry.name) return leftover(options, task, entry);
  if (entry.folder === 'logs') return needs.runs.get(entry.name) ?? (await ofLog(entry));
  return entry.folder === 'snapshots' ? ofSnapshots(entry) : ofWorktree(options, task, entry);
}

/** The task whose run or whose work has this name, and no other. */
async function taskBehind(store: Store, { folder, of }: Entry): Promise<Task | null> {
  const id = folder === 'logs' ? taskOfRun(of) : of;
  const task = id === null ? undefined : await store.find(id);
  if (task === undefined || task.id !== id) return null;
  if (folder === 'worktrees') return slugOf(task.id) === of ? task : null;
  if (folder === 'snapshots') return task;
  const number = Number(of.slice(task.id.length + 2));
  return number >= 1 && number <= task.runs && of === runId(task.id, number) ? task : null;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** A run that was stopped is over before its supervisor has written down what it came to. */
const SETTLING_MS = 10 * 60 * 1000;

/** By the times of the store: those of files say when they were copied. */
function whyKept({ id, status, run, lastTransitionAt }: Task, { keepDays, now }: GcOptions): string | null {
  if (!isFinal(status)) return `${id} is ${status}`;
  if (run?.status === 'running') return `${run.id} is running`;
  const ended = Math.max(run?.endedAt ?? 0, lastTransitionAt);
  const age = now - ended;
  if (age < keepDays * DAY_MS)
    return `${id} was over ${counted(Math.max(0, Math.floor(age / DAY_MS)), 'day')} ago, and ${keepDays} are kept`;
  const isWatched = run !== null && run.supervisor !== null && isAlive(run.supervisor) !== 'gone';
  return isWatched && age < SETTLING_MS ? `${run.id} has just ended, and its Baton may be writing to it` : null;
}

/** What Baton writes into the folder of a run (`results.ts`, `checks.ts`, `type-files.ts`); `agent` is the agent's own. */
const OURS =
  /^(?:out\.log|err\.log|details\.json|response\.json|block\.txt|check-\d+\.log|changes\.diff|test-output\.txt|build\.log|analysis\.md|documentation\.md|agent|before)$/;

async function ofLog(entry: Entry): Promise<Removable | string> {
  const stranger = (await readdir(entry.path)).find((name) => !OURS.test(name));
  if (stranger !== undefined) return `${stranger} in it is not of its run`;
  const aside = asideOf(entry.path);
  return {
    entry,
    bytes: await sizeOf(entry.path),
    aside: () => rename(entry.path, aside),
    drop: () => removeTree(toBytes(aside)).then(() => null),
  };
}

/** Without a manifest there is nothing to be put back, and nobody takes what is left for something: it needs no other name. */
async function ofSnapshots(entry: Entry): Promise<Removable | string> {
  const left = (await readManifest(entry.path)).length;
  if (left > 0) return `${counted(left, 'snapshot')} in it ${left === 1 ? 'was' : 'were'} not put back`;
  const [stranger] = await strangersIn(entry.path);
  if (stranger !== undefined) return `${stranger} in it is no snapshot`;
  return {
    entry,
    bytes: await sizeOf(entry.path),
    aside: async () => {},
    async drop() {
      await sweepSnapshots(entry.path, async () => false);
      return (await lookAt(entry.path)) === null ? null : 'something has come into it meanwhile';
    },
  };
}

async function ofWorktree(options: GcOptions, task: Task, entry: Entry): Promise<Removable | string> {
  if (isPrivate(entry.path)) return ofPrivate(options, task, entry);
  const folder = join(options.dir, entry.folder);
  const found = await mergedWorktree({ repo: await folderOf(options, task), taskId: task.id, folder });
  if ('needed' in found) return found.needed;
  let { worktree } = found;
  return {
    entry,
    bytes: await sizeOf(entry.path),
    async aside() {
      worktree = await setWorktreeAside(worktree, asideOf(entry.path));
    },
    drop: () => dropAside(worktree, entry.path),
  };
}

async function ofPrivate({ store }: GcOptions, task: Task, entry: Entry): Promise<Removable | string> {
  const needed = await whyNeeded(store, task);
  if (needed !== null) return needed;
  const aside = asideOf(entry.path);
  return {
    entry,
    bytes: await sizeOf(entry.path),
    aside: () => setPrivateAside(entry.path, aside),
    drop: () => dropPrivate(aside),
  };
}

/** One that was set aside by a Baton that died before it was removed. */
async function leftover(options: GcOptions, task: Task, entry: Entry): Promise<Removable> {
  return {
    entry,
    bytes: await sizeOf(entry.path),
    aside: async () => {},
    async drop() {
      if (entry.folder === 'worktrees' && !(isPrivate(entry.path) || OWN_END.test(entry.name)))
        return removeAside(await folderOf(options, task), entry.path, `baton/${entry.of}`);
      await removeTree(toBytes(entry.path));
      if (entry.folder === 'worktrees') await removeTree(toBytes(`${entry.path}${OWN}`));
      return null;
    },
  };
}

/** In bytes, of all files below; what a link leads to is not counted. */
async function sizeOf(path: string): Promise<number> {
  const { found } = await walkTree(toBytes(path), []);
  return found.reduce((sum, { kind, stat }) => sum + (kind === 'file' ? Number(stat.size) : 0), 0);
}
