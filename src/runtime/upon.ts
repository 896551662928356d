/** What a task builds upon: the results of those that it waited for, told within the bound of all joined results, and their details to be read. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Store } from '../core/store.ts';
import type { Task } from '../core/task.ts';
import type { Bind } from '../process/types.ts';
import { detailsOf, JOINED_CHARS, joined, resultOf } from './joined.ts';

/** Of so many that it names the results are looked for; no more have room anyway. */
const MOST_LOOKED = 1_000;

async function before(store: Store, { dependsOn }: Pick<Task, 'dependsOn'>): Promise<Task[]> {
  const found = await Promise.all(dependsOn.slice(0, MOST_LOOKED).map((id) => store.find(id)));
  return found.filter((task) => task !== undefined);
}

/** A section of its prompt; null where it builds upon nothing. */
export async function uponOf(
  { store, dir }: { readonly store: Store; readonly dir: string },
  task: Pick<Task, 'dependsOn' | 'session'>,
): Promise<string | null> {
  if (task.dependsOn.length === 0) return null;
  const results = (await before(store, task)).map((other) => resultOf(other));
  if (results.length === 0) return null;
  const head = `Results it builds upon (their details are in files below ${dir}):\n`;
  return `${head}${joined(results, JOINED_CHARS - head.length, `baton report ${task.session}`)}`;
}

/** The data folder is hidden from a run; the details of what it builds upon are shown to it. */
export async function bindsUpon(
  { store, dir }: { readonly store: Store; readonly dir: string },
  task: Pick<Task, 'dependsOn'>,
): Promise<readonly Bind[]> {
  if (task.dependsOn.length === 0) return [];
  return (await before(store, task))
    .slice(0, MOST_BOUND)
    .flatMap((other) => detailsOf(other) ?? [])
    .map((file) => ({ path: join(dir, file), writable: false }))
    .filter(({ path }) => existsSync(path));
}

/** Each is an argument or two of a command line. */
const MOST_BOUND = 100;
