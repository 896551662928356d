/** Budgets are kept from outside: while it works where its use is streamed, after the turn where it is not, and for a session as a whole. */
import { expect, test } from 'vitest';
import { workOn } from '../../src/runtime/scheduler.ts';
import { callsOf, claude, codex, fakeCli } from './small-agents.ts';
import { makeWorld, newSleep, reportText, type TaskParts, taskOf, until, type World } from './world.ts';

const OFF = { defaults: { sandbox: 'off' } };
/** A dollar for a thousand tokens. */
const PRICES = { prices: { 'opus-x': { input: 1000, output: 1000 }, 'gpt-x': { input: 1000, output: 1000 } } };
const forClaude = (world: World, parts: Partial<TaskParts>) =>
  taskOf(world, { agent: 'claude', provider: 'CLAUDE', model: 'opus-x', ...parts });

test.each([
  ['max_tokens', { max_tokens: 2000 }, {}, /at most 2000 tokens.*2500/],
  ['max_cost_usd', { max_cost_usd: 2 }, PRICES, /at most 2 dollars.*2\.5/],
])('%s: a run that streams its use is stopped while it still works', async (_name, budgets, prices, words) => {
  const world = await makeWorld({ config: { ...OFF, ...prices } });
  fakeCli(
    world,
    'claude',
    claude.begin,
    claude.uses('a', { input: 900, output: 100 }),
    claude.uses('b', { input: 1400, output: 100 }),
    `sleep ${newSleep()}; echo late > late.txt`,
  );
  const ran = await world.run(
    forClaude(world, { task: { budgets }, policy: { max_retries: 3, retry_backoff_seconds: [0] } }),
  );
  // The same once more would only cost the same once more.
  expect(ran.task).toMatchObject({ status: 'deadletter', attempts: 1, cause: { code: 'E_COST_LIMIT_EXCEEDED' } });
  expect(ran.task.cause?.message).toMatch(words);
  expect(ran.task.cost).toMatchObject({ tokensInput: 2300, tokensOutput: 200 });
  expect(ran.last.response.cost_tracking).toMatchObject({ tokens_input: 2300, tokens_output: 200 });
  expect(world.read('late.txt')).toBeNull();
  expect(world.alive()).toEqual([]);
  expect(ran.told('run.enforced')[0]?.['missing']).not.toEqual(
    expect.arrayContaining([expect.stringContaining('budget')]),
  );
});

test('a run within its budget is done, and its use is told as the program told it', async () => {
  const world = await makeWorld({ config: { ...OFF, ...PRICES } });
  fakeCli(
    world,
    'claude',
    claude.begin,
    claude.says(reportText()),
    claude.ends('done', { input: 300, output: 200, usd: 0.25 }),
  );
  const ran = await world.run(forClaude(world, { task: { budgets: { max_tokens: 1000, max_cost_usd: 1 } } }));
  expect(ran.task).toMatchObject({ status: 'done', cost: { usd: 0.25, tokensInput: 300, tokensOutput: 200 } });
  expect(ran.last.response.cost_tracking).toMatchObject({
    actual_cost_usd: 0.25,
    tokens_input: 300,
    tokens_output: 200,
  });
  // Before it ran there was an estimate, and it is called one.
  expect(ran.told('run.estimate')).toMatchObject([{ usd: expect.any(Number), tokensInput: expect.any(Number) }]);
  expect(ran.last.response.cost_tracking?.estimated_cost_usd).toBeGreaterThan(0);
});

