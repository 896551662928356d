/** What a private git directory starts with: the settings of the user's repository that name no program, and what it ignores. */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { isMissing } from '../core/errors.ts';
import { type GitInfo, gitText } from './git.ts';

/** They say how files are read and written and how work is shown. None of them names a program or a path. */
const COPIED = new Set([
  ...['core.autocrlf', 'core.eol', 'core.safecrlf', 'core.filemode', 'core.ignorecase', 'core.symlinks'],
  ...['core.precomposeunicode', 'core.protecthfs', 'core.protectntfs', 'core.longpaths', 'core.quotepath'],
  ...['core.whitespace', 'user.name', 'user.email', 'merge.conflictstyle', 'merge.renames', 'diff.renames'],
  ...['diff.algorithm', 'i18n.commitencoding', 'i18n.logoutputencoding', 'init.defaultbranch'],
]);

/** Who commits, as git knows it in this repository. */
interface Author {
  readonly name: string;
  readonly email: string;
}

const BATON: Author = { name: 'Baton', email: 'baton@localhost' };

/** Who commits in a repository: the person that git names there, Baton where it names none. */
export async function authorOf(root: string): Promise<Author> {
  const settings = await settingsOf(root);
  return { name: settings.get('user.name') || BATON.name, email: settings.get('user.email') || BATON.email };
}

/** The same for git's environment. */
export const asAuthor = ({ name, email }: Author): Readonly<Record<string, string>> => ({
  GIT_AUTHOR_NAME: name,
  GIT_AUTHOR_EMAIL: email,
  GIT_COMMITTER_NAME: name,
  GIT_COMMITTER_EMAIL: email,
});

/** The settings that hold in a repository; of several values the last one. */
async function settingsOf(root: string): Promise<ReadonlyMap<string, string>> {
  const listed = await gitText(root, ['config', '--list', '-z']);
  return new Map(
    listed.split('\0').flatMap((entry): [string, string][] => {
      const at = entry.indexOf('\n');
      return entry === '' ? [] : [at < 0 ? [entry, 'true'] : [entry.slice(0, at), entry.slice(at + 1)]];
    }),
  );
}

interface PrivateSettings {
  /** The text of `config`. */
  readonly config: string;
  /** The texts of `info/exclude` and `info/attributes`. */
  readonly exclude: string;
  readonly attributes: string;
}

export async function privateSettings({ root, commonDir }: GitInfo): Promise<PrivateSettings> {
  const settings = await settingsOf(root);
  const format = await gitText(root, ['rev-parse', '--show-object-format']);
  const lines = [
    '[core]',
    `\trepositoryformatversion = ${format === 'sha1' ? 0 : 1}`,
    '\tbare = false',
    '\tlogallrefupdates = true',
    ...(format === 'sha1' ? [] : ['[extensions]', `\tobjectformat = ${format}`]),
    ...['[gc]', '\tauto = 0', '[maintenance]', '\tauto = false'],
  ];
  for (const [key, value] of settings) {
    if (!COPIED.has(key)) continue;
    const [section, name] = key.split('.');
    lines.push(`[${section}]`, `\t${name} = ${quoted(value)}`);
  }
  const fromHome = (name: string): string =>
    join(process.env['XDG_CONFIG_HOME'] || join(process.env['HOME'] ?? homedir(), '.config'), 'git', name);
  const texts = (...paths: (string | undefined)[]): Promise<string> =>
    Promise.all(paths.map((path) => (path === undefined ? '' : textAt(path)))).then((all) => all.join('\n'));
  return {
    config: `${lines.join('\n')}\n`,
    // The person's own files are not seen in a sandbox; what they ignore stays ignored.
    exclude: await texts(settings.get('core.excludesfile') ?? fromHome('ignore'), join(commonDir, 'info/exclude')),
    attributes: await texts(
      settings.get('core.attributesfile') ?? fromHome('attributes'),
      join(commonDir, 'info/attributes'),
    ),
  };
}

const quoted = (value: string): string =>
  `"${value.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t')}"`;

/** `~/` is the home folder, as in git. Nothing where there is no such file. */
async function textAt(path: string): Promise<string> {
  const real = path.startsWith('~/') ? join(process.env['HOME'] ?? homedir(), path.slice(2)) : path;
  try {
    return await readFile(real, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (isMissing(cause) || code === 'EACCES' || code === 'EISDIR') return '';
    throw cause;
  }
}
