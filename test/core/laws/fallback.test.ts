/** Which model comes next after a failure, when, and what is said when none is left. */
import { describe, expect, test } from 'vitest';
import { isCritical, isPermanent, isRetried } from '../../../src/core/laws/retries.ts';
import type { Alternative, FallbackTrigger, RetryPolicy } from '../../../src/core/task.ts';
import { createWorld, eventOf, eventsOf, RUNTIME, type World } from './world.ts';

const to = (trigger: FallbackTrigger, model = 'm-1'): Alternative => ({ provider: 'GEMINI', model, trigger });

const worldWith = (retry: Partial<RetryPolicy>): { world: World; of: string } => {
  const world = createWorld();
  const of = world.addOne({ retry: { maxRetries: 0, backoffSeconds: [30, 60], ...retry } });
  return { world, of };
};
/** One attempt that fails; gives the status, the model that is next and how long to wait for it. */
const attempt = ({ world, of }: { world: World; of: string }, code: string, model = 'm-0') => {
  const facts = world.fail(world.claim({ id: of, model }), code);
  const { status, fallback, availableAt } = world.task(of);
  const waitMs = availableAt === 0 ? 0 : availableAt - world.now();
  world.wait(waitMs);
  return { status, next: fallback?.model ?? null, waitMs, facts };
};

describe('a trigger', () => {
  test.each([
    ['FIRST_ERROR', 'E_UNKNOWN', true],
    ['FIRST_ERROR', 'E_CREDENTIALS', true],
    ['TIMEOUT', 'E_TIMEOUT', true],
    ['TIMEOUT', 'E_PROCESS_CRASH', false],
    ['COST_LIMIT_EXCEEDED', 'E_COST_LIMIT_EXCEEDED', true],
    ['COST_LIMIT_EXCEEDED', 'E_TIMEOUT', false],
    ['CRITICAL_ERROR', 'E_PROCESS_CRASH', true],
    ['CRITICAL_ERROR', 'E_HEARTBEAT_FAILURE', true],
    ['CRITICAL_ERROR', 'E_PERMISSION_DENIED', true],
    ['CRITICAL_ERROR', 'E_MODEL_UNAVAILABLE', true],
    ['CRITICAL_ERROR', 'E_AGENT_NOT_FOUND', true],
    ['CRITICAL_ERROR', 'E_TIMEOUT', false],
    ['ALL_ERRORS', 'E_UNKNOWN', true],
  ] as const)('%s on %s, without retries: %s', (trigger, code, isNext) => {
    const case_ = worldWith({ alternatives: [to(trigger)] });
    const { status, next, waitMs } = attempt(case_, code);
    expect({ status, next, waitMs }).toEqual({
      status: isNext ? 'ready' : 'deadletter',
      next: isNext ? 'm-1' : null,
      waitMs: 0,
    });
    if (!isNext) expect(case_.world.task(case_.of).cause?.code).toBe(code);
  });

  test.each([
    ['FIRST_ERROR', 'm-1'],
    ['TIMEOUT', 'm-1'],
    ['ALL_ERRORS', null],
  ] as const)('%s while retries are left', (trigger, next) => {
    const case_ = worldWith({ maxRetries: 1, alternatives: [to(trigger)] });
    expect(attempt(case_, 'E_TIMEOUT')).toMatchObject({ status: 'ready', next, waitMs: next === null ? 30_000 : 0 });
  });

  test('ALL_ERRORS comes at once where the error is never retried', () => {
    for (const code of ['E_CREDENTIALS', 'E_COST_LIMIT_EXCEEDED']) {
      expect(attempt(worldWith({ maxRetries: 5, alternatives: [to('ALL_ERRORS')] }), code).next).toBe('m-1');
    }
  });
});

