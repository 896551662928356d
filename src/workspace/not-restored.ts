/** What no checkpoint holds and no rollback touches, so that it can be said before and after: contents of other repositories, and ignored files. */
import { join } from 'node:path';
import { isBelow } from '../process/files.ts';
import { gitBytes, gitInfo } from './git.ts';
import { at, statAt, toBytes, toText } from './tree.ts';
import { SUBMODULE } from './working-tree.ts';

interface NotRestored {
  /** Paths from the workspace. */
  readonly submodules: readonly string[];
  readonly repositories: readonly string[];
  readonly ignored: readonly string[];
}

const NOTHING: NotRestored = { submodules: [], repositories: [], ignored: [] };

/** @param exclude never looked at: the data folder */
export async function notRestored(workspace: string, exclude: readonly string[]): Promise<NotRestored> {
  if ((await gitInfo(workspace)) === null) return NOTHING;
  const list = async (...args: readonly string[]): Promise<string[]> =>
    (await gitBytes(workspace, ['ls-files', '-z', ...args], {}))
      .toString('latin1')
      .split('\0')
      .filter((name) => name !== '');
  const isRepository = async (name: string): Promise<boolean> =>
    (await statAt(at(toBytes(workspace), `${name.replace(/\/$/, '')}/.git`))) !== null;
  const kept = async (names: readonly string[]): Promise<string[]> => {
    const found: string[] = [];
    for (const name of names) if (await isRepository(name)) found.push(toText(name.replace(/\/$/, '')));
    return found;
  };
  const modules = (await list('-s'))
    .filter((line) => line.startsWith(`${SUBMODULE} `))
    .map((line) => line.slice(line.indexOf('\t') + 1));
  // A folder that is named with a slash at its end is a repository of its own.
  const others = (await list('--others', '--exclude-standard')).filter((name) => name.endsWith('/'));
  const ignored = (await list('--others', '--ignored', '--exclude-standard', '--directory')).map(toText);
  const isLookedAt = (name: string): boolean => !isBelow(join(workspace, name), exclude);
  return {
    submodules: await kept(modules),
    repositories: (await kept(others)).filter(isLookedAt),
    ignored: ignored.filter(isLookedAt),
  };
}

const MOST_NAMES = 3;

/** In one line; null where there is nothing of the kind. */
export function notRestoredWords({ submodules, repositories, ignored }: NotRestored): string | null {
  const named = (what: string, names: readonly string[]): string[] => {
    const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
    return names.length === 0 ? [] : [`${what} ${names.slice(0, MOST_NAMES).join(', ')}${more}`];
  };
  const parts = [
    ...named('contents of submodule', submodules),
    ...named('repository', repositories),
    ...named('ignored', ignored),
  ];
  return parts.length === 0 ? null : `not restored: ${parts.join('; ')}`;
}
