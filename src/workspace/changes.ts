/**
 * What changed in a folder between two moments, as a git diff. What was there before, uncommitted or not, is what it is compared with. The user's
 * index, branch and objects are not touched: the index is a copy, and what git writes goes into a folder of our own.
 *
 * Where there is no repository, one is made for the moment, of the paths that are named and nothing else.
 */

import { createWriteStream } from 'node:fs';
import { copyFile, lstat, mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '../core/errors.ts';
import { isBelow } from '../process/files.ts';
import { type GitInfo, gitBytes, gitText, quoteAlternate, startGit } from './git.ts';
import { notBelow, notNested } from './left-out.ts';
import { resolveIn } from './paths.ts';
import { noteSubmodules, scopeOf } from './working-tree.ts';

interface ChangesInput {
  /** Its real path; so are all the others. */
  readonly workspace: string;
  /** Null where the folder is in no repository. */
  readonly git: GitInfo | null;
  /** Never looked at. */
  readonly dataDir: string;
  /** Only what changes at and below these is told. */
  readonly within: readonly string[];
  /** What is looked at where there is no repository. */
  readonly outputs: readonly string[];
  /** A folder of our own that is not there yet; it goes with `close`. */
  readonly scratch: string;
}

export interface Changes {
  /** Writes what has changed since to a file, and why nothing is known where that is so. */
  write(path: string): Promise<void>;
  close(): Promise<void>;
}

interface Look {
  readonly env: Readonly<Record<string, string>>;
  /** What is added to the index, each time. */
  paths(): Promise<readonly string[]>;
}

/** Looks at what is there now. It never throws: what keeps it from looking is told in the file. */
export async function watchChanges(input: ChangesInput): Promise<Changes> {
  const { workspace, scratch } = input;
  let before: { readonly look: Look; readonly tree: string } | string;
  try {
    await mkdir(join(scratch, 'objects'), { recursive: true, mode: 0o700 });
    const look = input.git === null ? await lookAtPaths(input) : await lookAtRepository(input, input.git);
    before = look === null ? NOTHING_NAMED : { look, tree: await treeNow(workspace, look) };
  } catch (cause) {
    before = `What this run changed is not known: ${messageOf(cause)}`;
  }
  return {
    async write(path) {
      // Whatever stands there was not put there by us.
      await rm(path, { recursive: true, force: true });
      if (typeof before === 'string') return writeFile(path, `${before}\n`, { mode: 0o600 });
      const { look, tree } = before;
      try {
        const now = await treeNow(workspace, look);
        if (now === tree)
          return await writeFile(path, 'This run changed nothing that git would show.\n', { mode: 0o600 });
        await writePatch(input, look, tree, now, path);
      } catch (cause) {
        await writeFile(path, `What this run changed is not known: ${messageOf(cause)}\n`, { mode: 0o600 });
      }
    },
    close: () => rm(scratch, { recursive: true, force: true }),
  };
}

const NOTHING_NAMED =
  'What this run changed is not known: its workspace is in no git repository, and its task names no expected outputs.';

/** A copy of the user's index knows which files it need not read. */
async function lookAtRepository({ workspace, dataDir, scratch }: ChangesInput, git: GitInfo): Promise<Look> {
  const index = join(scratch, 'index');
  const own = join(git.gitDir, 'index');
  const found = await stat(own).catch(() => null);
  if (found !== null) {
    await copyFile(own, index);
    // Git reads again what may have changed in the moment in which its index was written: the copy must not look younger than it is.
    const seconds = Math.floor(found.mtimeMs / 1000) - 1;
    await utimes(index, seconds, seconds);
  }
  const scope = await scopeOf(git, workspace, [dataDir]);
  const env = {
    GIT_DIR: git.gitDir,
    GIT_WORK_TREE: git.root,
    GIT_INDEX_FILE: index,
    GIT_OBJECT_DIRECTORY: join(scratch, 'objects'),
    GIT_ALTERNATE_OBJECT_DIRECTORIES: quoteAlternate(join(git.commonDir, 'objects')),
    // The one place where a path has to say what it is not.
    GIT_LITERAL_PATHSPECS: '0',
  };
  return {
    env,
    async paths() {
      await noteSubmodules(scope, env);
      return ['--', '.', ...scope.left.map(notBelow), ...(await notNested(git, env))];
    },
  };
}

async function lookAtPaths({ workspace, dataDir, outputs, scratch }: ChangesInput): Promise<Look | null> {
  const paths = outputs.filter((path) => isBelow(path, [workspace]) && !isBelow(path, [dataDir]) && path !== workspace);
  if (paths.length === 0) return null;
  // As little as git takes for a repository.
  await mkdir(join(scratch, 'refs'), { recursive: true, mode: 0o700 });
  await writeFile(join(scratch, 'HEAD'), 'ref: refs/heads/none\n');
  const known = new Set<string>();
  return {
    env: { GIT_DIR: scratch, GIT_WORK_TREE: workspace, GIT_INDEX_FILE: join(scratch, 'index') },
    async paths() {
      for (const path of paths) if ((await lstat(path).catch(() => null)) !== null) known.add(path);
      return known.size === 0 ? [] : ['-f', '--', ...[...known].map((path) => relative(workspace, path))];
    },
  };
}

async function treeNow(workspace: string, { env, paths }: Look): Promise<string> {
  const named = await paths();
  if (named.length > 0) {
    await gitBytes(workspace, ['-c', 'core.safecrlf=false', 'add', '-A', ...named], { env });
  }
  return gitText(workspace, ['write-tree'], { env });
}

/** Piece by piece: what changed may be large. */
async function writePatch(
  { workspace, within }: ChangesInput,
  { env }: Look,
  from: string,
  to: string,
  path: string,
): Promise<void> {
  const places = await Promise.all(within.map((place) => resolveIn(workspace, place)));
  const only = places.filter((place) => isBelow(place, [workspace])).map((place) => relative(workspace, place) || '.');
  const args = [
    ...['diff-tree', '-r', '-p', '--binary', '--full-index', '--no-renames', '--no-color', '--no-ext-diff'],
    ...['--no-textconv', '--submodule=short', '--src-prefix=a/', '--dst-prefix=b/', from, to, '--'],
    ...(only.length === 0 || only.includes('.') ? ['.'] : only),
  ];
  const program = await startGit(workspace, args, null, { ...env, GIT_LITERAL_PATHSPECS: '1' });
  try {
    const said: Buffer[] = [];
    program.stderr.on('data', (piece: Buffer) => said.length < 16 && said.push(piece));
    await pipeline(program.stdout, createWriteStream(path, { mode: 0o600 }));
    const { code } = await program.exited;
    if (code !== 0)
      throw new Error(`git diff-tree failed (exit ${code ?? 'by a signal'}): ${Buffer.concat(said).toString().trim()}`);
  } finally {
    await program.end(1000);
  }
}
