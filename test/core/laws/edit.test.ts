/** What may be changed of a task and when, and what a change of dependencies does to it and to those behind it. */
import { describe, expect, test } from 'vitest';
import { AGENT, createWorld, eventsOf, id, PERSON, RUNTIME, taskIn, UNKNOWN } from './world.ts';

describe('edit', () => {
  test('of everything, with what it was before', () => {
    const world = createWorld();
    const [other] = world.add({}) as [string];
    const of = world.addOne({ routing: { agent: 'emma', tags: ['x'] }, metadata: { a: 1 } });
    world.wait(7);
    const facts = world.edit(of, {
      title: 'new',
      priority: 'critical',
      routing: { agent: null, role: 'tester' },
      dependsOn: [other, other],
      reviewRequired: true,
      metadata: { b: 2 },
      texts: { body: 'new body' },
    });
    expect(world.task(of)).toMatchObject({
      title: 'new',
      priority: 'critical',
      routing: { agent: null, role: 'tester', team: null, tags: ['x'] },
      dependsOn: [other],
      reviewRequired: true,
      metadata: { b: 2 },
      updatedAt: world.now(),
      lastTransitionAt: world.now() - 7,
    });
    expect(eventsOf(facts)).toEqual(['task.edited', 'task.escalated']);
    expect(facts.events[0]?.detail).toMatchObject({
      title: { from: 'a task', to: 'new' },
      metadata: { from: { a: 1 }, to: { b: 2 } },
      texts: ['body'],
    });
    expect(facts.events[1]?.detail).toEqual({ from: 'normal', to: 'critical' });
    expect(facts.changes).toHaveLength(1);
    expect(facts.changes[0]?.texts).toEqual({ body: 'new body' });
  });

  test('writes only what changed', () => {
    const world = createWorld();
    const of = world.addOne();
    const facts = world.edit(of, { title: 'new', priority: 'normal', dependsOn: [], routing: {} });
    expect(facts.changes).toEqual([{ task: of, set: { title: 'new', updatedAt: world.now() } }]);
    expect(facts.events).toEqual([{ type: 'task.edited', task: of, detail: { title: { from: 'a task', to: 'new' } } }]);
  });

  test('to what it is changes nothing', () => {
    const world = createWorld();
    const of = world.addOne();
    const same = { kind: 'same', about: [of] };
    expect(world.ask({ type: 'task.edit', id: of })).toEqual(same);
    expect(world.ask({ type: 'task.edit', id: of, title: 'a task', routing: { agent: null }, texts: {} })).toEqual(
      same,
    );
  });

  test('of texts alone is a change', () => {
    const world = createWorld();
    const facts = world.edit(world.addOne(), { texts: { 'inputs/a.md': '' } });
    expect(facts.events[0]?.detail).toEqual({ texts: ['inputs/a.md'] });
  });

  test('needs a title', () => {
    const world = createWorld();
    expect(world.no({ type: 'task.edit', id: world.addOne(), title: ' ' }).code).toBe('E_SCHEMA_VALIDATION');
  });

  test.each(['done', 'cancelled'] as const)('of what is %s is refused', (status) => {
    const world = createWorld();
    const of = taskIn(world, status);
    expect(world.no({ type: 'task.edit', id: of, title: 'x' })).toMatchObject({
      code: 'E_ILLEGAL_MOVE',
      message: `${of} is ${status}, and that is final`,
    });
  });

  test.each(['backlog', 'ready', 'in-progress', 'blocked', 'review', 'deadletter'] as const)(
    'of what is %s',
    (status) => {
      const world = createWorld();
      const of = taskIn(world, status);
      world.edit(of, { title: 'x', priority: 'low' });
      expect(world.task(of)).toMatchObject({ title: 'x', priority: 'low', status });
    },
  );

  test.each([
    [PERSON, true],
    [RUNTIME, false],
    [AGENT, false],
    [UNKNOWN, false],
  ] as const)('that a review is not needed may be said by %o: %s', (by, may) => {
    const world = createWorld();
    const of = world.addOne();
    expect(world.ask({ type: 'task.edit', id: of, reviewRequired: false }, by).kind).toBe('same');
    world.edit(of, { reviewRequired: true }, by);
    if (may) world.edit(of, { reviewRequired: false }, by);
    else expect(world.no({ type: 'task.edit', id: of, reviewRequired: false }, by).code).toBe('E_PERMISSION_DENIED');
    expect(world.task(of).reviewRequired).toBe(!may);
    expect(world.ask({ type: 'task.edit', id: of, reviewRequired: !may }, by).kind).toBe('same');
  });
});

