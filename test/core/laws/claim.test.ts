/** Who gets which task: in order, of those that fit, never before its time, and never twice. */
import { describe, expect, test } from 'vitest';
import { fits } from '../../../src/core/laws/claim.ts';
import { TASK_DEFAULTS } from '../../../src/core/task.ts';
import { createWorld, eventsOf, id, LEASE, RUNTIME, taskIn } from './world.ts';

const CLAIM = { type: 'task.claim', claimer: { agent: 'emma' }, leaseMs: LEASE } as const;

describe('a claim', () => {
  test('makes a run with a lease', () => {
    const world = createWorld();
    const of = world.addOne();
    const supervisor = { pid: 12, started: '345' };
    const facts = world.ok({ ...CLAIM, id: of, model: 'm-1', supervisor }, RUNTIME);
    expect(world.task(of)).toMatchObject({
      status: 'in-progress',
      attempts: 1,
      runs: 1,
      availableAt: world.now() + LEASE,
      cause: null,
      run: {
        id: `${of}-r1`,
        attempt: 1,
        agent: 'emma',
        model: 'm-1',
        startedAt: world.now(),
        endedAt: null,
        status: 'running',
        leaseMs: LEASE,
        supervisor,
        outcome: null,
      },
    });
    expect(facts.about).toEqual([of]);
    expect(facts.events).toEqual([
      {
        type: 'task.transitioned',
        task: of,
        run: `${of}-r1`,
        detail: { from: 'ready', to: 'in-progress', agent: 'emma' },
      },
      { type: 'run.started', task: of, run: `${of}-r1`, detail: { agent: 'emma', attempt: 1, model: 'm-1' } },
    ]);
  });

  test('without model and supervisor', () => {
    const world = createWorld();
    const facts = world.ok({ ...CLAIM, id: world.addOne() });
    expect(world.task(id(1)).run).toMatchObject({ model: null, supervisor: null });
    expect(facts.events[1]?.detail).toEqual({ agent: 'emma', attempt: 1 });
  });

  test('is refused where nothing is ready', () => {
    const world = createWorld();
    expect(world.no(CLAIM)).toMatchObject({ code: 'E_NOTHING_READY', message: 'there is no ready task for emma' });
    world.addOne({ status: 'backlog' });
    expect(world.no(CLAIM).code).toBe('E_NOTHING_READY');
  });

  test('of an unknown task', () => {
    expect(createWorld().no({ ...CLAIM, id: id(1) }).code).toBe('E_NOT_FOUND');
  });

  test.each(['backlog', 'in-progress', 'blocked', 'review', 'done', 'cancelled', 'deadletter'] as const)(
    'of what is %s is refused',
    (status) => {
      const world = createWorld();
      const of = taskIn(world, status);
      expect(world.no({ ...CLAIM, id: of })).toMatchObject({
        code: 'E_NOT_CLAIMABLE',
        message: `${of} cannot be claimed: it is ${status}`,
      });
      expect(world.no(CLAIM).code).toBe('E_NOTHING_READY');
    },
  );

  test('of what is another’s is refused', () => {
    const world = createWorld();
    const of = world.addOne({ routing: { agent: 'zed' } });
    expect(world.no({ ...CLAIM, id: of })).toMatchObject({
      code: 'E_NOT_CLAIMABLE',
      message: `${of} is not for emma`,
      hint: `why: baton why ${of}`,
    });
  });

  test('a second claim of the same task is refused while the lease holds, and after it', () => {
    const world = createWorld();
    const of = world.addOne();
    world.claim({ id: of });
    expect(world.no({ ...CLAIM, id: of }).code).toBe('E_NOT_CLAIMABLE');
    // Who went silent is resumed first; a lease that has run out does not free a task by itself.
    world.wait(LEASE * 2);
    expect(world.no({ ...CLAIM, id: of }).code).toBe('E_NOT_CLAIMABLE');
    expect(world.no(CLAIM).code).toBe('E_NOTHING_READY');
  });
});

