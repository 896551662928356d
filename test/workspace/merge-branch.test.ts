/** Work is merged into the branch that it is for and no other; what a person has in the way stays, and whoever dies on the way breaks nothing. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Merged, mergeBranch } from '../../src/workspace/merge-branch.ts';
import { heldRef } from '../../src/workspace/run-refs.ts';
import { gitIn, plantHooks, repository, tempFolder, write } from './helpers.ts';

const FILES = {
  'a.txt': 'one\ntwo\nthree\nfour\nfive\n',
  'b.txt': 'two\n',
  count: '0\n',
  '.gitignore': '.env\n',
};

let number = 0;
/** A commit on top of a ref, of files that are written and removed; nothing is checked out. */
function commit(repo: string, from: string, files: Record<string, string | null>): string {
  const folder = join(tempFolder(), 'w');
  gitIn(repo, 'worktree', 'add', '-q', '--detach', folder, from);
  for (const [name, text] of Object.entries(files)) {
    if (text === null) rmSync(join(folder, name));
    else write(folder, { [name]: text });
  }
  gitIn(folder, 'add', '-A', '-f');
  // Two equal commits of one second would be one.
  gitIn(folder, 'commit', '-q', '-m', `work ${++number}`);
  const id = gitIn(folder, 'rev-parse', 'HEAD').trim();
  gitIn(repo, 'worktree', 'remove', '--force', folder);
  return id;
}

const merge = (root: string, work: string, more: Partial<Parameters<typeof mergeBranch>[0]> = {}): Promise<Merged> =>
  mergeBranch({ root, branch: 'main', work, message: 'Merge: work', isApproved: false, ...more });

const read = (repo: string, name: string): string => readFileSync(join(repo, name), 'utf8');
const tip = (repo: string, branch = 'main'): string => gitIn(repo, 'rev-parse', branch).trim();

test('a branch that stood still is moved to the work, with its checkout; no hook runs', async () => {
  const repo = repository(FILES);
  const hooks = plantHooks(repo);
  const work = commit(repo, 'main', { 'a.txt': 'changed\n', 'sub/new.txt': 'n\n', 'b.txt': null });
  const from = tip(repo);
  expect(await merge(repo, work)).toEqual({ kind: 'merged', commit: work, from });
  expect([tip(repo), read(repo, 'a.txt'), read(repo, 'sub/new.txt'), existsSync(join(repo, 'b.txt'))]).toEqual([
    work,
    'changed\n',
    'n\n',
    false,
  ]);
  expect(gitIn(repo, 'status', '--porcelain')).toBe('');
  expect(await merge(repo, work)).toEqual({ kind: 'nothing' });
  expect(existsSync(hooks)).toBe(false);
});

test('a branch that went on gets a merge commit, after the check of the merged result', async () => {
  const repo = repository(FILES);
  const work = commit(repo, 'main', { 'b.txt': 'work\n' });
  write(repo, { 'a.txt': 'user\n' });
  gitIn(repo, 'commit', '-q', '-am', 'meanwhile');
  const seen: string[] = [];
  const check = async (id: string): Promise<string | null> => {
    seen.push(gitIn(repo, 'show', `${id}:a.txt`) + gitIn(repo, 'show', `${id}:b.txt`));
    return seen.length === 1 ? 'the tests fail' : null;
  };
  const before = tip(repo);
  expect(await merge(repo, work, { check })).toEqual({ kind: 'failed', because: 'the tests fail' });
  expect(tip(repo)).toBe(before);
  expect(await merge(repo, work, { check })).toMatchObject({ kind: 'merged' });
  expect(seen).toEqual(['user\nwork\n', 'user\nwork\n']);
  expect(gitIn(repo, 'log', '-1', '--format=%s %P').trim()).toBe(`Merge: work ${before} ${work}`);
  expect([read(repo, 'a.txt'), read(repo, 'b.txt'), gitIn(repo, 'status', '--porcelain')]).toEqual([
    'user\n',
    'work\n',
    '',
  ]);
});

test('a branch that is not checked out is moved, and the one that is checked out is not', async () => {
  const repo = repository(FILES);
  const work = commit(repo, 'main', { 'a.txt': 'work\n' });
  gitIn(repo, 'checkout', '-q', '-b', 'feature');
  write(repo, { 'a.txt': 'not committed\n' });
  expect(await merge(repo, work)).toMatchObject({ kind: 'merged' });
  expect([tip(repo), tip(repo, 'feature') === work, read(repo, 'a.txt')]).toEqual([work, false, 'not committed\n']);
});

