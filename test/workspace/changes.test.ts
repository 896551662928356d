/** What a run changed, as a git diff: of the repository itself, and of nothing that would have to be asked. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { watchChanges } from '../../src/workspace/changes.ts';
import { gitInfo } from '../../src/workspace/git.ts';
import { gitIn, repository, tempFolder, write } from './helpers.ts';

/** What is written of the changes that `work` makes. */
async function diffOf(repo: string, work: () => void): Promise<string> {
  const folder = tempFolder();
  const changes = await watchChanges({
    workspace: repo,
    git: await gitInfo(repo),
    dataDir: join(repo, '.baton'),
    within: [repo],
    outputs: [],
    scratch: join(folder, 'before'),
  });
  try {
    work();
    await changes.write(join(folder, 'changes.diff'));
  } finally {
    await changes.close();
  }
  return readFileSync(join(folder, 'changes.diff'), 'utf8');
}

test('a repository inside is not asked, whatever its settings say is to be started', async () => {
  const repo = repository();
  const ran = join(tempFolder(), 'ran');
  write(repo, { 'sub/a.txt': 'one\n', 'sub/.gitattributes': '* filter=evil\n' });
  const sub = join(repo, 'sub');
  gitIn(sub, 'init', '-q');
  gitIn(sub, 'add', '-A');
  gitIn(sub, 'commit', '-q', '-m', 'sub');
  gitIn(repo, 'add', 'sub');
  gitIn(repo, 'commit', '-q', '-m', 'with sub');
  gitIn(sub, 'config', 'filter.evil.clean', `sh -c 'echo ran >> "${ran}"; cat'`);
  const was = gitIn(sub, 'rev-parse', 'HEAD').trim();
  write(sub, { 'a.txt': 'two\n' });

  const diff = await diffOf(repo, () => {
    write(repo, { 'a.txt': 'changed\n', 'sub/a.txt': 'six\n' });
    gitIn(sub, '-c', 'filter.evil.clean=', 'commit', '-q', '--allow-empty', '-m', 'next');
  });
  expect(existsSync(ran)).toBe(false);
  expect(diff).toContain('+changed');
  expect(diff).toContain(`-Subproject commit ${was}`);
  expect(diff).toContain(`+Subproject commit ${gitIn(sub, 'rev-parse', 'HEAD').trim()}`);
});

test('a repository without a commit keeps nobody from seeing the rest', async () => {
  const repo = repository();
  const diff = await diffOf(repo, () => {
    write(repo, { 'a.txt': 'changed\n', 'new/b.txt': 'b\n', '.baton/x': 'x\n' });
    gitIn(join(repo, 'new'), 'init', '-q');
  });
  expect(diff).toContain('+changed');
  expect(diff).not.toContain('.baton');
});
