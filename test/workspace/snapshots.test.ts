/** Snapshots and rollback, on real files and real repositories. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  discardSnapshots,
  readManifest,
  restore,
  sweepSnapshots,
  takeSnapshots,
  type Wanted,
} from '../../src/workspace/snapshots.ts';
import { gitIn, plantHooks, repository, tempFolder, userState, write } from './helpers.ts';

type Strategy = 'COPY' | 'GIT_STASH' | 'DIFF';
const STRATEGIES: readonly Strategy[] = ['COPY', 'GIT_STASH', 'DIFF'];
const BINARY = Uint8Array.from({ length: 5000 }, (_, i) => (i * 7 + (i >> 3)) % 256);
const ODD = 'odd \'n" \n\\ -n\u00e4me';
const NON_UTF8 = Buffer.from([0x66, 0xff, 0x2e, 0x74]);

const wanted = (path: string, strategy: Wanted['strategy'], snapshotPath: string | null = null): Wanted => ({
  path,
  strategy,
  snapshotPath,
});

/** All that is in a folder, with content, modes and where links lead. */
function picture(folder: string, except: readonly string[] = ['.git', '.baton']): Record<string, string> {
  const seen: Record<string, string> = {};
  const visit = (path: Buffer, name: string): void => {
    const stat = lstatSync(path);
    const mode = (stat.mode & 0o7777).toString(8);
    if (stat.isSymbolicLink()) seen[name] = `link ${readlinkSync(path)}`;
    else if (!stat.isDirectory()) seen[name] = `${mode} ${readFileSync(path).toString('latin1')}`;
    else {
      seen[`${name}/`] = mode;
      for (const child of readdirSync(path, { encoding: 'buffer' })) {
        if (name === '' && except.includes(child.toString())) continue;
        visit(Buffer.concat([path, Buffer.from('/'), child]), `${name}/${child.toString('latin1')}`);
      }
    }
  };
  visit(Buffer.from(folder), '');
  return seen;
}

const where = (workspace: string): { workspace: string; dataDir: string; folder: string } => ({
  workspace,
  dataDir: join(workspace, '.baton'),
  folder: join(workspace, '.baton/runs/r1/snapshots'),
});

/** A workspace with all kinds of things in it, `tracked` and changed and new, some of it ignored. */
function workspace(): string {
  const repo = repository({
    'src/module.py': 'v1\n',
    'src/crlf.txt': 'a\r\nb\r\n',
    'src/binary.bin': BINARY,
    [`tree/${ODD}`]: 'odd\n',
    'tree/-dash': 'dash\n',
    'tree/sub/deep.txt': 'deep\n',
    'tree/run.sh': '#!/bin/sh\n',
    'other.txt': 'other\n',
    '.gitignore': 'ignored/\n*.log\n.baton/\n',
    '.gitattributes': '*.txt text eol=lf\n',
  });
  write(repo, {
    'src/module.py': 'v2, not committed\n',
    'src/new.py': 'untracked\n',
    'tree/sub/untracked.txt': 'u\n',
    'tree/some.log': 'ignored\n',
    'ignored/out.txt': 'ignored too\n',
  });
  write(repo, { 'src/binary.bin': BINARY.map((byte) => 255 - byte), 'src/crlf.txt': 'a\r\nc\r\n\r\n' });
  chmodSync(join(repo, 'tree/run.sh'), 0o755);
  chmodSync(join(repo, 'src/new.py'), 0o640);
  symlinkSync('../other.txt', join(repo, 'tree/link'));
  symlinkSync('nowhere at all', join(repo, 'tree/dangling'));
  mkdirSync(join(repo, 'tree/empty'));
  chmodSync(join(repo, 'tree/sub'), 0o750);
  writeFileSync(Buffer.concat([Buffer.from(`${repo}/tree/`), NON_UTF8]), 'bytes');
  return repo;
}

