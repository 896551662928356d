/** What is installed here, found by looking along PATH; nothing is started to find out. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The agents that Baton can drive, by the name of their program. */
export const AGENT_PROGRAMS = ['claude', 'codex', 'gemini', 'opencode'] as const;

export interface Installed {
  readonly name: string;
  readonly path: string;
}

const ENDINGS = process.platform === 'win32' ? ['.exe', '.cmd', '.bat', ''] : [''];

/** The path of a program; null where PATH has none of that name that may be run. */
export function whereIs(program: string): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    const path = ENDINGS.map((ending) => join(folder, program + ending)).find(isProgram);
    if (path !== undefined) return path;
  }
  return null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    // Not there, or not ours to run: the search goes on.
    return false;
  }
}

export const installedAgents = (): Installed[] =>
  AGENT_PROGRAMS.flatMap((name) => {
    const path = whereIs(name);
    return path === null ? [] : [{ name, path }];
  });