describe('edit of dependencies', () => {
  test.each(['in-progress', 'review'] as const)('of what is %s is refused, unless they are the same', (status) => {
    const world = createWorld();
    const of = taskIn(world, status);
    const other = world.addOne();
    expect(world.no({ type: 'task.edit', id: of, dependsOn: [other] })).toMatchObject({
      code: 'E_ILLEGAL_MOVE',
      message: `${of} is ${status}; what it depends on can no longer change`,
    });
    expect(world.ask({ type: 'task.edit', id: of, dependsOn: [] }).kind).toBe('same');
  });

  test.each(['backlog', 'ready', 'blocked', 'deadletter'] as const)('of what is %s', (status) => {
    const world = createWorld();
    const of = taskIn(world, status);
    const other = world.addOne({ externalId: 'O' });
    world.edit(of, { dependsOn: ['O'] });
    expect(world.task(of)).toMatchObject({ status, dependsOn: [other] });
  });

  test('unknown ones are refused, also those of another session', () => {
    const world = createWorld();
    const of = world.addOne();
    world.addOne({ session: 'S', externalId: 'O' });
    const refusal = world.no({ type: 'task.edit', id: of, dependsOn: ['O'] });
    expect(refusal).toMatchObject({
      code: 'E_NOT_FOUND',
      message: `there is no task O, which ${of} is to depend on`,
    });
  });

  test.each([1, 2, 3, 10])('closing a circle of %i is refused with its path', (length) => {
    const world = createWorld();
    const ids = world.add(...Array.from({ length }, (_, i) => (i === 0 ? {} : { dependsOn: [id(i)] })));
    const [first, last] = [ids[0] as string, ids.at(-1) as string];
    const path = [first, ...ids.slice().reverse()].join(' → ');
    expect(world.no({ type: 'task.edit', id: first, dependsOn: [last] })).toMatchObject({
      code: 'E_CYCLE',
      message: `these tasks would wait for each other for ever: ${path}`,
    });
  });

  test('at the end of a chain of 50,000', () => {
    const world = createWorld();
    const ids = world.add(...Array.from({ length: 50_000 }, (_, i) => (i === 0 ? {} : { dependsOn: [id(i)] })));
    const refusal = world.no({ type: 'task.edit', id: id(1), dependsOn: [ids.at(-1) as string] });
    expect(refusal.code).toBe('E_CYCLE');
  });

  test('a new one keeps it from being claimed, and taking it away frees it', () => {
    const world = createWorld();
    const [a, b] = world.add({ priority: 'low' }, {}) as [string, string];
    expect(world.next()).toBe(b);
    world.edit(b, { dependsOn: [a] });
    expect(world.next()).toBe(a);
    world.edit(b, { dependsOn: [] });
    expect(world.next()).toBe(b);
  });

  test('on what failed blocks it and all behind it, and taking it away frees them', () => {
    const world = createWorld();
    const [dead, a, b, c] = world.add({}, {}, { dependsOn: [id(2)] }, { dependsOn: [id(2)], status: 'backlog' }) as [
      string,
      string,
      string,
      string,
    ];
    world.kill(dead);
    const facts = world.edit(a, { dependsOn: [dead] });
    expect(world.statuses(a, b, c)).toEqual(['blocked', 'blocked', 'blocked']);
    expect(world.task(b).cause).toMatchObject({ code: 'E_DEPENDENCY_FAILED', task: dead });
    expect(eventsOf(facts)).toEqual(['task.edited', ...Array.from({ length: 3 }, () => 'task.transitioned')]);
    world.edit(a, { dependsOn: [] });
    expect(world.statuses(a, b, c)).toEqual(['ready', 'ready', 'blocked']);
    expect(world.task(c).cause).toEqual({
      code: 'E_MOVED',
      message: 'its dependencies changed; this was in the backlog and waits to be made ready',
    });
  });

  test('on what failed ends a backoff too', () => {
    const world = createWorld();
    const [dead, a] = world.add({}, { retry: { maxRetries: 1, backoffSeconds: [60] } }) as [string, string];
    world.kill(dead);
    world.fail(world.claim({ id: a }));
    world.edit(a, { dependsOn: [dead] });
    expect(world.task(a)).toMatchObject({ status: 'blocked', availableAt: 0 });
    world.edit(a, { dependsOn: [] });
    expect(world.next()).toBe(a);
  });

  test('from one failed task to another names the other, which then frees it', () => {
    const world = createWorld();
    const [r, s, a, b] = world.add({}, {}, { dependsOn: [id(1)] }, { dependsOn: [id(3)] }) as [
      string,
      string,
      string,
      string,
    ];
    world.kill(r);
    world.kill(s);
    world.edit(a, { dependsOn: [s] });
    expect([a, b].map((of) => world.task(of).cause?.task)).toEqual([s, s]);
    world.retry(r);
    expect(world.statuses(a, b)).toEqual(['blocked', 'blocked']);
    world.retry(s);
    expect(world.statuses(a, b)).toEqual(['ready', 'ready']);
  });

  test('a dead one whose dependency was cancelled is not lost for ever', () => {
    const world = createWorld();
    const [r, a] = world.add({}, { dependsOn: [id(1)] }) as [string, string];
    world.cancel(r);
    world.move(a, 'deadletter');
    expect(world.no({ type: 'task.retry', id: a }).code).toBe('E_DEPENDENCY_FAILED');
    world.edit(a, { dependsOn: [] });
    expect(world.status(a)).toBe('deadletter');
    world.retry(a);
    expect(world.status(a)).toBe('ready');
  });

  test('leaves what is blocked for another reason as it is', () => {
    const world = createWorld();
    const [r, a] = world.add({}, {}) as [string, string];
    world.kill(r);
    world.move(a, 'blocked');
    world.edit(a, { dependsOn: [r] });
    expect(world.task(a)).toMatchObject({ status: 'blocked', cause: { code: 'E_MOVED' } });
    world.edit(a, { dependsOn: [] });
    expect(world.task(a)).toMatchObject({ status: 'blocked', cause: { code: 'E_MOVED' } });
  });
});
