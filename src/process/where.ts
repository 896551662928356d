/** Where a program is, found by looking along PATH; nothing is started to find out. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

const ENDINGS = process.platform === 'win32' ? ['.exe', '.cmd', '.bat', ''] : [''];

/** The path of a program; null where PATH has none of that name that may be run. A path is looked at as it is. */
export function whereIs(program: string, path: string | undefined = process.env['PATH']): string | null {
  if (isAbsolute(program)) return isProgram(program) ? program : null;
  const folders = (path ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    const found = ENDINGS.map((ending) => join(folder, program + ending)).find(isProgram);
    if (found !== undefined) return found;
  }
  return null;
}

function isProgram(path: string): boolean {
  try {
    // Asked in this order because an error costs ten times what an answer does, and most folders have no such file.
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not there, or not ours to run: the search goes on.
    return false;
  }
}
