/** What is refused before a run, and what is found out for one. */
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { effectiveAccess } from '../../src/protocol/aop2/policy.ts';
import type { TaskMessage } from '../../src/protocol/aop2/schema.ts';
import { gitInfo } from '../../src/workspace/git.ts';
import { preflight, type Ready } from '../../src/workspace/preflight.ts';
import { openWorktree } from '../../src/workspace/worktree.ts';
import { gitIn, plantHooks, repository, tempFolder, write } from './helpers.ts';

type Task = Partial<TaskMessage['task']>;

function message(workspace: string, task: Task = {}, capabilities = {}): TaskMessage {
  return {
    aop_version: '2.0.2-C',
    schema_version: '2.0.2',
    protocol_family: 'AOP',
    message_type: 'TASK',
    session: { session_id: 's', created_at: '2026-02-26T14:00:00Z', orchestrator: 'o', origin: 'CLI' },
    target: { agent_name: 'a', role: 'EXECUTOR', provider: 'OTHER', model: 'm', capabilities },
    task: {
      task_id: 'T-1',
      objective: 'o',
      category: 'OTHER',
      complexity: 'LOW',
      ...task,
      environment: { workspace_root: workspace, ...task.environment },
    },
  };
}

const fly = (workspace: string, task: Task = {}, capabilities = {}, hasTerminal = false): Promise<Ready> => {
  const whole = message(workspace, task, capabilities);
  const access = effectiveAccess(whole);
  return preflight({ message: whole, workspace, access, hasTerminal, dataDir: join(workspace, '.baton') });
};

const environment = (more: object): Task => ({ environment: more as TaskMessage['task']['environment'] });

test('a workspace that is fine is told with its real paths', async () => {
  const repo = repository({ 'src/a.txt': 'hello', 'b.txt': 'b' });
  const alias = join(tempFolder(), 'alias');
  symlinkSync(repo, alias);
  const ready = await fly(alias, {
    environment: { workspace_root: alias, os: process.platform, shell: 'sh', git_branch: 'main' },
    inputs: [{ path: 'src/a.txt' }, { path: join(alias, 'b.txt'), read_only: false }],
    access: { filesystem: { read_paths: [alias], write_paths: ['src', join(alias, 'out')] } },
    expected_outputs: [{ path: 'out/x', rollback_snapshot: { snapshot_path: join(alias, 'out/.snap/x') } }],
  });
  expect(ready.workspace).toBe(repo);
  expect(ready.readPaths).toEqual([repo]);
  expect(ready.writePaths).toEqual([join(repo, 'src'), join(repo, 'out')]);
  expect(ready.inputs).toEqual([
    {
      path: join(repo, 'src/a.txt'),
      readOnly: true,
      hash: 'sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
    },
    { path: join(repo, 'b.txt'), readOnly: false, hash: expect.stringMatching(/^sha256:/) },
  ]);
  expect(ready.git).toMatchObject({ root: repo, branch: 'main', head: expect.stringMatching(/^[0-9a-f]{40}$/) });
  expect(readdirSync(repo).sort()).toEqual(['.git', 'b.txt', 'src']);
});

test('what is missing is E_FILE_NOT_FOUND', async () => {
  const ws = tempFolder();
  write(ws, { file: 'f' });
  const missing: (() => Promise<unknown>)[] = [
    () => fly(join(ws, 'none')),
    () => fly(join(ws, 'file')),
    () => fly(ws, { inputs: [{ path: 'none.txt' }] }),
    () => fly(ws, { inputs: [{ path: 'file/below' }] }),
    () => fly(ws, environment({ shell: 'no-such-shell-here' })),
    () => fly(ws, environment({ git_branch: 'main' })),
  ];
  for (const one of missing) await expect(one()).rejects.toMatchObject({ code: 'E_FILE_NOT_FOUND' });
});

test('what may not be is E_PERMISSION_DENIED', async () => {
  const ws = tempFolder();
  const outside = tempFolder();
  write(ws, { 'src/a.txt': 'a', 'docs/b.txt': 'b' });
  write(outside, { secret: 's' });
  symlinkSync(join(outside, 'secret'), join(ws, 'link'));
  symlinkSync('src', join(ws, 'inner'));
  const access = { filesystem: { read_paths: ['src'], write_paths: ['docs'] } };
  const snapshot = (path: string): Task => ({
    expected_outputs: [{ path: 'x', rollback_snapshot: { snapshot_path: path } }],
  });
  const output = (path: string): Task => ({ expected_outputs: [{ path, rollback_snapshot: { enabled: true } }] });
  symlinkSync(outside, join(ws, 'away'));
  const denied: (() => Promise<unknown>)[] = [
    () => fly(ws, { inputs: [{ path: join(outside, 'secret') }] }),
    () => fly(ws, { inputs: [{ path: 'link' }] }),
    () => fly(ws, { inputs: [{ path: '../x' }] }),
    () => fly(ws, { inputs: [{ path: '.' }], access }),
    () => fly(ws, { inputs: [{ path: 'src/a.txt' }] }, { file_system_access: false }),
    () => fly(ws, {}, { headless_mode: false }),
    () => fly(ws, output('../outside.txt')),
    () => fly(ws, output(join(outside, 'secret'))),
    () => fly(ws, output('away/secret')),
    () => fly(ws, snapshot('/etc/x')),
    () => fly(ws, snapshot('../x')),
    () => fly(ws, snapshot('inner/x')),
    () => fly(ws, snapshot('.baton/config.yaml')),
    () => fly(ws, snapshot('.baton/snapshots/TASK-2026-01-01-001/manifest.json')),
    () => fly(ws, snapshot('.git/hooks/post-checkout')),
    () => fly(ws, snapshot('docs/.GIT/config')),
    () => fly(ws, snapshot('docs/.baton/inbox/x.json')),
    () => fly(ws, { expected_outputs: [{ path: 'docs/x', rollback_snapshot: { snapshot_path: 'src/x' } }], access }),
    () => fly(ws, { ...output('src/a.txt'), access }),
    () => fly(ws, output('.git/config')),
    () => fly(ws, output('.baton/serve.token')),
  ];
  for (const one of denied) await expect(one()).rejects.toMatchObject({ code: 'E_PERMISSION_DENIED' });
  await fly(ws, { inputs: [{ path: 'src/a.txt' }, { path: 'docs\\b.txt' }], access });
  await fly(ws, {}, { headless_mode: false }, true);
  await fly(ws, snapshot('docs/snap/x'));
  await fly(ws, output('src/new.txt'));
  await fly(ws, { ...output(join(outside, 'new')), access: { filesystem: { write_paths: [outside] } } });
  await fly(ws, { expected_outputs: [{ path: '../outside.txt' }] });
  await fly(ws, { expected_outputs: [{ path: 'x', rollback_snapshot: { enabled: false, snapshot_path: '/etc/x' } }] });
});

