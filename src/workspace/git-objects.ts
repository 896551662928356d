/**
 * A path's state kept in git's own objects, byte for byte: no filter, no line-end conversion, no ignore rule has a say. The index is
 * a private one, made for the moment.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { git, gitBytes, gitText, quotePath, startGit } from './git.ts';
import type { Entry, FileEntry } from './listing.ts';
import { at, type Bytes, raw } from './tree.ts';

type Env = Readonly<Record<string, string>>;

/** The same listing with the object of each file in it, written where `env` says. */
export async function keepBlobs(root: string, path: Bytes, listing: readonly Entry[], env: Env): Promise<Entry[]> {
  const files = listing.filter((entry) => entry.kind === 'file');
  if (files.length === 0) return [...listing];
  const stdin = files.map(({ below }) => `${quotePath(at(path, below))}\n`).join('');
  const blobs = (await gitText(root, ['hash-object', '-w', '--no-filters', '--stdin-paths'], { stdin, env })).split(
    '\n',
  );
  const byName = new Map(files.map(({ below }, i) => [below, blobs[i]]));
  return listing.map((entry) => (entry.kind === 'file' ? { ...entry, blob: byName.get(entry.below) ?? null } : entry));
}

/** A tree that is the one of `base` but for one path, which is as the listing says. */
export async function treeWith(
  root: string,
  base: string | null,
  way: Bytes,
  listing: readonly Entry[],
  env: Env,
): Promise<string> {
  await gitBytes(root, base === null ? ['read-tree', '--empty'] : ['read-tree', base], { env });
  const old = way === '' ? ['ls-files', '-z'] : ['ls-files', '-z', '--', Buffer.from(way, 'latin1').toString('utf8')];
  const names = (await gitBytes(root, old, { env }))
    .toString('latin1')
    .split('\0')
    .filter((name) => name !== '');
  // As long as the ids of this repository: it may be one of sha256.
  const none = '0'.repeat(base?.length ?? 40);
  const lines = names.map((name) => `0 ${none}\t${quotePath(name)}\n`);
  for (const entry of listing) {
    if (entry.kind === 'folder') continue;
    const name = way === '' ? entry.below : at(way, entry.below);
    const [mode, blob] =
      entry.kind === 'link'
        ? ['120000', await keepLink(root, entry.target, env)]
        : [(entry.mode & 0o100) === 0 ? '100644' : '100755', entry.blob];
    lines.push(`${mode} ${blob}\t${quotePath(name)}\n`);
  }
  await gitBytes(root, ['update-index', '--index-info'], { stdin: lines.join(''), env });
  return gitText(root, ['write-tree'], { env });
}

/** Links are few; what they lead to is kept in the listing, this is for whoever looks into the commit. */
const keepLink = (root: string, target: Bytes, env: Env): Promise<string> =>
  gitText(root, ['hash-object', '-w', '--no-filters', '--stdin'], {
    stdin: Buffer.from(target, 'latin1').toString('utf8'),
    env,
  });

/** Hands out the contents of objects, one after the other, from one git. */
export interface BlobReader {
  read(entry: Pick<FileEntry, 'blob' | 'below'>, to: Bytes): Promise<void>;
  close(): Promise<void>;
}

export async function openBlobs(root: string, env: Env): Promise<BlobReader> {
  const program = await startGit(root, ['cat-file', '--batch'], 'open', env);
  const { stdin, stdout, stderr } = program;
  if (stdin === null) throw new Error('git cat-file was started without an input');
  // A git that is gone is noticed by its missing answer.
  stdin.on('error', () => undefined);
  stderr.resume();
  const chunks = stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let rest: Buffer = Buffer.alloc(0);
  const more = async (): Promise<void> => {
    const next = await chunks.next();
    if (next.done === true) throw new Error('git cat-file ended before its answer did');
    rest = rest.length === 0 ? next.value : Buffer.concat([rest, next.value]);
  };
  const line = async (): Promise<string> => {
    while (!rest.includes(10)) await more();
    const end = rest.indexOf(10);
    const text = rest.subarray(0, end).toString('latin1');
    rest = rest.subarray(end + 1);
    return text;
  };
  const copy = async (size: number, file: FileHandle): Promise<void> => {
    let open = size;
    while (open > 0) {
      if (rest.length === 0) await more();
      const part = rest.subarray(0, open);
      rest = rest.subarray(part.length);
      open -= part.length;
      await file.writeFile(part);
    }
    while (rest.length === 0) await more();
    rest = rest.subarray(1);
  };
  return {
    async read({ blob, below }, to) {
      if (blob === null) throw new Error(`no object is known for ${JSON.stringify(below)}`);
      stdin.write(`${blob}\n`);
      const answer = await line();
      const size = /^[0-9a-f]+ blob ([0-9]+)$/.exec(answer)?.[1];
      if (size === undefined) throw new Error(`git does not have the object ${blob} any more (${answer})`);
      const file = await open(raw(to), 'wx', 0o600);
      try {
        await copy(Number(size), file);
      } finally {
        await file.close();
      }
    },
    async close() {
      stdin.end();
      await program.end(1000);
    },
  };
}

/** The patch from one tree to another, with binary files in it. */
export const patchBetween = (root: string, from: string, to: string, env: Env): Promise<Buffer> =>
  gitBytes(
    root,
    [
      'diff-tree',
      '-r',
      '-p',
      '--binary',
      '--full-index',
      '--no-renames',
      '--no-color',
      '--no-ext-diff',
      '--no-textconv',
    ]
      .concat(['--src-prefix=a/', '--dst-prefix=b/'])
      .concat([from, to]),
    { env },
  );

/** Writes the objects that a patch makes of `base`, where `env` says. */
export async function applyPatch(root: string, base: string | null, patch: string, env: Env): Promise<void> {
  await gitBytes(root, base === null ? ['read-tree', '--empty'] : ['read-tree', base], { env });
  // From the top of the working tree: elsewhere, what is not below would be skipped.
  const settings = ['-c', 'apply.whitespace=nowarn', '-c', 'apply.ignoreWhitespace=no', '-c', 'core.autocrlf=false'];
  const { code, stderr } = await git(
    root,
    [...settings, 'apply', '--cached', '--binary', '--whitespace=nowarn', patch],
    {
      env,
    },
  );
  if (code !== 0) throw new Error(`the patch ${patch} does not apply: ${stderr}`);
}

export const emptyTree = (root: string, env: Env): Promise<string> =>
  gitText(root, ['hash-object', '-w', '-t', 'tree', '--stdin'], { stdin: '', env });
