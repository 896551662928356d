/** An agent's RESPONSE counts: whose it is, what it cost, the error that it names; and one that cannot be read is a failed attempt. */
import { describe, expect, test } from 'vitest';
import { reportText as shownReport } from '../../src/cli/report-text.ts';
import { checkGuardRails, decodeAop2 } from '../../src/protocol/aop2/index.ts';
import { createTaskView } from '../../src/runtime/lookup.ts';
import { sessionReport } from '../../src/runtime/session.ts';
import { as, USER } from './messages.ts';
import { callsOf, codex, EMMA, emma, fakeCli, print, REPORT_DONE, responseText } from './small-agents.ts';
import { makeWorld, type Ran, reportText, sh, type TaskParts, taskOf, until, type World } from './world.ts';

const NOW_AGAIN = { max_retries: 2, retry_backoff_seconds: [0] };
const forEmma = (world: World, parts: Partial<TaskParts> = {}) =>
  taskOf(world, { agent: 'emma', ...parts, task: { task_id: 'T', ...parts.task } });
const response = (fields: object = {}): string => responseText({ task_id: 'T', ...fields });
const failure = (code: unknown, message = 'it could not'): object => ({
  task_status: { state: 'FAILED', final_signal: 'FAILURE' },
  error_details: { code, message },
});
const tries = (world: World): number => (world.read('tries.txt') ?? '').split('\n').length - 1;
const TRY = 'echo x >> tries.txt';

/** The agent says it on its socket, and the answers are kept. */
const bySocket = (world: World, text: string): string => {
  const send = world.script(
    'send',
    `const socket = require('node:net').connect(process.env.BATON_SOCKET);
     let said = '';
     socket.on('data', (chunk) => { said += chunk; });
     socket.on('close', () => require('node:fs').writeFileSync('answers.txt', said));
     socket.end(require('node:fs').readFileSync(0));`,
  );
  return `cat <<'SAID' | node ${send}\n${text}\nSAID`;
};

/** While the agent waits, somebody sends a message for its task; the agent ends when it was taken. */
async function sentWhile(world: World, parts: Partial<TaskParts>, text: string, sender = USER): Promise<[Ran, string]> {
  emma(world, 'touch began; while [ ! -e go ]; do sleep 0.02; done; echo bye');
  const running = world.run(forEmma(world, parts));
  await until('the agent is at work', () => world.read('began') !== null);
  const [answer] = await world.host.router.take(text, sender);
  world.write('go', '');
  return [await running, `${answer?.result} ${answer?.reason ?? ''}`];
}

describe('a RESPONSE of another session or another task is no report of this run', () => {
  // The task has the id of the contract's own example.
  const strange = [
    ['session', { task_id: 'T', session_id: 'AOP-SESSION-2026-02-26-001' }],
    ['task', { task_id: 'TASK-001', session_id: 'test-session' }],
  ] as const;
  test.each(strange)('on standard output: another %s', async (_name, ids) => {
    const world = await makeWorld({ config: EMMA });
    emma(world, print(response(ids)));
    const ran = await world.run(forEmma(world));
    expect(ran.task).toMatchObject({ status: 'review', run: { outcome: 'needs_review' } });
    expect(JSON.stringify(ran.told('protocol.message.rejected'))).toContain(
      ids.task_id === 'T' ? ids.session_id : 'TASK-001',
    );
    expect(ran.last.block).toContain('report: made by baton');
  });
  test.each(strange)('on its socket: another %s', async (_name, ids) => {
    const world = await makeWorld({ config: EMMA });
    emma(world, bySocket(world, response(ids)));
    const ran = await world.run(forEmma(world));
    expect(world.read('answers.txt')).toContain('"rejected"');
    expect(ran.task).toMatchObject({ status: 'review', run: { outcome: 'needs_review' } });
  });
  test('sent by others, with the id that Baton gave the task', async () => {
    const world = await makeWorld({ config: EMMA });
    const [task] = await world.add(forEmma(world));
    const text = response({ task_id: task?.id, session_id: 'another' });
    for (const sender of [USER, as('emma')]) {
      const [answer] = await world.host.router.take(text, sender);
      expect(answer).toMatchObject({ result: 'rejected', code: 'E_NOT_FOUND' });
      expect(answer?.reason).toContain('another');
    }
    expect(await world.store.find(task?.id ?? '')).toMatchObject({ status: 'ready', run: null });
  });
});

