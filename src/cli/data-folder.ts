/** Where the data folder is: `--dir`, else `BATON_DIR`, else `.baton` here or in the nearest folder above that has one. */
import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Globals } from './globals.ts';

const NAME = '.baton';

/** The folder that this command is about, whether or not it is there; `.baton` in the current folder where there is none. */
export function dataFolder({ dir }: Pick<Globals, 'dir'>): string {
  const named = dir ?? (process.env['BATON_DIR'] || undefined);
  if (named !== undefined) return resolve(named);
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    const here = join(folder, NAME);
    if (statSync(here, { throwIfNoEntry: false })?.isDirectory()) return here;
    if (dirname(folder) === folder) return join(process.cwd(), NAME);
  }
}