const ALL = [
  'src/module.py',
  'src/crlf.txt',
  'src/binary.bin',
  'src/new.py',
  'tree',
  'ignored/out.txt',
  'absent/new.txt',
];

function wreck(repo: string): void {
  write(repo, {
    'src/module.py': 'agent\n',
    'src/crlf.txt': 'agent',
    'src/binary.bin': 'agent',
    'absent/new.txt': 'agent',
  });
  rmSync(join(repo, 'src/new.py'));
  mkdirSync(join(repo, 'src/new.py'));
  write(repo, { 'src/new.py/inside': 'agent' });
  rmSync(join(repo, 'ignored'), { recursive: true });
  rmSync(join(repo, 'tree/sub'), { recursive: true });
  symlinkSync('..', join(repo, 'tree/sub'));
  rmSync(join(repo, 'tree/link'));
  write(repo, { 'tree/link': 'agent', 'tree/agent/made': 'this', [`tree/${ODD}`]: 'agent', 'tree/some.log': 'agent' });
  chmodSync(join(repo, 'tree/run.sh'), 0o600);
  rmSync(join(repo, 'tree/empty'), { recursive: true });
  writeFileSync(Buffer.concat([Buffer.from(`${repo}/tree/`), NON_UTF8]), 'agent');
}

describe.each(STRATEGIES)('%s', (strategy) => {
  test('gives back exactly what was there, and leaves everything else alone', async () => {
    const repo = workspace();
    const hooks = plantHooks(repo);
    const before = picture(repo);
    const index = readFileSync(join(repo, '.git/index'));
    const taken = await takeSnapshots(
      ALL.map((path) => wanted(path, strategy)),
      where(repo),
    );
    expect(taken.map((one) => [one.strategy, one.note])).toEqual(ALL.map(() => [strategy, null]));
    expect(picture(repo)).toEqual(before);
    expect(readFileSync(join(repo, '.git/index')).equals(index)).toBe(true);

    wreck(repo);
    write(repo, { 'other.txt': 'the user edits this meanwhile\n', 'mine.txt': 'and makes this\n' });
    gitIn(repo, 'add', 'mine.txt');
    const mid = userState(repo).split('\n--\n');

    // As another process does after a crash.
    const results = await restore(await readManifest(where(repo).folder));
    expect(results).toEqual(taken.map((one) => ({ path: one.named, restored_from: one.place, status: 'SUCCESS' })));
    const { '/other.txt': _other, ...rest } = before;
    expect(picture(repo)).toEqual({
      ...rest,
      '/other.txt': '644 the user edits this meanwhile\n',
      '/mine.txt': '644 and makes this\n',
      // It became empty by that, and stays.
      '/absent/': '755',
    });
    const after = userState(repo).split('\n--\n');
    expect(after.slice(1)).toEqual(mid.slice(1));
    expect(gitIn(repo, 'for-each-ref', 'refs/baton')).toBe('');
    expect(existsSync(join(where(repo).folder, 'manifest.json'))).toBe(false);
    expect(existsSync(hooks)).toBe(false);

    // Twice is as good as once.
    expect((await restore(taken)).map((one) => one.status)).toEqual(ALL.map(() => 'SUCCESS'));
    await discardSnapshots(taken);
    expect(existsSync(where(repo).folder)).toBe(false);
  });

  test('works in a folder below the top of the repository, with a data folder elsewhere', async () => {
    const repo = workspace();
    const dataDir = tempFolder();
    const place = { workspace: join(repo, 'tree'), dataDir, folder: join(dataDir, 's'), roots: [repo] };
    const before = picture(repo);
    const taken = await takeSnapshots(
      [wanted('sub', strategy), wanted('../src', strategy), wanted('.', strategy)],
      place,
    );
    expect(taken.map((one) => one.note)).toEqual([null, null, null]);
    wreck(repo);
    rmSync(join(repo, 'absent'), { recursive: true });
    expect((await restore(taken)).map((one) => one.error)).toEqual([undefined, undefined, undefined]);
    const { '/ignored/': _a, '/ignored/out.txt': _b, ...rest } = before;
    expect(picture(repo)).toEqual(rest);
  });

  test('outside a repository it is a copy, and says so', async () => {
    const ws = tempFolder();
    write(ws, { 'a.txt': 'a' });
    const taken = await takeSnapshots([wanted('a.txt', strategy)], where(ws));
    expect(taken[0]?.strategy).toBe('COPY');
    if (strategy === 'COPY') expect(taken[0]?.note).toBe(null);
    else expect(taken[0]?.note).toContain(`a COPY was made instead of ${strategy}`);
    write(ws, { 'a.txt': 'agent' });
    expect(await restore(taken)).toMatchObject([{ status: 'SUCCESS' }]);
    expect(readFileSync(join(ws, 'a.txt'), 'utf8')).toBe('a');
  });

  test('works before the first commit, and when the branch has moved since', async () => {
    const fresh = tempFolder();
    gitIn(fresh, 'init', '-q');
    write(fresh, { 'a.txt': 'a\n' });
    const first = await takeSnapshots([wanted('a.txt', strategy)], where(fresh));
    expect(first[0]?.strategy).toBe(strategy);
    write(fresh, { 'a.txt': 'agent' });
    expect(await restore(first)).toMatchObject([{ status: 'SUCCESS' }]);
    expect(readFileSync(join(fresh, 'a.txt'), 'utf8')).toBe('a\n');

    const repo = workspace();
    const taken = await takeSnapshots([wanted('src', strategy)], where(repo));
    const before = picture(join(repo, 'src'));
    gitIn(repo, 'checkout', '-q', '--orphan', 'elsewhere');
    write(repo, { 'src/module.py': 'v3\n' });
    gitIn(repo, 'add', 'src/module.py');
    gitIn(repo, 'commit', '-q', '-m', 'another root');
    gitIn(repo, 'branch', '-D', '-q', 'main');
    gitIn(repo, 'reflog', 'expire', '--expire=now', '--all');
    gitIn(repo, 'gc', '-q', '--prune=now');
    write(repo, { 'src/binary.bin': 'agent' });
    expect((await restore(taken)).map((one) => one.error)).toEqual([undefined]);
    expect(picture(join(repo, 'src'))).toEqual(before);
  });

  test('a symlink in place of a folder above is not followed', async () => {
    const repo = workspace();
    const outside = tempFolder();
    write(outside, { 'module.py': 'precious', 'new.txt': 'precious', 'out.txt': 'precious' });
    const paths = ['src/module.py', 'ignored/out.txt', 'absent/new.txt', 'tree'];
    const taken = await takeSnapshots(
      paths.map((path) => wanted(path, strategy)),
      where(repo),
    );
    rmSync(join(repo, 'src'), { recursive: true });
    symlinkSync(outside, join(repo, 'src'));
    rmSync(join(repo, 'ignored'), { recursive: true });
    symlinkSync(outside, join(repo, 'ignored'));
    symlinkSync(outside, join(repo, 'absent'));
    rmSync(join(repo, 'tree'), { recursive: true });
    symlinkSync(outside, join(repo, 'tree'));
    const precious = picture(outside);
    const results = await restore(taken);
    expect(results.map((one) => one.status)).toEqual(['FAILED', 'FAILED', 'FAILED', 'SUCCESS']);
    for (const one of results.slice(0, 3)) expect(one.error).toMatch(/^E_ROLLBACK_FAILED: .* was a folder/);
    expect(picture(outside)).toEqual(precious);
    expect(readFileSync(join(repo, 'tree/sub/deep.txt'), 'utf8')).toBe('deep\n');
    // What failed is kept and can be tried again when the way is free.
    expect((await readManifest(where(repo).folder)).map((one) => one.named)).toEqual(paths.slice(0, 3));
    for (const name of ['src', 'ignored', 'absent']) rmSync(join(repo, name));
    const again = await restore(await readManifest(where(repo).folder));
    expect(again.map((one) => one.error)).toEqual([undefined, undefined, undefined]);
    expect(readFileSync(join(repo, 'src/module.py'), 'utf8')).toBe('v2, not committed\n');
    expect(await readManifest(where(repo).folder)).toEqual([]);
  });
});

