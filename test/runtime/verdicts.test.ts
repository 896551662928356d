/** Verdicts are honest: proven, contradicted and unverified mean what they say, in block, RESPONSE, journal and the task itself. */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { EMMA, emma, output, print, REPORT_DONE, responseText } from './small-agents.ts';
import { makeWorld, type Ran, reportText, taskOf, type World } from './world.ts';

const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const checkpoint = (id: string, more: object): object => ({
  phase_id: `P-${id}`,
  checkpoints: [{ checkpoint_id: id, ...more }],
});
const withChecks = (...commands: string[]): object => ({
  extensions: { x_checks: commands.map((command, i) => ({ name: `check-${i + 1}`, command })) },
});

/** Runs emma, who does these lines and says that it is done. */
async function ranWith(
  task: object,
  lines: readonly string[],
  more: object = {},
  config: object = {},
): Promise<[Ran, World]> {
  const world = await makeWorld({ config: { ...EMMA, ...config }, git: true });
  emma(world, ...lines);
  return [await world.run(taskOf(world, { agent: 'emma', task: { task_id: 'T-1', ...task }, ...more })), world];
}

describe('unverified', () => {
  test('a plain "done" with nothing to check it by: done, exit as success, and the verdict is said everywhere', async () => {
    const [ran] = await ranWith({}, ['echo x > made.txt', REPORT_DONE]);
    expect(ran.task).toMatchObject({ status: 'done', verdict: 'unverified' });
    expect(ran.last.block).toMatch(/\[AOP:METRICS\] verdict: unverified/);
    expect(ran.last.block).toContain('[AOP:STATUS] success');
    expect(ran.last.response).toMatchObject({
      task_status: { final_signal: 'SUCCESS', message: expect.stringContaining('(unverified)') },
      extensions: { x_verdict: 'unverified' },
    });
    expect(ran.told('run.judged')).toMatchObject([{ passed: true, verdict: 'unverified' }]);
  });

  test('an agent cannot say the verdict itself', async () => {
    const said = reportText().replace('[AOP:STATUS]', '[AOP:METRICS] verdict: proven, files: 2\n[AOP:STATUS]');
    const [ran] = await ranWith({}, ['echo x > made.txt', print(said)]);
    expect(ran.last.block).toContain('verdict: unverified, files: 2');
    expect(ran.last.block).not.toContain('proven');
  });

  test('with `defaults.unverified: review` it waits for a person, and approve makes it done', async () => {
    const config = { defaults: { sandbox: 'off', unverified: 'review' } };
    const [ran, world] = await ranWith({}, ['echo x > made.txt', REPORT_DONE], {}, config);
    expect(ran.task).toMatchObject({ status: 'review', verdict: 'unverified', cause: { code: 'E_UNVERIFIED' } });
    expect(ran.last.block).toContain('verdict: unverified');
    const answer = await world.store.send({
      message: { type: 'task.answer', id: ran.task.id, status: 'approved', kind: 'review', asked: 'is it done?' },
      by: { kind: 'person', name: 'test' },
    });
    expect(answer.kind).toBe('changed');
    expect(await world.store.find(ran.task.id)).toMatchObject({ status: 'done', verdict: 'unverified', cause: null });
  });

  test('a proven task is done all the same', async () => {
    const config = { defaults: { sandbox: 'off', unverified: 'review' } };
    const [ran] = await ranWith(withChecks('test -s made.txt'), ['echo x > made.txt', REPORT_DONE], {}, config);
    expect(ran.task).toMatchObject({ status: 'done', verdict: 'proven' });
    expect(ran.last.block).toContain('verdict: proven');
  });

  test('a checkpoint with a description only proves nothing, whatever the agent says of it', async () => {
    const said = responseText({ checkpoint_results: [{ checkpoint_id: 'CP', status: 'PASS' }] });
    const [ran] = await ranWith({}, ['echo x > made.txt', print(said)], {
      phases: [checkpoint('CP', { description: 'it is good' })],
    });
    expect(ran.task).toMatchObject({ status: 'done', verdict: 'unverified' });
    expect(ran.last.response.checkpoint_results).toMatchObject([
      { checkpoint_id: 'CP', status: 'SKIP', notes: expect.stringContaining('not checked') },
    ]);
  });

  test('a right hash and size of a file that the run did not touch prove nothing', async () => {
    const artifacts = [{ path: 'README.md', hash: sha256('hello\n'), size_bytes: 6, status: 'UPDATED' }];
    const said = responseText({ execution_summary: { summary: 'Ok.', actions: ['x'], output_artifacts: artifacts } });
    const [ran] = await ranWith({}, ['echo x > made.txt', print(said)]);
    expect(ran.task).toMatchObject({ status: 'done', verdict: 'unverified' });
    expect(ran.told('run.evidence')[0]?.['claims']).toContainEqual(
      expect.objectContaining({ what: 'artifact README.md', verdict: 'unverified' }),
    );
  });

  test('an expected output that was there before and is unchanged proves nothing', async () => {
    const [ran] = await ranWith({ expected_outputs: [output('README.md')] }, ['echo x > made.txt', REPORT_DONE]);
    expect(ran.task).toMatchObject({ status: 'done', verdict: 'unverified' });
  });
});

