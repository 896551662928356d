/** Phases and checkpoints: each phase only after the one before has passed, each checkpoint looked at by Baton itself. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import type { Phase } from '../../src/runtime/phases.ts';
import { EMMA, emma, output, print, REPORT_DONE, responseText } from './small-agents.ts';
import { alivePids, makeWorld, newSleep, type Ran, reportText, taskOf, type World } from './world.ts';

type Strategy = 'RETRY' | 'CONTINUE' | 'SKIP' | 'ABORT';

const phase = (id: string, order: number, command: string, strategy?: Strategy): Phase => ({
  phase_id: id,
  phase_order: order,
  objective: `the work of ${id}`,
  checkpoints: [
    {
      checkpoint_id: `CP-${id}`,
      validation: { command, expects: 'EXIT_CODE_0' },
      ...(strategy === undefined ? {} : { recovery_strategy: strategy }),
    },
  ],
});

/** Notes the phases that the agent was asked for, in order. */
const NOTE = 'echo $BATON_PHASE >> phases.txt; cat >> "prompt-$BATON_PHASE.txt"';
const phasesOf = (world: World): string[] => world.read('phases.txt')?.trim().split('\n') ?? [];
const statuses = ({ last }: Ran): unknown =>
  Object.fromEntries((last.response.checkpoint_results ?? []).map((one) => [one.checkpoint_id, one.status]));

test('phases go in phase_order, and each has its own turn, its checkpoint and its words', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, NOTE, 'echo made > $BATON_PHASE.txt', REPORT_DONE);
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      phases: [phase('TWO', 2, 'cat TWO.txt'), phase('THREE', 3, 'cat THREE.txt'), phase('ONE', 1, 'cat ONE.txt')],
    }),
  );
  expect(ran.task.status).toBe('done');
  expect(phasesOf(world)).toEqual(['ONE', 'TWO', 'THREE']);
  expect(statuses(ran)).toEqual({ 'CP-ONE': 'PASS', 'CP-TWO': 'PASS', 'CP-THREE': 'PASS' });
  expect(world.read('prompt-TWO.txt')).toContain('Phase 2 of 3');
  expect(world.read('prompt-TWO.txt')).toContain('the work of TWO');
  // What was seen is kept: in the RESPONSE, in the journal, and whole in a file.
  expect(ran.last.response.checkpoint_results?.[0]).toMatchObject({
    validation_output: expect.stringContaining('made'),
    evidence: ['cat ONE.txt → exit 0'],
  });
  expect(ran.told('run.checkpoint')[0]).toMatchObject({
    checkpoint: 'CP-ONE',
    status: 'PASS',
    exitCode: 0,
    output: 'made\n',
  });
  expect(ran.log('check-1.log')).toContain('made');
  expect(ran.told('run.phase').map(({ phase: id, state }) => `${id} ${state}`)).toEqual([
    'ONE started',
    'ONE passed',
    'TWO started',
    'TWO passed',
    'THREE started',
    'THREE passed',
  ]);
});

test('a checkpoint that fails without a strategy: no phase after it begins, and the task stays in review', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(
    world,
    NOTE,
    print(responseText({ task_id: 'T', checkpoint_results: [{ checkpoint_id: 'CP-ONE', status: 'PASS' }] })),
  );
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      task: { task_id: 'T' },
      phases: [phase('ONE', 1, 'exit 5'), phase('TWO', 2, 'true')],
    }),
  );
  expect(phasesOf(world)).toEqual(['ONE']);
  expect(ran.task).toMatchObject({ status: 'review', cause: { code: 'E_EVIDENCE' } });
  expect(ran.task.cause?.message).toContain('CP-ONE');
  expect(statuses(ran)).toEqual({ 'CP-ONE': 'FAIL' });
  expect(ran.last.response.extensions?.['x_claims']).toEqual(
    expect.arrayContaining([expect.objectContaining({ what: 'says that CP-ONE passed', verdict: 'contradicted' })]),
  );
});

test('RETRY does the phase again and names the finding; what passes then is RECOVERED', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, NOTE, 'echo x >> tries.txt', REPORT_DONE);
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      phases: [phase('ONE', 1, 'test $(wc -l < tries.txt) -ge 2', 'RETRY'), phase('TWO', 2, 'true')],
    }),
  );
  expect(ran.task).toMatchObject({ status: 'done', attempts: 1 });
  expect(phasesOf(world)).toEqual(['ONE', 'ONE', 'TWO']);
  expect(statuses(ran)).toEqual({ 'CP-ONE': 'RECOVERED', 'CP-TWO': 'PASS' });
  expect(world.read('prompt-ONE.txt')).toMatch(
    /is not done:\s+- CP-ONE: check `test .* -ge 2` failed: exit code 1, expected 0/,
  );
  expect(ran.told('run.checkpoint').map(({ status }) => status)).toEqual(['FAIL', 'RECOVERED', 'PASS']);
});

test('RETRY ends when the retries are used up', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, NOTE, REPORT_DONE);
  const ran = await world.run(taskOf(world, { agent: 'emma', phases: [phase('ONE', 1, 'false', 'RETRY')] }));
  expect(phasesOf(world)).toEqual(['ONE', 'ONE']);
  expect(ran.task).toMatchObject({ status: 'review', cause: { code: 'E_EVIDENCE' } });
});