describe('the order', () => {
  test('by priority, then by age', () => {
    const world = createWorld();
    world.add(
      { priority: 'low' },
      { priority: 'normal' },
      { priority: 'critical' },
      { priority: 'high' },
      { priority: 'critical' },
      {},
    );
    const got = Array.from({ length: 6 }, () => world.claim());
    expect(got).toEqual([3, 5, 4, 2, 6, 1].map((number) => `${id(number)}-r1`));
  });

  test('across routings too', () => {
    const world = createWorld();
    world.add(
      { routing: { agent: 'emma' } },
      { priority: 'high' },
      { routing: { role: 'r' }, priority: 'high' },
      { routing: { tags: ['t'] } },
      { routing: { agent: 'zed' }, priority: 'critical' },
    );
    const claimer = { agent: 'emma', roles: ['r'], tags: ['t'] };
    expect(Array.from({ length: 4 }, () => world.claim({ claimer }))).toEqual(
      [2, 3, 1, 4].map((number) => `${id(number)}-r1`),
    );
    expect(world.next(claimer)).toBeUndefined();
  });

  test('escalation reorders at once, and so does its opposite', () => {
    const world = createWorld();
    world.add({}, {}, { priority: 'low' });
    world.edit(id(3), { priority: 'critical' });
    expect(world.next()).toBe(id(3));
    world.edit(id(3), { priority: 'low' });
    expect(world.next()).toBe(id(1));
    world.edit(id(1), { priority: 'low' });
    expect(world.next()).toBe(id(2));
    expect(Array.from({ length: 3 }, () => world.claim())).toEqual([2, 1, 3].map((number) => `${id(number)}-r1`));
  });

  test('numbers beyond 999 come after those before', () => {
    const world = createWorld();
    world.add({ id: id(1000) }, { id: id(999) }, { id: id(1, '2026-02-28') });
    expect(Array.from({ length: 3 }, () => world.claim())).toEqual(
      [id(1, '2026-02-28'), id(999), id(1000)].map((of) => `${of}-r1`),
    );
  });
});

describe('routing', () => {
  const nobody = TASK_DEFAULTS.routing;
  test.each([
    [{}, {}, true],
    [{ agent: 'emma' }, {}, true],
    [{ agent: 'zed' }, {}, false],
    // An agent by name is enough; the rest is for where there is none.
    [{ agent: 'emma', role: 'r', team: 't', tags: ['x'] }, {}, true],
    [{ agent: 'zed', role: 'r' }, { roles: ['r'] }, false],
    [{ role: 'r' }, {}, false],
    [{ role: 'r' }, { roles: [] }, false],
    [{ role: 'r' }, { roles: ['q', 'r'] }, true],
    [{ team: 't' }, {}, false],
    [{ team: 't' }, { teams: ['t'] }, true],
    [{ tags: ['x'] }, {}, false],
    [{ tags: ['x', 'y'] }, { tags: ['x'] }, false],
    [{ tags: ['x', 'y'] }, { tags: ['y', 'z', 'x'] }, true],
    [{ role: 'r', team: 't', tags: ['x'] }, { roles: ['r'], teams: ['t'], tags: ['x'] }, true],
    [{ role: 'r', team: 't', tags: ['x'] }, { roles: ['r'], tags: ['x'] }, false],
    [{ role: 'r', team: 't', tags: ['x'] }, { teams: ['t'], tags: ['x'] }, false],
    [{ role: 'r', team: 't', tags: ['x'] }, { roles: ['r'], teams: ['t'] }, false],
  ])('%j, by emma with %j: %s', (routing, claimer, may) => {
    expect(fits({ ...nobody, ...routing }, { agent: 'emma', ...claimer })).toBe(may);
    const world = createWorld();
    const of = world.addOne({ routing });
    expect(world.next({ agent: 'emma', ...claimer })).toBe(may ? of : undefined);
  });

  test('a change of it is felt at once', () => {
    const world = createWorld();
    const of = world.addOne({ routing: { agent: 'zed' } });
    expect(world.next()).toBeUndefined();
    world.edit(of, { routing: { agent: 'emma' } });
    expect(world.next()).toBe(of);
    world.edit(of, { routing: { agent: null, role: 'tester' } });
    expect(world.next()).toBeUndefined();
    expect(world.next({ agent: 'emma', roles: ['tester'] })).toBe(of);
  });

  test('a role and a team that read like an agent’s name are not taken for it', () => {
    const world = createWorld();
    const [byRole, byName] = world.add({ routing: { role: 'agent', team: 'emma' } }, { routing: { agent: 'emma' } });
    expect(world.next()).toBe(byName);
    expect(world.next({ agent: 'zed', roles: ['agent'], teams: ['emma'] })).toBe(byRole);
  });

  test('nor two tags for one that holds a line end, nor an empty role for none', () => {
    const world = createWorld();
    const [, two, none] = world.add({ routing: { tags: ['a\nb'] } }, { routing: { tags: ['a', 'b'] } }, {});
    expect(world.next({ agent: 'emma', tags: ['a', 'b'] })).toBe(two);
    expect(world.next()).toBe(none);
    world.cancel(none as string);
    world.addOne({ routing: { role: '' } });
    expect(world.next()).toBeUndefined();
  });
});