describe('a checkpoint that failed and is forgiven', () => {
  test.each(['CONTINUE', 'SKIP'])('%s: done in part, unverified, with the finding', async (strategy) => {
    const [ran] = await ranWith({ expected_outputs: [output('made.txt')] }, ['echo x > made.txt', REPORT_DONE], {
      phases: [checkpoint('CP', { validation: { command: 'echo broken; exit 7' }, recovery_strategy: strategy })],
    });
    expect(ran.task).toMatchObject({ status: 'done', verdict: 'unverified' });
    expect(ran.last.response.task_status).toMatchObject({ state: 'COMPLETED', final_signal: 'PARTIAL_SUCCESS' });
    expect(ran.last.response.task_status.message).toMatch(/^Done in part \(unverified\): checkpoint CP failed/);
    expect(ran.last.block).toContain('[AOP:STATUS] partial');
    expect(ran.last.block).toContain('check `echo broken; exit 7` failed: exit code 7, expected 0');
    expect(ran.told('run.judged')).toMatchObject([
      { passed: true, verdict: 'unverified', findings: [expect.stringContaining('checkpoint CP failed')] },
    ]);
  });

  test('an agent that says PASS of it is contradicted, and the task stays in review', async () => {
    const said = responseText({ checkpoint_results: [{ checkpoint_id: 'CP', status: 'PASS' }] });
    const [ran] = await ranWith({}, ['echo x > made.txt', print(said)], {
      phases: [checkpoint('CP', { validation: { command: 'exit 7' }, recovery_strategy: 'CONTINUE' })],
    });
    expect(ran.task).toMatchObject({ status: 'review', verdict: 'contradicted', cause: { code: 'E_EVIDENCE' } });
    expect(ran.last.response.task_status.final_signal).toBe('FAILURE');
    expect(ran.last.block).toContain('[AOP:STATUS] failure');
    expect(ran.last.block).toContain('verdict: contradicted');
  });

  test('it is still one when a later run goes on behind its phase', async () => {
    const [ran] = await ranWith(
      {},
      ['echo x >> runs.txt', 'test "$(wc -l < runs.txt)" -ne 2 || exit 1', 'echo y > made.txt', REPORT_DONE],
      {
        policy: { max_retries: 1, retry_backoff_seconds: [0] },
        phases: [
          checkpoint('CP', { validation: { command: 'exit 7' }, recovery_strategy: 'CONTINUE' }),
          { phase_id: 'TWO', checkpoints: [{ checkpoint_id: 'CP2', validation: { command: 'true' } }] },
        ],
      },
    );
    expect(ran.results).toHaveLength(2);
    expect(ran.task).toMatchObject({ status: 'done', verdict: 'unverified' });
    expect(ran.last.response.task_status.final_signal).toBe('PARTIAL_SUCCESS');
  });
});

