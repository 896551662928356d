/**
 * The few questions and commands of git. Every one runs without hooks, without a pager, without a file-system monitor, without locks
 * that it can do without, in the C locale, and without what GIT_* variables around us say. Paths are taken literally. What writes to
 * an index gets a private one: the user's is not touched.
 */
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { BatonError } from '../core/errors.ts';
import { newSuffix } from '../process/new-id.ts';
import { startProgram } from '../process/start.ts';
import type { Program, SandboxSpec } from '../process/types.ts';
import { within } from '../process/waiting.ts';
import type { Bytes } from './tree.ts';

export interface GitInfo {
  /** The top of the working tree, symlinks resolved. */
  readonly root: string;
  /** Null where HEAD is detached. */
  readonly branch: string | null;
  /** Null before the first commit. */
  readonly head: string | null;
  /** The folder of this working tree's own state (HEAD, index), and the one with the objects and refs; the same but in a worktree. */
  readonly gitDir: string;
  readonly commonDir: string;
}

export interface GitAnswer {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

interface GitOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** It is ended when it takes longer. */
  readonly mostMs?: number;
  /** It runs within these walls, with no setting but its repository's own and the system's. */
  readonly sandbox?: SandboxSpec | null;
}

/** Programs that a repository's own settings can name are not started by a question of ours. */
const SETTINGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.splitIndex=false',
  'core.untrackedCache=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'commit.gpgSign=false',
  'advice.detachedHead=false',
  'submodule.recurse=false',
].flatMap((setting) => ['-c', setting]);

const ENVIRONMENT: Readonly<Record<string, string>> = {
  LC_ALL: 'C',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_EDITOR: 'true',
  GIT_PAGER: 'cat',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_NO_LAZY_FETCH: '1',
  // An older git fetches what is missing nevertheless, by a program that the repository names. We never fetch.
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_AUTHOR_NAME: 'Baton',
  GIT_AUTHOR_EMAIL: 'baton@localhost',
  GIT_COMMITTER_NAME: 'Baton',
  GIT_COMMITTER_EMAIL: 'baton@localhost',
};

function environment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    // GIT_DIR and its like, as inside a hook, would send us to another repository.
    if (value !== undefined && !name.startsWith('GIT_')) env[name] = value;
  }
  return { ...env, ...ENVIRONMENT, ...more };
}

/** Those that read and write objects and refs; nothing that a repository names is started by them. */
const PLAIN = new Set([
  ...['cat-file', 'commit-tree', 'config', 'diff-tree', 'hash-object', 'ls-files', 'merge-base', 'rev-parse'],
  ...['show-ref', 'symbolic-ref', 'update-ref'],
]);

/** Settings that name a program, or that make git depend on one. */
const PROGRAMS = new RegExp(
  `^(?:${[
    'filter\\..*\\.(?:clean|smudge|process|required)',
    'lfs\\.(?:standalonetransferagent|customtransfer\\..*|extension\\..*)',
    '(?:merge|diff)\\..*\\.(?:driver|command|textconv)',
    'diff\\.external',
    'core\\.(?:sshcommand|gitproxy|askpass|editor|pager|alternaterefscommand)',
    '(?:gpg|credential)\\..*',
  ].join('|')})$`,
  's',
);

/** A filter that is empty is none; in place of any other program one that fails, so that nothing is taken for its answer. */
const instead = (key: string): string =>
  key.startsWith('filter.') ? (key.endsWith('.required') ? 'false' : '') : key.startsWith('lfs.') ? '' : 'false';

/**
 * What a repository's own settings name, named otherwise: an agent may have written them. What the user has set for all repositories holds,
 * for no agent gets there. As variables: a name may have an equals sign in it, which an argument would be cut at.
 */
async function harmless(cwd: string, env: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const { code, stdout } = await git(cwd, ['config', '--list', '--show-scope', '-z'], { env });
  // No repository, or one that git does not open: then it does nothing there either.
  if (code !== 0) return {};
  const parts = stdout.toString('utf8').split('\0');
  const users = new Map<string, string>();
  const found = new Set<string>();
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const [scope, entry = ''] = [parts[i], parts[i + 1]];
    const key = entry.split('\n', 1)[0] ?? '';
    if (scope === 'local' || scope === 'worktree') found.add(key);
    else if (scope !== 'command') users.set(key, entry.slice(key.length + 1));
  }
  const keys = [...found].filter((key) => PROGRAMS.test(key));
  return Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(keys.length)],
    ...keys.flatMap((key, i) => [
      [`GIT_CONFIG_KEY_${i}`, key],
      [`GIT_CONFIG_VALUE_${i}`, users.get(key) ?? instead(key)],
    ]),
  ]);
}

/** Starts git with its standard input open or given. Who starts it has to read both streams and to call `end`. */
export async function startGit(
  cwd: string,
  args: readonly string[],
  stdin: string | null | 'open',
  env: Readonly<Record<string, string>> = {},
  sandbox: SandboxSpec | null = null,
): Promise<Program> {
  const more = sandbox !== null || PLAIN.has(args[0] ?? '') ? {} : await harmless(cwd, env);
  return startProgram({
    command: ['git', '--no-pager', ...SETTINGS, ...args],
    cwd,
    env: sandbox === null ? environment({ ...env, ...more }) : { ...pathOnly(), ...ENVIRONMENT, ...env },
    stdin,
    mark: `git-${newSuffix()}`,
    sandbox,
  });
}

