/** A run's folder with a git directory of its own: what the agent does there, what Baton takes of it, and what it never obeys. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type GitInfo, gitInfo } from '../../src/workspace/git.ts';
import { makePrivate, ownGitDir, type PrivateWorktree, removePrivate } from '../../src/workspace/private-worktree.ts';
import { runRef } from '../../src/workspace/run-refs.ts';
import { takeWork } from '../../src/workspace/take-work.ts';
import { gitIn, repository, tempFolder, userState, write } from './helpers.ts';

const RUN = 'TASK-1-r1';

function project(): string {
  const repo = repository({
    'a.txt': 'one\n',
    'b.txt': 'two\n',
    'sub/c.txt': 'three\n',
    '.gitignore': '.baton/\nbuild/\n.env\n',
  });
  gitIn(repo, 'config', 'user.name', 'Grace');
  gitIn(repo, 'config', 'user.email', 'grace@example.org');
  return repo;
}

async function open(repo: string, more: Partial<PrivateWorktree> = {}): Promise<PrivateWorktree> {
  const info = (await gitInfo(repo)) as GitInfo;
  const start = info.head as string;
  const path = join(tempFolder(), 'worktrees', 'TASK-1');
  return makePrivate({ run: RUN, repo: info, path, branch: 'baton/TASK-1', base: start, start, ...more });
}

const take = (worktree: PrivateWorktree, outputs: string[] = []) =>
  takeWork(worktree, { message: 'Mend it\n\nBaton-Task: TASK-1\n', outputs });

const show = (repo: string, path: string): string => gitIn(repo, 'show', `${runRef(RUN)}:${path}`);

/** Git as an agent has it there, with the settings of that folder. */
const agentGit = (folder: string, ...args: string[]): string =>
  execFileSync('git', args, {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, GIT_CONFIG_NOSYSTEM: '1' },
  });

test('git works fully in the folder, and the repository of the user stays as it was', async () => {
  const repo = project();
  gitIn(repo, 'branch', 'other');
  gitIn(repo, 'tag', 'v1');
  const before = userState(repo);
  const worktree = await open(repo);
  const { path } = worktree;
  expect(agentGit(path, 'status', '--porcelain')).toBe('');
  expect(agentGit(path, 'log', '--format=%s', 'other', 'v1')).toBe('first\n');
  agentGit(path, 'checkout', '-q', '-b', 'topic');
  write(path, { 'a.txt': 'topic\n' });
  agentGit(path, 'commit', '-q', '-am', 'on topic');
  agentGit(path, 'checkout', '-q', 'baton/TASK-1');
  write(path, { 'b.txt': 'here\n' });
  agentGit(path, 'commit', '-q', '-am', 'here');
  agentGit(path, 'merge', '-q', '--no-edit', 'topic');
  agentGit(path, 'config', 'alias.x', 'status');
  expect(agentGit(path, 'log', '-1', '--format=%an <%ae>')).toBe('Grace <grace@example.org>\n');
  const taken = await take(worktree);
  expect(taken).toMatchObject({ changed: true, gitlinks: [] });
  expect([show(repo, 'a.txt'), show(repo, 'b.txt')]).toEqual(['topic\n', 'here\n']);
  expect(
    gitIn(repo, 'log', '--format=%s', `main..${runRef(RUN)}`)
      .trim()
      .split('\n')
      .sort(),
  ).toEqual(['Mend it', "Merge branch 'topic' into baton/TASK-1", 'here', 'on topic']);
  expect(userState(repo)).toBe(before);
});

