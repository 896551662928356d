/** A worktree is opened, filled by an agent, and closed: what becomes of the work, and that the user's tree is safe. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { closeWorktree, openWorktree, slugOf, type Worktree } from '../../src/workspace/worktree.ts';
import { gitIn, plantHooks, repository, tempFolder, userState, write } from './helpers.ts';

const open = (repo: string, taskId = 'task-1'): Promise<Worktree> =>
  openWorktree({ repo, taskId, folder: join(repo, '.baton/worktrees') });

function project(): string {
  const repo = repository({
    'a.txt': 'one\n',
    'b.txt': 'two\n',
    'sub/c.txt': 'three\n',
    '.gitignore': '.baton/\nbuild/\n.env\n',
  });
  mkdirSync(join(repo, '.baton'));
  return repo;
}

const branches = (repo: string): string => gitIn(repo, 'branch', '--format=%(refname:short)');
const read = (...path: string[]): string => readFileSync(join(...path), 'utf8');

test('what an agent did, committed or not, is merged and nothing is left', async () => {
  const repo = project();
  const hooks = plantHooks(repo);
  const before = userState(repo);
  const worktree = await open(repo);
  expect(worktree).toMatchObject({ branch: 'baton/task-1', repo, reused: false, workspace: worktree.path });
  const ours = gitIn(repo, 'for-each-ref', 'refs/heads/baton');
  expect(userState(repo).replace(ours, '')).toBe(before);
  write(worktree.path, { 'a.txt': 'changed\n', 'new \'\n"name': 'n\n', 'bin.dat': Uint8Array.from([0, 255, 10, 0]) });
  gitIn(worktree.path, 'add', 'a.txt');
  gitIn(worktree.path, 'commit', '-q', '-m', "the agent's own");
  rmSync(join(worktree.path, 'b.txt'));
  expect(read(repo, 'a.txt')).toBe('one\n');

  const closed = await closeWorktree(worktree, { merge: true });
  expect(closed).toEqual({ merged: true, kept: false, unmerged: false, reason: 'merged into main' });
  expect(read(repo, 'a.txt')).toBe('changed\n');
  expect(read(repo, 'new \'\n"name')).toBe('n\n');
  expect([...readFileSync(join(repo, 'bin.dat'))]).toEqual([0, 255, 10, 0]);
  expect(existsSync(join(repo, 'b.txt'))).toBe(false);
  expect(gitIn(repo, 'status', '--porcelain')).toBe('');
  expect(gitIn(repo, 'log', '--format=%an %s')).toBe("Baton Baton: task task-1\nUser the agent's own\nUser first\n");
  expect(existsSync(worktree.path)).toBe(false);
  expect(branches(repo)).toBe('main\n');
  expect(gitIn(repo, 'worktree', 'list').trim().split('\n')).toHaveLength(1);
  expect(existsSync(hooks)).toBe(false);
});

test('a branch that went on meanwhile gets a merge; untracked files of the user stay', async () => {
  const repo = project();
  const worktree = await open(repo);
  write(worktree.path, { 'a.txt': 'agent\n' });
  write(repo, { 'b.txt': 'user\n' });
  gitIn(repo, 'commit', '-q', '-am', 'meanwhile');
  write(repo, { 'notes.txt': 'mine', 'build/x': 'mine' });
  expect(await closeWorktree(worktree, { merge: true })).toMatchObject({ merged: true, kept: false });
  expect([read(repo, 'a.txt'), read(repo, 'b.txt'), read(repo, 'notes.txt')]).toEqual(['agent\n', 'user\n', 'mine']);
  expect(gitIn(repo, 'log', '-1', '--format=%s %p').split(' ').length).toBeGreaterThan(5);
  expect(gitIn(repo, 'status', '--porcelain')).toBe('?? notes.txt\n');
});

test('a conflict leaves the tree of the user as it was, and the work where it is', async () => {
  const repo = project();
  const worktree = await open(repo);
  write(worktree.path, { 'a.txt': 'agent\n' });
  write(repo, { 'a.txt': 'user\n' });
  gitIn(repo, 'commit', '-q', '-am', 'meanwhile');
  const head = gitIn(repo, 'rev-parse', 'HEAD');
  const closed = await closeWorktree(worktree, { merge: true });
  expect(closed).toMatchObject({ merged: false, kept: true });
  expect(closed.reason).toBe(
    `it conflicts with main in a.txt; the work is on the branch baton/task-1 in ${worktree.path}`,
  );
  expect(read(repo, 'a.txt')).toBe('user\n');
  expect(gitIn(repo, 'rev-parse', 'HEAD')).toBe(head);
  expect(gitIn(repo, 'status', '--porcelain')).toBe('');
  expect(gitIn(repo, 'show', 'baton/task-1:a.txt')).toBe('agent\n');
  expect(existsSync(worktree.path)).toBe(true);
});

test('an unclean tree, a file in the way, a merge under way, a detached head: kept, each with its reason', async () => {
  const repo = project();
  const worktree = await open(repo);
  write(worktree.path, { 'a.txt': 'agent\n', 'fresh.txt': 'agent\n', '.env': 'agent\n' });
  gitIn(worktree.path, 'add', '-f', '.env');
  const reason = async (): Promise<string> => {
    const closed = await closeWorktree(worktree, { merge: true });
    expect(closed).toMatchObject({ merged: false, kept: true });
    return closed.reason;
  };
  write(repo, { 'b.txt': 'not committed\n' });
  expect(await reason()).toContain('uncommitted changes');
  gitIn(repo, 'checkout', '-q', 'b.txt');

  write(repo, { 'fresh.txt': 'of the user\n' });
  expect(await reason()).toContain('git does not merge it into main');
  expect(read(repo, 'fresh.txt')).toBe('of the user\n');
  rmSync(join(repo, 'fresh.txt'));

  write(repo, { '.env': 'ignored, of the user\n' });
  expect(await reason()).toContain('git does not merge it into main');
  expect(read(repo, '.env')).toBe('ignored, of the user\n');
  rmSync(join(repo, '.env'));

  writeFileSync(join(repo, '.git/MERGE_HEAD'), gitIn(repo, 'rev-parse', 'HEAD'));
  expect(await reason()).toContain('a merge is under way');
  await expect(open(repo, 'another')).rejects.toMatchObject({ code: 'E_PERMISSION_DENIED' });
  rmSync(join(repo, '.git/MERGE_HEAD'));

  gitIn(repo, 'checkout', '-q', '--detach');
  expect(await reason()).toContain('no branch is checked out');
  gitIn(repo, 'checkout', '-q', 'main');
  expect(read(repo, 'a.txt')).toBe('one\n');
  expect(await closeWorktree(worktree, { merge: false })).toMatchObject({ merged: false, kept: true });
  expect(await closeWorktree(worktree, { merge: true })).toMatchObject({ merged: true, kept: false });
  expect(read(repo, 'a.txt')).toBe('agent\n');
});

test('what is in no commit keeps a worktree alive', async () => {
  const repo = project();
  const worktree = await open(repo);
  write(worktree.path, { 'a.txt': 'agent\n', 'build/out.bin': 'built' });
  const closed = await closeWorktree(worktree, { merge: true });
  expect(closed).toMatchObject({ merged: true, kept: true });
  expect(closed.reason).toContain('in no commit: build/');
  expect(read(worktree.path, 'build/out.bin')).toBe('built');
  expect(await closeWorktree(worktree, { merge: true, dropIgnored: true })).toMatchObject({
    merged: false,
    kept: false,
  });
  expect(existsSync(worktree.path)).toBe(false);

  const nested = await open(repo, 'nested');
  write(nested.path, { 'inner/x.txt': 'x' });
  gitIn(join(nested.path, 'inner'), 'init', '-q');
  gitIn(join(nested.path, 'inner'), 'add', '-A');
  gitIn(join(nested.path, 'inner'), 'commit', '-q', '-m', 'inner');
  expect((await closeWorktree(nested, { merge: true })).reason).toContain('a repository inside the worktree');
  expect(read(nested.path, 'inner/x.txt')).toBe('x');

  const strayed = await open(repo, 'strayed');
  gitIn(strayed.path, 'checkout', '-q', '--detach');
  expect((await closeWorktree(strayed, { merge: true })).reason).toContain('not on its branch');
  expect(existsSync(strayed.path)).toBe(true);
});

test('nothing done, nothing kept; and the same task finds its worktree again', async () => {
  const repo = project();
  const first = await open(repo);
  write(first.path, { 'a.txt': 'half done\n' });
  const again = await openWorktree({
    repo: join(repo, 'sub'),
    taskId: 'task-1',
    folder: join(repo, '.baton/worktrees'),
  });
  expect(again).toMatchObject({ path: first.path, branch: first.branch, reused: true, base: first.base });
  expect(again.workspace).toBe(join(first.path, 'sub'));
  expect(read(again.path, 'a.txt')).toBe('half done\n');
  // Its folder is lost, its branch is not.
  expect(await closeWorktree(again, { merge: false })).toMatchObject({ kept: true });
  rmSync(again.path, { recursive: true });
  expect((await closeWorktree(again, { merge: true })).reason).toContain('the folder of the worktree is gone');
  const third = await open(repo);
  expect(third.reused).toBe(true);
  expect(read(third.path, 'a.txt')).toBe('half done\n');

  const idle = await open(repo, 'idle');
  expect(await closeWorktree(idle, { merge: true })).toEqual({
    merged: false,
    kept: false,
    unmerged: false,
    reason: 'there was nothing to merge',
  });
  expect(existsSync(idle.path)).toBe(false);
});

test('a .git file that the agent wrote has no say', async () => {
  const repo = project();
  const worktree = await open(repo);
  const evil = repository({ x: 'x' });
  const ran = join(tempFolder(), 'ran');
  gitIn(evil, 'config', 'filter.evil.clean', `sh -c 'touch ${ran}; cat'`);
  write(worktree.path, { '.gitattributes': '* filter=evil\n', 'a.txt': 'agent\n', '.git': `gitdir: ${evil}/.git\n` });
  const closed = await closeWorktree(worktree, { merge: true });
  expect(existsSync(ran)).toBe(false);
  expect(closed.merged).toBe(true);
  expect(gitIn(evil, 'log', '--format=%s')).toBe('first\n');
  expect(read(repo, 'a.txt')).toBe('agent\n');
});

test('no repository, no commit, a branch that is checked out elsewhere: refused', async () => {
  await expect(open(tempFolder())).rejects.toMatchObject({ code: 'E_FILE_NOT_FOUND' });
  const fresh = tempFolder();
  gitIn(fresh, 'init', '-q');
  await expect(open(fresh)).rejects.toMatchObject({ code: 'E_FILE_NOT_FOUND' });
  const repo = project();
  gitIn(repo, 'checkout', '-q', '-b', 'baton/task-1');
  await expect(open(repo)).rejects.toMatchObject({ code: 'E_DUPLICATE' });
});

test('every id of a task is a branch that git takes', () => {
  expect(slugOf('TASK-001')).toBe('TASK-001');
  const odd = ['a b', '../x', '-rf', 'x.lock', '.hidden', 'a..b', 'ä/ö', '@{', '', 'x.'].map(slugOf);
  expect(new Set(odd).size).toBe(odd.length);
  for (const slug of odd) execFileSync('git', ['check-ref-format', '--branch', `baton/${slug}`], { stdio: 'ignore' });
});

/** Programs that a repository's settings name, each of which says that it ran. */
function plantPrograms(repo: string): string {
  const told = join(tempFolder(), 'program-ran');
  const run = `sh -c 'echo $0 >> ${told}; cat'`;
  for (const name of ['evil', 'a=b']) {
    for (const how of ['clean', 'smudge']) gitIn(repo, 'config', `filter.${name}.${how}`, `${run} ${how}`);
    gitIn(repo, 'config', `filter.${name}.required`, 'true');
  }
  gitIn(repo, 'config', 'filter.process.process', `${run} process`);
  gitIn(repo, 'config', 'merge.evil.driver', `${run} driver`);
  gitIn(repo, 'config', 'core.fsmonitor', `${run} fsmonitor`);
  write(repo, { '.git/info/attributes': '*.txt filter=evil merge=evil\n*.md filter=a=b\n*.py filter=process\n' });
  return told;
}

