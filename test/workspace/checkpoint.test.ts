/** Checkpoints of a working tree, and what changed since one, on real repositories. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { diffSince, dropRefs, listCheckpointRefs, takeCheckpoint } from '../../src/workspace/checkpoint.ts';
import { gitIn, plantHooks, repository, tempFolder, userState, write } from './helpers.ts';

const take = (workspace: string, number = 1, more: { exclude?: string[]; onBranch?: boolean } = {}) =>
  takeCheckpoint({
    workspace,
    exclude: more.exclude ?? [join(workspace, '.baton')],
    ref: `refs/baton/s/cp_00${number}`,
    message: `Checkpoint: test [cp_00${number}]`,
    onBranch: more.onBranch ?? false,
  });

const filesOf = (repo: string, commit: string): string[] =>
  gitIn(repo, 'ls-tree', '-r', '-z', '--name-only', commit)
    .split('\0')
    .filter((name) => name !== '');

const contentOf = (repo: string, commit: string, name: string): string => gitIn(repo, 'show', `${commit}:${name}`);

describe('a checkpoint', () => {
  test('holds what is tracked and what is new, and leaves the user alone', async () => {
    const repo = repository({ 'a.txt': 'one\n', 'b.txt': 'b\n', 'gone.txt': 'x\n', '.gitignore': 'ignored/\n*.log\n' });
    gitIn(repo, 'tag', 'v1');
    write(repo, { 'a.txt': 'stashed\n' });
    gitIn(repo, 'stash');
    write(repo, { 'a.txt': 'two\n', 'b.txt': 'staged\n', 'new/c.txt': 'new\n', 'ignored/x': 'x', 'y.log': 'y' });
    gitIn(repo, 'add', 'b.txt');
    rmSync(join(repo, 'gone.txt'));
    write(repo, { '.baton/journal': 'ours\n', '.baton/x/y': 'ours\n' });
    const told = plantHooks(repo);
    const index = readFileSync(join(repo, '.git/index'));
    const before = [userState(repo), gitIn(repo, 'show-ref'), readFileSync(join(repo, '.git/HEAD'), 'utf8')];
    const refs = gitIn(repo, 'show-ref');
    writeFileSync(join(repo, '.git/index'), index);

    const taken = await take(repo);

    expect(readFileSync(join(repo, '.git/index')).equals(index)).toBe(true);
    expect(
      gitIn(repo, 'show-ref')
        .split('\n')
        .filter((line) => !line.includes('refs/baton/'))
        .join('\n'),
    ).toBe(refs);
    expect([userState(repo), refs, readFileSync(join(repo, '.git/HEAD'), 'utf8')]).toEqual(before);
    expect(existsSync(told)).toBe(false);
    expect(existsSync(join(repo, '.git/index.lock'))).toBe(false);
    expect(filesOf(repo, taken.commit)).toEqual(['.gitignore', 'a.txt', 'b.txt', 'new/c.txt']);
    expect(contentOf(repo, taken.commit, 'a.txt')).toBe('two\n');
    expect(taken).toMatchObject({ head: gitIn(repo, 'rev-parse', 'main').trim(), branch: 'main', files: 4 });
    expect(gitIn(repo, 'rev-parse', `${taken.commit}^`).trim()).toBe(taken.head);
    expect(gitIn(repo, 'rev-parse', `${taken.commit}^{tree}`).trim()).toBe(taken.tree);
    expect(gitIn(repo, 'log', '-1', '--format=%B', 'refs/baton/s/cp_001').trim()).toBe('Checkpoint: test [cp_001]');
    expect(gitIn(repo, 'fsck', '--strict')).not.toMatch(/error|missing/);
  });

  test('is taken before the first commit and with a detached HEAD', async () => {
    const folder = tempFolder();
    gitIn(folder, 'init', '-q', '-b', 'main');
    write(folder, { 'a.txt': 'a\n' });
    const first = await take(folder);
    expect(first).toMatchObject({ head: null, branch: 'main', files: 1 });
    expect(gitIn(folder, 'log', '--format=%s', first.commit).trim().split('\n')).toHaveLength(1);
    expect(existsSync(join(folder, '.git/index'))).toBe(false);

    const repo = repository();
    gitIn(repo, 'checkout', '-q', '--detach');
    const second = await take(repo);
    expect(second).toMatchObject({ branch: null, head: gitIn(repo, 'rev-parse', 'HEAD').trim() });
  });

  test('is refused where there is no repository, for a ref that is there, and for one that is not ours', async () => {
    await expect(take(tempFolder())).rejects.toMatchObject({ code: 'E_FILE_NOT_FOUND' });
    const repo = repository();
    await take(repo);
    await expect(take(repo)).rejects.toMatchObject({ code: 'E_DUPLICATE' });
    await expect(
      takeCheckpoint({ workspace: repo, exclude: [], ref: 'refs/heads/main', message: 'x' }),
    ).rejects.toMatchObject({ code: 'E_SCHEMA_VALIDATION' });
  });

  test('leaves a data folder out that nobody ignores, and one that is tracked as it is in the index', async () => {
    const repo = repository({ 'a.txt': 'a\n', 'data [1]/old': 'tracked\n' });
    write(repo, { 'data [1]/old': 'changed\n', 'data [1]/new': 'new\n', 'data [1]x': 'beside\n' });
    const { commit } = await take(repo, 1, { exclude: [join(repo, 'data [1]')] });
    expect(filesOf(repo, commit)).toEqual(['a.txt', 'data [1]/old', 'data [1]x']);
    expect(contentOf(repo, commit, 'data [1]/old')).toBe('tracked\n');
  });

  test('holds the bytes of the files: line ends are not converted, and no filter runs', async () => {
    const repo = repository({ '.gitattributes': '*.lf text eol=lf\n*.auto text=auto\n*.big filter=lfs\n*.id ident\n' });
    const ran = join(repo, '../filter-ran');
    gitIn(repo, 'config', 'filter.lfs.clean', `sh -c 'echo ran >> "${ran}"; echo pointer'`);
    gitIn(repo, 'config', 'filter.lfs.smudge', `sh -c 'echo ran >> "${ran}"; echo content'`);
    const files = {
      'x.lf': 'a\r\nb\nc\r\n',
      'x.auto': 'a\r\nb\r\n',
      'x.big': 'large\n',
      'x.id': '$Id: mine $\n',
      'plain.txt': 'a\r\n',
    };
    write(repo, files);
    // As the user adds them: converted, and known to the index as unchanged, for they are older than it.
    for (const name of Object.keys(files)) utimesSync(join(repo, name), 1_600_000_000, 1_600_000_000);
    gitIn(repo, 'add', '-A');
    gitIn(repo, 'commit', '-q', '-m', 'converted');
    expect(contentOf(repo, 'HEAD', 'x.big')).toBe('pointer\n');
    rmSync(ran);
    const { commit } = await take(repo);
    for (const [name, content] of Object.entries(files))
      expect([name, contentOf(repo, commit, name)]).toEqual([name, content]);
    gitIn(repo, 'config', 'core.autocrlf', 'true');
    const second = await take(repo, 2);
    expect(contentOf(repo, second.commit, 'plain.txt')).toBe('a\r\n');
    expect(existsSync(ran)).toBe(false);
    expect((await diffSince({ workspace: repo, exclude: [], commit })).list).toEqual([]);
  });

  test('holds what is marked as unchanged, what is in conflict, and what was changed within the same moment', async () => {
    const repo = repository({ 'mine.txt': 'theirs\n', 'c.txt': 'base\n', 'sparse.txt': 's\n' });
    gitIn(repo, 'checkout', '-q', '-b', 'other');
    write(repo, { 'c.txt': 'other\n' });
    gitIn(repo, 'commit', '-qam', 'other');
    gitIn(repo, 'checkout', '-q', 'main');
    write(repo, { 'c.txt': 'main\n' });
    gitIn(repo, 'commit', '-qam', 'main');
    expect(() => gitIn(repo, 'merge', '-q', 'other')).toThrow();
    gitIn(repo, 'update-index', '--assume-unchanged', 'mine.txt');
    gitIn(repo, 'update-index', '--skip-worktree', 'sparse.txt');
    rmSync(join(repo, 'sparse.txt'));
    write(repo, { 'mine.txt': 'mine!!\n' });
    const { commit } = await take(repo);
    expect(contentOf(repo, commit, 'mine.txt')).toBe('mine!!\n');
    expect(contentOf(repo, commit, 'sparse.txt')).toBe('s\n');
    expect(contentOf(repo, commit, 'c.txt')).toContain('<<<<<<<');
    expect(gitIn(repo, 'ls-files', '-v', 'mine.txt')).toBe('h mine.txt\n');

    // A file of the same size and the same times as the index knows, which is no older than the file: git has to read it.
    const racy = repository({ 'r.txt': 'aaaa\n' });
    const file = join(racy, 'r.txt');
    const seconds = (): number => Math.floor(statSync(file).ctimeMs / 1000);
    for (let tries = 0; tries < 10; tries++) {
      write(racy, { 'r.txt': 'aaaa\n' });
      utimesSync(file, 1_600_000_000, 1_600_000_000);
      const began = seconds();
      gitIn(racy, 'add', 'r.txt');
      write(racy, { 'r.txt': 'bbbb\n' });
      utimesSync(file, 1_600_000_000, 1_600_000_000);
      utimesSync(join(racy, '.git/index'), 1_600_000_000, 1_600_000_000);
      if (seconds() === began) break;
    }
    expect(contentOf(racy, (await take(racy)).commit, 'r.txt')).toBe('bbbb\n');
  });

  test('takes a folder of a repository for the whole, and leaves what is beside it', async () => {
    const repo = repository({ 'sub/a.txt': 'a\n', 'beside.txt': 'b\n' });
    write(repo, { 'sub/a.txt': 'two\n', 'sub/new.txt': 'n\n', 'beside.txt': 'changed\n', 'other.txt': 'o\n' });
    const taken = await take(join(repo, 'sub'));
    expect(filesOf(repo, taken.commit)).toEqual(['beside.txt', 'sub/a.txt', 'sub/new.txt']);
    expect(contentOf(repo, taken.commit, 'beside.txt')).toBe('b\n');
    expect(taken.files).toBe(2);
    write(repo, { 'sub/new.txt': 'n\nm\n', 'beside.txt': 'again\n' });
    const diff = await diffSince({ workspace: join(repo, 'sub'), exclude: [], commit: taken.commit });
    expect(diff).toEqual({
      files: 1,
      added: 1,
      removed: 0,
      list: [{ path: 'new.txt', status: 'changed', added: 1, removed: 0 }],
    });
  });

  test('leaves repositories inside alone, and knows the commit of a submodule', async () => {
    const inner = repository({ 'i.txt': 'i\n' });
    const repo = repository();
    gitIn(repo, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, 'lib');
    gitIn(repo, 'commit', '-qm', 'lib');
    gitIn(repo, 'init', '-q', 'nested');
    gitIn(repo, 'init', '-q', 'empty');
    write(repo, { 'nested/n.txt': 'n\n', 'lib/dirty.txt': 'd\n' });
    gitIn(join(repo, 'nested'), 'add', '-A');
    gitIn(join(repo, 'nested'), 'commit', '-qm', 'n');
    const ran = join(repo, '../monitor-ran');
    gitIn(join(repo, 'lib'), 'config', 'core.fsmonitor', `touch ${ran}; false`);
    gitIn(join(repo, 'lib'), '-c', 'core.fsmonitor=false', 'commit', '-q', '--allow-empty', '-m', 'moved');
    const { commit } = await take(repo);
    expect(filesOf(repo, commit)).toEqual(['.gitmodules', 'a.txt', 'lib']);
    const moved = readFileSync(join(repo, '.git/modules/lib/refs/heads/main'), 'utf8').trim();
    expect(gitIn(repo, 'ls-tree', commit, 'lib')).toContain(`160000 commit ${moved}`);
    expect(existsSync(ran)).toBe(false);
  });

  test('with onBranch makes a commit on the branch, without hooks and without the data folder', async () => {
    const repo = repository({ 'a.txt': 'one\n', '.gitattributes': '* text=auto\n' });
    const told = plantHooks(repo);
    write(repo, { 'a.txt': 'two\r\n', 'b.txt': 'new\n', '.baton/.gitignore': '*\n', '.baton/x': 'x\n' });
    gitIn(repo, 'init', '-q', 'nested');
    const first = gitIn(repo, 'rev-parse', 'HEAD').trim();
    const taken = await take(repo, 1, { onBranch: true });
    expect(existsSync(told)).toBe(false);
    expect(gitIn(repo, 'rev-parse', 'main').trim()).toBe(taken.head);
    expect(gitIn(repo, 'rev-parse', 'main^').trim()).toBe(first);
    expect(gitIn(repo, 'log', '-1', '--format=%s').trim()).toBe('Checkpoint: test [cp_001]');
    expect(filesOf(repo, 'main')).toEqual(['.gitattributes', 'a.txt', 'b.txt']);
    expect(contentOf(repo, 'main', 'a.txt')).toBe('two\n');
    expect(contentOf(repo, taken.commit, 'a.txt')).toBe('two\r\n');
    // Nothing has changed, and there is a commit all the same.
    const second = await take(repo, 2, { onBranch: true });
    expect(gitIn(repo, 'rev-parse', 'main^').trim()).toBe(taken.head);
    expect(second.tree).toBe(taken.tree);
    gitIn(repo, 'checkout', '-q', '--detach');
    await expect(take(repo, 3, { onBranch: true })).rejects.toMatchObject({ code: 'E_PERMISSION_DENIED' });
    gitIn(repo, 'checkout', '-q', 'main');
    write(repo, { '.git/MERGE_HEAD': `${first}\n` });
    await expect(take(repo, 3, { onBranch: true })).rejects.toThrow('while a merge is under way');
  });

  test('several at once, while somebody else holds the index, are all whole', async () => {
    const repo = repository({ 'a.txt': 'one\n' });
    write(repo, { 'a.txt': 'two\n', 'b.txt': 'b\n', '.git/index.lock': '' });
    const taken = await Promise.all([1, 2, 3, 4].map((number) => take(repo, number)));
    expect(new Set(taken.map(({ tree }) => tree)).size).toBe(1);
    const next = await Promise.all([1, 2, 3].map(() => takeCheckpoint(repo, 's', [])));
    expect(next.map(({ id }) => id).sort()).toEqual(['cp_005', 'cp_006', 'cp_007']);
    expect(readFileSync(join(repo, '.git/index.lock'), 'utf8')).toBe('');
    expect(gitIn(repo, 'fsck')).not.toMatch(/error|missing/);
  });

  test('works in a worktree of git, with a split index, and with ids of sha256', async () => {
    const repo = repository();
    const tree = join(repo, '../tree');
    gitIn(repo, 'worktree', 'add', '-q', '-b', 'side', tree);
    gitIn(tree, 'update-index', '--split-index');
    write(tree, { 'new.txt': 'n\n' });
    gitIn(tree, 'add', 'new.txt');
    write(tree, { 'a.txt': 'changed\n' });
    const taken = await take(tree);
    expect(taken).toMatchObject({ branch: 'side', files: 2 });
    expect(contentOf(repo, 'refs/baton/s/cp_001', 'a.txt')).toBe('changed\n');

    const folder = tempFolder();
    gitIn(folder, 'init', '-q', '-b', 'main', '--object-format=sha256');
    write(folder, { 'a.txt': 'a\n' });
    const long = await take(folder);
    expect(long.commit).toHaveLength(64);
    rmSync(join(folder, 'a.txt'));
    expect((await diffSince({ workspace: folder, exclude: [], commit: long.commit })).list).toEqual([
      { path: 'a.txt', status: 'deleted', added: 0, removed: 1 },
    ]);
  });
});

describe('what changed since a checkpoint', () => {
  test('is counted in files and lines, untracked ones included, and leaves no objects behind', async () => {
    const odd = 'odd \'n" \n\\ -n\u00e4me';
    const repo = repository({
      'a.txt': 'a\nb\nc\n',
      'gone.txt': '1\n2\n',
      'run.sh': 'x\n',
      'bin.dat': Uint8Array.of(0, 1),
    });
    write(repo, { 'was-new.txt': 'n\n' });
    const { commit } = await take(repo);
    const objects = gitIn(repo, 'count-objects');
    write(repo, { 'a.txt': 'a\nB\nc\nd\n', [odd]: '1\n2\n3\n', '-dash': '', 'bin.dat': Uint8Array.of(0, 2, 3) });
    write(repo, { '.baton/x': 'ours\n', 'was-new.txt': 'n\nm\n' });
    chmodSync(join(repo, 'run.sh'), 0o755);
    rmSync(join(repo, 'gone.txt'));
    const diff = await diffSince({ workspace: repo, exclude: [join(repo, '.baton')], commit });
    expect(diff).toEqual({
      files: 7,
      added: 6,
      removed: 3,
      list: [
        { path: '-dash', status: 'added', added: 0, removed: 0 },
        { path: 'a.txt', status: 'changed', added: 2, removed: 1 },
        { path: 'bin.dat', status: 'changed', added: null, removed: null },
        { path: 'gone.txt', status: 'deleted', added: 0, removed: 2 },
        { path: odd, status: 'added', added: 3, removed: 0 },
        { path: 'run.sh', status: 'changed', added: 0, removed: 0 },
        { path: 'was-new.txt', status: 'changed', added: 1, removed: 0 },
      ],
    });
    expect(gitIn(repo, 'count-objects')).toBe(objects);
    await expect(
      diffSince({ workspace: repo, exclude: [], commit: '0123456789012345678901234567890123456789' }),
    ).rejects.toMatchObject({ code: 'E_NOT_FOUND' });
  });

  test("sees files, links and folders that took each other's place", async () => {
    const repo = repository({ file: 'f\n', 'folder/x': 'x\n', 'link-to-be': 'l\n' });
    const { commit } = await take(repo);
    rmSync(join(repo, 'file'));
    write(repo, { 'file/inside': 'i\n' });
    renameSync(join(repo, 'folder'), join(repo, 'moved'));
    mkdirSync(join(repo, '../out'));
    writeFileSync(join(repo, '../out/x'), 'outside\n');
    symlinkSync('../out', join(repo, 'folder'));
    rmSync(join(repo, 'link-to-be'));
    symlinkSync('l\n', join(repo, 'link-to-be'));
    const { list } = await diffSince({ workspace: repo, exclude: [], commit });
    expect(list.map(({ path, status }) => `${path} ${status}`)).toEqual([
      'file deleted',
      'file/inside added',
      'folder added',
      'folder/x deleted',
      'link-to-be changed',
      'moved/x added',
    ]);
  });
});

test('the refs of a session are listed and dropped, and no others', async () => {
  const repo = repository();
  await take(repo, 1);
  await take(repo, 2);
  const head = gitIn(repo, 'rev-parse', 'HEAD').trim();
  for (const ref of ['refs/baton/s/kept_001', 'refs/baton/s/other', 'refs/baton/s2/cp_001'])
    gitIn(repo, 'update-ref', ref, head);
  expect((await listCheckpointRefs(repo, 's')).map(({ id }) => id)).toEqual(['cp_001', 'cp_002', 'kept_001']);
  expect((await dropRefs(repo, 's', ({ id }) => id.startsWith('cp_'))).map(({ id }) => id)).toEqual([
    'cp_001',
    'cp_002',
  ]);
  expect((await dropRefs(repo, 's')).map(({ id }) => id)).toEqual(['kept_001']);
  expect(await dropRefs(repo, 's')).toEqual([]);
  expect(gitIn(repo, 'for-each-ref', '--format=%(refname)', 'refs/baton').trim().split('\n')).toEqual([
    'refs/baton/s/other',
    'refs/baton/s2/cp_001',
  ]);
});
