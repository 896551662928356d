/**
 * What git knows of the person from a file that no sandboxed agent sees: who commits, and which folders of other users are trusted. Only
 * that is told, as variables; the rest of the file stays hidden, for it may hold tokens.
 */
import { git } from '../workspace/git.ts';

const TOLD = /^(?:user\.name|user\.email|safe\.directory|init\.defaultbranch)$/;
const LONGEST_MS = 5_000;

export async function gitSettings(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Record<string, string>> {
  const { PATH, HOME, XDG_CONFIG_HOME } = environment;
  const env = Object.fromEntries(
    Object.entries({ PATH, HOME, XDG_CONFIG_HOME }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    ),
  );
  const asked = git('/', ['config', '--global', '--includes', '--list', '-z'], { env, mostMs: LONGEST_MS });
  // No git or no such file: then there is nothing to tell.
  const answer = await asked.catch(() => null);
  const listed = answer?.code === 0 ? answer.stdout.toString('utf8') : '';
  const told = listed.split('\0').flatMap((entry) => {
    const [key = '', ...value] = entry.split('\n');
    return TOLD.test(key) ? [[key, value.join('\n')] as const] : [];
  });
  if (told.length === 0) return {};
  return Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(told.length)],
    ...told.flatMap(([key, value], i) => [
      [`GIT_CONFIG_KEY_${i}`, key],
      [`GIT_CONFIG_VALUE_${i}`, value],
    ]),
  ]);
}
