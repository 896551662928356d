/**
 * Writes what the journal says into the tree, task by task. It remembers nothing between calls: the disk is all it knows.
 *
 * A reader sees whole files only, and every task in at least one folder: the new file comes first, then the old one goes. In between it is in
 * two, and the one with the later stamp counts. What a person did is never replaced: a file that is not exactly what Baton wrote, or what the
 * job says was taken in, stops the job. Files that are replaced or moved are kept at hand until the end of the batch and looked at again
 * (`aside.ts`). What is left is the moment between looking at a file and renaming a new one over it in the same folder, in which an editor
 * may rename one of its own over it; no system call that Node has closes that gap.
 */
import { isRunning, isTaskId, TASK_STATUSES, type Task, type TaskStatus } from '../../../core/task.ts';
import type { Disk, Stat } from '../disk.ts';
import { type Exactly, release, replace, type Taken, takeAway } from './aside.ts';
import { type Batch, NOT_A_FILE, NOT_A_FOLDER, type Obstacle, refuse, sharedFolder, withFresh } from './batch.ts';
import { makeParts, moveCompanion, pointToChild, writeText } from './companion.ts';
import { companionFolder, pathOf, placeOf, statusFolder, taskFile, tasksFolder, tmpFolder } from './paths.ts';
import { writeRuns } from './runs.ts';
import { asBuffer, digestOf, oursOf } from './stamp.ts';
import { taskText } from './text.ts';

export interface Job {
  readonly task: Task;
  /** The record as of which the task is so. */
  readonly seq: number;
  /** The folder where its file was when it was last written; null where it is new, `unknown` where it is to be looked for. */
  readonly from: TaskStatus | 'unknown' | null;
  /** The `body`, always, and of the files in its folder those that changed. Null is a text that there is not. */
  readonly texts: Readonly<Record<string, string | null>>;
  /** The text of `run_result.json`, where the agent has said how its run ended since it was last written. */
  readonly result?: string;
  /** What was taken in, and may be replaced as long as it is still the same: the edited file, or the file that was dropped. */
  readonly replaces?: readonly Exactly[];
  /** The status of its parent, of which a new task's pointer file needs to know. */
  readonly parent?: TaskStatus;
}

export type JobResult = {
  readonly id: string;
  readonly seq: number;
} /** `file` is what the task's file looked like when it was written, so that news of it can be told from news of a person. */ & (
  | { readonly kind: 'done'; readonly file: Stat | null }
  | Obstacle
  /** The disk said no; the same job may work later. */
  | { readonly kind: 'failed'; readonly code: string; readonly reason: string }
);

type Outcome = { readonly kind: 'done' } | Obstacle | { kind: 'failed'; code: string; reason: string };

/** What is remembered of a job until the end of its batch. */
interface Trace {
  /** Files that were replaced or moved, and the places where their task's file is now. */
  readonly held: { readonly taken: Taken; readonly place: string }[];
  file: Stat | null;
}

export function applyJobs(disk: Disk, root: string, jobs: readonly Job[]): JobResult[] {
  const batch: Batch = { disk, root, folders: new Set() };
  const traces = jobs.map((): Trace => ({ held: [], file: null }));
  const outcomes = jobs.map((job, i) => guarded(() => apply(batch, job, traces[i] as Trace)));
  // Only now, at the end: whoever was writing into one of them has had time to finish.
  const final = outcomes.map((outcome, i) => letGo(disk, traces[i] as Trace, outcome));
  return final.map((outcome, i) => {
    const { task, seq } = jobs[i] as Job;
    const about = { id: task.id, seq };
    return outcome.kind === 'done'
      ? { ...about, ...outcome, file: (traces[i] as Trace).file }
      : { ...about, ...outcome };
  });
}

/** What the disk refuses is an answer; anything else is a mistake of ours. */
function guarded(step: () => Obstacle | null): Outcome {
  try {
    return step() ?? { kind: 'done' };
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (typeof code !== 'string') throw cause;
    return { kind: 'failed', code, reason: message };
  }
}