describe('not before its time', () => {
  test('a backoff', () => {
    const world = createWorld();
    const of = world.addOne({ retry: { maxRetries: 1, backoffSeconds: [30] } });
    world.fail(world.claim());
    expect(world.no(CLAIM).code).toBe('E_NOTHING_READY');
    const until = new Date(world.now() + 30_000).toISOString();
    expect(world.no({ ...CLAIM, id: of }).message).toBe(`${of} cannot be claimed: it may be tried again at ${until}`);
    world.wait(29_999);
    expect(world.no(CLAIM).code).toBe('E_NOTHING_READY');
    world.wait(1);
    expect(world.claim()).toBe(`${of}-r2`);
    expect(world.task(of)).toMatchObject({ attempts: 2, runs: 2, cause: null, run: { attempt: 2 } });
  });

  test('a clock that is set back loses nobody', () => {
    const world = createWorld();
    const of = world.addOne({ retry: { maxRetries: 1, backoffSeconds: [30] } });
    world.fail(world.claim());
    world.wait(30_000);
    expect(world.next()).toBe(of);
    world.wait(-10_000);
    expect(world.next()).toBeUndefined();
    world.wait(10_000);
    expect(world.next()).toBe(of);
  });

  test('dependencies', () => {
    const world = createWorld();
    const [a, b, c] = world.add({}, { priority: 'low' }, { priority: 'critical', dependsOn: [id(1), id(2)] }) as [
      string,
      string,
      string,
    ];
    const of = { ...CLAIM, id: c };
    expect(world.no(of).message).toBe(`${c} cannot be claimed: it waits for ${a}, which is ready`);
    world.finish(a);
    expect(world.no(of).message).toBe(`${c} cannot be claimed: it waits for ${b}, which is ready`);
    const run = world.claim();
    expect(run).toBe(`${b}-r1`);
    world.report(run);
    expect(world.no(of).message).toBe(`${c} cannot be claimed: it waits for ${b}, which is review`);
    expect(world.next()).toBeUndefined();
    world.judge(run, true);
    expect(world.next()).toBe(c);
  });

  test('what was made ready while its dependencies were open comes when they are done', () => {
    const world = createWorld();
    const [a, b] = world.add({}, { dependsOn: [id(1)], status: 'backlog' }) as [string, string];
    world.move(b, 'ready');
    world.finish(a);
    expect(world.next()).toBe(b);
  });

  test('a person makes done what others wait for', () => {
    const world = createWorld();
    const [a, b] = world.add({}, { dependsOn: [id(1)] }) as [string, string];
    world.report(world.claim({ id: a }), { outcome: 'partial' });
    const facts = world.move(a, 'done');
    expect(eventsOf(facts)).toEqual(['task.transitioned']);
    expect(world.next()).toBe(b);
  });
});
