/** A task's own folder beside its file: `inputs/`, `work/`, `outputs/`, and `children/` with a pointer to each child. It moves with the task. */
import { isTaskId, TASK_STATUSES, type Task, type TaskStatus } from '../../../core/task.ts';
import { type Batch, folderAt, NOT_A_FILE, NOT_A_FOLDER, type Obstacle, refuse, writeWhole } from './batch.ts';
import { companionFolder, statusFolder, taskFile } from './paths.ts';
import { asBuffer } from './stamp.ts';

const COMPANION_PARTS = ['inputs', 'work', 'outputs'] as const;

/** Made when a run starts: the agent finds its inputs, and has where to put what it makes. */
export function makeParts(batch: Batch, folder: string): Obstacle | null {
  const obstacle = folderAt(batch, folder);
  if (obstacle !== null) return obstacle;
  for (const part of COMPANION_PARTS) batch.disk.mkdir(`${folder}/${part}`);
  return null;
}

/** A file that differs is kept beside the new one: these have no stamp, so nobody can tell whose it was. */
export function writeText(batch: Batch, id: string, folder: string, name: string, text: string): Obstacle | null {
  const parts = name.split('/');
  if (parts.some((part) => !isPlainName(part))) {
    return refuse(`${folder}/${name}`, 'expected a path within the folder of its task');
  }
  let path = folder;
  for (const part of parts) {
    const obstacle = folderAt(batch, path);
    if (obstacle !== null) return obstacle;
    path += `/${part}`;
  }
  const kind = batch.disk.stat(path)?.kind;
  if (kind !== undefined && kind !== 'file') return refuse(path, NOT_A_FILE);
  if (kind === 'file') {
    if (asBuffer(batch.disk.read(path) ?? Buffer.alloc(0)).equals(Buffer.from(text))) return null;
    batch.disk.rename(path, freeName(batch, path));
  }
  writeWhole(batch, id, path, text);
  return null;
}

const isPlainName = (part: string): boolean => !['', '.', '..'].includes(part) && !/[\\\0]/.test(part);

/** `notes (2).md`, or the first number that is free. */
function freeName({ disk }: Batch, path: string): string {
  const [, stem = path, extension = ''] = /^(.*?[^/])(\.[^./]*)?$/.exec(path) ?? [];
  for (let number = 2; ; number++) {
    const free = `${stem} (${number})${extension}`;
    if (disk.stat(free) === null) return free;
  }
}

/** To another status folder. Where somebody made one there already the two become one, and no file is lost. */
export function moveCompanion(batch: Batch, from: string, to: string): Obstacle | null {
  const { disk } = batch;
  const kind = disk.stat(from)?.kind;
  if (kind === undefined) return null;
  if (kind !== 'folder') return refuse(from, NOT_A_FOLDER);
  const there = disk.stat(to)?.kind;
  if (there !== undefined && there !== 'folder') return refuse(to, NOT_A_FOLDER);
  if (there === undefined) disk.rename(from, to);
  else merge(batch, from, to);
  return null;
}

function merge(batch: Batch, from: string, to: string): void {
  const { disk } = batch;
  for (const name of disk.list(from)) {
    const [source, target] = [`${from}/${name}`, `${to}/${name}`];
    const there = disk.stat(target)?.kind;
    if (there === undefined) disk.rename(source, target);
    else if (there === 'folder' && disk.stat(source)?.kind === 'folder') merge(batch, source, target);
    else disk.rename(source, freeName(batch, target));
  }
  // A file that was put there just now stays, in its folder, and is found by the next scan.
  disk.removeFolder(from);
}

/**
 * `children/<id>.json` in the parent's folder, written once: it names the child, which moves. `hint` is where the parent should be. Nothing is
 * written where the parent has no file yet and nobody says where it will be.
 */
export function pointToChild(batch: Batch, task: Task, hint: TaskStatus | undefined): Obstacle | null {
  const { disk, root } = batch;
  if (task.parentId === null || !isTaskId(task.parentId)) return null;
  const parent = task.parentId;
  const order = hint === undefined ? TASK_STATUSES : [hint, ...TASK_STATUSES];
  const status = order.find((each) => disk.stat(taskFile(root, each, parent)) !== null) ?? hint;
  if (status === undefined) return null;
  const folder = companionFolder(root, status, parent);
  const children = `${folder}/children`;
  const obstacle = folderAt(batch, statusFolder(root, status)) ?? folderAt(batch, folder) ?? folderAt(batch, children);
  if (obstacle !== null) return obstacle;
  const path = `${children}/${task.id}.json`;
  if (disk.stat(path) !== null) return null;
  writeWhole(batch, task.id, path, `${JSON.stringify({ taskId: task.id, title: task.title }, null, 2)}\n`);
  return null;
}