function letGo(disk: Disk, { held }: Trace, outcome: Outcome): Outcome {
  let said = outcome;
  for (const { taken, place } of held) {
    const found = guarded(() => {
      const changed = release(disk, taken, place);
      return changed === null ? null : foreign(changed.path, changed.bytes);
    });
    if (found.kind !== 'done') said = found;
  }
  return said;
}

const foreign = (path: string, bytes: Uint8Array): Obstacle => ({
  kind: 'foreign',
  path,
  text: asBuffer(bytes).toString('utf8'),
  digest: digestOf(bytes),
});

function apply(batch: Batch, job: Job, trace: Trace): Obstacle | null {
  const { root } = batch;
  const { id, status } = job.task;
  if (!isTaskId(id)) return refuse(root, `expected an id TASK-YYYY-MM-DD-NNN, got ${id}`);
  const obstacle =
    sharedFolder(batch, tasksFolder(root)) ??
    sharedFolder(batch, statusFolder(root, status)) ??
    sharedFolder(batch, tmpFolder(root));
  if (obstacle !== null) return obstacle;
  const sources = sourcesOf(batch, job);
  const olds = readOlds(batch, job, sources);
  if (!Array.isArray(olds)) return olds;
  return (
    (sources.length === 1 && olds.length === 0 ? strayFile(batch, job) : null) ??
    writeTexts(batch, job, sources) ??
    writeTask(batch, job, trace) ??
    moveCompanions(batch, job, sources) ??
    removeOlds(batch, job, olds, trace) ??
    removeDropped(batch, job, trace) ??
    writeRuns(batch, job.task, job.result) ??
    (job.from === null || job.from === 'unknown' ? pointToChild(batch, job.task, job.parent) : null)
  );
}

/** The other folders in which something of the task may be. */
function sourcesOf({ disk, root }: Batch, { task, from }: Job): TaskStatus[] {
  if (from === null || from === task.status) return [];
  if (from !== 'unknown') return [from];
  return TASK_STATUSES.filter(
    (each) =>
      each !== task.status &&
      (disk.stat(taskFile(root, each, task.id)) !== null || disk.stat(companionFolder(root, each, task.id)) !== null),
  );
}

interface Old {
  readonly status: TaskStatus;
  readonly path: string;
  readonly bytes: Uint8Array;
}

function readOlds(batch: Batch, job: Job, sources: readonly TaskStatus[]): Old[] | Obstacle {
  const olds: Old[] = [];
  for (const status of sources) {
    const folder = statusFolder(batch.root, status);
    if (!batch.folders.has(folder)) {
      const kind = batch.disk.stat(folder)?.kind;
      if (kind === undefined) continue;
      if (kind !== 'folder') return refuse(folder, NOT_A_FOLDER);
      batch.folders.add(folder);
    }
    const path = taskFile(batch.root, status, job.task.id);
    const bytes = readFile(batch, path);
    if (bytes === null) continue;
    if (!(bytes instanceof Uint8Array)) return bytes;
    if (!mayReplace(job, path, bytes)) return foreign(path, bytes);
    olds.push({ status, path, bytes });
  }
  return olds;
}

/** Null where there is nothing. */
function readFile({ disk }: Batch, path: string): Uint8Array | Obstacle | null {
  const kind = disk.stat(path)?.kind;
  if (kind === undefined) return null;
  return kind === 'file' ? disk.read(path) : refuse(path, NOT_A_FILE);
}

const mayReplace = (job: Job, path: string, bytes: Uint8Array): boolean =>
  oursOf(bytes) !== null ||
  (job.replaces?.some((known) => known.path === path && known.digest === digestOf(bytes)) ?? false);