test('the data folder is no workspace, but for the worktrees in it', async () => {
  const data = tempFolder();
  symlinkSync(data, join(tempFolder(), 'alias'));
  mkdirSync(join(data, 'logs/x'), { recursive: true });
  mkdirSync(join(data, 'worktrees/t'), { recursive: true });
  const at = (workspace: string): Promise<Ready> => {
    const whole = message(workspace);
    return preflight({ message: whole, workspace, access: effectiveAccess(whole), hasTerminal: false, dataDir: data });
  };
  for (const place of [data, join(data, 'logs/x')]) {
    await expect(at(place)).rejects.toMatchObject({ code: 'E_PERMISSION_DENIED' });
  }
  await at(join(data, 'worktrees/t'));
});

test('a repository that takes its settings from elsewhere, or has its files there, is refused', async () => {
  const repo = repository();
  cpSync(join(repo, '.git'), join(repo, 'evil'), { recursive: true });
  await fly(repo);
  const refused = async (): Promise<void> => {
    await expect(fly(repo)).rejects.toMatchObject({ code: 'E_PERMISSION_DENIED' });
    await expect(openWorktree({ repo, taskId: 't', folder: tempFolder() })).rejects.toMatchObject({
      code: 'E_PERMISSION_DENIED',
    });
  };
  write(repo, { '.git/commondir': '../evil' });
  await refused();
  rmSync(join(repo, '.git/commondir'));
  gitIn(repo, 'config', 'core.worktree', dirname(repo));
  await refused();
});

test('another system or another branch does not fit', async () => {
  const repo = repository();
  const here = { linux: 'Linux', darwin: 'macOS', win32: 'Windows' }[process.platform as 'linux'];
  const there = process.platform === 'win32' ? 'linux' : 'windows';
  await fly(repo, environment({ os: here }));
  await expect(fly(repo, environment({ os: there }))).rejects.toMatchObject({ code: 'E_SCHEMA_VALIDATION' });
  await expect(fly(repo, environment({ git_branch: 'other' }))).rejects.toMatchObject({
    code: 'E_SCHEMA_VALIDATION',
    message: `the task asks for the branch other, and main is checked out in ${repo}`,
  });
  gitIn(repo, 'checkout', '-q', '--detach');
  await expect(fly(repo, environment({ git_branch: 'main' }))).rejects.toThrow('no branch (HEAD is at ');
});

test('a worktree stands in for the workspace that the task names', async () => {
  const repo = repository({ 'in.txt': 'i' });
  const worktree = await openWorktree({ repo, taskId: 't', folder: tempFolder() });
  const whole = message(repo, { ...environment({ git_branch: 'main' }), inputs: [{ path: join(repo, 'in.txt') }] });
  const ready = await preflight({
    message: whole,
    workspace: worktree.workspace,
    access: effectiveAccess(whole),
    hasTerminal: false,
    dataDir: tempFolder(),
  });
  expect(ready.writePaths).toEqual([worktree.path]);
  expect(ready.inputs[0]?.path).toBe(join(worktree.path, 'in.txt'));
});

test('git is asked without hooks, from below the top, and whatever GIT_DIR says', async () => {
  const repo = repository({ 'a b\n/x': 'x' });
  const hooks = plantHooks(repo);
  process.env['GIT_DIR'] = '/nowhere';
  try {
    expect(await gitInfo(join(repo, 'a b\n'))).toMatchObject({
      root: repo,
      branch: 'main',
      gitDir: join(repo, '.git'),
    });
    expect(await gitInfo(tempFolder())).toBe(null);
    const fresh = join(tempFolder(), 'new\nline');
    mkdirSync(fresh);
    delete process.env['GIT_DIR'];
    gitIn(fresh, 'init', '-q', '-b', 'trunk');
    expect(await gitInfo(fresh)).toMatchObject({ root: fresh, branch: 'trunk', head: null });
  } finally {
    delete process.env['GIT_DIR'];
  }
  expect(readdirSync(join(hooks, '..'))).toEqual(['repo']);
});