test('GIT_STASH is a commit that shows the change and only that', async () => {
  const repo = workspace();
  const [taken] = await takeSnapshots([wanted('src/module.py', 'GIT_STASH')], where(repo));
  const ref = taken?.ref ?? '';
  expect(ref).toMatch(/^refs\/baton\/snapshots\//);
  expect(gitIn(repo, 'diff', '--name-status', 'main', ref)).toBe('M\tsrc/module.py\n');
  expect(gitIn(repo, 'show', `${ref}:src/module.py`)).toBe('v2, not committed\n');
  expect(gitIn(repo, 'log', '-1', '--format=%an', ref)).toBe('Baton\n');
  expect(gitIn(repo, 'stash', 'list')).toBe('');
  await discardSnapshots([taken].filter((one) => one !== undefined));
  expect(gitIn(repo, 'for-each-ref', 'refs/baton')).toBe('');
});

test('DIFF keeps a patch that git itself can read, and no objects in the repository', async () => {
  const repo = workspace();
  const count = (): string => gitIn(repo, 'count-objects').split(' ')[0] ?? '';
  const objects = count();
  const [taken] = await takeSnapshots([wanted('src', 'DIFF', '.snap/src.patch')], where(repo));
  expect(count()).toBe(objects);
  expect(taken?.place).toBe(join(repo, '.snap/src.patch'));
  expect(gitIn(repo, 'apply', '--numstat', taken?.place ?? '')).toContain('src/module.py');
});

test('a tampered snapshot in the workspace is not used; our own is', async () => {
  const repo = workspace();
  const asked = [wanted('src/module.py', 'COPY', '.snap/module.before'), wanted('tree', 'COPY', '.snap/tree')];
  const taken = await takeSnapshots(asked, where(repo));
  expect(readFileSync(join(repo, '.snap/module.before'), 'utf8')).toBe('v2, not committed\n');
  expect(taken.map((one) => one.place)).toEqual([join(repo, '.snap/module.before'), join(repo, '.snap/tree')]);
  const before = picture(join(repo, 'tree'));
  wreck(repo);
  const secret = join(tempFolder(), 'secret');
  writeFileSync(secret, 'v2, not committed\n');
  rmSync(join(repo, '.snap/module.before'));
  symlinkSync(secret, join(repo, '.snap/module.before'));
  const results = await restore(taken);
  expect(results.map((one) => one.status)).toEqual(['SUCCESS', 'SUCCESS']);
  expect(results[0]?.restored_from).toContain('/.baton/');
  expect(results[1]?.restored_from).toBe(join(repo, '.snap/tree'));
  expect(readFileSync(join(repo, 'src/module.py'), 'utf8')).toBe('v2, not committed\n');
  expect(picture(join(repo, 'tree'))).toEqual(before);
  await discardSnapshots(taken);
  // A link that somebody put there is not ours to remove.
  expect(readdirSync(join(repo, '.snap'))).toEqual(['module.before']);
});

test('a snapshot that is gone or changed is a failure, and the file stays as it is', async () => {
  const repo = workspace();
  const taken = await takeSnapshots(
    STRATEGIES.map((s) => wanted('src/module.py', s)),
    where(repo),
  );
  write(repo, { 'src/module.py': 'agent\n' });
  const [copy, stash, diff] = taken;
  write(where(repo).folder, { [`${copy?.id}/content`]: 'changed', [`${diff?.id}/snapshot.patch`]: 'no patch' });
  gitIn(repo, 'update-ref', '-d', stash?.ref ?? '');
  gitIn(repo, 'gc', '-q', '--prune=now');
  const results = await restore(taken);
  expect(results.map((one) => one.status)).toEqual(['FAILED', 'FAILED', 'FAILED']);
  expect(readFileSync(join(repo, 'src/module.py'), 'utf8')).toBe('agent\n');
  expect(readdirSync(join(repo, 'src')).sort()).toEqual(['binary.bin', 'crlf.txt', 'module.py', 'new.py']);
  expect(await readManifest(where(repo).folder)).toHaveLength(3);
});

test('the whole workspace as an artifact leaves the data folder and .git out', async () => {
  const repo = workspace();
  write(repo, { '.baton/events/journal': 'one' });
  const taken = await takeSnapshots([wanted('.', 'COPY')], where(repo));
  const before = picture(repo);
  const head = gitIn(repo, 'rev-parse', 'HEAD');
  wreck(repo);
  write(repo, { '.baton/events/journal': 'two' });
  gitIn(repo, 'commit', '-q', '--allow-empty', '-m', 'by the user');
  expect((await restore(taken)).map((one) => one.error)).toEqual([undefined]);
  expect(picture(repo)).toEqual(before);
  expect(readFileSync(join(repo, '.baton/events/journal'), 'utf8')).toBe('two');
  expect(gitIn(repo, 'rev-parse', 'HEAD~1')).toBe(head);
});

test('what is written through a symlink is taken back too', async () => {
  const repo = workspace();
  const outside = tempFolder();
  write(outside, { x: 'x' });
  write(repo, { 'real/file.txt': 'before\n', 'real/more.txt': 'm' });
  symlinkSync('real/file.txt', join(repo, 'alias.txt'));
  symlinkSync(join(outside, 'x'), join(repo, 'out.txt'));
  for (const strategy of STRATEGIES) {
    const asked = [wanted('alias.txt', strategy, `.snap/${strategy}`), wanted('out.txt', strategy)];
    const taken = await takeSnapshots(asked, where(repo));
    expect(taken.map((one) => one.path)).toEqual(
      ['alias.txt', 'real/file.txt', 'out.txt'].map((name) => join(repo, name)),
    );
    write(repo, { 'alias.txt': 'agent' });
    rmSync(join(repo, 'alias.txt'));
    write(repo, { 'alias.txt': 'agent again' });
    expect((await restore(taken)).map((one) => one.error)).toEqual([undefined, undefined, undefined]);
    expect(readlinkSync(join(repo, 'alias.txt'))).toBe('real/file.txt');
    expect(readFileSync(join(repo, 'real/file.txt'), 'utf8')).toBe('before\n');
  }
  expect(readFileSync(join(outside, 'x'), 'utf8')).toBe('x');
});

test('a second attempt uses the copy that the first one left', async () => {
  const repo = workspace();
  const asked = [wanted('tree', 'COPY', '.snap/tree')];
  const first = await takeSnapshots(asked, where(repo));
  wreck(repo);
  await restore(first);
  expect(existsSync(join(repo, '.snap/tree'))).toBe(true);
  const second = await takeSnapshots(asked, where(repo));
  expect(second.map((one) => [one.place, one.note])).toEqual([[join(repo, '.snap/tree'), null]]);
  await discardSnapshots(second);
  expect(readdirSync(join(repo, '.snap'))).toEqual([]);
});

test('what is not allowed or not possible is refused, and nothing is left behind', async () => {
  const repo = workspace();
  const outside = tempFolder();
  symlinkSync(outside, join(repo, 'out'));
  const refuse = (one: Wanted): Promise<unknown> => takeSnapshots([wanted('other.txt', 'GIT_STASH'), one], where(repo));
  for (const place of ['../elsewhere', '/etc/baton-test', 'out/x', join(outside, 'x')]) {
    await expect(refuse(wanted('src', 'COPY', place))).rejects.toMatchObject({ code: 'E_PERMISSION_DENIED' });
  }
  for (const path of ['../x', join(outside, 'x'), 'out/x']) {
    await expect(refuse(wanted(path, 'COPY'))).rejects.toMatchObject({ code: 'E_PERMISSION_DENIED' });
  }
  await expect(refuse(wanted('.baton/runs', 'COPY'))).rejects.toMatchObject({ code: 'E_PERMISSION_DENIED' });
  expect(gitIn(repo, 'for-each-ref', 'refs/baton')).toBe('');
  expect(existsSync(where(repo).folder)).toBe(false);
  expect(readdirSync(outside)).toEqual([]);

  expect(await takeSnapshots([wanted('src', 'NONE')], where(repo))).toEqual([]);
  write(repo, { '.snap/taken': 'of the user' });
  const taken = await takeSnapshots([wanted('other.txt', 'COPY', '.snap/taken')], where(repo));
  expect(taken[0]?.place).toBe(join(repo, '.snap/taken.2'));
  expect(taken[0]?.note).toContain('something at');
  expect(readFileSync(join(repo, '.snap/taken'), 'utf8')).toBe('of the user');
  await expect(takeSnapshots([wanted('src', 'COPY')], where(repo))).rejects.toMatchObject({ code: 'E_DUPLICATE' });
  write(where(repo).folder, { 'manifest.json': '{"version":1}' });
  await expect(readManifest(where(repo).folder)).rejects.toMatchObject({ code: 'E_STORE_FORM' });
});

test('a file that is as it was is not written again; times are put back', async () => {
  const repo = workspace();
  const then = new Date(1_500_000_000_000);
  for (const name of ['src/module.py', 'src/new.py']) utimesSync(join(repo, name), then, then);
  const taken = await takeSnapshots([wanted('src', 'COPY')], where(repo));
  const inode = statSync(join(repo, 'src/new.py')).ino;
  write(repo, { 'src/module.py': 'agent' });
  await restore(taken);
  expect(statSync(join(repo, 'src/new.py')).ino).toBe(inode);
  expect(statSync(join(repo, 'src/module.py')).mtimeMs).toBe(then.getTime());
});

test('a workspace that was moved away and replaced by a link is not followed', async () => {
  const repo = workspace();
  const data = tempFolder();
  const place = { workspace: repo, dataDir: data, folder: join(data, 's') };
  const taken = await takeSnapshots([wanted('src/module.py', 'COPY')], place);
  renameSync(repo, `${repo}-moved`);
  const outside = tempFolder();
  write(outside, { 'src/module.py': 'precious' });
  symlinkSync(outside, repo);
  expect(await restore(taken)).toMatchObject([{ status: 'FAILED' }]);
  expect(readFileSync(join(outside, 'src/module.py'), 'utf8')).toBe('precious');
});

test('what somebody who died left behind is swept, with its ref, and nothing that is known or in use', async () => {
  const repo = workspace();
  const { folder } = where(repo);
  const refs = (): string => gitIn(repo, 'for-each-ref', '--format=%(refname)', 'refs/baton');
  // Dead before the manifest: the ref is there, and nobody names it.
  const lost = await takeSnapshots([wanted('src', 'GIT_STASH'), wanted('tree', 'DIFF')], where(repo));
  rmSync(join(folder, 'manifest.json'));
  write(folder, { 'manifest.json.0badc0de': '{' });
  const known = await takeSnapshots([wanted('other.txt', 'GIT_STASH')], where(repo));
  expect(refs().trim().split('\n')).toHaveLength(3);
  await sweepSnapshots(folder, async () => true);
  expect(refs().trim().split('\n')).toHaveLength(3);
  await sweepSnapshots(folder, async () => false);
  expect(refs()).toBe(`${known[0]?.ref}\n`);
  expect(readdirSync(folder).sort()).toEqual([known[0]?.id, 'manifest.json'].sort());
  expect(lost.map(({ id }) => existsSync(join(folder, id)))).toEqual([false, false]);
  await discardSnapshots(known);
  expect(existsSync(folder)).toBe(false);
});