describe('a fallback', () => {
  test('is told, is at once, and is what the next run has, whatever the claimer would take', () => {
    const case_ = worldWith({ maxRetries: 2, alternatives: [to('TIMEOUT')] });
    const { world, of } = case_;
    const { facts } = attempt(case_, 'E_TIMEOUT');
    expect(eventsOf(facts)).toEqual(['run.failed', 'task.fallback', 'task.transitioned']);
    expect(eventOf(facts, 'task.fallback')).toEqual({
      type: 'task.fallback',
      task: of,
      run: `${of}-r1`,
      detail: { from: 'm-0', to: 'm-1', provider: 'GEMINI', trigger: 'TIMEOUT', code: 'E_TIMEOUT' },
    });
    expect(world.task(of)).toMatchObject({
      cause: { code: 'E_TIMEOUT' },
      fallback: {
        provider: 'GEMINI',
        model: 'm-1',
        used: [0],
        causes: [{ code: 'E_TIMEOUT', message: 'it fell over' }],
      },
    });
    world.claim({ id: of, model: 'm-0' });
    expect(world.task(of).run).toMatchObject({ model: 'm-1', attempt: 2 });
  });

  test('is not taken from the retries, and the same model is kept for them', () => {
    const case_ = worldWith({ maxRetries: 1, backoffSeconds: [10, 20], alternatives: [to('TIMEOUT')] });
    expect(attempt(case_, 'E_TIMEOUT')).toMatchObject({ next: 'm-1', waitMs: 0 });
    expect(attempt(case_, 'E_TIMEOUT')).toMatchObject({ status: 'ready', next: 'm-1', waitMs: 10_000 });
    expect(attempt(case_, 'E_TIMEOUT')).toMatchObject({ status: 'deadletter' });
    expect(case_.world.task(case_.of).attempts).toBe(3);
  });

  test('goes by the list, each at most once, and comes to an end that names every cause', () => {
    const alternatives = [
      to('TIMEOUT', 'm-1'),
      to('ALL_ERRORS', 'm-2'),
      to('FIRST_ERROR', 'm-3'),
      to('TIMEOUT', 'm-4'),
    ];
    const case_ = worldWith({ alternatives });
    const codes = ['E_UNKNOWN', 'E_TIMEOUT', 'E_PROCESS_CRASH', 'E_CREDENTIALS'];
    const seen = codes.map((code) => attempt(case_, code).next);
    expect(seen).toEqual(['m-2', 'm-1', 'm-3', 'm-3']);
    const { status, cause, attempts } = case_.world.task(case_.of);
    expect({ status, attempts }).toEqual({ status: 'deadletter', attempts: 4 });
    expect(cause?.code).toBe('E_ALL_MODELS_EXHAUSTED');
    expect(cause?.message).toBe(
      'all 4 models failed; the first model: E_UNKNOWN, it fell over; m-2: E_TIMEOUT, it fell over; ' +
        'm-1: E_PROCESS_CRASH, it fell over; m-3: E_CREDENTIALS, it fell over',
    );
    expect(eventOf(case_.world.journal.at(-1) as never, 'task.transitioned')?.detail).toMatchObject({
      code: 'E_ALL_MODELS_EXHAUSTED',
    });
  });

  test('a report of failure goes the same way', () => {
    const { world, of } = worldWith({ alternatives: [to('CRITICAL_ERROR')] });
    world.report(world.claim(), { outcome: 'failed', code: 'E_PROCESS_CRASH' });
    expect(world.task(of)).toMatchObject({ status: 'ready', fallback: { model: 'm-1' } });
  });

  test('of one that failed for good blocks its dependents only then', () => {
    const world = createWorld();
    const [a, b] = world.add({ retry: { maxRetries: 0, backoffSeconds: [], alternatives: [to('FIRST_ERROR')] } }, {});
    world.edit(b as string, { dependsOn: [a as string] });
    world.fail(world.claim({ id: a as string }));
    expect(world.statuses(a as string, b as string)).toEqual(['ready', 'ready']);
    world.fail(world.claim({ id: a as string }));
    expect(world.statuses(a as string, b as string)).toEqual(['deadletter', 'blocked']);
  });
});

describe('it is over at once', () => {
  test('with stopOnCritical and a critical error, not with another', () => {
    const policy = { stopOnCritical: true, maxRetries: 3, alternatives: [to('FIRST_ERROR')] };
    expect(attempt(worldWith(policy), 'E_PROCESS_CRASH')).toMatchObject({ status: 'deadletter', next: null });
    expect(attempt(worldWith(policy), 'E_TIMEOUT')).toMatchObject({ status: 'ready', next: 'm-1' });
    const later = worldWith(policy);
    attempt(later, 'E_TIMEOUT');
    attempt(later, 'E_HEARTBEAT_FAILURE');
    expect(later.world.task(later.of)).toMatchObject({ status: 'deadletter', cause: { code: 'E_HEARTBEAT_FAILURE' } });
  });

  test('where the runtime says that this was final', () => {
    const { world, of } = worldWith({ maxRetries: 3, alternatives: [to('FIRST_ERROR')] });
    world.ok({ type: 'run.fail', run: world.claim(), code: 'E_TIMEOUT', message: 'm', final: true }, RUNTIME);
    expect(world.task(of)).toMatchObject({
      status: 'deadletter',
      cause: { code: 'E_TIMEOUT', message: 'm' },
      fallback: null,
    });
  });

  test('when a budget is used up: the same once more would cost the same once more', () => {
    expect(attempt(worldWith({ maxRetries: 5 }), 'E_COST_LIMIT_EXCEEDED').status).toBe('deadletter');
    const case_ = worldWith({ maxRetries: 5, alternatives: [to('COST_LIMIT_EXCEEDED')] });
    expect(attempt(case_, 'E_COST_LIMIT_EXCEEDED')).toMatchObject({ status: 'ready', next: 'm-1' });
    expect(attempt(case_, 'E_COST_LIMIT_EXCEEDED')).toMatchObject({ status: 'deadletter' });
  });
});