test('a branch that is checked out in another worktree of the user is merged there', async () => {
  const repo = repository(FILES);
  const other = join(tempFolder(), 'other');
  gitIn(repo, 'worktree', 'add', '-q', '-b', 'feature', other);
  const work = commit(repo, 'feature', { 'a.txt': 'work\n' });
  expect(await merge(repo, work, { branch: 'feature' })).toMatchObject({ kind: 'merged' });
  expect([read(other, 'a.txt'), read(repo, 'a.txt').startsWith('one'), gitIn(other, 'status', '--porcelain')]).toEqual([
    'work\n',
    true,
    '',
  ]);
});

test('a merge waits only for paths that it would change, and leaves them', async () => {
  const repo = repository(FILES);
  const work = commit(repo, 'main', { 'a.txt': 'work\n', 'new.txt': 'work\n', '.env': 'work\n' });
  const before = tip(repo);
  const waits = async (path: string): Promise<void> => {
    const merged = await merge(repo, work);
    expect(merged).toMatchObject({ kind: 'waits', paths: [path] });
    expect(merged).toMatchObject({ because: expect.stringContaining(`${path} changed in ${repo}`) });
    expect(tip(repo)).toBe(before);
  };
  write(repo, { 'a.txt': 'mine\n' });
  await waits('a.txt');
  gitIn(repo, 'add', 'a.txt');
  await waits('a.txt');
  expect(read(repo, 'a.txt')).toBe('mine\n');
  gitIn(repo, 'reset', '-q', '--hard');
  write(repo, { 'new.txt': 'mine\n' });
  await waits('new.txt');
  rmSync(join(repo, 'new.txt'));
  write(repo, { '.env': 'ignored, mine\n' });
  await waits('.env');
  expect(read(repo, '.env')).toBe('ignored, mine\n');
  rmSync(join(repo, '.env'));
  mkdirSync(join(repo, 'new.txt'));
  write(repo, { 'new.txt/x': 'x' });
  await waits('new.txt');
  rmSync(join(repo, 'new.txt'), { recursive: true });
  writeFileSync(join(repo, '.git/MERGE_HEAD'), before);
  expect(await merge(repo, work)).toMatchObject({ kind: 'waits', because: `a merge is under way in ${repo}` });
  rmSync(join(repo, '.git/MERGE_HEAD'));
  // All else that is not committed is in nobody's way.
  write(repo, { 'b.txt': 'modified\n', count: 'staged\n', notes: 'untracked\n' });
  gitIn(repo, 'add', 'count');
  expect(await merge(repo, work)).toMatchObject({ kind: 'merged' });
  expect(gitIn(repo, 'status', '--porcelain')).toBe(' M b.txt\nM  count\n?? notes\n');
  expect([read(repo, 'a.txt'), read(repo, 'b.txt'), read(repo, 'count')]).toEqual(['work\n', 'modified\n', 'staged\n']);
});

test('a conflict moves nothing, and so does the same change made twice', async () => {
  const repo = repository(FILES);
  const before = tip(repo);
  const of = async (mine: Record<string, string | null>, theirs: Record<string, string | null>): Promise<Merged> => {
    gitIn(repo, 'reset', '-q', '--hard', commit(repo, before, mine));
    const at = tip(repo);
    const merged = await merge(repo, commit(repo, before, theirs));
    if (merged.kind === 'conflict') expect(tip(repo)).toBe(at);
    return merged;
  };
  expect(await of({ 'a.txt': 'x\n' }, { 'a.txt': 'y\n' })).toMatchObject({ kind: 'conflict', paths: ['a.txt'] });
  expect(await of({ count: '1\n' }, { count: '1\n' })).toMatchObject({
    kind: 'conflict',
    because: 'it and main changed the same lines in the same way in count',
  });
  const [first, last] = ['ONE\ntwo\nthree\nfour\nfive\n', 'ONE\ntwo\nthree\nfour\nFIVE\n'];
  expect(await of({ 'a.txt': first }, { 'a.txt': last })).toMatchObject({ kind: 'conflict', paths: ['a.txt'] });
  expect(await of({ 'b.txt': null }, { 'b.txt': null, count: 'x\n' })).toMatchObject({ kind: 'conflict' });
  expect(await of({ 'n.txt': 'n\n' }, { 'n.txt': 'n\n', count: 'x\n' })).toMatchObject({ kind: 'conflict' });
  // Other lines of the same file, and empty files, are no conflict.
  expect(await of({ 'a.txt': first }, { 'a.txt': 'one\ntwo\nthree\nfour\nFIVE\n' })).toMatchObject({ kind: 'merged' });
  expect(read(repo, 'a.txt')).toBe(last);
  expect(await of({ empty: '' }, { empty: '', count: 'x\n' })).toMatchObject({ kind: 'merged' });
});

