/** How a run ends, what it costs, and what becomes of its task: reports, verdicts, failures and backoff. */
import { describe, expect, test } from 'vitest';
import { backoffMs, isPermanent, mayRetry } from '../../../src/core/laws/retries.ts';
import { AGENT, createWorld, eventsOf, id, PERSON, RUNTIME, UNKNOWN } from './world.ts';

describe('a report', () => {
  test.each([
    ['done', 'review', null],
    ['partial', 'review', null],
    ['needs_review', 'review', null],
    ['blocked', 'blocked', { code: 'E_BLOCKED', message: 'the agent says that it is blocked' }],
    ['failed', 'deadletter', { code: 'E_UNKNOWN', message: 'the agent says that it failed' }],
  ] as const)('of %s takes the task to %s', (outcome, status, cause) => {
    const world = createWorld();
    const of = world.addOne();
    const run = world.claim();
    world.wait(9);
    const facts = world.report(run, { outcome });
    const ended = outcome === 'failed' ? 'failed' : 'completed';
    expect(world.task(of)).toMatchObject({
      status,
      cause,
      availableAt: 0,
      summary: null,
      run: { id: run, status: ended, endedAt: world.now(), outcome },
    });
    expect(facts.by).toEqual(AGENT);
    expect(eventsOf(facts)).toEqual([
      'run.reported',
      ...(outcome === 'failed' ? ['run.failed'] : []),
      'task.transitioned',
    ]);
    expect(facts.events[0]).toEqual({ type: 'run.reported', task: of, run, detail: { outcome } });
    expect(world.next()).toBeUndefined();
  });

  test('with all that may be told', () => {
    const world = createWorld();
    const of = world.addOne();
    const run = world.claim();
    const cost = { usd: 0.5, tokensInput: 10, tokensOutput: 20 };
    const texts = { 'outputs/summary.md': 'long' };
    const facts = world.report(run, { summary: 'went well', cost, messageId: 'm1', texts });
    expect(world.task(of)).toMatchObject({ summary: 'went well', cost, messages: ['m1'] });
    expect(facts.changes).toHaveLength(1);
    expect(facts.changes[0]?.texts).toEqual(texts);
    expect(facts.events[0]?.detail).toEqual({ outcome: 'done', summary: 'went well', cost });
    expect(facts.events[1]?.detail).toEqual({ from: 'in-progress', to: 'review', outcome: 'done' });
  });

  test('what it says is the cause of what follows', () => {
    const world = createWorld();
    const [a, b, c] = world.add({}, {}, {}) as [string, string, string];
    world.report(world.claim({ id: a }), { outcome: 'blocked', summary: 'no access' });
    world.report(world.claim({ id: b }), { outcome: 'failed', summary: 'tests fail' });
    world.report(world.claim({ id: c }), { outcome: 'failed', code: 'E_TIMEOUT' });
    expect([a, b, c].map((of) => world.task(of).cause)).toEqual([
      { code: 'E_BLOCKED', message: 'no access' },
      { code: 'E_UNKNOWN', message: 'tests fail' },
      { code: 'E_TIMEOUT', message: 'the agent says that it failed' },
    ]);
  });

  test('of failure is tried again where the policy says so', () => {
    const world = createWorld();
    const of = world.addOne({ retry: { maxRetries: 1, backoffSeconds: [5] } });
    world.report(world.claim(), { outcome: 'failed', summary: 'half done', cost: { usd: 1 }, messageId: 'm' });
    expect(world.task(of)).toMatchObject({
      status: 'ready',
      availableAt: world.now() + 5000,
      summary: 'half done',
      cost: { usd: 1 },
      messages: ['m'],
    });
  });

  test('the same message twice acts once, even when the run is long over', () => {
    const world = createWorld();
    const of = world.addOne({ retry: { maxRetries: 5, backoffSeconds: [] } });
    const run = world.claim();
    const message = { type: 'run.report', run, outcome: 'failed', cost: { usd: 1 }, messageId: 'm1' } as const;
    world.ok(message);
    expect(world.ask(message)).toEqual({ kind: 'same', about: [of] });
    world.claim();
    expect(world.ask(message)).toEqual({ kind: 'same', about: [of] });
    expect(world.task(of)).toMatchObject({ status: 'in-progress', cost: { usd: 1 } });
    expect(world.no({ ...message, messageId: 'm2' }).code).toBe('E_STALE_RUN');
  });

  test('costs add up over runs, each part by itself', () => {
    const world = createWorld();
    const of = world.addOne({ retry: { maxRetries: 9, backoffSeconds: [] } });
    const costs = [{ usd: 1.5 }, { tokensInput: 7 }, { tokensOutput: 11 }, undefined, { usd: 2, tokensOutput: 1 }];
    for (const cost of costs) {
      world.report(world.claim(), { outcome: 'failed', ...(cost === undefined ? {} : { cost }) });
    }
    world.ok({ type: 'run.fail', run: world.claim(), code: 'E_TIMEOUT', message: 'slow', cost: { usd: 0.5 } });
    // One of them has used tokens and has said no dollars.
    expect(world.task(of).cost).toEqual({ usd: 4, tokensInput: 7, tokensOutput: 12, unknown: true });
  });

  test('without a summary keeps the one before', () => {
    const world = createWorld();
    const of = world.addOne({ retry: { maxRetries: 9, backoffSeconds: [] } });
    world.report(world.claim(), { outcome: 'failed', summary: 'first' });
    world.report(world.claim(), { outcome: 'done' });
    expect(world.task(of).summary).toBe('first');
  });
});

