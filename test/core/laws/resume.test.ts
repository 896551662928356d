/** A run whose supervisor is gone: what it left behind decides, and everything is asked again at that moment. */
import { describe, expect, test } from 'vitest';
import { createWorld, eventsOf, id, LEASE, PERSON, RUNTIME } from './world.ts';

const stale = (more: object = {}) => {
  const world = createWorld();
  const of = world.addOne(more);
  const run = world.claim();
  world.wait(LEASE);
  return { world, of, run };
};

describe('the table', () => {
  test('done goes to review, and by the evidence to done', () => {
    const { world, of, run } = stale();
    const facts = world.ok({ type: 'run.resume', run, result: 'done', summary: 'all of it' });
    expect(world.task(of)).toMatchObject({
      status: 'review',
      summary: 'all of it',
      availableAt: 0,
      run: { status: 'completed', outcome: 'done', endedAt: world.now() },
    });
    expect(facts.events).toEqual([
      { type: 'run.resumed', task: of, run, detail: { result: 'done' } },
      { type: 'task.transitioned', task: of, run, detail: { from: 'in-progress', to: 'review', outcome: 'done' } },
    ]);
    world.judge(run, true);
    expect(world.status(of)).toBe('done');
  });

  test.each(['partial', 'needs_review'] as const)('%s goes to review and stays there', (result) => {
    const { world, of, run } = stale();
    world.ok({ type: 'run.resume', run, result });
    expect(world.task(of)).toMatchObject({ status: 'review', cause: null, run: { outcome: result } });
    world.judge(run, true);
    expect(world.status(of)).toBe('review');
  });

  test('blocked is blocked', () => {
    const { world, of, run } = stale();
    world.ok({ type: 'run.resume', run, result: 'blocked', summary: 'no key' });
    expect(world.task(of)).toMatchObject({ status: 'blocked', cause: { code: 'E_BLOCKED', message: 'no key' } });
  });

  test('failed is a failure like any other', () => {
    const { world, of, run } = stale({ retry: { maxRetries: 1, backoffSeconds: [9] } });
    world.ok({ type: 'run.resume', run, result: 'failed' });
    expect(world.task(of)).toMatchObject({
      status: 'ready',
      availableAt: world.now() + 9000,
      cause: { code: 'E_UNKNOWN', message: 'the agent says that it failed' },
      run: { status: 'failed' },
    });
    const second = stale();
    second.world.ok({ type: 'run.resume', run: second.run, result: 'failed', summary: 'why' });
    expect(second.world.task(second.of)).toMatchObject({ status: 'deadletter', cause: { message: 'why' } });
  });

  test('none makes it ready, the run expired, the attempt counted', () => {
    const { world, of, run } = stale();
    const facts = world.ok({ type: 'run.resume', run, result: 'none' });
    expect(world.task(of)).toMatchObject({
      status: 'ready',
      attempts: 1,
      availableAt: 0,
      cause: { code: 'E_RUN_EXPIRED', message: `${run} went silent and left no result` },
      run: { status: 'expired', outcome: null, endedAt: world.now() },
    });
    expect(eventsOf(facts)).toEqual(['run.expired', 'task.transitioned']);
    expect(world.claim()).toBe(`${of}-r2`);
    expect(world.task(of)).toMatchObject({ attempts: 2, cause: null });
  });

  test('unreadable moves nothing, and is recorded; next time it counts as none', () => {
    const { world, of, run } = stale();
    const before = world.task(of);
    const facts = world.ok({ type: 'run.resume', run, result: 'unreadable' });
    expect(facts.changes).toEqual([]);
    expect(facts.events).toEqual([
      { type: 'protocol.message.rejected', task: of, run, detail: { reason: 'run_result.json is unreadable' } },
    ]);
    expect(world.task(of)).toBe(before);
    world.ok({ type: 'run.resume', run, result: 'none' });
    expect(world.task(of)).toMatchObject({ status: 'ready', run: { status: 'expired' } });
  });

  test.each([
    [0, 5],
    [3, 5],
    [4, 5],
    [7, 8],
  ])('with %i retries the deadletter comes after %i expiries', (maxRetries, expiries) => {
    const world = createWorld();
    const of = world.addOne({ retry: { maxRetries, backoffSeconds: [1] } });
    for (let i = 1; i <= expiries; i++) {
      expect(world.status(of)).toBe('ready');
      world.ok({ type: 'run.resume', run: world.claim(), result: 'none', gone: true });
    }
    expect(world.task(of)).toMatchObject({
      status: 'deadletter',
      cause: { code: 'E_RUN_EXPIRED' },
      attempts: expiries,
    });
  });
});

