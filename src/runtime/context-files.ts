/** What a handoff refers to (`contextRefs`), as files that a run can read wherever the tasks they belong to have moved: copies of this moment. */
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Task } from '../core/task.ts';
import { referred } from './door-context.ts';
import type { Host } from './host.ts';

/** So much of them is copied for a run. */
const MOST_CHARS = 1024 * 1024;

/** Words for the prompt; null where nothing is referred to that can be found. */
export async function contextFiles(
  { store, dir }: Pick<Host, 'store' | 'dir'>,
  task: Task,
  folder: string,
): Promise<string | null> {
  const found = await referred(store, task, dir, MOST_CHARS);
  if (found.length === 0) return null;
  const place = join(folder, 'context');
  await mkdir(place, { recursive: true });
  const lines: string[] = [];
  for (const [i, { ref, text }] of found.entries()) {
    const path = join(place, `${i + 1}-${basename(ref)}`);
    await writeFile(path, text, { mode: 0o600 });
    lines.push(`- ${ref}: ${path}`);
  }
  return `What was handed on with this task, as files:\n${lines.join('\n')}`;
}