describe('a run that is not the current one is refused', () => {
  const asks = [
    (run: string) => ({ type: 'run.report', run, outcome: 'done' }) as const,
    (run: string) => ({ type: 'run.fail', run, code: 'E_TIMEOUT', message: 'm' }) as const,
    (run: string) => ({ type: 'run.judge', run, passed: true }) as const,
  ];

  test.each(asks.map((ask) => [ask('').type, ask] as const))('%s', (_type, ask) => {
    const world = createWorld();
    const of = world.addOne({ retry: { maxRetries: 9, backoffSeconds: [] } });
    expect(world.no(ask(`${of}-r1`), RUNTIME).code).toBe('E_STALE_RUN');
    world.fail(world.claim());
    expect(world.no(ask(`${of}-r1`), RUNTIME).code).toBe('E_STALE_RUN');
    world.claim();
    expect(world.no(ask(`${of}-r1`), RUNTIME).code).toBe('E_STALE_RUN');
    expect(world.no(ask(`${of}-r3`), RUNTIME).code).toBe('E_STALE_RUN');
    expect(world.no(ask(`${id(9)}-r1`), RUNTIME).code).toBe('E_NOT_FOUND');
    expect(world.no(ask(of), RUNTIME).code).toBe('E_NOT_FOUND');
  });

  test('run.judge of an older run than the one in review', () => {
    const world = createWorld();
    const of = world.addOne({ retry: { maxRetries: 1, backoffSeconds: [] } });
    world.report(world.claim(), { outcome: 'failed' });
    world.report(world.claim());
    expect(world.no({ type: 'run.judge', run: `${of}-r1`, passed: true }, RUNTIME).code).toBe('E_STALE_RUN');
    world.judge(`${of}-r2`, true);
    expect(world.no({ type: 'run.judge', run: `${of}-r1`, passed: true }, RUNTIME).code).toBe('E_STALE_RUN');
  });

  test('and told what is current', () => {
    const world = createWorld();
    const of = world.addOne({ retry: { maxRetries: 9, backoffSeconds: [] } });
    expect(world.no({ type: 'run.report', run: `${of}-r1`, outcome: 'done' }).message).toBe(
      `${of}-r1 is not the current run of ${of}: it has no run, and the task is ready`,
    );
    world.fail(world.claim());
    world.claim();
    expect(world.no({ type: 'run.report', run: `${of}-r1`, outcome: 'done' }).message).toBe(
      `${of}-r1 is not the current run of ${of}: its run ${of}-r2 is running, and the task is in-progress`,
    );
  });

  test('also when its task was taken up again by hand', () => {
    const world = createWorld();
    const of = world.addOne();
    const run = world.claim();
    world.report(run);
    world.move(of, 'in-progress');
    expect(world.no({ type: 'run.report', run, outcome: 'done' }).code).toBe('E_STALE_RUN');
    expect(world.no({ type: 'run.judge', run, passed: true }, RUNTIME).message).toBe(
      `${run} is not the run in review: ${of} is in-progress`,
    );
  });
});

