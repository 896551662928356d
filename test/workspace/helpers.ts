/** Folders and repositories for the tests of the workspace. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach } from 'vitest';

const made: string[] = [];

afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

export function tempFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'baton-workspace-')));
  made.push(folder);
  return folder;
}

/** Writes files below a folder, with the folders above them. */
export function write(folder: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

/** Git as a user has it, without what this machine's settings say, and without hooks: those are there to catch Baton. */
export const gitIn = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'core.hooksPath=/dev/null', ...args], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: 'User',
      GIT_AUTHOR_EMAIL: 'user@localhost',
      GIT_COMMITTER_NAME: 'User',
      GIT_COMMITTER_EMAIL: 'user@localhost',
    },
  });

/** A repository with one commit of these files on `main`. */
export function repository(files: Readonly<Record<string, string | Uint8Array>> = { 'a.txt': 'one\n' }): string {
  const folder = join(tempFolder(), 'repo');
  mkdirSync(folder);
  gitIn(folder, 'init', '-q', '-b', 'main');
  write(folder, files);
  gitIn(folder, 'add', '-A', '-f');
  gitIn(folder, 'commit', '-q', '--allow-empty', '-m', 'first');
  return folder;
}

/** All that a repository of the user's shows to the user: none of it is ours to change. */
export const userState = (repo: string): string =>
  [
    gitIn(repo, 'status', '--porcelain=v2', '--branch'),
    gitIn(repo, 'stash', 'list'),
    gitIn(repo, 'ls-files', '-s'),
    gitIn(repo, 'for-each-ref', 'refs/heads'),
    gitIn(repo, 'diff', '--cached', '--raw'),
  ].join('\n--\n');

/** A hook of every kind that says that it ran. */
export function plantHooks(repo: string): string {
  const told = join(dirname(repo), 'hook-ran');
  const hooks = ['pre-commit', 'commit-msg', 'post-commit', 'post-checkout', 'post-merge', 'pre-merge-commit'].concat([
    'reference-transaction',
    'post-index-change',
    'prepare-commit-msg',
  ]);
  for (const hook of hooks) {
    write(repo, { [`.git/hooks/${hook}`]: `#!/bin/sh\necho ${hook} >> '${told}'\nexit 1\n` });
    execFileSync('chmod', ['+x', join(repo, '.git/hooks', hook)]);
  }
  return told;
}
