/** Going back to a checkpoint, on real repositories: what comes back, what goes, what is kept, and what is refused. */
import { type ChildProcess, spawn } from 'node:child_process';
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
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { type TakenCheckpoint, takeCheckpoint } from '../../src/workspace/checkpoint.ts';
import { gitInfo } from '../../src/workspace/git.ts';
import { openBlobs } from '../../src/workspace/git-objects.ts';
import { planRollback, type RollbackPlan, type RolledBack, rollBackTo } from '../../src/workspace/restore.ts';
import { putEntry, removeMade } from '../../src/workspace/restore-files.ts';
import { heldRef } from '../../src/workspace/run-refs.ts';
import { scopeOf } from '../../src/workspace/working-tree.ts';
import { gitIn, plantHooks, repository, tempFolder, userState, write } from './helpers.ts';

const ODD = 'odd \'n" \n\\ -n\u00e4me';
const held = (branch: string): string =>
  `merges into ${branch} wait until what differs from it now is committed or discarded`;
const KEEP = 'refs/baton/s/kept_001';

const take = (workspace: string, onBranch = false): Promise<TakenCheckpoint> =>
  takeCheckpoint({
    workspace,
    exclude: [join(workspace, '.baton')],
    ref: 'refs/baton/s/cp_001',
    message: 'Checkpoint: test [cp_001]',
    onBranch,
  });

const plan = (workspace: string, checkpoint: TakenCheckpoint): Promise<RollbackPlan> =>
  planRollback({ workspace, exclude: [join(workspace, '.baton')], checkpoint });

const back = (workspace: string, checkpoint: TakenCheckpoint, more: object = {}): Promise<RolledBack> =>
  rollBackTo({ workspace, exclude: [join(workspace, '.baton')], checkpoint, keepRef: KEEP, ...more });

