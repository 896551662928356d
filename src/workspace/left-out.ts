/** What `git add` is told to leave alone, as pathspecs. They are patterns, so paths must not be taken literally where these are given. */
import { type GitInfo, gitBytes } from './git.ts';
import { at, type Bytes, statAt, toBytes, toText } from './tree.ts';
import { SUBMODULE } from './working-tree.ts';

/** All below a path, from the top, as a pattern: git adds nothing where a path that is left out by its plain name is ignored as well. */
export function notBelow(path: Bytes): string {
  const plain = [...toText(path)].map((c, i) => {
    if (i === 0) return `[${/[!^\]\\-]/.test(c) ? '\\' : ''}${c}]`;
    return /[*?[\]\\]/.test(c) ? `\\${c}` : c;
  });
  return `:(top,exclude,glob)${plain.join('')}/**`;
}

/** Repositories inside this one: git would ask them what has changed, and so start what their settings name. They stay as the index has them. */
export async function notNested({ root }: GitInfo, env: Readonly<Record<string, string>>): Promise<string[]> {
  const list = async (args: readonly string[]): Promise<string[]> =>
    (await gitBytes(root, ['ls-files', '-z', ...args], { env })).toString('latin1').split('\0');
  const modules = (await list(['-s']))
    .filter((line) => line.startsWith(`${SUBMODULE} `))
    .map((line) => line.slice(line.indexOf('\t') + 1));
  // Of what is not known yet, a folder that is named with a slash at its end is looked at as a whole: a repository of its own.
  const others = (await list(['--others', '--exclude-standard'])).filter((name) => name.endsWith('/'));
  const nested: Bytes[] = [];
  for (const name of [...modules, ...others.map((name) => name.slice(0, -1))]) {
    if ((await statAt(at(toBytes(root), `${name}/.git`))) !== null) nested.push(name);
  }
  return nested.map((name) => `:(top,literal,exclude)${toText(name)}`);
}