describe('the verdict', () => {
  const inReview = (outcome: 'done' | 'partial' | 'needs_review', more: object = {}) => {
    const world = createWorld();
    const of = world.addOne(more);
    const run = world.claim();
    world.report(run, { outcome });
    return { world, of, run };
  };

  test('done with all proven is done', () => {
    const { world, of, run } = inReview('done');
    const facts = world.judge(run, true);
    expect(world.task(of)).toMatchObject({ status: 'done', cause: null });
    expect(facts.events).toEqual([
      { type: 'run.judged', task: of, run, detail: { passed: true, verdict: 'unverified', findings: [] } },
      {
        type: 'task.transitioned',
        task: of,
        run,
        detail: { from: 'review', to: 'done', evidence: 'unverified' },
      },
    ]);
    expect(world.ask({ type: 'run.judge', run, passed: true }, RUNTIME)).toEqual({ kind: 'same', about: [of] });
  });

  test.each(['partial', 'needs_review'] as const)('%s stays in review, whatever is proven', (outcome) => {
    const { world, of, run } = inReview(outcome);
    world.judge(run, true);
    expect(world.status(of)).toBe('review');
  });

  test('a person has to look where that is required', () => {
    const { world, of, run } = inReview('done', { reviewRequired: true });
    world.judge(run, false, ['no such file']);
    expect(world.task(of).cause?.code).toBe('E_EVIDENCE');
    world.judge(run, true);
    expect(world.task(of)).toMatchObject({ status: 'review', cause: null });
  });

  test('failed evidence without attempts left stays in review with what was found', () => {
    const { world, of, run } = inReview('done');
    world.judge(run, false, ['a.ts is empty', 'b.ts is missing']);
    expect(world.task(of)).toMatchObject({ status: 'review', cause: { code: 'E_EVIDENCE', message: 'a.ts is empty' } });
    world.judge(run, false);
    expect(world.task(of).cause?.message).toBe('the evidence does not bear the claim out');
  });

  test("what is not the agent's to mend stays in review, whatever attempts are left", () => {
    const { world, of, run } = inReview('done', { retry: { maxRetries: 1, backoffSeconds: [0] } });
    world.ok({ type: 'run.judge', run, passed: false, findings: ['not merged'], final: true }, RUNTIME);
    expect(world.task(of)).toMatchObject({ status: 'review', cause: { code: 'E_EVIDENCE', message: 'not merged' } });
  });

  test('failed evidence with attempts left is tried again after the backoff', () => {
    const { world, of, run } = inReview('done', { retry: { maxRetries: 1, backoffSeconds: [3, 4] } });
    world.judge(run, false, ['empty']);
    expect(world.task(of)).toMatchObject({
      status: 'ready',
      availableAt: world.now() + 3000,
      attempts: 1,
      cause: { code: 'E_EVIDENCE', message: 'empty' },
    });
    world.wait(3000);
    const second = world.claim();
    world.report(second);
    world.judge(second, false);
    expect(world.status(of)).toBe('review');
  });

  test.each([PERSON, AGENT, UNKNOWN])('is the runtime’s alone, not %o’s', (by) => {
    const { world, run } = inReview('done');
    expect(world.no({ type: 'run.judge', run, passed: true }, by)).toMatchObject({
      code: 'E_PERMISSION_DENIED',
      message: `only the runtime judges evidence, and this came from ${by.name}`,
    });
  });

  test('a task moved to review by hand does not become done by evidence', () => {
    const world = createWorld();
    const of = world.addOne();
    const run = world.claim();
    world.move(of, 'review');
    world.judge(run, true);
    expect(world.status(of)).toBe('review');
  });
});