test('no program that the repository names is started', async () => {
  const repo = repository({ 'a.txt': 'one\n', 'b.md': 'b\n', 'c.py': 'c\n', '.gitignore': '.baton/\n' });
  const told = plantPrograms(repo);
  const worktree = await open(repo);
  write(worktree.path, { 'a.txt': 'two\n', 'b.md': 'bb\n', 'c.py': 'cc\n', 'new.txt': 'n\n' });
  expect(await closeWorktree(worktree, { merge: true })).toMatchObject({ merged: true, kept: false });
  expect(read(repo, 'a.txt')).toBe('two\n');
  // Both sides: a merge that only the driver could make is no merge.
  const second = await open(repo, 'task-2');
  write(second.path, { 'a.txt': 'agent\n' });
  write(repo, { 'a.txt': 'user\n' });
  gitIn(
    repo,
    '-c',
    'filter.evil.clean=',
    '-c',
    'filter.evil.required=false',
    '-c',
    'core.fsmonitor=',
    'commit',
    '-qam',
    'x',
  );
  rmSync(told, { force: true });
  expect(await closeWorktree(second, { merge: true })).toMatchObject({ merged: false, kept: true });
  expect(read(repo, 'a.txt')).toBe('user\n');
  expect(existsSync(told)).toBe(false);
});

