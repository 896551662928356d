/** Several Batons and agents at once on one repository, as a user runs them: nothing is overwritten, nothing rejected is merged, no kill breaks it. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { REPORT } from '../runtime/world.ts';
import { baton, startBaton, stopStarted } from './baton.ts';

const made: string[] = [];
afterEach(() => {
  stopStarted();
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

interface Project {
  readonly repo: string;
  git(...args: string[]): string;
  add(count: number): string[];
  statuses(): string[];
}

function project(script: string, defaults: object = {}): Project {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-parallel-')));
  made.push(root);
  const repo = join(root, 'repo');
  mkdirSync(join(repo, '.baton'), { recursive: true });
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: repo, encoding: 'utf8' }).trim();
  git('init', '-q', '-b', 'main', '.');
  git('config', 'user.name', 'Grace');
  git('config', 'user.email', 'grace@example.org');
  writeFileSync(join(repo, 'count'), '0\n');
  writeFileSync(join(repo, '.gitignore'), '.baton/\n');
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
  const agent = join(root, 'agent');
  writeFileSync(agent, `#!/bin/sh\ncat > /dev/null\n${script}\n${REPORT}`, { mode: 0o755 });
  const config = {
    agents: { emma: { kind: 'command', command: [agent] } },
    defaults: { agent: 'emma', parallel: 4, sandbox: 'off', ...defaults },
  };
  writeFileSync(join(repo, '.baton/config.yaml'), JSON.stringify(config));
  return {
    repo,
    git,
    add: (count) =>
      Array.from({ length: count }, (_, i) => {
        const { exit, json, err } = baton(['task', 'add', '--title', `Add one (${i})`, '--json'], '', repo);
        expect([exit, err]).toEqual([0, '']);
        return String(json()['id']);
      }),
    statuses: () =>
      (JSON.parse(baton(['task', 'list', '--json'], '', repo).out) as { status: string }[]).map(({ status }) => status),
  };
}

const COUNT = 'N=$(cat count); sleep 0.3; echo $((N+1)) > count';

test('four tasks that each add one to a counter, worked on by two Batons at once, end at four', async () => {
  const { repo, git, add, statuses } = project(COUNT, { merge: 'always' });
  add(4);
  const works = [1, 2].map(() => startBaton(['work', '--until-empty'], repo));
  for (const { ended, err } of works) expect([await ended, err()]).toEqual([0, expect.anything()]);
  expect(statuses()).toEqual(['done', 'done', 'done', 'done']);
  expect([git('show', 'main:count'), git('status', '--porcelain')]).toEqual(['4', '']);
});

test('killed in the middle of a merge, Baton leaves the branch before it or after it, and the next one goes on', async () => {
  const { repo, git, add, statuses } = project(`${COUNT}; for i in 1 2 3 4 5; do seq 1 500 > $BATON_TASK_ID-$i; done`, {
    merge: 'always',
    parallel: 2,
  });
  const tasks = add(2);
  const work = startBaton(['work', '--until-empty', '--json'], repo);
  await work.printed(/merge\.started|"merging"|task\.accepted/);
  work.child.kill('SIGKILL');
  await work.ended;
  expect(git('fsck', '--connectivity-only')).not.toMatch(/missing|broken/);
  expect(Number(git('show', 'main:count'))).toBeLessThanOrEqual(2);
  const next = baton(['work', '--until-empty'], '', repo);
  expect(next.exit).toBe(0);
  expect(statuses()).toEqual(['done', 'done']);
  expect([git('show', 'main:count'), git('status', '--porcelain')]).toEqual(['2', '']);
  for (const id of tasks)
    expect(git('log', '--format=%(trailers:key=Baton-Task,valueonly)', '--first-parent')).toContain(id);
});

test('approve and reject at the same time: what is cancelled is not merged', async () => {
  const { repo, git, add, statuses } = project('echo made > made.txt');
  for (let i = 0; i < 2; i += 1) {
    const [id = ''] = add(1);
    baton(['work', '--until-empty'], '', repo);
    const tip = git('rev-parse', 'main');
    const both = [startBaton(['approve', id], repo), startBaton(['reject', id], repo)];
    await Promise.all(both.map(({ ended }) => ended));
    const status = statuses().at(-1);
    expect(['done', 'cancelled']).toContain(status);
    expect(git('rev-parse', 'main') === tip).toBe(status === 'cancelled');
    git('reset', '-q', '--hard', tip);
  }
});
