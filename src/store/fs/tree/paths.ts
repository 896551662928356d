/** Where the files of tasks are in a data folder, and which names there are not a task's. */
import { TASK_STATUSES, type TaskStatus } from '../../../core/task.ts';

export const tasksFolder = (root: string): string => `${root}/tasks`;
export const statusFolder = (root: string, status: TaskStatus): string => `${root}/tasks/${status}`;
export const taskFile = (root: string, status: TaskStatus, id: string): string => `${root}/tasks/${status}/${id}.md`;
/** `inputs/`, `work/`, `outputs/` and `children/` of a task. */
export const companionFolder = (root: string, status: TaskStatus, id: string): string =>
  `${root}/tasks/${status}/${id}`;
export const runsFolder = (root: string): string => `${root}/runs`;
export const tmpFolder = (root: string): string => `${root}/tmp`;

/** A name in a status folder. */
export interface Place {
  readonly status: TaskStatus;
  readonly name: string;
}

/** Null where a path is not of the form `<root>/tasks/<status>/<name>`. */
export function placeOf(root: string, path: string): Place | null {
  if (!path.startsWith(root)) return null;
  const parts = path.slice(root.length).split(/[\\/]+/);
  const [before, tasks, status, name, ...more] = parts;
  if (before !== '' || tasks !== 'tasks' || name === undefined || name === '' || more.length > 0) return null;
  return isStatus(status) ? { status, name } : null;
}

export const pathOf = (root: string, { status, name }: Place): string => `${statusFolder(root, status)}/${name}`;

const isStatus = (text: string | undefined): text is TaskStatus => (TASK_STATUSES as readonly unknown[]).includes(text);

/** The name without `.md`: a task's id, where Baton gave it. */
export const stemOf = (name: string): string => name.slice(0, -'.md'.length);

/** Hidden files, what editors leave while they work (`.#x.md`, `#x.md#`, `x.md~`, `.x.md.swp`), and all that is not `.md`. */
export const isForeignName = (name: string): boolean =>
  !name.endsWith('.md') || name.length === '.md'.length || /^(?:\.|~|#)/.test(name);