test('a branch that is gone, and a changed submodule, are for a person', async () => {
  const repo = repository(FILES);
  const head = tip(repo);
  const folder = join(tempFolder(), 'w');
  gitIn(repo, 'worktree', 'add', '-q', '--detach', folder);
  gitIn(folder, 'update-index', '--add', '--cacheinfo', '160000', head, 'module');
  gitIn(folder, 'commit', '-q', '-m', 'module');
  const work = tip(folder, 'HEAD');
  expect(await merge(repo, work, { branch: 'no-such' })).toEqual({
    kind: 'person',
    because: 'the branch no-such is gone',
  });
  expect(await merge(repo, work)).toMatchObject({ kind: 'person', because: expect.stringContaining('module') });
  expect(tip(repo)).toBe(head);
  expect(await merge(repo, work, { isApproved: true })).toMatchObject({ kind: 'merged' });
});

test('what a merge wrote before it was cut off is not in the way of the next', async () => {
  const repo = repository(FILES);
  const work = commit(repo, 'main', { 'a.txt': 'work\n', 'b.txt': 'work\n', 'new.txt': 'work\n', count: null });
  write(repo, { 'a.txt': 'work\n', 'new.txt': 'work\n' });
  rmSync(join(repo, 'count'));
  // The lock of a Baton that is no more.
  writeFileSync(join(repo, '.git/index.lock'), 'baton 999999999 gone\n');
  expect(await merge(repo, work)).toMatchObject({ kind: 'merged' });
  expect(gitIn(repo, 'status', '--porcelain')).toBe('');
  expect(read(repo, 'b.txt')).toBe('work\n');
});

test('the lock of another git is respected', async () => {
  const repo = repository(FILES);
  const work = commit(repo, 'main', { 'a.txt': 'work\n' });
  writeFileSync(join(repo, '.git/index.lock'), '');
  const before = tip(repo);
  expect(await merge(repo, work)).toMatchObject({ kind: 'waits', because: expect.stringContaining('index.lock') });
  expect([tip(repo), existsSync(join(repo, '.git/index.lock'))]).toEqual([before, true]);
});

test('many at once into one branch: all of them are in it', async () => {
  const repo = repository(FILES);
  const works = Array.from({ length: 8 }, (_, i) => commit(repo, 'main', { [`f${i}`]: `${i}\n` }));
  const merged = await Promise.all(works.map((work) => merge(repo, work)));
  const kinds = new Set(merged.map(({ kind }) => kind));
  for (const [i, { kind }] of merged.entries())
    if (kind === 'waits') expect((await merge(repo, works[i] as string)).kind).toBe('merged');
  expect([...kinds].every((kind) => kind === 'merged' || kind === 'nothing' || kind === 'waits')).toBe(true);
  expect(works.map((_, i) => read(repo, `f${i}`))).toEqual(works.map((_, i) => `${i}\n`));
  expect(gitIn(repo, 'status', '--porcelain')).toBe('');
});

test('what a rollback left holds all merges of its branch until it is committed or discarded', async () => {
  const repo = repository(FILES);
  const work = commit(repo, 'main', { 'a.txt': 'work\n' });
  gitIn(repo, 'update-ref', heldRef('main'), 'main');
  write(repo, { 'b.txt': 'rolled back\n' });
  expect(await merge(repo, work)).toMatchObject({ kind: 'waits', because: expect.stringContaining('a rollback left') });
  gitIn(repo, 'checkout', '-q', 'b.txt');
  expect(await merge(repo, work)).toMatchObject({ kind: 'merged' });
  expect(gitIn(repo, 'for-each-ref', 'refs/baton')).toBe('');
});