describe('what a RESPONSE says that it cost', () => {
  const cost = { actual_cost_usd: 0.2, tokens_input: 100, tokens_output: 20 };
  const spent = { usd: 0.2, tokensInput: 100, tokensOutput: 20 };
  const totals = async (world: World): Promise<unknown> =>
    (
      await sessionReport({
        store: world.store,
        dir: world.dir,
        session: 'test-session',
        auditPath: 'audit',
        now: Date.now(),
      })
    ).cost_summary;

  test('counts where nothing was measured: in the task, the RESPONSE and the totals', async () => {
    const world = await makeWorld({ config: EMMA });
    emma(world, print(response({ cost_tracking: cost })));
    const ran = await world.run(forEmma(world));
    expect(ran.task).toMatchObject({ status: 'done', cost: spent });
    expect(ran.last.response.cost_tracking).toMatchObject(cost);
    expect(await totals(world)).toMatchObject({ actual_cost_usd: 0.2, tokens_input: 100, tokens_output: 20 });
    expect(ran.told('run.usage').at(-1)).toMatchObject({ ...spent, claimed: true });
  });
  test('an estimate counts where it says no more', async () => {
    const world = await makeWorld({ config: EMMA });
    emma(world, print(response({ cost_tracking: { estimated_cost_usd: 0.15 } })));
    const ran = await world.run(forEmma(world));
    expect(ran.task.cost.usd).toBe(0.15);
    expect(ran.last.response.cost_tracking).toMatchObject({ estimated_cost_usd: 0.15 });
    expect(ran.told('run.usage').at(-1)).toMatchObject({ usd: 0.15, estimated: true });
  });
  test('what was measured is the truth', async () => {
    const world = await makeWorld({ config: { defaults: { sandbox: 'off' }, agents: { c: { kind: 'codex' } } } });
    fakeCli(world, 'codex', codex(response({ cost_tracking: cost }), { input: 7, output: 3 }));
    const ran = await world.run(
      taskOf(world, { agent: 'c', provider: 'CODEX', model: 'gpt-x', task: { task_id: 'T' } }),
    );
    // Tokens were measured; dollars nobody knows but the agent.
    expect(ran.task.cost).toEqual({ usd: 0.2, tokensInput: 7, tokensOutput: 3 });
  });
  test('tokens without dollars and without a price: the cost is unknown, and shown as that; of a command it is nothing', async () => {
    const world = await makeWorld({
      config: { ...EMMA, agents: { ...EMMA.agents, c: { kind: 'codex' } } },
    });
    fakeCli(world, 'codex', codex(reportText(), { input: 7, output: 3 }));
    const ran = await world.run(taskOf(world, { agent: 'c', provider: 'CODEX', model: 'gpt-x' }));
    const view = createTaskView(world.store);
    const unknown = { usd: null, known_usd: 0, tokens_input: 7, tokens_output: 3 };
    expect((await view(ran.task)).cost).toEqual(unknown);
    const report = await sessionReport({
      ...{ store: world.store, dir: world.dir, session: 'test-session', auditPath: 'audit', now: Date.now() },
    });
    expect(report.cost_summary).toMatchObject({ actual_cost_usd: null, known_cost_usd: 0 });
    expect(report.cost_summary.by_agent['c']?.usd).toBeNull();
    expect(report.delegation_graph.nodes[0]?.cost_usd).toBeNull();
    expect(shownReport(report)).toContain('dollars unknown, 7 tokens in, 3 out');
    emma(world, REPORT_DONE);
    const other = await world.run(forEmma(world, { session: { session_id: 'two' } }));
    expect((await view(other.task)).cost).toEqual({ usd: 0, known_usd: 0, tokens_input: 0, tokens_output: 0 });
  });
  test('above the budget is E_COST_LIMIT_EXCEEDED, and its alternative is tried', async () => {
    const world = await makeWorld({ config: EMMA });
    emma(world, print(response({ cost_tracking: cost })));
    const budgets = { max_cost_usd: 0.1 };
    const ran = await world.run(forEmma(world, { task: { budgets } }));
    expect(ran.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_COST_LIMIT_EXCEEDED' } });
    fakeCli(world, 'codex', codex(reportText(), { input: 1, output: 1 }));
    const other = { provider: 'CODEX', model: 'gpt-x', fallback_trigger: 'COST_LIMIT_EXCEEDED' } as const;
    const parts = { session: { session_id: 'two' }, task: { budgets }, policy: { alternative_models: [other] } };
    emma(world, print(response({ session_id: 'two', cost_tracking: cost })));
    expect((await world.run(forEmma(world, parts))).task.status).toBe('done');
    expect(callsOf(world)).toEqual(['codex gpt-x']);
  });
  test('is added up over the phases, each of which says its own', async () => {
    const world = await makeWorld({ config: EMMA });
    emma(world, print(response({ cost_tracking: cost })));
    const phases = ['ONE', 'TWO'].map((phase_id) => ({ phase_id, checkpoints: [{ checkpoint_id: phase_id }] }));
    const ran = await world.run(forEmma(world, { phases }));
    expect(ran.task.cost).toEqual({ usd: 0.4, tokensInput: 200, tokensOutput: 40 });
  });
  test('counts when it is sent: to a run, to a task without a run, and against its budget', async () => {
    const world = await makeWorld({ config: EMMA });
    const [ran] = await sentWhile(world, {}, response({ cost_tracking: cost }), as('emma'));
    expect(ran.task).toMatchObject({ status: 'done', cost: spent });
    const [cheap, dear] = await world.add(
      forEmma(world, { session: { session_id: 'two' } }),
      forEmma(world, { session: { session_id: 'three' }, task: { budgets: { max_cost_usd: 0.1 } } }),
    );
    const send = async (id: string | undefined, session: string): Promise<string | undefined> =>
      (await world.host.router.take(response({ task_id: id, session_id: session, cost_tracking: cost }), as('emma')))[0]
        ?.result;
    expect(await send(cheap?.id, 'two')).toBe('accepted');
    expect(await world.store.find(cheap?.id ?? '')).toMatchObject({ status: 'done', cost: spent });
    expect(await send(dear?.id, 'three')).toBe('accepted');
    expect(await world.store.find(dear?.id ?? '')).toMatchObject({
      status: 'deadletter',
      cost: spent,
      cause: { code: 'E_COST_LIMIT_EXCEEDED' },
    });
  });
});

describe('the RESPONSE of a task that was tried more than once', () => {
  test('has cost and time of all attempts, and those of the last beside them', async () => {
    const world = await makeWorld({ config: EMMA });
    const [first, second] = [
      { actual_cost_usd: 0.5, tokens_input: 100, tokens_output: 20 },
      { actual_cost_usd: 0.25, tokens_input: 10, tokens_output: 2 },
    ];
    emma(
      world,
      `if [ $BATON_ATTEMPT = 1 ]; then ${print(response({ ...failure('E_TIMEOUT'), cost_tracking: first }))}\nexit 0; fi`,
      print(response({ cost_tracking: second })),
    );
    const ran = await world.run(forEmma(world, { policy: NOW_AGAIN }));
    expect(ran.task).toMatchObject({ status: 'done', attempts: 2 });
    const [before, after] = ran.results.map((result) => result.response);
    expect(before?.cost_tracking).toEqual(first);
    expect(after?.cost_tracking).toEqual({
      actual_cost_usd: 0.75,
      tokens_input: 110,
      tokens_output: 22,
      extensions: { x_attempt_cost: second },
    });
    const [early, late] = [before?.timing, after?.timing];
    const began = Date.parse(late?.started_at ?? '');
    expect(began).toBeLessThanOrEqual(Date.parse(early?.started_at ?? ''));
    expect(late?.duration_seconds).toBe((Date.parse(late?.completed_at ?? '') - began) / 1000);
    expect(late?.retries_attempted).toBe(1);
    expect(late?.extensions?.['x_attempt']).toMatchObject({ started_at: expect.any(String) });
    expect(JSON.stringify(late?.extensions)).not.toContain(late?.started_at);
    expect(decodeAop2({ ...after }, JSON.stringify(after)).valid).toBe(true);
    expect(ran.last.block).toContain(`START] ${late?.started_at}`);
  });
  test('a model whose dollars nobody knows makes the sum unknown; what is known stands beside it', async () => {
    const world = await makeWorld({ config: EMMA });
    fakeCli(world, 'codex', codex(reportText(), { input: 7, output: 3 }));
    const other = { provider: 'CODEX', model: 'gpt-x', fallback_trigger: 'TIMEOUT' } as const;
    const cost_tracking = { actual_cost_usd: 0.5, tokens_input: 100, tokens_output: 20 };
    emma(world, print(response({ ...failure('E_TIMEOUT'), cost_tracking })));
    const ran = await world.run(forEmma(world, { policy: { alternative_models: [other] } }));
    expect(ran.task.status).toBe('done');
    expect((await createTaskView(world.store)(ran.task)).cost).toMatchObject({ usd: null, known_usd: 0.5 });
    const own = { tokens_input: 7, tokens_output: 3 };
    expect(ran.last.response.cost_tracking).toEqual({
      tokens_input: 107,
      tokens_output: 23,
      extensions: { x_attempt_cost: own, x_known_usd: 0.5 },
    });
  });
});

describe('the error that a RESPONSE names decides what comes next', () => {
  test.each(['E_AGENT_NOT_FOUND', 'E_MODEL_UNAVAILABLE', 'E_CREDENTIALS', 'E_PERMISSION_DENIED'])(
    '%s is not tried again',
    async (code) => {
      const world = await makeWorld({ config: EMMA });
      emma(world, TRY, print(response(failure(code))));
      const ran = await world.run(forEmma(world, { policy: NOW_AGAIN }));
      expect(ran.task).toMatchObject({ status: 'deadletter', attempts: 1, cause: { code, message: 'it could not' } });
      expect(ran.last.response.error_details).toMatchObject({ code, message: 'it could not' });
      expect(tries(world)).toBe(1);
    },
  );
  test.each([
    ['E_TIMEOUT', 'E_TIMEOUT', 'slow'],
    ['OOPS', 'E_UNKNOWN', 'OOPS: slow'],
  ])('%s is tried again', async (said, code, message) => {
    const world = await makeWorld({ config: EMMA });
    emma(world, TRY, print(response(failure(said, 'slow'))));
    const ran = await world.run(forEmma(world, { policy: NOW_AGAIN }));
    expect(ran.task).toMatchObject({ status: 'deadletter', attempts: 3, cause: { code, message } });
    expect(tries(world)).toBe(3);
  });
  test.each([
    ['E_TIMEOUT', 'TIMEOUT'],
    ['E_COST_LIMIT_EXCEEDED', 'COST_LIMIT_EXCEEDED'],
    ['E_PERMISSION_DENIED', 'CRITICAL_ERROR'],
  ] as const)('%s sets off %s, and no other error does', async (code, fallback_trigger) => {
    const world = await makeWorld({ config: EMMA });
    fakeCli(world, 'codex', codex(reportText(), { input: 1, output: 1 }));
    const policy = { alternative_models: [{ provider: 'CODEX' as const, model: 'gpt-x', fallback_trigger }] };
    emma(world, print(response(failure(code))));
    expect((await world.run(forEmma(world, { policy }))).task.status).toBe('done');
    expect(callsOf(world)).toEqual(['codex gpt-x']);
    emma(world, print(response({ session_id: 'two', ...failure('E_FILE_NOT_FOUND') })));
    const other = await world.run(forEmma(world, { session: { session_id: 'two' }, policy }));
    expect(other.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_FILE_NOT_FOUND' } });
  });
  test('also where it is sent for a task without a run', async () => {
    const world = await makeWorld({ config: EMMA });
    const [task] = await world.add(forEmma(world, { policy: NOW_AGAIN }));
    await world.host.router.take(response({ task_id: task?.id, ...failure('E_CREDENTIALS') }), as('emma'));
    expect(await world.store.find(task?.id ?? '')).toMatchObject({
      status: 'deadletter',
      cause: { code: 'E_CREDENTIALS', message: 'it could not' },
    });
  });
});

describe('a RESPONSE that cannot be read is a failed attempt', () => {
  const broken = { task_status: { state: 'FINE' } };
  const MALFORMED = { status: 'deadletter', cause: { code: 'E_MALFORMED_RESPONSE' } };

  test('it is tried again, and never ends as a partial success', async () => {
    const world = await makeWorld({ config: EMMA });
    emma(world, TRY, print(response(broken)));
    const ran = await world.run(forEmma(world, { policy: NOW_AGAIN }));
    expect(ran.task).toMatchObject({ ...MALFORMED, attempts: 3 });
    expect(ran.task.cause?.message).toContain('/task_status/state');
    expect(tries(world)).toBe(3);
    expect(ran.last.response.task_status).toMatchObject({ state: 'FAILED', final_signal: 'FAILURE' });
    expect(ran.last.response.error_details).toMatchObject({ code: 'E_MALFORMED_RESPONSE' });
  });
  test('FIRST_ERROR takes the next model', async () => {
    const world = await makeWorld({ config: EMMA });
    fakeCli(world, 'codex', codex(reportText(), { input: 1, output: 1 }));
    emma(world, print(response(broken)));
    const other = { provider: 'CODEX', model: 'gpt-x', fallback_trigger: 'FIRST_ERROR' } as const;
    const ran = await world.run(forEmma(world, { policy: { alternative_models: [other] } }));
    expect(ran.task.status).toBe('done');
    expect(callsOf(world)).toEqual(['codex gpt-x']);
  });
  test('on the socket the same; a report that comes after it counts, and one before it does not', async () => {
    const world = await makeWorld({ config: EMMA });
    emma(world, bySocket(world, response(broken)));
    expect((await world.run(forEmma(world))).task).toMatchObject(MALFORMED);
    emma(world, print(response({ session_id: 'two', ...broken })), REPORT_DONE);
    const mended = await world.run(forEmma(world, { session: { session_id: 'two' } }));
    expect(mended.task.status).toBe('done');
    emma(world, print(response({ session_id: 'three' })), print(response({ session_id: 'three', ...broken })));
    const spoilt = await world.run(forEmma(world, { session: { session_id: 'three' } }));
    expect(spoilt.task).toMatchObject(MALFORMED);
  });
  test('one of another session is not this run’s, and a person’s fails nobody', async () => {
    const world = await makeWorld({ config: EMMA });
    emma(world, print(response({ session_id: 'another', ...broken })));
    expect((await world.run(forEmma(world))).task).toMatchObject({ status: 'review', cause: null });
    const parts = { session: { session_id: 'two' } };
    const [ran, answer] = await sentWhile(world, parts, response({ session_id: 'two', ...broken }));
    expect(answer).toContain('rejected');
    expect(ran.task).toMatchObject({ status: 'review', cause: null });
  });
});

describe('guard rails', () => {
  test('COMPLETED without a final signal is done where none is required', async () => {
    const world = await makeWorld({ config: EMMA });
    const bare = { task_status: { state: 'COMPLETED' } };
    const rails = { require_final_signal: false };
    emma(world, print(response(bare)));
    const ran = await world.run(forEmma(world, { rails }));
    expect(ran.task).toMatchObject({ status: 'done', run: { outcome: 'done' } });
    const [strict, loose] = await world.add(
      forEmma(world, { session: { session_id: 'two' } }),
      forEmma(world, { session: { session_id: 'three' }, rails }),
    );
    const send = async (id = '', session_id = '') =>
      (await world.host.router.take(response({ task_id: id, session_id, ...bare }), as('emma')))[0];
    expect(await send(strict?.id, 'two')).toMatchObject({ result: 'rejected', code: 'E_MALFORMED_RESPONSE' });
    expect(await world.store.find(strict?.id ?? '')).toMatchObject({ status: 'ready' });
    expect(await send(loose?.id, 'three')).toMatchObject({ result: 'accepted' });
    expect(await world.store.find(loose?.id ?? '')).toMatchObject({ status: 'done' });
  });
});

describe('RETRY of a checkpoint and max_retries share one number of tries', () => {
  const phases = (command: string) => [
    {
      phase_id: 'ONE',
      checkpoints: [
        {
          checkpoint_id: 'C',
          recovery_strategy: 'RETRY' as const,
          validation: { command, expects: 'EXIT_CODE_0' as const },
        },
      ],
    },
  ];
  test.each([
    [0, 2],
    [1, 2],
    [2, 3],
    [4, 5],
  ])('max_retries %i: the agent runs %i times, and the task waits in review', async (max_retries, runs) => {
    const world = await makeWorld({ config: EMMA });
    emma(world, TRY, REPORT_DONE);
    const policy = { max_retries, retry_backoff_seconds: [0] };
    const ran = await world.run(forEmma(world, { policy, phases: phases('false') }));
    expect(tries(world)).toBe(runs);
    expect(ran.task).toMatchObject({ status: 'review', attempts: 1, cause: { code: 'E_EVIDENCE' } });
  });
  test('attempts that crashed have used some of them', async () => {
    const world = await makeWorld({ config: EMMA });
    emma(world, TRY, '[ $(wc -l < tries.txt) = 2 ] && exit 1', REPORT_DONE);
    const ran = await world.run(forEmma(world, { policy: NOW_AGAIN, phases: phases('false') }));
    expect(tries(world)).toBe(3);
    expect(ran.task).toMatchObject({ status: 'review', attempts: 2 });
  });
  test('when they are used up, another model has its turn; a person who says retry gives all of them again', async () => {
    const world = await makeWorld({
      config: { ...EMMA, agents: { ...EMMA.agents, sam: sh(`${TRY}\n${REPORT_DONE}`) } },
    });
    emma(world, TRY, REPORT_DONE);
    fakeCli(world, 'codex', TRY, codex(reportText(), { input: 1, output: 1 }));
    const other = { provider: 'CODEX', model: 'gpt-x', fallback_trigger: 'ALL_ERRORS' } as const;
    const policy = { ...NOW_AGAIN, alternative_models: [other] };
    const ran = await world.run(forEmma(world, { policy, phases: phases('false') }));
    expect(tries(world)).toBe(4);
    expect(ran.task).toMatchObject({ status: 'review', attempts: 2 });
  });
});

describe('what the agent says in its RESPONSE is in Baton’s', () => {
  const said = {
    extensions: { x_debug_id: 'resp-1', x_log: 'mine.log' },
    task_status: { state: 'COMPLETED', final_signal: 'SUCCESS', message: 'Two files are new.' },
    execution_summary: {
      summary: 'It is made.',
      actions: ['made it'],
      warnings: ['a warning of mine'],
      errors: ['an error of mine'],
      extensions: { x_log_ref: 'logs/1' },
    },
    checkpoint_results: [
      { checkpoint_id: 'C', status: 'PASS', validation_output: 'ok', evidence: ['saw it'], notes: 'fine' },
      { checkpoint_id: 'MY-OWN', status: 'PASS', evidence: ['I looked'], extensions: { x_a: 1 } },
    ],
    progress_log: { last_progress_event_at: '2026-02-26T12:38:30Z', progress_percentage: 60 },
    cost_tracking: { estimated_cost_usd: 0.1, actual_cost_usd: 0.2, tokens_input: 1, model_pricing_tier: 'standard' },
  };

  test('nothing is dropped and nothing of Baton’s is overwritten', async () => {
    const world = await makeWorld({ config: EMMA });
    emma(world, print(response(said)));
    const phases = [
      {
        phase_id: 'P',
        checkpoints: [{ checkpoint_id: 'C', validation: { command: 'true', expects: 'EXIT_CODE_0' as const } }],
      },
    ];
    const { last, log } = await world.run(forEmma(world, { phases }));
    const { response: made } = last;
    expect(made.extensions).toMatchObject({ x_debug_id: 'resp-1', x_run_id: last.task.run?.id });
    expect(made.extensions?.['x_log']).toContain('out.log');
    expect(made.extensions?.['x_agent']).toEqual({ extensions: { x_log: 'mine.log' } });
    expect(made.task_status.message).toMatch(/^Done.* The agent says: Two files are new\.$/);
    expect(made.execution_summary).toMatchObject({ actions: ['made it'], extensions: { x_log_ref: 'logs/1' } });
    expect(made.execution_summary?.warnings).toContain('a warning of mine');
    expect(made.execution_summary?.errors).toContain('an error of mine');
    const [own, other] = made.checkpoint_results ?? [];
    expect(own).toMatchObject({
      checkpoint_id: 'C',
      status: 'PASS',
      extensions: { x_agent: { evidence: ['saw it'], notes: 'fine' } },
    });
    expect(other).toMatchObject({ ...said.checkpoint_results[1], extensions: { x_a: 1, x_verdict: 'unverified' } });
    expect(made.progress_log).toEqual({ last_progress_event_at: '2026-02-26T12:38:30Z', progress_percentage: 100 });
    expect(made.cost_tracking).toMatchObject({
      estimated_cost_usd: 0.1,
      actual_cost_usd: 0.2,
      model_pricing_tier: 'standard',
    });
    expect(JSON.parse(log('details.json')).results.agent_response).toMatchObject(said);
    expect(decodeAop2(made, JSON.stringify(made))).toMatchObject({ valid: true, problems: [] });
  });
  test('extensions as large as a RESPONSE may be leave it within its limit; they are in the details', async () => {
    const world = await makeWorld({ config: EMMA });
    world.write('said.json', response({ extensions: { x_big: 'x'.repeat(400_000) } }));
    emma(world, 'cat said.json');
    const { last, log } = await world.run(forEmma(world));
    expect(last.task.status).toBe('done');
    expect(Buffer.byteLength(JSON.stringify(last.response))).toBeLessThan(500 * 1024);
    expect(JSON.stringify(last.response.extensions?.['x_agent'])).toContain('details file');
    expect(JSON.parse(log('details.json')).results.agent_response.extensions.x_big).toHaveLength(400_000);
  });
});

test.each([
  ['an aop1 block', REPORT_DONE],
  ['an exit code', 'echo made > made.txt'],
  ['a crash', 'exit 3'],
])(
  'the RESPONSE for a run that ended with %s has the minimal report that guard rails ask for',
  async (_name, script) => {
    const world = await makeWorld({ config: EMMA });
    emma(world, 'echo made > made.txt', script);
    const expected_outputs = [{ type: 'FILE', path: 'made.txt' }];
    const { response: made } = (await world.run(forEmma(world, { task: { expected_outputs } }))).last;
    const rails = { finalSignal: true, minimalReport: true };
    expect(checkGuardRails(made, rails)).toEqual([]);
    expect(made.execution_summary?.actions?.join(' ')).toContain('emma ran');
    expect(decodeAop2(made, JSON.stringify(made)).problems).toEqual([]);
  },
);

describe('what the output protocol keeps out of a block', () => {
  const stack = Array.from({ length: 4 }, (_, i) => `    at f${i} (/src/a.ts:${i + 1}:2)`).join('\n');
  const code = ['```ts', ...Array.from({ length: 7 }, (_, i) => `const a${i} = ${i};`), '```'].join('\n');
  const log = Array.from({ length: 4 }, (_, i) => `2026-11-16 05:00:0${i} INFO step ${i}`).join('\n');
  test.each([
    ['a stack trace', `- It broke.\n${stack}`, '- It broke.', 'a.ts:', 'a stack trace'],
    ['a code snippet', `- It is made.\n${code}`, '- It is made.', 'const', 'a code snippet of more than 5 lines'],
    ['a log', `- It ran.\n${log}`, '- It ran.', 'INFO', 'a log'],
    ['too many bullets', '- one\n- two\n- three\n- four\n- five\n- six', '- five', '- six', 'at most 5 bullet points'],
  ])('%s is a finding, is not in the block for the parent, and is whole in the details', async (...given) => {
    const [, summary, kept, forbidden, words] = given;
    const world = await makeWorld({ config: EMMA });
    emma(world, print(reportText('success', summary)));
    const ran = await world.run(forEmma(world));
    expect(ran.task.status).toBe('done');
    expect(ran.last.block).toContain(kept);
    expect(ran.last.block).not.toContain(forbidden);
    expect(ran.last.response.execution_summary?.warnings?.join()).toContain(`E_CHECKLIST: `);
    expect(JSON.stringify(ran.told('protocol.message.warning'))).toContain(words);
    expect(JSON.parse(ran.log('details.json')).results.output.join('\n')).toContain(summary);
  });
  test('a DETAILS_FILE that leads nowhere is a finding; one in the workspace is none', async () => {
    const world = await makeWorld({ config: EMMA });
    const text = reportText().replace('[AOP:DETAILS_FILE] none', '[AOP:DETAILS_FILE] out/all.json');
    emma(world, print(text));
    const lost = await world.run(forEmma(world));
    expect(lost.last.response.execution_summary?.warnings?.join()).toContain('out/all.json is not there');
    expect(lost.last.block).not.toContain('out/all.json');
    world.write('out/all.json', '{}');
    const found = await world.run(forEmma(world, { session: { session_id: 'two' } }));
    expect(found.told('protocol.message.warning')).toEqual([]);
  });
});

test('an artifact outside of where the task may write is told, in the RESPONSE, the journal and the block', async () => {
  const world = await makeWorld({ config: EMMA });
  const output_artifacts = [{ type: 'FILE', path: '/etc/hostname', status: 'CREATED' }];
  emma(world, print(response({ execution_summary: { summary: 'Made it.', actions: ['made it'], output_artifacts } })));
  const ran = await world.run(forEmma(world));
  const words = 'the agent says that it made /etc/hostname; it is outside of where the task may write';
  expect(ran.last.response.execution_summary?.warnings?.join()).toContain(words);
  expect(JSON.stringify(ran.told('run.evidence'))).toContain(words);
  expect(ran.last.block).toContain('made /etc/hostname');
  expect(ran.task.verdict).toBe('unverified');
});
