/** After a failed attempt: the same once more after a while, another model, or the end. */
import { expect, test } from 'vitest';
import type { FallbackTrigger } from '../../src/core/task.ts';
import { sessionReport } from '../../src/runtime/session.ts';
import { callsOf, claude, codex, EMMA, emma, fakeCli, gemini, REPORT_DONE } from './small-agents.ts';
import { makeWorld, reportText, type TaskParts, taskOf, until, type World } from './world.ts';

const OFF = { defaults: { sandbox: 'off' } };
const SOME = { input: 10, output: 5 };
/** A task for claude, which is found on PATH. */
const forClaude = (world: World, parts: Partial<TaskParts>) =>
  taskOf(world, { agent: 'Emma', provider: 'CLAUDE', model: 'opus-x', ...parts });
const other = (provider: 'GEMINI' | 'CODEX', model: string, trigger?: FallbackTrigger) => ({
  provider,
  model,
  ...(trigger === undefined ? {} : { fallback_trigger: trigger }),
});
const works = (world: World): void => {
  fakeCli(world, 'gemini', gemini(reportText(), SOME));
  fakeCli(world, 'codex', codex(reportText(), SOME));
};

test('attempts wait as long as the backoff says, in fractions of a second, and the last value repeats', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, 'date +%s%3N >> times.txt', '[ $BATON_ATTEMPT -lt 4 ] && exit 1', REPORT_DONE);
  const ran = await world.run(
    taskOf(world, { agent: 'emma', policy: { max_retries: 3, retry_backoff_seconds: [0.3, 0.9] } }),
  );
  expect(ran.task).toMatchObject({ status: 'done', attempts: 4 });
  const times = (world.read('times.txt') ?? '').trim().split('\n').map(Number);
  const waits = times.slice(1).map((time, i) => time - (times[i] as number));
  expect(waits[0]).toBeGreaterThanOrEqual(300);
  expect(waits[1]).toBeGreaterThanOrEqual(900);
  expect(waits[2]).toBeGreaterThanOrEqual(900);
  expect(ran.last.response.timing?.retries_attempted).toBe(3);
});

test('retries used up: the deadletter, with the cause', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, 'echo x >> tries.txt; echo "no luck" >&2; exit 3');
  const ran = await world.run(taskOf(world, { agent: 'emma', policy: { max_retries: 2, retry_backoff_seconds: [0] } }));
  expect(ran.task).toMatchObject({ status: 'deadletter', attempts: 3, cause: { code: 'E_PROCESS_CRASH' } });
  expect(world.read('tries.txt')).toBe('x\nx\nx\n');
});

test.each([
  [401, 'E_CREDENTIALS'],
  [404, 'E_MODEL_UNAVAILABLE'],
])('what is permanent is not tried again: HTTP %i', async (status, code) => {
  const world = await makeWorld({ config: OFF });
  fakeCli(world, 'claude', claude.begin, claude.fails(status, 'no'), 'exit 1');
  const ran = await world.run(forClaude(world, { policy: { max_retries: 3, retry_backoff_seconds: [0] } }));
  expect(ran.task).toMatchObject({ status: 'deadletter', attempts: 1, cause: { code } });
  expect(callsOf(world)).toEqual(['claude opus-x']);
});

test('FIRST_ERROR takes the next model before any retry, and the RESPONSE says who did it', async () => {
  const world = await makeWorld({ config: OFF });
  works(world);
  fakeCli(world, 'claude', claude.begin, 'exit 1');
  const ran = await world.run(
    forClaude(world, {
      policy: {
        max_retries: 2,
        retry_backoff_seconds: [0],
        alternative_models: [other('GEMINI', 'gemini-x', 'FIRST_ERROR')],
      },
    }),
  );
  expect(callsOf(world)).toEqual(['claude opus-x', 'gemini gemini-x']);
  expect(ran.task.status).toBe('done');
  expect(ran.last.response.agent).toMatchObject({ provider: 'GEMINI', model: 'gemini-x' });
  expect(ran.told('task.fallback')).toMatchObject([{ from: 'opus-x', to: 'gemini-x', trigger: 'FIRST_ERROR' }]);
  const { store, dir } = world;
  const report = await sessionReport({ store, dir, session: 'test-session', auditPath: 'audit', now: Date.now() });
  expect(report.totals).toMatchObject({ runs: 2, fallbacks: 1 });
  expect(report.agents).toMatchObject([
    { name: 'Emma', providers: ['CLAUDE'], models: ['opus-x'], runs: 1 },
    { name: 'gemini', providers: ['GEMINI'], models: ['gemini-x'], runs: 1 },
  ]);
  expect(report.cost_summary.by_model['gemini-x']).toMatchObject({ tokens_input: 10, tokens_output: 5 });
});

