/** Where a program is, found by looking along PATH; nothing is started to find out. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, resolve } from 'node:path';

const ENDINGS = process.platform === 'win32' ? ['.exe', '.cmd', '.bat', ''] : [''];

/**
 * The path of a program; null where PATH has no executable file of that name. An absolute path is checked as it is. Relative folders of
 * PATH begin at `cwd`, where the program would start; by default that is this process's own folder.
 */
export function whereIs(program: string, path: string | undefined = process.env['PATH'], cwd = ''): string | null {
  return candidates(program, path, cwd).find(isExecutable) ?? null;
}

/** A file that has the program's name but is not executable; null where there is none. For the sentence that says why nothing started. */
export function notExecutable(program: string, path: string | undefined, cwd: string): string | null {
  return candidates(program, path, cwd).find((file) => isFile(file) && !isExecutable(file)) ?? null;
}

function candidates(program: string, path: string | undefined, cwd: string): string[] {
  if (isAbsolute(program)) return [program];
  const folders = (path ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.flatMap((folder) => ENDINGS.map((ending) => resolve(cwd, folder, program + ending)));
}

function isExecutable(path: string): boolean {
  // isFile comes first: an error costs ten times what an answer does, and most folders have no such file.
  if (!isFile(path)) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not executable for this user.
    return false;
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    // A folder that this user may not enter, or a link that leads to itself: the search goes on in the next folder.
    return false;
  }
}