describe('a failure', () => {
  test('goes through the backoff list, whose last value repeats, and then to the deadletter', () => {
    const world = createWorld();
    const of = world.addOne({ retry: { maxRetries: 4, backoffSeconds: [10, 20, 30] } });
    for (const seconds of [10, 20, 30, 30]) {
      const facts = world.fail(world.claim());
      const { availableAt } = world.task(of);
      expect(availableAt).toBe(world.now() + seconds * 1000);
      expect(world.task(of).cause).toEqual({ code: 'E_PROCESS_CRASH', message: 'it fell over' });
      expect(facts.events.at(-1)?.detail).toEqual({
        from: 'in-progress',
        to: 'ready',
        code: 'E_PROCESS_CRASH',
        availableAt: new Date(availableAt).toISOString(),
      });
      world.wait(seconds * 1000);
    }
    const facts = world.fail(world.claim());
    expect(world.task(of)).toMatchObject({
      status: 'deadletter',
      attempts: 5,
      availableAt: 0,
      cause: { code: 'E_PROCESS_CRASH' },
      run: { status: 'failed', outcome: 'failed', endedAt: world.now() },
    });
    expect(facts.events).toEqual([
      {
        type: 'run.failed',
        task: of,
        run: `${of}-r5`,
        detail: { code: 'E_PROCESS_CRASH', message: 'it fell over', attempt: 5 },
      },
      {
        type: 'task.transitioned',
        task: of,
        run: `${of}-r5`,
        detail: { from: 'in-progress', to: 'deadletter', code: 'E_PROCESS_CRASH' },
      },
    ]);
  });

  test('without retries is final at once', () => {
    const world = createWorld();
    const of = world.addOne();
    world.fail(world.claim());
    expect(world.status(of)).toBe('deadletter');
  });

  test.each(['E_AGENT_NOT_FOUND', 'E_MODEL_UNAVAILABLE', 'E_CREDENTIALS', 'E_PERMISSION_DENIED'])(
    '%s is permanent',
    (code) => {
      const world = createWorld();
      const [a, b] = world.add(...['a', 'b'].map(() => ({ retry: { maxRetries: 9, backoffSeconds: [1] } }))) as [
        string,
        string,
      ];
      world.fail(world.claim({ id: a }), code);
      world.report(world.claim({ id: b }), { outcome: 'failed', code });
      expect(world.statuses(a, b)).toEqual(['deadletter', 'deadletter']);
    },
  );

  test.each(['E_TIMEOUT', 'E_HEARTBEAT_FAILURE', 'E_PROCESS_CRASH', 'E_UNKNOWN', 'E_RUN_EXPIRED', 'no code at all'])(
    '%s is not',
    (code) => {
      expect(isPermanent(code)).toBe(false);
    },
  );

  test.each([
    [[30, 120, 300], 1, 30_000],
    [[30, 120, 300], 2, 120_000],
    [[30, 120, 300], 3, 300_000],
    [[30, 120, 300], 99, 300_000],
    [[0.5], 1, 500],
    [[], 1, 0],
    [[30], 0, 0],
  ])('backoff of %j after attempt %i is %i ms', (backoffSeconds, attempts, ms) => {
    expect(backoffMs({ maxRetries: 9, backoffSeconds }, attempts)).toBe(ms);
  });

  test.each([
    [0, 0, true],
    [0, 1, false],
    [2, 2, true],
    [2, 3, false],
  ])('with %i retries, after %i attempts, another one: %s', (maxRetries, attempts, may) => {
    expect(mayRetry({ maxRetries, backoffSeconds: [] }, attempts)).toBe(may);
  });
});