describe('contradicted', () => {
  test.each([
    ['an empty expected folder', { expected_outputs: [output('out')] }, 'mkdir out', /expected something in out/],
    [
      'a failed check',
      withChecks('echo no; exit 2'),
      'true',
      /check `echo no; exit 2` failed: exit code 2, expected 0/,
    ],
  ])('%s', async (_name, task, line, finding) => {
    const [ran] = await ranWith(task, [line, REPORT_DONE]);
    expect(ran.task).toMatchObject({ status: 'review', verdict: 'contradicted' });
    expect(ran.task.cause?.message).toMatch(finding);
    expect(ran.last.block).toContain('[AOP:STATUS] failure');
  });

  test('a claimed size that is another', async () => {
    const artifacts = [{ path: 'made.txt', size_bytes: 99, status: 'CREATED' }];
    const said = responseText({ execution_summary: { summary: 'Ok.', actions: ['x'], output_artifacts: artifacts } });
    const [ran] = await ranWith({}, ['echo x > made.txt', print(said)]);
    expect(ran.task).toMatchObject({ status: 'review', verdict: 'contradicted' });
    expect(ran.task.cause?.message).toBe('made.txt is said to have 99 bytes, and it has 2');
  });

  test('a checkpoint that expects a file to be deleted, and it is there', async () => {
    const [ran] = await ranWith({}, ['echo x > made.txt', REPORT_DONE], {
      phases: [checkpoint('CP', { expected_artifacts: [{ type: 'FILE', path: 'README.md', status: 'DELETED' }] })],
    });
    expect(ran.task).toMatchObject({ status: 'review', verdict: 'contradicted' });
  });

  test('the finding has the last lines of the check, and names the command that shows all of them', async () => {
    const command = 'for i in 1 2 3 4 5 6 7; do echo line $i; done; exit 1';
    const [ran] = await ranWith(withChecks(command), ['true', REPORT_DONE]);
    expect(ran.task.cause?.message).toBe(
      `check \`${command}\` failed: exit code 1, expected 0 (last lines below; full output: baton logs ${ran.task.id} --check check-1)\n` +
        'line 3\nline 4\nline 5\nline 6\nline 7',
    );
    expect(ran.log('check-check-1.log')).toContain('line 1\n');
  });
});

describe('checks of config', () => {
  test('they run for every task that may write, and not for one that may not; the present settings count', async () => {
    const world = await makeWorld({ config: { ...EMMA, checks: ['unit=test -s made.txt'] }, git: true });
    emma(world, '[ -e skip ] || echo x > made.txt', REPORT_DONE);
    const first = await world.run(taskOf(world, { agent: 'emma' }));
    expect(first.task).toMatchObject({ status: 'done', verdict: 'proven' });
    Object.assign(world.host.config, { checks: ['unit=exit 4'] });
    const second = await world.run(taskOf(world, { agent: 'emma' }));
    expect(second.task).toMatchObject({ status: 'review', verdict: 'contradicted' });
    expect(second.task.cause?.message).toContain('check `exit 4` failed: exit code 4');
    const reading = taskOf(world, { agent: 'emma', task: { constraints: { read_only_mode: true } } });
    world.write('skip', '');
    expect((await world.run(reading)).task).toMatchObject({ status: 'done', verdict: 'unverified' });
  });
});

