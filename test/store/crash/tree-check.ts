/** Whether the file tree says what the journal says: one file a task, in the folder of its status, and nothing else. */
import { readTaskFile } from '../../../src/protocol/aof/task-file.ts';
import type { Disk } from '../../../src/store/fs/disk.ts';
import { type Told, textKey } from './retold.ts';

interface Read {
  readonly id: unknown;
  readonly title: unknown;
  readonly status: unknown;
  readonly priority: unknown;
  readonly body: string;
}

/** Files are read again and again, and most are the same. */
const known = new Map<string, Read | null>();
const MOST_KNOWN = 2_000;

function readOnce(text: string): Read | null {
  const before = known.get(text);
  if (before !== undefined) return before;
  const file = readTaskFile(text);
  const read = file.ok
    ? {
        id: file.task.frontmatter.id,
        title: file.task.frontmatter.title,
        status: file.task.frontmatter.status,
        priority: file.task.frontmatter.priority,
        body: file.task.body,
      }
    : null;
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(text, read);
  return read;
}

/** Texts other than the body are files in the task's folder. */
export function textProblem(disk: Disk, dir: string, told: Told): string | null {
  for (const [key, text] of told.texts) {
    const [id = '', name = ''] = key.split('\n');
    if (name === 'body') continue;
    const path = `tasks/${told.tasks.get(id)?.status}/${id}/${name}`;
    const there = disk.read(`${dir}/${path}`);
    if (there === null || !Buffer.from(text).equals(there))
      return `${path} is ${there === null ? 'not there' : 'another'}`;
  }
  return null;
}

/** Null where the tree is as it should be. */
export function treeProblem(disk: Disk, dir: string, told: Told): string | null {
  const files = new Map<string, string>();
  for (const status of disk.list(`${dir}/tasks`)) {
    for (const name of disk.list(`${dir}/tasks/${status}`)) {
      const path = `tasks/${status}/${name}`;
      const id = name.replace(/\.md$/, '');
      const task = told.tasks.get(id);
      if (task === undefined) return `${path} is nobody's`;
      if (task.status !== status) return `${path} is there, and ${id} is ${task.status}`;
      if (name === id) continue;
      files.set(id, path);
    }
  }
  for (const task of told.tasks.values()) {
    const path = files.get(task.id);
    if (path === undefined) return `${task.id} has no file, and is ${task.status}`;
    const read = readOnce(Buffer.from(disk.read(`${dir}/${path}`) ?? []).toString('utf8'));
    if (read === null) return `${path} cannot be read`;
    for (const field of ['id', 'title', 'status', 'priority'] as const) {
      if (read[field] !== task[field]) return `${path} has the ${field} ${read[field]}, and it is ${task[field]}`;
    }
    if (read.body !== (told.texts.get(textKey(task.id, 'body')) ?? '')) return `${path} has another body`;
  }
  const left = disk.list(`${dir}/tmp`).filter((name) => name.startsWith('tree-TASK') && name.endsWith('.new'));
  return left.length === 0 ? null : `tmp/${left[0]} was left behind`;
}

export const hasTree = (disk: Disk, dir: string): boolean => disk.stat(`${dir}/tasks`) !== null;