/** It is neither where it was nor where it should be: a person may have moved it somewhere else, and that is to be heard first. */
function strayFile(batch: Batch, job: Job): Obstacle | null {
  if (batch.disk.stat(taskFile(batch.root, job.task.status, job.task.id)) !== null) return null;
  for (const status of TASK_STATUSES) {
    if (status === job.task.status || status === job.from) continue;
    const path = taskFile(batch.root, status, job.task.id);
    const bytes = readFile(batch, path);
    if (bytes instanceof Uint8Array) return foreign(path, bytes);
  }
  return null;
}

/** Where the folder is now, so that they are there when the file comes. */
function writeTexts(batch: Batch, job: Job, sources: readonly TaskStatus[]): Obstacle | null {
  const { disk, root } = batch;
  const { id, status } = job.task;
  const names = Object.keys(job.texts).filter((name) => name !== 'body');
  if (names.length === 0 && !isRunning(job.task)) return null;
  const at = sources.find((each) => disk.stat(companionFolder(root, each, id)) !== null) ?? status;
  const folder = companionFolder(root, at, id);
  for (const name of names) {
    const text = job.texts[name];
    if (typeof text !== 'string') continue;
    const obstacle = writeText(batch, id, folder, name, text);
    if (obstacle !== null) return obstacle;
  }
  return isRunning(job.task) ? makeParts(batch, folder) : null;
}

function writeTask(batch: Batch, job: Job, trace: Trace): Obstacle | null {
  const { disk, root } = batch;
  const { id, status } = job.task;
  const path = taskFile(root, status, id);
  const text = taskText(job.task, job.texts['body'] ?? '', job.seq);
  // Written before the old file is looked at, so that little time passes between that and the renaming.
  return withFresh(batch, id, text, (fresh) => {
    // A renamed file keeps its time; at its own place somebody may have written to it before we look.
    trace.file = disk.stat(fresh);
    const before = disk.stat(path);
    const there = before?.kind === 'file' ? disk.read(path) : null;
    const isInTheWay = before !== null && before.kind !== 'file';
    if (isInTheWay || (there !== null && !mayReplace(job, path, there))) {
      disk.remove(fresh);
      return there === null ? refuse(path, NOT_A_FILE) : foreign(path, there);
    }
    if (there === null) {
      disk.rename(fresh, path);
      return null;
    }
    if (asBuffer(there).equals(Buffer.from(text))) {
      disk.remove(fresh);
      trace.file = before;
      return null;
    }
    const taken = replace(disk, root, fresh, path, status, id, there);
    if (taken !== null) trace.held.push({ taken, place: path });
    return null;
  });
}

function moveCompanions(batch: Batch, job: Job, sources: readonly TaskStatus[]): Obstacle | null {
  const { id, status } = job.task;
  const to = companionFolder(batch.root, status, id);
  for (const source of sources) {
    const obstacle = moveCompanion(batch, companionFolder(batch.root, source, id), to);
    if (obstacle !== null) return obstacle;
  }
  return null;
}

function removeOlds(batch: Batch, job: Job, olds: readonly Old[], { held }: Trace): null {
  const { id, status } = job.task;
  const place = taskFile(batch.root, status, id);
  for (const old of olds) {
    const taken = takeAway(batch.disk, batch.root, old.path, old.status, id, old.bytes);
    if (taken !== null) held.push({ taken, place });
  }
  return null;
}

/** The file of which the task was made, where it has another name. */
function removeDropped(batch: Batch, job: Job, { held }: Trace): null {
  for (const { path, digest } of job.replaces ?? []) {
    const place = placeOf(batch.root, path);
    if (place === null || place.name === `${job.task.id}.md`) continue;
    const real = pathOf(batch.root, place);
    const bytes = readFile(batch, real);
    // Another text by now is another wish; it is found where it is.
    if (!(bytes instanceof Uint8Array) || digestOf(bytes) !== digest) continue;
    const taken = takeAway(batch.disk, batch.root, real, place.status, job.task.id, bytes);
    if (taken !== null) held.push({ taken, place: real });
  }
  return null;
}