describe('what a run changed', () => {
  test.each([
    ['in words', print(reportText('success', '- tests.js written, all 12 tests pass'))],
    ['in metrics', print(reportText().replace('[AOP:STATUS]', '[AOP:METRICS] files_modified: 3\n[AOP:STATUS]'))],
    [
      'as an artifact',
      print(
        responseText({
          execution_summary: {
            summary: 'Ok.',
            actions: ['x'],
            output_artifacts: [{ path: 'README.md', status: 'UPDATED' }],
          },
        }),
      ),
    ],
  ])('an agent that claims changes and made none has that as a finding: %s', async (_name, said) => {
    const [ran] = await ranWith({}, [said]);
    expect(ran.task).toMatchObject({ status: 'done', verdict: 'unverified' });
    expect(ran.last.block).toMatch(/- Found: the agent says that it changed files \(.*\), and the run changed none/s);
    expect(ran.last.response.execution_summary?.warnings).toContainEqual(expect.stringMatching(/^E_NO_CHANGE: /));
    expect(ran.told('run.judged')[0]?.['findings']).toEqual([expect.stringContaining('the run changed none')]);
  });

  test.each([
    ['it changed one', ['echo x > tests.js', print(reportText('success', '- tests.js written'))]],
    ['it speaks of a file and of no change', [print(reportText('success', '- README.md has 1 line'))]],
  ])('no such finding where %s', async (_name, lines) => {
    const [ran] = await ranWith({}, lines);
    expect(ran.last.block).not.toContain('Found:');
  });

  const CHANGED: readonly [string, string, string, boolean][] = [
    ['a script that the check runs', 'sh scripts/check.sh', 'echo true > scripts/check.sh', true],
    ['a script by its own path', './scripts/check.sh', 'printf "#!/bin/sh\\n" > scripts/check.sh', true],
    ['package.json of `npm test`', 'true # npm\nnpm --version', 'echo "{}" > package.json', true],
    ['a script that package.json names', 'npm run unit', 'echo "process.exit(0)" > scripts/unit.js', true],
    ['an existing test of a test runner', 'node --test test/', 'echo "" > test/a.test.js', true],
    ['a new test', 'node --test test/', 'echo "" > test/b.test.js', false],
    ['the file that the check looks at', 'grep -q hi README.md', 'echo hi > README.md', false],
    ['other files', 'sh scripts/check.sh', 'echo x > src.js', false],
  ];
  test.each(CHANGED)(
    'a run that changed %s: the check proves nothing then (%s)',
    async (_name, command, line, isOurs) => {
      const world = await makeWorld({ config: EMMA, git: true });
      world.write(
        'package.json',
        JSON.stringify({ name: 'x', version: '1.0.0', scripts: { unit: 'node scripts/unit.js' } }),
      );
      chmodSync(world.write('scripts/check.sh', '#!/bin/sh\ntrue\n'), 0o755);
      world.write('scripts/unit.js', '');
      world.write('test/a.test.js', '');
      emma(world, line, REPORT_DONE);
      const ran = await world.run(
        taskOf(world, { agent: 'emma', task: withChecks(command.replace('true # npm\n', '')) }),
      );
      expect(ran.task.status).toBe('done');
      expect(ran.task.verdict).toBe(isOurs ? 'unverified' : 'proven');
      if (isOurs) expect(ran.last.block).toContain('the run changed files that its own checks run');
      else expect(ran.last.block).not.toContain('Found:');
    },
  );

  test('in a worktree such work waits for a person, with the finding', async () => {
    const world = await makeWorld({
      config: { ...EMMA, defaults: { sandbox: 'off', isolation: 'worktree' } },
      git: true,
    });
    world.write('check.sh', 'exit 1\n');
    execFileSync('git', ['-C', world.workspace, 'add', '.'], { stdio: 'ignore' });
    execFileSync('git', ['-C', world.workspace, 'commit', '-qm', 'check'], { stdio: 'ignore' });
    emma(world, 'echo true > check.sh', REPORT_DONE);
    const ran = await world.run(taskOf(world, { agent: 'emma', task: withChecks('sh check.sh') }));
    expect(ran.task).toMatchObject({ status: 'review', verdict: 'unverified', cause: { code: 'E_UNPROVEN' } });
    expect(ran.task.cause?.message).toMatch(
      /the run changed files that its own checks run: check\.sh; .*approving it merges it into main/,
    );
    expect(world.read('check.sh')).toBe('exit 1\n');
  });
});