test('CRITICAL_ERROR is for a crash; TIMEOUT and COST_LIMIT_EXCEEDED are not, whatever stands first', async () => {
  const world = await makeWorld({ config: OFF });
  works(world);
  fakeCli(world, 'claude', claude.begin, 'exit 1');
  const alternative_models = [
    other('CODEX', 'a', 'TIMEOUT'),
    other('CODEX', 'b', 'COST_LIMIT_EXCEEDED'),
    other('GEMINI', 'c', 'CRITICAL_ERROR'),
  ];
  const ran = await world.run(forClaude(world, { policy: { alternative_models } }));
  expect(callsOf(world)).toEqual(['claude opus-x', 'gemini c']);
  expect(ran.task.status).toBe('done');
});

test('TIMEOUT takes the next model when the time is up', async () => {
  const world = await makeWorld({ config: OFF });
  works(world);
  fakeCli(world, 'claude', claude.begin, 'sleep 60');
  const ran = await world.run(
    forClaude(world, { policy: { timeout_seconds: 1, alternative_models: [other('CODEX', 'gpt-x', 'TIMEOUT')] } }),
  );
  expect(callsOf(world)).toEqual(['claude opus-x', 'codex gpt-x']);
  expect(ran.task.status).toBe('done');
  expect(world.alive()).toEqual([]);
});

test('COST_LIMIT_EXCEEDED takes the next model, which has the budget once more', async () => {
  const world = await makeWorld({ config: OFF });
  works(world);
  fakeCli(world, 'claude', claude.begin, claude.uses('m', { input: 5000, output: 1 }), 'sleep 60');
  const ran = await world.run(
    forClaude(world, {
      task: { budgets: { max_tokens: 1000 } },
      policy: { alternative_models: [other('CODEX', 'gpt-x', 'COST_LIMIT_EXCEEDED')] },
    }),
  );
  expect(callsOf(world)).toEqual(['claude opus-x', 'codex gpt-x']);
  expect(ran.task.status).toBe('done');
});

test('COST_LIMIT_EXCEEDED: the next model has the budget once, not once for each of its attempts', async () => {
  const world = await makeWorld({ config: OFF });
  fakeCli(world, 'claude', claude.begin, claude.uses('m', { input: 5000, output: 1 }), 'sleep 60');
  fakeCli(world, 'codex', codex(reportText('failure'), { input: 600, output: 0 }));
  const ran = await world.run(
    forClaude(world, {
      task: { budgets: { max_tokens: 1000 } },
      policy: {
        max_retries: 5,
        retry_backoff_seconds: [0],
        alternative_models: [other('CODEX', 'gpt-x', 'COST_LIMIT_EXCEEDED')],
      },
    }),
  );
  expect(callsOf(world)).toEqual(['claude opus-x', 'codex gpt-x', 'codex gpt-x']);
  expect(ran.task.status).toBe('deadletter');
});

test('ALL_ERRORS, said or left out, comes when the retries are used up', async () => {
  for (const trigger of ['ALL_ERRORS', undefined] as const) {
    const world = await makeWorld({ config: OFF });
    works(world);
    fakeCli(world, 'claude', claude.begin, 'exit 1');
    const ran = await world.run(
      forClaude(world, {
        policy: {
          max_retries: 1,
          retry_backoff_seconds: [0],
          alternative_models: [other('GEMINI', 'gemini-x', trigger)],
        },
      }),
    );
    expect(callsOf(world)).toEqual(['claude opus-x', 'claude opus-x', 'gemini gemini-x']);
    expect(ran.task.status).toBe('done');
  }
});