test('what the user has set for all repositories holds, whatever this one says of it', async () => {
  const home = tempFolder();
  const told = join(home, 'program-ran');
  write(home, { '.gitconfig': '[filter "up"]\n\tclean = tr a-z A-Z\n\tsmudge = cat\n' });
  const repo = repository({ 'a.txt': 'one\n', '.gitignore': '.baton/\n', '.gitattributes': 'b.txt filter=up\n' });
  gitIn(repo, 'config', 'filter.up.clean', `sh -c 'echo ran >> ${told}; cat'`);
  vi.stubEnv('HOME', home);
  try {
    const worktree = await open(repo);
    write(worktree.path, { 'b.txt': 'loud\n' });
    expect(await closeWorktree(worktree, { merge: true })).toMatchObject({ merged: true });
  } finally {
    vi.unstubAllEnvs();
  }
  expect(gitIn(repo, 'show', 'HEAD:b.txt')).toBe('LOUD\n');
  expect(existsSync(told)).toBe(false);
});

test('nor one that a submodule names', async () => {
  const inner = repository({ 'x.txt': 'x\n' });
  const repo = project();
  gitIn(repo, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, 'inner');
  gitIn(repo, 'commit', '-qm', 'with a submodule');
  const worktree = await open(repo);
  write(worktree.path, { 'a.txt': 'two\n' });
  const told = join(tempFolder(), 'program-ran');
  const spoil = (at: string): void => {
    gitIn(at, 'config', 'filter.evil.clean', `sh -c 'echo ran >> ${told}; cat'`);
    write(at, { '.gitattributes': '* filter=evil\n', 'x.txt': 'y\n' });
  };
  spoil(join(repo, 'inner'));
  expect(await closeWorktree(worktree, { merge: true })).toMatchObject({ merged: true });
  expect(existsSync(told)).toBe(false);
  // The agent fills it, with a repository of its own.
  const second = await open(repo, 'task-2');
  gitIn(second.path, 'clone', '-q', inner, 'inner');
  spoil(join(second.path, 'inner'));
  expect(await closeWorktree(second, { merge: true })).toMatchObject({ merged: false, kept: true });
  expect(existsSync(told)).toBe(false);
});