test('what is uncommitted is committed, by the person that git names, with the message that is given', async () => {
  const repo = project();
  const worktree = await open(repo);
  const { path } = worktree;
  write(path, {
    'a.txt': 'changed\n',
    'new \'\n"name': 'n\n',
    'build/x': 'built',
    'bin.dat': Uint8Array.from([0, 255, 10]),
  });
  rmSync(join(path, 'b.txt'));
  symlinkSync('a.txt', join(path, 'link'));
  const { commit } = await take(worktree);
  expect(gitIn(repo, 'rev-parse', runRef(RUN)).trim()).toBe(commit);
  expect(gitIn(repo, 'log', '-1', '--format=%an <%ae>|%cn|%B', commit)).toBe(
    'Grace <grace@example.org>|Grace|Mend it\n\nBaton-Task: TASK-1\n\n',
  );
  expect(gitIn(repo, 'diff', '--name-status', '--no-renames', 'main', commit)).toBe(
    'M\ta.txt\nD\tb.txt\nA\tbin.dat\nA\tlink\nA\t"new \'\\n\\"name"\n',
  );
});

test('ignored files are no work, unless they are expected outputs or the agent added them', async () => {
  const repo = project();
  const worktree = await open(repo);
  write(worktree.path, { 'build/x': 'built', 'build/y': 'built too', '.env': 'secret' });
  agentGit(worktree.path, 'add', '-f', 'build/y');
  const { commit } = await take(worktree, ['.env', 'not-there']);
  expect(gitIn(repo, 'diff', '--name-status', 'main', commit)).toBe('A\t.env\nA\tbuild/y\n');
});

test('two runs that commit the same in the same second do not end at the same commit', async () => {
  const repo = project();
  const ids: string[] = [];
  for (const run of ['TASK-1-r1', 'TASK-2-r1']) {
    const worktree = await open(repo, { run });
    write(worktree.path, { 'a.txt': 'agent\n' });
    const date = ['-c', 'user.name=a', '-c', 'user.email=b', 'commit', '-q', '-am', 'same', '--date=@1000000000'];
    agentGit(worktree.path, ...date);
    ids.push((await takeWork(worktree, { message: `Mend it\n\nBaton-Task: ${run}\n` })).commit);
  }
  expect(new Set(ids).size).toBe(2);
});

test('nothing changed: the ref is there and is the start', async () => {
  const repo = project();
  const worktree = await open(repo);
  expect(await take(worktree)).toEqual({ commit: worktree.start, changed: false, gitlinks: [] });
  expect(gitIn(repo, 'rev-parse', runRef(RUN)).trim()).toBe(worktree.start);
});

test('an agent that is elsewhere in history at its end: its files are the work, on top of where it started', async () => {
  const repo = project();
  write(repo, { 'a.txt': 'second\n' });
  gitIn(repo, 'commit', '-q', '-am', 'second');
  const worktree = await open(repo);
  agentGit(worktree.path, 'reset', '-q', '--hard', 'HEAD~1');
  write(worktree.path, { 'b.txt': 'mine\n' });
  const { commit } = await take(worktree);
  expect(gitIn(repo, 'log', '-1', '--format=%P', commit).trim()).toBe(worktree.start);
  expect([show(repo, 'a.txt'), show(repo, 'b.txt')]).toEqual(['one\n', 'mine\n']);
});

test('settings, hooks and attributes of the agent start nothing when its work is taken', async () => {
  const repo = project();
  const worktree = await open(repo);
  const { path } = worktree;
  const planted = join(tempFolder(), 'planted');
  const program = join(path, 'evil.sh');
  writeFileSync(program, `#!/bin/sh\necho x >> ${planted}\ncat\n`, { mode: 0o755 });
  for (const name of ['pre-commit', 'reference-transaction', 'post-index-change', 'fsmonitor'])
    write(path, { [`.git/hooks/${name}`]: `#!/bin/sh\necho ${name} >> ${planted}\n` });
  execFileSync('chmod', ['-R', '+x', join(path, '.git/hooks')]);
  for (const [key, value] of [
    ['core.fsmonitor', program],
    ['core.worktree', '/'],
    ['core.alternateRefsCommand', program],
    ['filter.x.clean', program],
    ['filter.x.process', program],
    ['uploadpack.packObjectsHook', program],
    ['gpg.program', program],
    ['commit.gpgSign', 'true'],
  ] as const)
    agentGit(path, 'config', key, value);
  write(path, { '.gitattributes': '* filter=x diff=x merge=x\n', 'a.txt': 'agent\n' });
  await take(worktree);
  expect(existsSync(planted)).toBe(false);
  expect(show(repo, 'a.txt')).toBe('agent\n');
});