const pathOnly = (): Record<string, string> => (process.env['PATH'] === undefined ? {} : { PATH: process.env['PATH'] });

async function all(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Runs git to its end, whatever that is; the code is null where it was ended. */
export async function git(cwd: string, args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> {
  const program = await startGit(cwd, args, options.stdin ?? null, options.env, options.sandbox ?? null);
  try {
    const said = Promise.all([all(program.stdout), all(program.stderr), program.exited]);
    const answer = options.mostMs === undefined ? await said : await within(said, options.mostMs);
    if (answer === null)
      return { code: null, stdout: Buffer.alloc(0), stderr: `no answer within ${options.mostMs} ms` };
    const [stdout, stderr, exit] = answer;
    return { code: exit.code, stdout, stderr: stderr.toString('utf8').trim() };
  } finally {
    await program.end(1000);
  }
}

/** Runs git, which has to succeed, and gives back what it printed. */
export async function gitBytes(cwd: string, args: readonly string[], options: GitOptions = {}): Promise<Buffer> {
  const { code, stdout, stderr } = await git(cwd, args, options);
  if (code === 0) return stdout;
  throw new BatonError('E_UNKNOWN', `git ${args[0]} failed in ${cwd} (exit ${code ?? 'by a signal'}): ${stderr}`);
}

/** As `gitBytes`, as text without the line end. */
export const gitText = async (cwd: string, args: readonly string[], options: GitOptions = {}): Promise<string> =>
  (await gitBytes(cwd, args, options)).toString('utf8').replace(/\n$/, '');

/** The repository that a folder is in; null where it is in none that git is there for and opens. */
export async function gitInfo(dir: string): Promise<GitInfo | null> {
  if (!mayBeInRepository(dir)) return null;
  const where = await ask(dir, [
    'rev-parse',
    '--path-format=absolute',
    '--show-toplevel',
    '--git-dir',
    '--git-common-dir',
  ]);
  // A folder's name may hold a line break: then the three answers can't be told apart, and it is asked one by one.
  const lines = where?.split('\n') ?? [];
  if (where === null) return null;
  const [root, gitDir, commonDir] =
    lines.length === 3
      ? lines
      : await Promise.all(
          ['--show-toplevel', '--git-dir', '--git-common-dir'].map((what) =>
            gitText(dir, ['rev-parse', '--path-format=absolute', what]),
          ),
        );
  if (!root || !gitDir || !commonDir) return null;
  const [branch, head] = await Promise.all([
    ask(dir, ['symbolic-ref', '-q', '--short', 'HEAD']),
    ask(dir, ['rev-parse', '-q', '--verify', 'HEAD^{commit}']),
  ]);
  return {
    root: await realpath(root),
    branch,
    head,
    gitDir: await realpath(gitDir),
    commonDir: await realpath(commonDir),
  };
}

/** Whether git would find anything from here up. Where it would not, it need not be started: every run asks, and most of its cost were this. */
function mayBeInRepository(dir: string): boolean {
  for (let at = resolve(dir); ; at = dirname(at)) {
    // A folder with HEAD may be a repository's own, whose settings say that its files are elsewhere.
    if (existsSync(join(at, '.git')) || existsSync(join(at, 'HEAD'))) return true;
    if (dirname(at) === at) return false;
  }
}

/**
 * Why a repository is not what it seems; null where it is. Its settings may be taken from another folder, or its files may be said to be
 * elsewhere, where a merge would write them: nobody but an agent has done that to a folder that is worked in.
 */
export function whyNotPlain({ root, gitDir, commonDir }: GitInfo): string | null {
  const own = join(root, '.git');
  if (gitDir === own && commonDir !== gitDir) {
    return `${join(gitDir, 'commondir')} makes git take its settings from ${commonDir}`;
  }
  return existsSync(own) ? null : `${gitDir} says that its files are in ${root}, where no .git is`;
}

/** What git answers, null where it says no or is not there. */
async function ask(dir: string, args: readonly string[]): Promise<string | null> {
  try {
    const { code, stdout } = await git(dir, args);
    return code === 0 ? stdout.toString('utf8').replace(/\n$/, '') : null;
  } catch (cause) {
    const missing =
      (cause as NodeJS.ErrnoException).code === 'ENOENT' ||
      (cause instanceof BatonError && ['E_AGENT_NOT_FOUND', 'E_FILE_NOT_FOUND'].includes(cause.code));
    if (missing) return null;
    throw cause;
  }
}

/** One of GIT_ALTERNATE_OBJECT_DIRECTORIES, a list with `:` between, in which a quoted item stands for itself. */
export const quoteAlternate = (path: string): string => `"${path.replace(/["\\]/g, '\\$&')}"`;

/** A path in the quotes that git reads where it reads one path a line. */
export function quotePath(path: Bytes): string {
  const escaped = path.replace(/["\\]|[^\x20-\x7e]/g, (c) =>
    c === '"' || c === '\\' ? `\\${c}` : `\\${c.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return `"${escaped}"`;
}