test('an alternative that is not installed is one that failed; with none left the causes are told', async () => {
  const world = await makeWorld({ config: OFF, environment: { PATH: '/usr/bin:/bin' } });
  const bin = fakeCli(world, 'claude', claude.begin, claude.fails(404, 'no such model'), 'exit 1').replace(
    /\/claude$/,
    '',
  );
  const here = await makeWorld({
    config: OFF,
    root: world.root,
    data: 'second',
    environment: { PATH: `${bin}:/usr/bin:/bin` },
  });
  const ran = await here.run(
    forClaude(here, {
      policy: {
        alternative_models: [other('GEMINI', 'gemini-x', 'FIRST_ERROR'), other('CODEX', 'gpt-x', 'ALL_ERRORS')],
      },
    }),
  );
  expect(ran.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_ALL_MODELS_EXHAUSTED' } });
  expect(ran.task.cause?.message).toContain('E_MODEL_UNAVAILABLE');
  expect(ran.task.cause?.message).toMatch(/gemini-x: E_AGENT_NOT_FOUND/);
  expect(ran.task.cause?.message).toMatch(/gpt-x: E_AGENT_NOT_FOUND/);
  expect(ran.last.response.error_details).toMatchObject({ code: 'E_ALL_MODELS_EXHAUSTED' });
});

test('abort_on_first_critical_error: no retry and no alternative after a crash', async () => {
  const world = await makeWorld({ config: OFF });
  works(world);
  fakeCli(world, 'claude', claude.begin, 'exit 1');
  const ran = await world.run(
    forClaude(world, {
      policy: {
        max_retries: 2,
        retry_backoff_seconds: [0],
        abort_on_first_critical_error: true,
        alternative_models: [other('GEMINI', 'gemini-x', 'FIRST_ERROR')],
      },
    }),
  );
  expect(ran.task).toMatchObject({ status: 'deadletter', attempts: 1, cause: { code: 'E_PROCESS_CRASH' } });
  expect(callsOf(world)).toEqual(['claude opus-x']);
});

test('on_failure RETRY without a number is one retry', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, '[ $BATON_ATTEMPT = 1 ] && exit 1', REPORT_DONE);
  const ran = await world.run(
    taskOf(world, { agent: 'emma', policy: { on_failure: 'RETRY', retry_backoff_seconds: [0] } }),
  );
  expect(ran.task).toMatchObject({ status: 'done', attempts: 2 });
});

test('on_failure ABORT_SESSION: what waits is not begun, what runs is stopped, another session goes on', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(
    world,
    'case "$(cat)" in',
    '*FAILS*) while [ ! -e running.txt ]; do sleep 0.05; done; exit 1;;',
    '*RUNS*) echo $$ > running.txt; sleep 60;;',
    '*WAITS*) echo x > begun.txt;;',
    'esac',
    REPORT_DONE,
  );
  const access = { filesystem: { write_paths: [world.path('same')] } };
  const [failed, running, waiting, elsewhere] = await world.runAll([
    taskOf(world, { agent: 'emma', objective: 'FAILS', task: { access }, policy: { on_failure: 'ABORT_SESSION' } }),
    taskOf(world, { agent: 'emma', objective: 'RUNS' }),
    taskOf(world, { agent: 'emma', objective: 'WAITS', task: { access } }),
    taskOf(world, { agent: 'emma', objective: 'else', session: { session_id: 'another' } }),
  ]);
  expect(failed?.task.status).toBe('deadletter');
  expect(running?.task.status).toBe('cancelled');
  expect(running?.last.response.task_status).toMatchObject({ state: 'ABORTED', final_signal: 'ABORTED' });
  expect(waiting?.task.status).toBe('cancelled');
  expect(world.read('begun.txt')).toBeNull();
  expect(elsewhere?.task.status).toBe('done');
  await until('nothing is left', () => world.alive().length === 0);
});