describe('asked again at the moment it is applied', () => {
  test('a run is alive until its lease ends', () => {
    const world = createWorld();
    world.addOne();
    const run = world.claim();
    world.wait(LEASE - 1);
    expect(world.no({ type: 'run.resume', run, result: 'none' })).toMatchObject({
      code: 'E_RUN_ALIVE',
      message: `${run} is alive until ${new Date(world.now() + 1).toISOString()} and is not resumed before that`,
    });
    world.wait(1);
    world.ok({ type: 'run.resume', run, result: 'none' });
  });

  test('a sign of life moves that on', () => {
    const { world, of, run } = stale();
    world.state.alive(world.task(of).run as never, world.now() - 1);
    expect(world.no({ type: 'run.resume', run, result: 'done' }).code).toBe('E_RUN_ALIVE');
    world.wait(LEASE - 1);
    world.ok({ type: 'run.resume', run, result: 'done' });
  });

  test('signs of life of a run are not those of the next', () => {
    const world = createWorld();
    const of = world.addOne({ retry: { maxRetries: 1, backoffSeconds: [] } });
    const first = world.claim();
    world.state.alive(world.task(of).run as never, world.now() + 10 * LEASE);
    world.fail(first);
    const second = world.claim();
    world.wait(LEASE);
    world.ok({ type: 'run.resume', run: second, result: 'none' });
  });

  test('what is known to be gone need not be waited for', () => {
    const world = createWorld();
    const of = world.addOne();
    const run = world.claim();
    expect(world.no({ type: 'run.resume', run, result: 'none', gone: false }).code).toBe('E_RUN_ALIVE');
    world.ok({ type: 'run.resume', run, result: 'none', gone: true });
    expect(world.status(of)).toBe('ready');
  });

  test('somebody was quicker: a report, a move, another resume, a new run', () => {
    const quicker: ((at: ReturnType<typeof stale>) => void)[] = [
      ({ world, run }) => void world.report(run),
      ({ world, of }) => void world.move(of, 'blocked'),
      ({ world, of }) => void world.cancel(of),
      ({ world, run }) => void world.ok({ type: 'run.resume', run, result: 'none' }),
      ({ world, run }) => {
        world.ok({ type: 'run.resume', run, result: 'none' });
        world.claim();
        world.wait(LEASE);
      },
      ({ world, of }) => {
        world.move(of, 'ready');
        world.move(of, 'in-progress');
      },
    ];
    for (const act of quicker) {
      const at = stale();
      act(at);
      const before = at.world.task(at.of);
      const decision = at.world.ask({ type: 'run.resume', run: at.run, result: 'done', gone: true }, RUNTIME);
      expect(decision).toEqual({ kind: 'same', about: [at.of] });
      expect(at.world.task(at.of)).toBe(before);
    }
  });

  test('a task that never had a run has nothing to resume', () => {
    const world = createWorld();
    const of = world.addOne();
    world.move(of, 'in-progress');
    expect(world.ask({ type: 'run.resume', run: `${of}-r1`, result: 'none' })).toEqual({ kind: 'same', about: [of] });
    expect(world.no({ type: 'run.resume', run: `${id(5)}-r1`, result: 'none' }).code).toBe('E_NOT_FOUND');
  });
});

describe('Baton was asked to stop', () => {
  test('that is no attempt that failed, however often it happens', () => {
    const world = createWorld();
    const of = world.addOne({ retry: { maxRetries: 0, backoffSeconds: [1] } });
    for (let i = 1; i <= 7; i++) {
      const run = world.claim();
      const facts = world.ok({ type: 'run.resume', run, result: 'none', gone: true, reason: 'leaving' }, RUNTIME);
      expect(eventsOf(facts)).toEqual(['run.stopped', 'task.transitioned']);
      expect(world.task(of)).toMatchObject({
        status: 'ready',
        attempts: 0,
        runs: i,
        availableAt: 0,
        cause: { message: `Baton was asked to stop, and ${run} with it` },
        run: { id: run, attempt: 1, status: 'expired' },
      });
    }
  });

  test('what the run has used is the cost of its task', () => {
    const world = createWorld();
    const of = world.addOne({});
    for (const reason of [{ reason: 'leaving' as const }, {}]) {
      const cost = { usd: 0.5, tokensInput: 10, tokensOutput: 1 };
      world.ok({ type: 'run.resume', run: world.claim(), result: 'none', gone: true, cost, ...reason }, RUNTIME);
    }
    expect(world.task(of).cost).toEqual({ usd: 1, tokensInput: 20, tokensOutput: 2 });
  });
});

describe('a run whose task was taken from it', () => {
  test('what it has used is told afterwards, and by the runtime only', () => {
    const { world, of, run } = stale();
    const charge = { type: 'run.charge', run, cost: { usd: 0.5 } } as const;
    // It runs: it tells it when it ends.
    expect(world.ask(charge, RUNTIME)).toEqual({ kind: 'same', about: [of] });
    world.ok({ type: 'task.cancel', id: of });
    expect(world.no(charge, PERSON).code).toBe('E_PERMISSION_DENIED');
    expect(eventsOf(world.ok(charge, RUNTIME))).toEqual(['run.charged']);
    expect(world.task(of)).toMatchObject({ status: 'cancelled', cost: { usd: 0.5 } });
  });
});