test('where the use comes only at the end, the run fails after the turn, and the record says that nothing else was possible', async () => {
  const world = await makeWorld({ config: OFF });
  fakeCli(world, 'codex', 'echo made > made.txt', codex(reportText(), { input: 5000, output: 100 }));
  const ran = await world.run(
    taskOf(world, { agent: 'codex', provider: 'CODEX', model: 'gpt-x', task: { budgets: { max_tokens: 1000 } } }),
  );
  expect(world.read('made.txt')).toBe('made\n');
  expect(ran.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_COST_LIMIT_EXCEEDED' } });
  expect(ran.task.cost).toMatchObject({ tokensInput: 5000, tokensOutput: 100 });
  expect(ran.told('run.enforced')[0]?.['missing']).toEqual(
    expect.arrayContaining([expect.stringMatching(/budget.*only after each turn/)]),
  );
});

test('the budget is for all attempts of a task together', async () => {
  const world = await makeWorld({ config: OFF });
  fakeCli(world, 'claude', claude.begin, claude.uses('a', { input: 600, output: 0 }), 'exit 1');
  const ran = await world.run(
    forClaude(world, {
      task: { budgets: { max_tokens: 1000 } },
      policy: { max_retries: 5, retry_backoff_seconds: [0] },
    }),
  );
  expect(ran.task).toMatchObject({ status: 'deadletter', attempts: 2, cause: { code: 'E_COST_LIMIT_EXCEEDED' } });
  expect(ran.task.cost.tokensInput).toBe(1200);
});

test('the stricter of budgets and constraints holds', async () => {
  const world = await makeWorld({ config: OFF });
  fakeCli(world, 'claude', claude.begin, claude.uses('a', { input: 600, output: 0 }), 'sleep 30');
  const ran = await world.run(
    forClaude(world, { task: { budgets: { max_tokens: 10_000 }, constraints: { max_tokens: 500 } } }),
  );
  expect(ran.task.cause?.message).toMatch(/at most 500 tokens/);
});

test("a session's limit of config: what is left is what the next task has, and with nothing left none begins", async () => {
  const world = await makeWorld({ config: { ...OFF, ...PRICES, limits: { max_cost_usd: 1 } } });
  fakeCli(
    world,
    'claude',
    claude.begin,
    claude.uses('a', { input: 700, output: 0 }),
    'if [ -e second ]; then sleep 30; fi; touch second',
    claude.says(reportText()),
    claude.ends('done', { input: 700, output: 0, usd: 0.7 }),
  );
  const first = await world.run(forClaude(world, {}));
  expect(first.task).toMatchObject({ status: 'done', cost: { usd: 0.7 } });
  const second = await world.run(forClaude(world, {}));
  expect(second.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_COST_LIMIT_EXCEEDED' } });
  const third = await world.run(forClaude(world, {}));
  expect(third.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_COST_LIMIT_EXCEEDED' } });
  expect(third.task.cause?.message).toContain('test-session');
  expect(callsOf(world)).toHaveLength(2);
  const elsewhere = await world.run(
    forClaude(world, { session: { session_id: 'another' }, task: { budgets: { max_cost_usd: 0.5 } } }),
  );
  expect(elsewhere.task.cause?.message).toContain('at most 0.5 dollars');
});

test("a session's limit holds for runs side by side, not for each of them", async () => {
  const world = await makeWorld({ config: { ...OFF, ...PRICES, limits: { max_cost_usd: 1 } } });
  fakeCli(
    world,
    'claude',
    claude.begin,
    // Each knows that the other is there before it goes on.
    'touch here-$$; while [ $(ls here-* | wc -l) -lt 2 ]; do sleep 0.05; done',
    claude.uses('a', { input: 400, output: 0 }),
    'touch spent-$$; while [ $(ls spent-* | wc -l) -lt 2 ]; do sleep 0.05; done; sleep 0.3',
    claude.uses('b', { input: 300, output: 0 }),
    `sleep ${newSleep()}`,
  );
  const both = await world.runAll([forClaude(world, {}), forClaude(world, {})]);
  expect(both.map(({ task }) => task.cause?.code)).toContain('E_COST_LIMIT_EXCEEDED');
  const spent = both.reduce((sum, { task }) => sum + task.cost.usd, 0);
  expect(spent).toBeLessThanOrEqual(1.4 + 1e-9);
  expect(both.some(({ task }) => task.cause?.message.includes('test-session'))).toBe(true);
});

test('what a run has used that was stopped counts for its session too', async () => {
  const world = await makeWorld({ config: { ...OFF, ...PRICES, limits: { max_cost_usd: 1 } } });
  fakeCli(world, 'claude', claude.begin, claude.uses('a', { input: 800, output: 0 }), 'touch begun; sleep 30');
  const message = forClaude(world, {});
  const running = world.run(message);
  await until('it has used something', () => world.lives.some(({ used }) => used.tokensInput === 800));
  const { id = '' } = (await world.store.find(message.task.task_id)) ?? {};
  await world.store.send({
    message: { type: 'task.cancel', id, reason: 'enough' },
    by: { kind: 'person', name: 'me' },
  });
  expect((await running).task).toMatchObject({ status: 'cancelled', cost: { usd: 0.8, tokensInput: 800 } });
  fakeCli(world, 'claude', claude.begin, claude.uses('a', { input: 300, output: 0 }), 'sleep 30');
  const next = await world.run(forClaude(world, {}));
  expect(next.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_COST_LIMIT_EXCEEDED' } });
});

test('what a run has used that was stopped with Baton counts for its task', async () => {
  const world = await makeWorld({ config: { ...OFF, ...PRICES } });
  fakeCli(world, 'claude', claude.begin, claude.uses('a', { input: 600, output: 0 }), 'sleep 30');
  const leaving = new AbortController();
  const message = forClaude(world, { task: { budgets: { max_tokens: 1000 } } });
  const running = world.run(message, { leaving: leaving.signal });
  await until('it has used something', () => world.lives.some(({ used }) => used.tokensInput === 600));
  leaving.abort();
  const { task } = await running;
  expect(task).toMatchObject({ status: 'ready', attempts: 0, cost: { usd: 0.6, tokensInput: 600 } });
  await workOn(world.host, { only: [task.id], parallel: 1, untilEmpty: true, leaving: new AbortController().signal });
  const { task: after } = await world.ran(task.id, []);
  expect(after).toMatchObject({ status: 'deadletter', cause: { code: 'E_COST_LIMIT_EXCEEDED' } });
  expect(after.cost.tokensInput).toBe(1200);
});