/** All that is in a folder, with content, modes and where links lead. */
function picture(folder: string, except: readonly string[] = ['.git']): Record<string, string> {
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

const shown = (repo: string, ref: string, name: string): string => gitIn(repo, 'show', `${ref}:${name}`);

describe('a rollback', () => {
  test('makes the files what they were, keeps what was there, and leaves the user alone', async () => {
    const repo = repository({
      'src/a.txt': 'a\n',
      'src/crlf.txt': 'a\r\nb\nc\r\n',
      'run.sh': '#!/bin/sh\n',
      'plain.sh': 'x\n',
      'secret.txt': 's\n',
      'empty.txt': '',
      [`tree/${ODD}`]: 'odd\n',
      'tree/-dash': 'dash\n',
      '.gitignore': '*.log\nbuild/\n.baton/\n',
      '.gitattributes': '*.txt text eol=lf\n',
    });
    chmodSync(join(repo, 'run.sh'), 0o755);
    chmodSync(join(repo, 'secret.txt'), 0o400);
    symlinkSync('src/a.txt', join(repo, 'link'));
    write(repo, {
      'draft.txt': 'untracked then\n',
      'src/a.txt': 'dirty then\n',
      'keep.log': 'log\n',
      'build/out': 'o\n',
    });
    write(repo, { 'new/staged.txt': 'staged\n', '.baton/data': 'ours\n' });
    gitIn(repo, 'add', 'new/staged.txt');
    const before = picture(repo);
    const checkpoint = await take(repo);

    write(repo, { 'src/a.txt': 'agent\n', 'src/crlf.txt': 'a\n', 'draft.txt': 'agent\n', 'made/deep/x.txt': 'made\n' });
    write(repo, { 'empty.txt': 'no more\n', 'top.txt': 'made\n', 'tree/-other': 'o\n' });
    write(repo, { 'keep.log': 'log\nmore\n', 'build/out': 'again\n', 'build/out2': 'x\n', '.baton/data': 'more\n' });
    chmodSync(join(repo, 'run.sh'), 0o644);
    chmodSync(join(repo, 'plain.sh'), 0o755);
    chmodSync(join(repo, 'secret.txt'), 0o600);
    writeFileSync(join(repo, 'secret.txt'), 'told\n');
    chmodSync(join(repo, 'secret.txt'), 0o400);
    rmSync(join(repo, `tree/${ODD}`));
    rmSync(join(repo, 'link'));
    symlinkSync('elsewhere', join(repo, 'link'));
    rmSync(join(repo, 'new'), { recursive: true });
    const told = plantHooks(repo);
    const now = picture(repo);
    const state = (): string[] => [
      gitIn(repo, 'stash', 'list'),
      gitIn(repo, 'ls-files', '-s'),
      gitIn(repo, 'for-each-ref', 'refs/heads'),
    ];
    const user = [...state(), readFileSync(join(repo, '.git/HEAD'), 'utf8')];
    const index = readFileSync(join(repo, '.git/index'));

    const planned = await plan(repo, checkpoint);
    expect(picture(repo)).toEqual(now);
    expect(planned).toEqual({
      restored: ['draft.txt', 'empty.txt', 'link', 'plain.sh', 'run.sh', 'secret.txt', 'src/a.txt', 'src/crlf.txt'],
      recreated: ['new/staged.txt', `tree/${ODD}`],
      removed: ['made/deep/x.txt', 'top.txt', 'tree/-other'],
      left: [],
      submodules: [],
      keeps: true,
      questions: [],
      refusal: null,
    });

    const done = await back(repo, checkpoint);
    expect(done).toEqual({
      restored: [...planned.restored, ...planned.recreated].sort(),
      removed: planned.removed,
      kept: KEEP,
      notes: [held('main')],
    });
    expect(gitIn(repo, 'rev-parse', heldRef('main'))).toBe(gitIn(repo, 'rev-parse', 'main'));
    expect(picture(repo)).toEqual({
      ...before,
      '/keep.log': '644 log\nmore\n',
      '/build/out': '644 again\n',
      '/build/out2': '644 x\n',
      '/.baton/data': '644 more\n',
    });
    expect(readFileSync(join(repo, '.git/index')).equals(index)).toBe(true);
    expect([...state(), readFileSync(join(repo, '.git/HEAD'), 'utf8')]).toEqual(user);
    expect(existsSync(told)).toBe(false);
    expect(shown(repo, KEEP, 'src/a.txt')).toBe('agent\n');
    expect(shown(repo, KEEP, 'made/deep/x.txt')).toBe('made\n');
    expect(shown(repo, KEEP, 'draft.txt')).toBe('agent\n');
    expect(gitIn(repo, 'ls-tree', '-r', '--name-only', KEEP)).not.toMatch(/\.log|build|\.baton/);

    // Twice is as good as once, and says where the rest is.
    expect(await back(repo, checkpoint)).toEqual({ restored: [], removed: [], kept: KEEP, notes: [] });
    expect(await back(repo, checkpoint, { keepRef: 'refs/baton/s/kept_002' })).toMatchObject({ kept: null });
  });

  test("brings files, links and folders back that took each other's place, and follows no link out", async () => {
    const repo = repository({
      file: 'file\n',
      'folder/a': 'a\n',
      'folder/b/c': 'c\n',
      swap: 'swap\n',
      'dir/x': 'x\n',
      '.gitignore': '*.log\n',
    });
    symlinkSync('file', join(repo, 'link'));
    symlinkSync('folder', join(repo, 'link2'));
    const before = picture(repo);
    const checkpoint = await take(repo);
    const out = join(repo, '../out');
    mkdirSync(join(out, 'b'), { recursive: true });
    write(out, { a: 'outside\n', 'b/c': 'outside\n', z: 'outside\n' });
    rmSync(join(repo, 'file'));
    write(repo, { 'file/in/side': 'i\n' });
    mkdirSync(join(repo, 'file/empty'));
    rmSync(join(repo, 'folder'), { recursive: true });
    symlinkSync('../out', join(repo, 'folder'));
    rmSync(join(repo, 'swap'));
    symlinkSync('../out/a', join(repo, 'swap'));
    rmSync(join(repo, 'link'));
    write(repo, { link: 'a file now\n' });
    rmSync(join(repo, 'link2'));
    write(repo, { 'link2/q': 'q\n' });
    renameSync(join(repo, 'dir'), join(repo, 'dir2'));
    write(repo, { dir: 'a file now\n' });
    const { kept } = await back(repo, checkpoint);
    expect(picture(repo)).toEqual(before);
    expect(picture(out, [])).toMatchObject({ '/a': '644 outside\n', '/b/c': '644 outside\n', '/z': '644 outside\n' });
    expect(kept).toBe(KEEP);
    expect(shown(repo, KEEP, 'file/in/side')).toBe('i\n');
    expect(shown(repo, KEEP, 'folder')).toBe('../out');
  });

  test('keeps nothing where all that goes is in HEAD, and asks where commits were made since', async () => {
    const repo = repository({ 'a.txt': 'one\n' });
    const checkpoint = await take(repo);
    write(repo, { 'a.txt': 'two\n', 'b.txt': 'b\n' });
    gitIn(repo, 'add', '-A');
    gitIn(repo, 'commit', '-qm', 'second');
    const user = userState(repo);
    expect(await plan(repo, checkpoint)).toMatchObject({
      keeps: false,
      questions: [
        '1 commit was made since the checkpoint: the files go back to before, the commits stay on the branch',
      ],
      refusal: null,
    });
    await expect(back(repo, checkpoint)).rejects.toMatchObject({ code: 'E_PERMISSION_DENIED' });
    expect(userState(repo)).toBe(user);
    const done = await back(repo, checkpoint, { force: true });
    expect(done).toEqual({ restored: ['a.txt'], removed: ['b.txt'], kept: null, notes: [held('main')] });
    expect(readFileSync(join(repo, 'a.txt'), 'utf8')).toBe('one\n');
    expect(gitIn(repo, 'log', '--format=%s', 'main').trim().split('\n')).toEqual(['second', 'first']);
  });

  test('of a checkpoint on the branch leaves the branch where it is', async () => {
    const repo = repository({ 'a.txt': 'one\n', '.gitattributes': '* text=auto\n' });
    write(repo, { 'a.txt': 'one\r\ntwo\r\n' });
    const checkpoint = await take(repo, true);
    write(repo, { 'a.txt': 'broken\n' });
    expect(await back(repo, checkpoint)).toMatchObject({ restored: ['a.txt'], kept: KEEP });
    expect(readFileSync(join(repo, 'a.txt'), 'utf8')).toBe('one\r\ntwo\r\n');
    expect(gitIn(repo, 'rev-parse', 'main').trim()).toBe(checkpoint.head);
  });

  test('works before the first commit, with a detached HEAD, in a worktree, and in a folder of a repository', async () => {
    const young = tempFolder();
    gitIn(young, 'init', '-q', '-b', 'main');
    write(young, { 'a.txt': 'a\n' });
    const first = await take(young);
    write(young, { 'a.txt': 'b\n', 'c.txt': 'c\n' });
    expect(await back(young, first)).toMatchObject({ restored: ['a.txt'], removed: ['c.txt'], kept: KEEP });
    expect(picture(young)).toMatchObject({ '/a.txt': '644 a\n' });

    const repo = repository({ 'sub/a.txt': 'a\n', 'beside.txt': 'b\n' });
    gitIn(repo, 'checkout', '-q', '--detach');
    const detached = await take(repo);
    write(repo, { 'sub/a.txt': 'x\n' });
    expect(await back(repo, detached)).toMatchObject({ restored: ['sub/a.txt'] });

    const tree = join(repo, '../tree');
    gitIn(repo, 'worktree', 'add', '-q', '-b', 'side', tree);
    const sub = join(tree, 'sub');
    const inside = await takeCheckpoint({ workspace: sub, exclude: [], ref: 'refs/baton/s/cp_002', message: 'x' });
    write(tree, { 'sub/a.txt': 'x\n', 'sub/deep/new.txt': 'n\n', 'beside.txt': 'mine\n', 'top.txt': 't\n' });
    const keepRef = 'refs/baton/s/kept_002';
    expect(await rollBackTo({ workspace: sub, exclude: [], checkpoint: inside, keepRef })).toEqual({
      restored: ['a.txt'],
      removed: ['deep/new.txt'],
      kept: keepRef,
      notes: [held('side')],
    });
    expect(picture(tree)).toMatchObject({
      '/sub/a.txt': '644 a\n',
      '/beside.txt': '644 mine\n',
      '/top.txt': '644 t\n',
    });
    expect(existsSync(join(sub, 'deep'))).toBe(false);
  });

  test('leaves a folder that holds nothing else but the workspace itself', async () => {
    const repo = repository({ 'sub/a.txt': 'a\n' });
    rmSync(join(repo, 'sub/a.txt'));
    const sub = join(repo, 'sub');
    const checkpoint = await takeCheckpoint({ workspace: sub, exclude: [], ref: 'refs/baton/s/cp_001', message: 'x' });
    write(repo, { 'sub/made/x.txt': 'x\n' });
    await rollBackTo({ workspace: sub, exclude: [], checkpoint, keepRef: KEEP });
    expect(readdirSync(sub)).toEqual([]);
  });

  test('takes nothing that was ignored since, when it is begun again without the rules that said so', async () => {
    const repo = repository({ 'a.txt': 'a\n' });
    const checkpoint = await take(repo);
    const ignored = { 'ign/secret': 's\n', 'x.log': 'l\n', 'deep/y.tmp': 't\n' };
    write(repo, { '.gitignore': 'ign/\n*.log\n', 'deep/.gitignore': '*.tmp\n', ...ignored, 'new.txt': 'n\n' });
    const { kept } = await back(repo, checkpoint);
    const rules = [gitIn(repo, 'rev-parse', kept ?? '').trim()];
    write(repo, { 'more.txt': 'm\n' });
    const again = await back(repo, checkpoint, { keepRef: 'refs/baton/s/kept_002', rules });
    expect(again.removed).toEqual(['more.txt']);
    for (const path of Object.keys(ignored)) expect(existsSync(join(repo, path)), path).toBe(true);
    expect(gitIn(repo, 'ls-tree', '-r', '--name-only', 'refs/baton/s/kept_002')).toContain('more.txt');
  });

  test('the rules of HEAD hold, though a rollback has taken them out of the files', async () => {
    const repo = repository({ 'a.txt': 'a\n' });
    const checkpoint = await take(repo);
    write(repo, { '.gitignore': '.env\n', '.env': 'secret\n' });
    gitIn(repo, 'add', '.gitignore');
    gitIn(repo, 'commit', '-qm', 'rules');
    await back(repo, checkpoint, { force: true });
    expect(existsSync(join(repo, '.gitignore'))).toBe(false);
    const again = await back(repo, checkpoint, { force: true });
    expect([again.removed, existsSync(join(repo, '.env'))]).toEqual([[], true]);
  });

  test('does not take a file for new because a rule that ignored it is gone, nor lose one to a rule that is new', async () => {
    const repo = repository({ 'a.txt': 'a\n', '.gitignore': '.env\ncache/\n*.tmp\n!keep.tmp\n' });
    write(repo, { '.env': 'secret\n', 'cache/x': 'x\n', 'notes.txt': 'notes\n', 'sub/deep.env': 'd\n' });
    const checkpoint = await take(repo);
    write(repo, {
      '.gitignore': 'notes.txt\nhidden\n',
      'notes.txt': 'overwritten\n',
      'keep.tmp': 'made\n',
      ':(odd)[x]*': 'o\n',
      'x.tmp': 'x\n',
      hidden: 'h\n',
    });
    const planned = await plan(repo, checkpoint);
    expect(planned).toMatchObject({ restored: ['.gitignore', 'notes.txt'], removed: [':(odd)[x]*', 'keep.tmp'] });
    expect(planned.left).toEqual(['.env', 'cache/x', 'x.tmp']);
    const done = await back(repo, checkpoint);
    expect(done.notes[0]).toBe('.env is ignored by rules of then or since: it is left as it is');
    expect(picture(repo)).toMatchObject({
      '/.env': '644 secret\n',
      '/cache/x': '644 x\n',
      '/notes.txt': '644 notes\n',
      '/hidden': '644 h\n',
    });
    expect(shown(repo, KEEP, 'notes.txt')).toBe('overwritten\n');
    expect(existsSync(join(repo, 'keep.tmp'))).toBe(false);
  });

  test('never touches submodules and repositories inside, and says what is different', async () => {
    const inner = repository({ 'i.txt': 'i\n' });
    const repo = repository();
    gitIn(repo, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, 'lib');
    gitIn(repo, 'commit', '-qm', 'lib');
    const checkpoint = await take(repo);
    const was = gitIn(join(repo, 'lib'), 'rev-parse', 'HEAD').trim();
    write(repo, { 'a.txt': 'changed\n', 'lib/i.txt': 'dirty\n', 'lib/new.txt': 'n\n' });
    gitIn(join(repo, 'lib'), 'commit', '-qam', 'moved');
    gitIn(repo, 'init', '-q', 'nested');
    write(repo, { 'nested/n.txt': 'n\n' });
    const is = gitIn(join(repo, 'lib'), 'rev-parse', 'HEAD').trim();
    expect((await plan(repo, checkpoint)).submodules).toEqual([{ path: 'lib', was, is }]);
    const done = await back(repo, checkpoint);
    expect(done).toMatchObject({ restored: ['a.txt'], removed: [] });
    expect(done.notes).toEqual([
      `the submodule lib was at ${was.slice(0, 12)} and is at ${is.slice(0, 12)}: it is left as it is`,
      held('main'),
    ]);
    expect(gitIn(join(repo, 'lib'), 'rev-parse', 'HEAD').trim()).toBe(is);
    expect(readFileSync(join(repo, 'lib/new.txt'), 'utf8')).toBe('n\n');
    expect(readFileSync(join(repo, 'nested/n.txt'), 'utf8')).toBe('n\n');
  });

  test('runs no filter of the repository, and brings a large file and names that are no text back', async () => {
    const repo = repository({ '.gitattributes': '*.big filter=lfs\n', 'old.big': 'old\n' });
    const ran = join(repo, '../filter-ran');
    for (const name of ['clean', 'smudge'])
      gitIn(repo, 'config', `filter.lfs.${name}`, `sh -c 'echo ran >> "${ran}"; cat'`);
    const large = Buffer.alloc(20 * 1024 * 1024, 'some content \0 that is large\n');
    write(repo, { 'x.big': large });
    const strange = Buffer.concat([Buffer.from(`${repo}/`), Buffer.from([0x66, 0xff, 0x2e, 0x74])]);
    writeFileSync(strange, 'strange\n');
    const checkpoint = await take(repo);
    write(repo, { 'x.big': 'gone\n', 'old.big': 'new\n' });
    rmSync(strange);
    expect(await back(repo, checkpoint)).toMatchObject({ kept: KEEP });
    expect(readFileSync(join(repo, 'x.big')).equals(large)).toBe(true);
    expect(readFileSync(strange, 'utf8')).toBe('strange\n');
    expect(readFileSync(join(repo, 'old.big'), 'utf8')).toBe('old\n');
    expect(existsSync(ran)).toBe(false);
  });
});

describe('a rollback is refused, forced or not, and nothing is changed', () => {
  const refuses = async (repo: string, checkpoint: TakenCheckpoint, code: string, words: string): Promise<void> => {
    const before = picture(repo);
    const { refusal } = await plan(repo, checkpoint);
    expect(refusal).toMatchObject({ code, message: expect.stringContaining(words) });
    await expect(back(repo, checkpoint, { force: true })).rejects.toMatchObject({ code, message: refusal?.message });
    expect(picture(repo)).toEqual(before);
    if (existsSync(join(repo, '.git'))) expect(gitIn(repo, 'for-each-ref', 'refs/baton/s/kept_001')).toBe('');
  };

  test('where there is no repository, and where the checkpoint is gone', async () => {
    const repo = repository();
    const checkpoint = await take(repo);
    write(repo, { 'a.txt': 'x\n' });
    await refuses(repo, { ...checkpoint, commit: '0123456789'.repeat(4) }, 'E_NOT_FOUND', 'is not in');
    await refuses(repo, { ...checkpoint, commit: '--all' }, 'E_NOT_FOUND', 'is not in');
    gitIn(repo, 'update-ref', '-d', 'refs/baton/s/cp_001');
    gitIn(repo, 'gc', '-q', '--prune=now');
    await refuses(repo, checkpoint, 'E_NOT_FOUND', 'is not in');
    await refuses(tempFolder(), checkpoint, 'E_FILE_NOT_FOUND', 'is in none');
  });

  test('where a file of the checkpoint is gone from git', async () => {
    const repo = repository();
    write(repo, { 'b.txt': 'untracked\n' });
    const checkpoint = await take(repo);
    const id = gitIn(repo, 'rev-parse', `${checkpoint.commit}:b.txt`).trim();
    write(repo, { 'a.txt': 'x\n', 'b.txt': 'y\n' });
    rmSync(join(repo, '.git/objects', id.slice(0, 2), id.slice(2)));
    await refuses(repo, checkpoint, 'E_NOT_FOUND', 'does not have what the checkpoint holds of b.txt');
  });

  test('on another branch, on none, and where HEAD does not come from the one of the checkpoint', async () => {
    const repo = repository();
    const checkpoint = await take(repo);
    gitIn(repo, 'checkout', '-q', '-b', 'other');
    await refuses(repo, checkpoint, 'E_PERMISSION_DENIED', 'was taken on main, and');
    gitIn(repo, 'checkout', '-q', '--detach');
    await refuses(repo, checkpoint, 'E_PERMISSION_DENIED', 'is on no branch (detached) now');
    gitIn(repo, 'checkout', '-q', 'main');
    gitIn(repo, 'commit', '-q', '--amend', '--allow-empty', '-m', 'rewritten');
    await refuses(repo, checkpoint, 'E_PERMISSION_DENIED', 'does not come from it');
  });

  test('while something is under way', async () => {
    const repo = repository({ 'c.txt': 'base\n' });
    gitIn(repo, 'checkout', '-q', '-b', 'other');
    write(repo, { 'c.txt': 'other\n' });
    gitIn(repo, 'commit', '-qam', 'other');
    gitIn(repo, 'format-patch', '-q', '-1', '-o', join(repo, '../patches'));
    gitIn(repo, 'checkout', '-q', 'main');
    write(repo, { 'c.txt': 'main\n' });
    gitIn(repo, 'commit', '-qam', 'main');
    const checkpoint = await take(repo);
    const patch = join(repo, '../patches', readdirSync(join(repo, '../patches'))[0] ?? '');
    const ways: readonly (readonly [string[], string, string[]])[] = [
      [['rebase', '-q', 'other'], 'a rebase', ['rebase', '--abort']],
      [['merge', '-q', 'other'], 'a merge', ['merge', '--abort']],
      [['cherry-pick', 'other'], 'a cherry-pick', ['cherry-pick', '--abort']],
      [['am', '-q', patch], 'git am', ['am', '--abort']],
      [['bisect', 'start'], 'a bisect', ['bisect', 'reset']],
    ];
    for (const [begin, words, end] of ways) {
      if (words === 'a bisect') gitIn(repo, ...begin);
      else expect(() => gitIn(repo, ...begin)).toThrow();
      await refuses(repo, checkpoint, 'E_PERMISSION_DENIED', words);
      gitIn(repo, ...end);
    }
    expect((await plan(repo, checkpoint)).refusal).toBeNull();
  });

  test('where something that is in no commit is in the way', async () => {
    const repo = repository({ 'a/b.txt': 'b\n', file: 'f\n', '.gitignore': '*.log\nway\n' });
    write(repo, { 'deep/x.txt': 'x\n' });
    const checkpoint = await take(repo);
    rmSync(join(repo, 'file'));
    write(repo, { 'file/x.log': 'ignored\n' });
    await refuses(repo, checkpoint, 'E_PERMISSION_DENIED', 'a folder is in its place that holds file/x.log');
    rmSync(join(repo, 'file'), { recursive: true });
    gitIn(repo, 'init', '-q', 'file');
    await refuses(repo, checkpoint, 'E_PERMISSION_DENIED', 'a folder is in its place');
    rmSync(join(repo, 'file'), { recursive: true });
    rmSync(join(repo, 'deep'), { recursive: true });
    gitIn(repo, 'init', '-q', 'deep');
    await refuses(repo, checkpoint, 'E_PERMISSION_DENIED', 'deep is a repository of its own now');
    rmSync(join(repo, 'deep'), { recursive: true });
    write(repo, { '.gitignore': 'deep\n', deep: 'ignored\n' });
    await refuses(repo, checkpoint, 'E_PERMISSION_DENIED', 'deep is an ignored file now');
  });

  test('where a submodule is in the place of a file', async () => {
    const inner = repository({ 'i.txt': 'i\n' });
    const repo = repository({ lib: 'a file\n' });
    const checkpoint = await take(repo);
    gitIn(repo, 'rm', '-q', 'lib');
    gitIn(repo, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, 'lib');
    await refuses(repo, checkpoint, 'E_PERMISSION_DENIED', 'a submodule is in its place');
  });
});

describe('a rollback that is stopped', () => {
  test('by a kill, at any moment, is completed by the next one, and nothing is lost', async () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`d${i % 7}/f${i}.txt`, `then ${i}\n`]));
    const repo = repository(many);
    write(repo, { 'untracked.txt': 'u\n' });
    const before = picture(repo);
    const checkpoint = await take(repo);
    for (let i = 0; i < 300; i++) {
      if (i % 3 === 0) rmSync(join(repo, `d${i % 7}/f${i}.txt`));
      else write(repo, { [`d${i % 7}/f${i}.txt`]: `now ${i}\n`, [`made/m${i}.txt`]: `made ${i}\n` });
    }
    const bundle = join(tempFolder(), 'restore.mjs');
    await build({
      stdin: {
        contents: `import { rollBackTo } from ${JSON.stringify(join(process.cwd(), 'src/workspace/restore.ts'))};
          await rollBackTo(JSON.parse(process.argv[2]));`,
        resolveDir: process.cwd(),
      },
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile: bundle,
      logLevel: 'error',
    });
    const input = JSON.stringify({ workspace: repo, exclude: [], checkpoint, keepRef: KEEP });
    /** Starts it, and kills it when so many of the files that were made are gone or of those that were gone are back. */
    const killAt = async (moment: () => boolean): Promise<void> => {
      const child: ChildProcess = spawn(process.execPath, [bundle, input], {
        stdio: 'ignore',
        // What a killed one leaves goes with the folder.
        env: { ...process.env, TMPDIR: dirname(bundle) },
      });
      const ended = new Promise((settle) => child.once('exit', settle));
      let isOver = false;
      ended.then(() => {
        isOver = true;
      });
      while (!isOver && !moment()) await new Promise((settle) => setTimeout(settle, 1));
      child.kill('SIGKILL');
      await ended;
    };
    const made = (): number => (existsSync(join(repo, 'made')) ? readdirSync(join(repo, 'made')).length : 0);
    await killAt(() => made() < 150);
    expect(gitIn(repo, 'for-each-ref', '--format=%(refname)', 'refs/baton/s').trim().split('\n')).toContain(KEEP);
    await killAt(() => existsSync(join(repo, 'd0/f0.txt')));
    expect(picture(repo)).not.toEqual(before);
    const done = await back(repo, checkpoint);
    expect(picture(repo)).toEqual(before);
    expect(done.kept).toBe(KEEP);
    for (const i of [1, 2, 298, 299]) {
      expect(shown(repo, KEEP, `d${i % 7}/f${i}.txt`)).toBe(`now ${i}\n`);
      expect(shown(repo, KEEP, `made/m${i}.txt`)).toBe(`made ${i}\n`);
    }
  });

  test('keeps under another ref what is new since it was stopped', async () => {
    const repo = repository({ 'a.txt': 'a\n', 'b.txt': 'b\n' });
    const checkpoint = await take(repo);
    write(repo, { 'a.txt': 'agent\n' });
    expect((await back(repo, checkpoint)).kept).toBe(KEEP);
    write(repo, { 'b.txt': 'person\n' });
    expect((await back(repo, checkpoint)).kept).toBe(`${KEEP}-2`);
    expect(shown(repo, KEEP, 'a.txt')).toBe('agent\n');
    expect(shown(repo, `${KEEP}-2`, 'b.txt')).toBe('person\n');
  });

  test('does not replace or remove what is something else than was kept', async () => {
    const repo = repository({ 'a.txt': 'a\n' });
    const info = await gitInfo(repo);
    if (info === null) throw new Error('there is a repository');
    const scope = await scopeOf(info, repo, []);
    const was = { mode: '100644', id: gitIn(repo, 'rev-parse', 'HEAD:a.txt').trim() };
    const is = { mode: '100644', id: gitIn(repo, 'hash-object', '-w', '--stdin').trim() };
    write(repo, { 'a.txt': 'in this moment\n', 'made.txt': 'in this moment\n' });
    const blobs = await openBlobs(repo, {});
    try {
      await expect(putEntry(scope, { name: 'a.txt', was, is }, blobs)).rejects.toThrow('changed in this moment');
      await expect(putEntry(scope, { name: 'made.txt', was, is: null }, blobs)).rejects.toThrow(
        'changed in this moment',
      );
      await expect(removeMade(scope, { name: 'made.txt', was: null, is })).rejects.toThrow('changed in this moment');
      symlinkSync('..', join(repo, 'up'));
      write(join(repo, '..'), { 'x.txt': '' });
      await expect(removeMade(scope, { name: 'up/x.txt', was: null, is })).rejects.toThrow(
        'nothing beyond it is touched',
      );
    } finally {
      await blobs.close();
    }
    expect(picture(repo)).toMatchObject({ '/a.txt': '644 in this moment\n', '/made.txt': '644 in this moment\n' });
    expect(existsSync(join(repo, '../x.txt'))).toBe(true);
  });
});
