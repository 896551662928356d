/** Done needs evidence: what an agent claims against what Baton sees for itself. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { decodeAop2 } from '../../src/protocol/aop2/index.ts';
import { sandboxTest } from '../helpers/sandbox.ts';
import { aof, ofRun } from './messages.ts';
import { EMMA, emma, output, print, REPORT_DONE, responseText } from './small-agents.ts';
import { alivePids, makeWorld, newSleep, type Ran, reportText, taskOf, until } from './world.ts';

interface Claim {
  readonly what: string;
  readonly verdict: string;
  readonly detail: string;
}
const claimsOf = ({ last }: Ran): readonly Claim[] => last.response.extensions?.['x_claims'] as readonly Claim[];
const claimOn = (ran: Ran, what: string): Claim | undefined => claimsOf(ran).find((claim) => claim.what === what);
const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

test('an output that is there, not empty and valid makes a task done, with the evidence in RESPONSE and journal', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, 'printf hello > out.txt', REPORT_DONE);
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      task: {
        expected_outputs: [
          output('out.txt', { validation: { command: 'grep -n hello out.txt', expects: 'MATCH_FOUND' } }),
        ],
      },
    }),
  );
  expect(ran.task).toMatchObject({ status: 'done', cause: null });
  expect(ran.last.response.task_status).toMatchObject({ state: 'COMPLETED', final_signal: 'SUCCESS' });
  expect(claimOn(ran, 'output out.txt')).toMatchObject({ verdict: 'proven' });
  expect(claimOn(ran, 'output out.txt')?.detail).toContain('grep -n hello out.txt → exit 0');
  expect(claimOn(ran, 'outcome done')).toMatchObject({ verdict: 'proven' });
  expect(ran.told('run.evidence')[0]?.['claims']).toEqual(claimsOf(ran));
  expect(ran.last.response.execution_summary?.output_artifacts).toEqual([
    { path: 'out.txt', type: 'FILE', hash: sha256('hello'), status: 'CREATED', size_bytes: 5 },
  ]);
  expect(ran.log('check-1.log')).toContain('1:hello');
  // It went through review.
  expect(ran.events.flatMap(({ type, detail }) => (type === 'task.transitioned' ? [detail?.['to']] : []))).toEqual(
    expect.arrayContaining(['in-progress', 'review', 'done']),
  );
});

test('a report that comes while the evidence is looked at is refused as too late, not taken and lost', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, 'printf hello > out.txt', REPORT_DONE);
  const command = 'touch looking; until [ -e go ]; do sleep 0.05; done';
  const running = world.run(
    taskOf(world, {
      agent: 'emma',
      task: { expected_outputs: [output('out.txt', { validation: { command, expects: 'EXIT_CODE_0' } })] },
    }),
  );
  await until('it is looked at', () => existsSync(join(world.workspace, 'looking')));
  const tasks = [];
  for await (const one of world.store.tasks()) tasks.push(one);
  const [task] = tasks;
  const late = aof('completion.report', task?.id as string, { outcome: 'blocked', blockers: ['no'] });
  const answers = await world.host.router.take(late, ofRun(task?.run?.id as string, 'emma'));
  writeFileSync(join(world.workspace, 'go'), '');
  expect(answers).toMatchObject([{ result: 'rejected', code: 'E_STALE_RUN' }]);
  expect((await running).task.status).toBe('done');
});

const FALSE_CLAIMS: readonly [string, string[], object, RegExp][] = [
  ['an output that is not there', [], output('out.txt'), /out\.txt.*not there/],
  [
    'a link to what others have made',
    ['ln -s /etc/passwd out.txt'],
    output('out.txt'),
    /expected out\.txt in the workspace, and a link leads from there to \/etc\/passwd/,
  ],
  ['an empty output', [': > out.txt'], output('out.txt'), /out\.txt.*empty/],
  [
    'EXIT_CODE_0 that is another',
    ['echo x > out.txt'],
    output('out.txt', { validation: { command: 'exit 3', expects: 'EXIT_CODE_0' } }),
    /check `exit 3` failed: exit code 3, expected 0/,
  ],
  [
    'MATCH_FOUND where nothing is printed',
    ['echo x > out.txt'],
    output('out.txt', { validation: { command: 'true', expects: 'MATCH_FOUND' } }),
    /it printed nothing, expected a match/,
  ],
  [
    'NO_MATCH where there is one',
    ['echo TODO > out.txt'],
    output('out.txt', { validation: { command: 'grep TODO out.txt', expects: 'NO_MATCH' } }),
    /it printed something, expected no match/,
  ],
  [
    // A shell says the latter where a folder of PATH may not be read.
    'a command that is not there',
    ['echo x > out.txt'],
    output('out.txt', { validation: { command: 'no-such-program-of-ours' } }),
    /exit code 127, expected 0 \(last lines below; full output: baton logs TASK-\S+ --check 1\)\n.*(?:not found|Permission denied)/,
  ],
];
test.each(FALSE_CLAIMS)(
  'a false claim stays in review with the finding: %s',
  async (_name, lines, expected, finding) => {
    const world = await makeWorld({ config: EMMA });
    emma(world, ...lines, REPORT_DONE);
    const ran = await world.run(
      taskOf(world, { agent: 'emma', task: { expected_outputs: [expected as { path: string }] } }),
    );
    expect(ran.task).toMatchObject({ status: 'review', cause: { code: 'E_EVIDENCE' } });
    expect(ran.task.cause?.message).toMatch(finding);
    expect(claimOn(ran, 'output out.txt')).toMatchObject({ verdict: 'contradicted' });
    expect(claimOn(ran, 'outcome done')).toMatchObject({ verdict: 'contradicted' });
    expect(ran.last.response).toMatchObject({
      task_status: { state: 'FAILED', final_signal: 'FAILURE' },
      error_details: { code: 'E_EVIDENCE' },
    });
    expect(ran.last.block).toContain('Not accepted');
    expect(ran.told('run.judged')).toMatchObject([{ passed: false }]);
  },
);

test('FILE_EXISTS and NO_MATCH that hold are proven', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, 'echo fine > out.txt', REPORT_DONE);
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      task: {
        expected_outputs: [
          output('out.txt', { validation: { expects: 'FILE_EXISTS' } }),
          output('./out.txt', { validation: { command: 'grep TODO out.txt', expects: 'NO_MATCH' } }),
        ],
      },
    }),
  );
  expect(ran.task.status).toBe('done');
});

test('with a retry left, the task is ready again and the next prompt names every finding', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(
    world,
    'cat > prompt-$BATON_ATTEMPT.txt',
    'if [ $BATON_ATTEMPT = 2 ]; then echo a > one.txt; echo b > two.txt; fi',
    REPORT_DONE,
  );
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      task: { expected_outputs: [output('one.txt'), output('two.txt')] },
      policy: { max_retries: 1, retry_backoff_seconds: [0.1] },
    }),
  );
  expect(ran.task).toMatchObject({ status: 'done', attempts: 2 });
  expect(ran.results.map(({ response }) => response.task_status.final_signal)).toEqual(['FAILURE', 'SUCCESS']);
  expect(ran.last.response.timing?.retries_attempted).toBe(1);
  const [first, second] = [world.read('prompt-1.txt'), world.read('prompt-2.txt')];
  expect(first).not.toContain('earlier attempt');
  expect(second).toContain('E_EVIDENCE');
  expect(second).toContain('expected one.txt, and it is not there');
  expect(second).toContain('expected two.txt, and it is not there');
});

test('after a crash the next prompt says how the last attempt ended', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(
    world,
    'cat > prompt-$BATON_ATTEMPT.txt',
    '[ $BATON_ATTEMPT = 1 ] && { echo "no disk" >&2; exit 7; }',
    REPORT_DONE,
  );
  const ran = await world.run(taskOf(world, { agent: 'emma', policy: { max_retries: 1, retry_backoff_seconds: [0] } }));
  expect(ran.task.status).toBe('done');
  expect(world.read('prompt-2.txt')).toMatch(/E_PROCESS_CRASH.*no disk/s);
});

test('a claimed artifact: right hash, wrong hash, not there, said to be deleted', async () => {
  const world = await makeWorld({ config: EMMA });
  const artifacts = [
    { path: 'right.txt', hash: sha256('right') },
    { path: 'wrong.txt', hash: sha256('other') },
    { path: 'missing.txt', status: 'CREATED' },
    { path: 'still.txt', status: 'DELETED' },
    { path: 'gone.txt', status: 'DELETED' },
    { path: 'md5.txt', hash: 'md5:0123' },
  ];
  emma(
    world,
    'printf right > right.txt; printf wrong > wrong.txt; touch still.txt; echo x > md5.txt',
    print(
      responseText({
        task_id: 'T',
        execution_summary: { summary: 's', actions: ['a'], output_artifacts: artifacts },
      }),
    ),
  );
  const ran = await world.run(taskOf(world, { agent: 'emma', task: { task_id: 'T' } }));
  expect(ran.task).toMatchObject({ status: 'review', cause: { code: 'E_EVIDENCE' } });
  const verdicts = Object.fromEntries(claimsOf(ran).map(({ what, verdict }) => [what, verdict]));
  expect(verdicts).toMatchObject({
    'artifact right.txt': 'proven',
    'artifact wrong.txt': 'contradicted',
    'artifact missing.txt': 'contradicted',
    'artifact still.txt': 'contradicted',
    'artifact gone.txt': 'proven',
    'artifact md5.txt': 'unverified',
  });
  // What Baton says of them is what it saw.
  const told = ran.last.response.execution_summary?.output_artifacts ?? [];
  expect(told.find(({ path }) => path === 'wrong.txt')?.hash).toBe(sha256('wrong'));
  expect(told.some(({ path }) => path === 'missing.txt')).toBe(false);
});

test('claims of paths that lead out of the workspace, or nowhere, are not followed', async () => {
  const world = await makeWorld({ config: EMMA });
  symlinkSync('loop', world.path('loop'));
  const artifacts = ['/', '/proc', 'a\u0000b', 'loop', `${world.root}/home`].map((path) => ({ path }));
  emma(
    world,
    print(
      responseText({ task_id: 'T', execution_summary: { summary: 's', actions: ['a'], output_artifacts: artifacts } }),
    ),
  );
  const ran = await world.run(taskOf(world, { agent: 'emma', task: { task_id: 'T' } }));
  expect(ran.task.status).toBe('review');
  const verdicts = Object.fromEntries(claimsOf(ran).map(({ what, verdict }) => [what, verdict]));
  expect(verdicts).toMatchObject({
    'artifact /': 'unverified',
    'artifact /proc': 'unverified',
    'artifact loop': 'contradicted',
    [`artifact ${world.root}/home`]: 'unverified',
  });
});

test('reviewRequired waits for a person, whatever is proven', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, 'echo x > out.txt', REPORT_DONE);
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      task: { expected_outputs: [output('out.txt')], extensions: { x_review_required: true } },
    }),
  );
  expect(ran.task).toMatchObject({ status: 'review', cause: null });
  expect(claimOn(ran, 'output out.txt')).toMatchObject({ verdict: 'proven' });
  expect(ran.last.response.task_status).toMatchObject({ state: 'COMPLETED', final_signal: 'PARTIAL_SUCCESS' });
});

test('without a report the exit code is the report: 0 asks for a review, another is a failure', async () => {
  const world = await makeWorld({ config: EMMA });
  const quiet = taskOf(world, { agent: 'emma' });
  emma(world, 'echo "all good, I think"');
  const ran = await world.run(quiet);
  expect(ran.task).toMatchObject({ status: 'review', cause: null, run: { outcome: 'needs_review' } });
  expect(ran.last.block).toContain('all good, I think');
  emma(world, 'echo "cannot" >&2; exit 4');
  const failed = await world.run(taskOf(world, { agent: 'emma' }));
  expect(failed.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_PROCESS_CRASH' } });
  expect(failed.task.cause?.message).toMatch(/4.*cannot/);
});

test('a report of done with a bad exit code is a failure', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, REPORT_DONE, 'exit 1');
  const ran = await world.run(taskOf(world, { agent: 'emma' }));
  expect(ran.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_PROCESS_CRASH' } });
  expect(ran.last.response.task_status.final_signal).toBe('FAILURE');
});

test('partial and failure are what the agent says they are', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, print(reportText('partial', '- Half of it.')));
  expect((await world.run(taskOf(world, { agent: 'emma' }))).task.status).toBe('review');
  emma(world, print(reportText('failure', '- It does not compile.')));
  const failed = await world.run(taskOf(world, { agent: 'emma' }));
  expect(failed.task).toMatchObject({ status: 'deadletter', cause: { message: '- It does not compile.' } });
  expect(failed.last.response.error_details).toMatchObject({ message: '- It does not compile.' });
});

test('a validation that hangs is timed out, and its processes are gone', async () => {
  const world = await makeWorld({ config: EMMA });
  const nap = newSleep();
  emma(world, 'echo x > out.txt', REPORT_DONE);
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      task: { expected_outputs: [output('out.txt', { validation: { command: `sleep ${nap} & sleep ${nap}` } })] },
      policy: { timeout_seconds: 2 },
    }),
  );
  expect(ran.task).toMatchObject({ status: 'review', cause: { code: 'E_EVIDENCE' } });
  expect(JSON.stringify(claimsOf(ran))).toContain('E_TIMEOUT');
  expect(alivePids(nap)).toEqual([]);
});

test('a task that is cancelled while its outputs are checked does not wait for the check', async () => {
  const world = await makeWorld({ config: EMMA });
  const nap = newSleep();
  emma(world, 'echo x > out.txt', REPORT_DONE);
  const task = taskOf(world, {
    agent: 'emma',
    task: { expected_outputs: [output('out.txt', { validation: { command: `sleep ${nap}` } })] },
  });
  const running = world.run(task);
  await until('the check runs', () => alivePids(nap).length > 0);
  const { id = '' } = (await world.store.find(task.task.task_id)) ?? {};
  await world.store.send({
    message: { type: 'task.cancel', id, reason: 'enough' },
    by: { kind: 'person', name: 'me' },
  });
  const ran = await running;
  expect(ran.task.status).toBe('cancelled');
  expect(alivePids(nap)).toEqual([]);
});

test('an input that is read-only and changed is E_PERMISSION_DENIED; one that may be written is not', async () => {
  const world = await makeWorld({ config: EMMA });
  for (const name of ['locked.txt', 'open.txt', 'both.txt']) world.write(name, 'before');
  emma(world, 'for f in locked.txt open.txt both.txt; do echo after > $f; done', REPORT_DONE);
  const inputs = (locked: boolean): { path: string; read_only?: boolean }[] => [
    ...(locked ? [{ path: 'locked.txt' }] : []),
    { path: 'open.txt', read_only: false },
    { path: world.path('both.txt') },
  ];
  const expected = [output('./both.txt')];
  const fine = await world.run(
    taskOf(world, { agent: 'emma', task: { inputs: inputs(false), expected_outputs: expected } }),
  );
  expect(fine.task).toMatchObject({ status: 'done' });
  world.write('locked.txt', 'before');
  const ran = await world.run(
    taskOf(world, { agent: 'emma', task: { inputs: inputs(true), expected_outputs: expected } }),
  );
  expect(ran.task).toMatchObject({ status: 'review', cause: { code: 'E_PERMISSION_DENIED' } });
  expect(ran.task.cause?.message).toContain('locked.txt');
  expect(ran.last.response.error_details).toMatchObject({ code: 'E_PERMISSION_DENIED' });
});

test('a folder as an input: what Baton and git write in it is no change, nor is an expected output', async () => {
  const world = await makeWorld({ config: EMMA, git: true });
  world.write('src/a.txt', 'a');
  emma(world, 'git add README.md; echo out > src/out.txt', REPORT_DONE);
  const task = { inputs: [{ path: '.' }, { path: 'src' }], expected_outputs: [output('src/out.txt')] };
  const ran = await world.run(taskOf(world, { agent: 'emma', task }));
  expect(ran.task).toMatchObject({ status: 'done', cause: null });
  emma(world, 'echo changed > src/a.txt', REPORT_DONE);
  const changed = await world.run(taskOf(world, { agent: 'emma', task }));
  expect(changed.task).toMatchObject({ status: 'review', cause: { code: 'E_PERMISSION_DENIED' } });
});

test('without a sandbox, a change outside of the write paths is found, told and stands against done', async () => {
  const world = await makeWorld({ config: EMMA });
  mkdirSync(world.path('src'));
  world.write('keep.txt', 'before');
  emma(world, 'echo x > src/out.txt; echo y > keep.txt; mkdir new; echo z > new/z.txt', REPORT_DONE);
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      task: {
        expected_outputs: [output('src/out.txt')],
        access: { filesystem: { read_paths: [world.workspace], write_paths: [world.path('src')] } },
      },
    }),
  );
  expect(ran.task).toMatchObject({ status: 'review', cause: { code: 'E_PERMISSION_DENIED' } });
  expect(ran.task.cause?.message).toMatch(/keep\.txt \(updated\)/);
  expect(ran.task.cause?.message).toMatch(/new\/z\.txt \(created\)/);
  // Reported, not taken back: whose they are is not proven.
  expect(world.read('keep.txt')).toBe('y\n');
});

sandboxTest('in the sandbox, the same write fails in the first place', async () => {
  const world = await makeWorld({ config: { ...EMMA, defaults: { sandbox: 'require' } } });
  mkdirSync(world.path('src'));
  world.write('keep.txt', 'before');
  emma(world, 'echo x > src/out.txt; echo y > keep.txt && echo wrote; true', REPORT_DONE);
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      task: {
        expected_outputs: [output('src/out.txt')],
        access: {
          filesystem: { read_paths: [world.workspace, join(world.root, 'bin')], write_paths: [world.path('src')] },
        },
      },
    }),
  );
  expect(world.read('keep.txt')).toBe('before');
  expect(ran.task).toMatchObject({ status: 'done' });
  expect(ran.told('run.enforced')[0]).toMatchObject({ sandbox: 'bubblewrap' });
});

test('the RESPONSE is valid and within its limit for an agent that reports 10,000 actions and as many artifacts', async () => {
  const world = await makeWorld({ config: EMMA });
  const actions = Array.from({ length: 10_000 }, (_, i) => `did thing number ${i}`);
  const artifacts = Array.from({ length: 4_000 }, (_, i) => ({ path: `made/${'x'.repeat(20)}-${i}.txt` }));
  const said = [
    responseText({ session_id: 's-0', task_id: 'T', execution_summary: { summary: 's', actions } }),
    responseText({
      session_id: 's-1',
      task_id: 'T',
      execution_summary: { summary: 's', actions: ['a'], output_artifacts: artifacts },
    }),
  ];
  for (const [i, text] of said.entries()) {
    world.write('said.json', text);
    emma(world, 'cat said.json');
    const session = { session_id: `s-${i}` };
    const ran = await world.run(taskOf(world, { agent: 'emma', session, task: { task_id: 'T' } }));
    const response = ran.log('response.json');
    expect(Buffer.byteLength(JSON.stringify(JSON.parse(response)))).toBeLessThan(500 * 1024);
    const { valid, problems } = decodeAop2(JSON.parse(response), JSON.stringify(JSON.parse(response)));
    expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(valid).toBe(true);
    expect(ran.task.status).toBe(i === 0 ? 'done' : 'review');
    expect(ran.last.block.length).toBeLessThan(1200);
  }
});

test('who it was and when is told by Baton, not by the agent', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(
    world,
    print(
      responseText({
        task_id: 'T',
        agent: { name: 'root', provider: 'CLAUDE', model: 'the-best' },
        timing: {
          started_at: '2001-01-01T00:00:00Z',
          completed_at: '2001-01-01T00:00:01Z',
          duration_seconds: 1,
          retries_attempted: 9,
        },
        cost_tracking: { actual_cost_usd: 0.000001, tokens_input: 1, tokens_output: 1 },
        checkpoint_results: [{ checkpoint_id: 'CP-MADE-UP', status: 'PASS' }],
      }),
    ),
  );
  const from = Date.now();
  const ran = await world.run(taskOf(world, { agent: 'emma', task: { task_id: 'T' } }));
  const { agent, timing, session_id, task_id, checkpoint_results } = ran.last.response;
  expect({ agent, session_id, task_id }).toEqual({
    agent: { name: 'emma', provider: 'OTHER', model: 'none' },
    session_id: 'test-session',
    task_id: 'T',
  });
  expect(Date.parse(timing?.started_at ?? '')).toBeGreaterThanOrEqual(from);
  expect(timing?.retries_attempted).toBe(0);
  expect(checkpoint_results).toEqual([
    { checkpoint_id: 'CP-MADE-UP', status: 'PASS', extensions: { x_verdict: 'unverified' } },
  ]);
  expect(claimOn(ran, 'checkpoint CP-MADE-UP')).toMatchObject({ verdict: 'unverified' });
});

sandboxTest(
  'in the sandbox, an input that is read-only cannot be written, though it lies where the rest can',
  async () => {
    const world = await makeWorld({ config: { ...EMMA, defaults: { sandbox: 'require' } } });
    world.write('locked.txt', 'before');
    world.write('open.txt', 'before');
    emma(world, 'echo after > locked.txt; echo after > open.txt; rm -f locked.txt; true', REPORT_DONE);
    const inputs = [{ path: 'locked.txt' }, { path: 'open.txt', read_only: false }];
    const ran = await world.run(taskOf(world, { agent: 'emma', task: { inputs } }));
    expect(world.read('locked.txt')).toBe('before');
    expect(world.read('open.txt')).toBe('after\n');
    expect(ran.task.status).toBe('done');
  },
);

test('what our own check writes beside an input is not held against the agent', async () => {
  const world = await makeWorld({ config: EMMA });
  world.write('src/a.txt', 'a');
  emma(world, 'echo x > out.txt', REPORT_DONE);
  const expected = output('out.txt', { validation: { command: 'echo cache > src/cache' } });
  const ran = await world.run(
    taskOf(world, { agent: 'emma', task: { inputs: [{ path: 'src' }], expected_outputs: [expected] } }),
  );
  expect(ran.task).toMatchObject({ status: 'done', cause: null });
});