test('CONTINUE and SKIP record the failure and go on', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, NOTE, REPORT_DONE);
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      phases: [phase('ONE', 1, 'exit 2', 'CONTINUE'), phase('TWO', 2, 'exit 3', 'SKIP'), phase('THREE', 3, 'true')],
    }),
  );
  expect(phasesOf(world)).toEqual(['ONE', 'TWO', 'THREE']);
  expect(statuses(ran)).toEqual({ 'CP-ONE': 'FAIL', 'CP-TWO': 'SKIP', 'CP-THREE': 'PASS' });
  expect(ran.task.status).toBe('done');
  const claims = ran.last.response.extensions?.['x_claims'] as { what: string; verdict: string }[];
  expect(claims.find(({ what }) => what === 'checkpoint CP-ONE')?.verdict).toBe('unverified');
});

test('ABORT stops at once, takes no other attempt, and puts back what was there', async () => {
  const world = await makeWorld({ config: EMMA });
  world.write('out.txt', 'before');
  emma(world, NOTE, 'echo spoilt > out.txt', REPORT_DONE);
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      task: { expected_outputs: [output('out.txt', { rollback_snapshot: { enabled: true } })] },
      policy: { max_retries: 3, retry_backoff_seconds: [0] },
      phases: [phase('ONE', 1, 'false', 'ABORT'), phase('TWO', 2, 'true')],
    }),
  );
  expect(phasesOf(world)).toEqual(['ONE']);
  expect(ran.task).toMatchObject({ status: 'deadletter', attempts: 1, cause: { code: 'E_EVIDENCE' } });
  expect(world.read('out.txt')).toBe('before');
  expect(ran.told('rollback.initiated')).toMatchObject([{ trigger: 'TASK_ABORTED' }]);
  expect(ran.last.response.task_status).toMatchObject({ state: 'ABORTED', final_signal: 'ABORTED' });
});

test("a checkpoint's expected artifacts have to be there", async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, REPORT_DONE);
  const checkpoints = [{ checkpoint_id: 'CP', expected_artifacts: [{ type: 'FILE', path: world.path('made.txt') }] }];
  const ran = await world.run(taskOf(world, { agent: 'emma', phases: [{ phase_id: 'P', checkpoints }] as Phase[] }));
  expect(ran.task).toMatchObject({ status: 'review' });
  expect(ran.task.cause?.message).toContain('made.txt');
  emma(world, 'echo x > made.txt', REPORT_DONE);
  const again = await world.run(taskOf(world, { agent: 'emma', phases: [{ phase_id: 'P', checkpoints }] as Phase[] }));
  expect(again.task.status).toBe('done');
});

test('an attempt after a failed one goes on with the first phase that has not passed', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(
    world,
    NOTE,
    '[ $BATON_PHASE = TWO ] && [ $BATON_ATTEMPT = 1 ] && exit 9',
    'echo x > $BATON_PHASE.txt',
    REPORT_DONE,
  );
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      policy: { max_retries: 1, retry_backoff_seconds: [0] },
      phases: [phase('ONE', 1, 'cat ONE.txt'), phase('TWO', 2, 'cat TWO.txt')],
    }),
  );
  expect(phasesOf(world)).toEqual(['ONE', 'TWO', 'TWO']);
  expect(ran.task).toMatchObject({ status: 'done', attempts: 2 });
  expect(statuses(ran)).toEqual({ 'CP-ONE': 'PASS', 'CP-TWO': 'PASS' });
});

test('an agent that says it is blocked, or failed, in a phase does not get the next one', async () => {
  for (const [status, outcome] of [
    ['failure', 'deadletter'],
    ['success', 'done'],
  ] as const) {
    const world = await makeWorld({ config: EMMA });
    emma(world, NOTE, print(reportText(status, '- As it is.')));
    const ran = await world.run(
      taskOf(world, { agent: 'emma', phases: [phase('ONE', 1, 'true'), phase('TWO', 2, 'true')] }),
    );
    expect(phasesOf(world)).toEqual(status === 'failure' ? ['ONE'] : ['ONE', 'TWO']);
    expect(ran.task.status).toBe(outcome);
  }
});

test('a checkpoint that hangs ends with the time of the task, and nothing of it is left', async () => {
  const world = await makeWorld({ config: EMMA });
  const nap = newSleep();
  emma(world, REPORT_DONE);
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      policy: { timeout_seconds: 2 },
      phases: [phase('ONE', 1, `sleep ${nap} & sleep ${nap}`)],
    }),
  );
  expect(ran.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_TIMEOUT' } });
  expect(alivePids(nap)).toEqual([]);
  expect(world.alive()).toEqual([]);
});

test('an agent whose conversation ends with each turn is told its task in every phase', async () => {
  const asked: string[] = [];
  const gateway = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString('utf8');
    });
    request.on('end', () => {
      asked.push((JSON.parse(body) as { args: { task: string } }).args.task);
      response.end(JSON.stringify({ ok: true, result: { sessionId: `s${asked.length}` } }));
    });
  });
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve));
  try {
    const url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
    const world = await makeWorld({ config: { agents: { claw: { kind: 'openclaw', url } } } });
    const phases = [phase('ONE', 1, 'true'), phase('TWO', 2, 'true')];
    await world.run(taskOf(world, { agent: 'claw', objective: 'Mend the fence.', phases }));
    expect(asked).toHaveLength(2);
    for (const words of asked) expect(words).toContain('Mend the fence.');
  } finally {
    gateway.closeAllConnections();
    gateway.close();
  }
});