describe('a person who says retry', () => {
  test('begins with the first model and all attempts', () => {
    const case_ = worldWith({ alternatives: [to('FIRST_ERROR')] });
    attempt(case_, 'E_TIMEOUT');
    case_.world.retry(case_.of);
    expect(case_.world.task(case_.of)).toMatchObject({ status: 'ready', attempts: 0, fallback: null });
    attempt(case_, 'E_TIMEOUT');
    attempt(case_, 'E_TIMEOUT');
    expect(case_.world.status(case_.of)).toBe('deadletter');
    case_.world.retry(case_.of);
    expect(case_.world.task(case_.of)).toMatchObject({ status: 'ready', attempts: 0, fallback: null });
    expect(attempt(case_, 'E_TIMEOUT').next).toBe('m-1');
  });

  test('so does one who moves it out of the deadletter', () => {
    const case_ = worldWith({ alternatives: [to('FIRST_ERROR')] });
    attempt(case_, 'E_TIMEOUT');
    attempt(case_, 'E_TIMEOUT');
    case_.world.move(case_.of, 'ready');
    expect(case_.world.task(case_.of)).toMatchObject({ attempts: 0, fallback: null });
  });
});

describe('evidence that fails', () => {
  const judged = (retry: Partial<RetryPolicy>) => {
    const { world, of } = worldWith(retry);
    const fail = (): unknown => {
      const run = world.claim({ id: of });
      world.report(run);
      world.judge(run, false, ['empty file']);
      const { status, fallback, cause, availableAt } = world.task(of);
      world.wait(Math.max(availableAt - world.now(), 0));
      return [status, fallback?.model ?? null, cause?.code];
    };
    return fail;
  };

  test('FIRST_ERROR and ALL_ERRORS count it; with none left it stays in review', () => {
    const fail = judged({ maxRetries: 1, alternatives: [to('ALL_ERRORS', 'm-2'), to('FIRST_ERROR', 'm-1')] });
    expect([fail(), fail(), fail(), fail()]).toEqual([
      ['ready', 'm-1', 'E_EVIDENCE'],
      ['ready', 'm-1', 'E_EVIDENCE'],
      ['ready', 'm-2', 'E_EVIDENCE'],
      ['review', 'm-2', 'E_EVIDENCE'],
    ]);
  });

  test('a verdict may have a code of its own, and goes by that', () => {
    const { world, of } = worldWith({ alternatives: [to('TIMEOUT')] });
    const run = world.claim();
    world.report(run);
    const facts = world.ok({ type: 'run.judge', run, passed: false, code: 'E_TIMEOUT', findings: ['late'] }, RUNTIME);
    expect(world.task(of)).toMatchObject({ status: 'ready', cause: { code: 'E_TIMEOUT' }, fallback: { model: 'm-1' } });
    expect(eventOf(facts, 'run.judged')?.detail).toEqual({
      passed: false,
      verdict: 'contradicted',
      findings: ['late'],
      code: 'E_TIMEOUT',
    });
  });

  test('other triggers do not', () => {
    const fail = judged({ stopOnCritical: true, alternatives: [to('TIMEOUT'), to('CRITICAL_ERROR')] });
    expect(fail()).toEqual(['review', null, 'E_EVIDENCE']);
  });
});

test('a run that went silent keeps its model, and the switch does not count as an expiry', () => {
  const case_ = worldWith({ alternatives: [to('TIMEOUT')] });
  const { world, of } = case_;
  attempt(case_, 'E_TIMEOUT');
  for (let i = 0; i < 5; i++) {
    expect(world.status(of)).toBe('ready');
    const run = world.claim({ id: of });
    world.ok({ type: 'run.resume', run, result: 'none', gone: true }, RUNTIME);
    expect(world.task(of).fallback?.model).toBe('m-1');
  }
  expect(world.task(of)).toMatchObject({ status: 'deadletter', cause: { code: 'E_RUN_EXPIRED' } });
});

test('which errors are what', () => {
  expect(
    ['E_CREDENTIALS', 'E_COST_LIMIT_EXCEEDED', 'E_TIMEOUT'].map((code) => [
      isPermanent(code),
      isRetried(code),
      isCritical(code),
    ]),
  ).toEqual([
    [true, false, false],
    [false, false, false],
    [false, true, false],
  ]);
});