test('a git directory that was broken or replaced loses no work', async () => {
  const repo = project();
  const worktree = await open(repo);
  write(worktree.path, { 'a.txt': 'agent\n' });
  rmSync(join(worktree.path, '.git'), { recursive: true });
  symlinkSync('/', join(worktree.path, '.git'));
  await take(worktree);
  expect(show(repo, 'a.txt')).toBe('agent\n');
});

test('objects that git calls broken are not taken, and the repository of the user has no ref to them', async () => {
  const repo = project();
  const worktree = await open(repo);
  const { path } = worktree;
  write(path, { 'a.txt': 'agent\n' });
  const blob = agentGit(path, 'hash-object', '-w', 'a.txt').trim();
  // A tree with a folder by the name of .git.
  const inner = execFileSync('git', ['mktree'], {
    cwd: path,
    input: `100644 blob ${blob}\tconfig\n`,
    encoding: 'utf8',
  });
  const tree = execFileSync('git', ['hash-object', '-t', 'tree', '-w', '--literally', '--stdin'], {
    cwd: path,
    input: Buffer.concat([Buffer.from('40000 .git\0'), Buffer.from(inner.trim(), 'hex')]),
    encoding: 'utf8',
  }).trim();
  const commit = agentGit(path, 'commit-tree', '-p', 'HEAD', '-m', 'evil', tree).trim();
  agentGit(path, 'update-ref', 'HEAD', commit);
  await expect(take(worktree)).rejects.toMatchObject({ code: 'E_EVIDENCE' });
  expect(gitIn(repo, 'for-each-ref', 'refs/baton/runs')).toBe('');
});

test('a repository inside is named, and never asked', async () => {
  const repo = project();
  const worktree = await open(repo);
  mkdirSync(join(worktree.path, 'inner'));
  agentGit(join(worktree.path, 'inner'), 'init', '-q');
  write(worktree.path, { 'inner/x': 'x' });
  agentGit(join(worktree.path, 'inner'), 'add', '.');
  agentGit(join(worktree.path, 'inner'), '-c', 'user.name=a', '-c', 'user.email=b', 'commit', '-q', '-m', 'inner');
  expect((await take(worktree)).gitlinks).toEqual(['inner']);
});

test('a merge under way is not taken for a result', async () => {
  const repo = project();
  const worktree = await open(repo);
  write(worktree.path, { '.git/MERGE_HEAD': 'x' });
  await expect(take(worktree)).rejects.toThrow('a merge is under way');
});

test('what the user ignores for all repositories stays out', async () => {
  const repo = project();
  const list = join(tempFolder(), 'ignore');
  writeFileSync(list, '*.swp\n');
  gitIn(repo, 'config', 'core.excludesFile', list);
  const worktree = await open(repo);
  write(worktree.path, { 'a.txt.swp': 'x', 'd.txt': 'd' });
  const { commit } = await take(worktree);
  expect(gitIn(repo, 'diff', '--name-only', 'main', commit)).toBe('d.txt\n');
});

test('the folder goes as a whole, and the work stays', async () => {
  const repo = project();
  const worktree = await open(repo);
  write(worktree.path, { 'a.txt': 'agent\n' });
  await take(worktree);
  await removePrivate(worktree.path);
  expect([existsSync(worktree.path), existsSync(ownGitDir(worktree.path))]).toEqual([false, false]);
  expect(show(repo, 'a.txt')).toBe('agent\n');
  expect(readFileSync(join(repo, 'a.txt'), 'utf8')).toBe('one\n');
});
