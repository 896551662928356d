/** New tasks: their ids, their sessions, how deep they go, and what they may depend on. All of a batch, or none. */
import { describe, expect, test } from 'vitest';
import { compareTaskIds, TASK_DEFAULTS } from '../../../src/core/task.ts';
import { createWorld, eventsOf, id, START } from './world.ts';

const DAY = 24 * 60 * 60 * 1000;

describe('a new task', () => {
  test('has what it was given, and the defaults for the rest', () => {
    const world = createWorld();
    const facts = world.ok({ type: 'task.add', tasks: [{ title: 'Fix the gate' }] });
    expect(facts.about).toEqual([id(1)]);
    expect(world.task(id(1))).toEqual({
      ...TASK_DEFAULTS,
      id: id(1),
      title: 'Fix the gate',
      status: 'ready',
      createdAt: START,
      createdBy: 'ann',
      updatedAt: START,
      lastTransitionAt: START,
    });
    expect(facts.events).toEqual([
      {
        type: 'task.created',
        task: id(1),
        detail: { title: 'Fix the gate', status: 'ready', priority: 'normal' },
      },
    ]);
  });

  test('with everything said', () => {
    const world = createWorld();
    const parent = world.addOne({ session: 'S' });
    const before = world.addOne({ session: 'S' });
    const facts = world.ok({
      type: 'task.add',
      tasks: [
        {
          id: id(77),
          externalId: 'T-1',
          title: 'all of it',
          status: 'backlog',
          priority: 'high',
          routing: { role: 'tester', tags: ['node'] },
          session: 'S',
          parentId: parent,
          dependsOn: [before, before],
          retry: { maxRetries: 2, backoffSeconds: [1] },
          reviewRequired: true,
          metadata: { a: [1] },
          texts: { body: 'the body', 'inputs/task.json': '{}' },
        },
      ],
    });
    expect(world.task(id(77))).toMatchObject({
      externalId: 'T-1',
      status: 'backlog',
      priority: 'high',
      routing: { agent: null, role: 'tester', team: null, tags: ['node'] },
      session: 'S',
      parentId: parent,
      depth: 1,
      dependsOn: [before],
      retry: { maxRetries: 2, backoffSeconds: [1] },
      reviewRequired: true,
      metadata: { a: [1] },
    });
    expect(facts.session).toBe('S');
    expect(facts.changes[0]?.texts).toEqual({ body: 'the body', 'inputs/task.json': '{}' });
    expect(facts.events).toEqual([
      {
        type: 'task.created',
        task: id(77),
        detail: {
          title: 'all of it',
          status: 'backlog',
          priority: 'high',
          parentId: parent,
          externalId: 'T-1',
          dependsOn: [before],
        },
      },
      { type: 'delegation.requested', task: id(77), detail: { parentId: parent, depth: 1 } },
    ]);
  });

  test('needs a title', () => {
    const world = createWorld();
    expect(world.no({ type: 'task.add', tasks: [{ title: 'a' }, { title: ' \n' }] }).code).toBe('E_SCHEMA_VALIDATION');
    expect(world.state.size).toBe(0);
  });

  test('none is none', () => {
    expect(createWorld().no({ type: 'task.add', tasks: [] }).code).toBe('E_SCHEMA_VALIDATION');
  });
});

describe('ids', () => {
  test('count up, and from one each day', () => {
    const world = createWorld();
    expect(world.add({}, {}, {})).toEqual([id(1), id(2), id(3)]);
    world.wait(DAY);
    expect(world.addOne()).toBe(id(1, '2026-03-02'));
    world.wait(-DAY);
    expect(world.addOne()).toBe(id(4));
  });

  test('the day is that of UTC', () => {
    const world = createWorld(Date.UTC(2026, 2, 1, 23, 59, 59, 999));
    expect(world.addOne()).toBe(id(1));
    world.wait(1);
    expect(world.addOne()).toBe(id(1, '2026-03-02'));
  });

  test('the 1000th has four digits and stays in order', () => {
    const world = createWorld();
    const ids = world.add(...Array.from({ length: 1001 }, () => ({})));
    expect(ids.slice(-3)).toEqual([id(999), 'TASK-2026-03-01-1000', 'TASK-2026-03-01-1001']);
    expect([...ids].sort(compareTaskIds)).toEqual(ids);
    expect(world.next()).toBe(id(1));
  });

  test('of one’s own choice are counted on from', () => {
    const world = createWorld();
    expect(world.add({}, { id: id(500) }, {})).toEqual([id(501), id(500), id(502)]);
    expect(world.addOne({ id: id(3) })).toBe(id(3));
    expect(world.addOne()).toBe(id(503));
    expect(world.add({ id: id(900, '2020-01-01') }, {})).toEqual([id(900, '2020-01-01'), id(504)]);
    expect(world.addOne()).toBe(id(505));
  });

  test.each(['TASK-1', 'task-2026-03-01-001', 'TASK-2026-03-01-01', 'TASK-2026-03-01-0001', `${id(1)}\n`, ''])(
    '%j is none',
    (wrong) => {
      const refusal = createWorld().no({ type: 'task.add', tasks: [{ title: 'a', id: wrong }] });
      expect(refusal.code).toBe('E_SCHEMA_VALIDATION');
      expect(refusal.message).toContain(`got ${wrong}`);
    },
  );

  test('a number too high to count on from is refused', () => {
    const world = createWorld();
    for (const number of ['1000000000', '9007199254740991', '99999999999999999999999']) {
      const tasks = [{ title: 'a', id: `TASK-2026-03-01-${number}` }];
      expect(world.no({ type: 'task.add', tasks }).code).toBe('E_SCHEMA_VALIDATION');
    }
    expect(world.add({ id: 'TASK-2026-03-01-999999999' }, {}, {})).toEqual([
      'TASK-2026-03-01-999999999',
      'TASK-2026-03-01-1000000000',
      'TASK-2026-03-01-1000000001',
    ]);
  });

  test('a clash is refused, with what is there and within a batch', () => {
    const world = createWorld();
    world.addOne({ id: id(5) });
    const clash = { code: 'E_DUPLICATE', message: `there is a task ${id(5)} already` };
    expect(world.no({ type: 'task.add', tasks: [{ title: 'a' }, { title: 'b', id: id(5) }] })).toMatchObject(clash);
    const twice = [id(6), id(6)].map((own) => ({ title: 'a', id: own }));
    expect(world.no({ type: 'task.add', tasks: twice }).code).toBe('E_DUPLICATE');
    expect(world.state.size).toBe(1);
  });
});

describe('external ids', () => {
  test('are unique in their session, and free in another', () => {
    const world = createWorld();
    world.addOne({ externalId: 'T-1' });
    const refusal = world.no({ type: 'task.add', tasks: [{ title: 'a', externalId: 'T-1' }] });
    expect(refusal).toMatchObject({ code: 'E_DUPLICATE', message: 'the session default has a task T-1 already' });
    world.addOne({ externalId: 'T-1', session: 'other' });
    expect(world.state.named('T-1')).toEqual([id(1), id(2)]);
  });

  test('are unique in a batch', () => {
    const world = createWorld();
    const both = ['S', 'S'].map((session) => ({ title: 'a', externalId: 'T-1', session }));
    expect(world.no({ type: 'task.add', tasks: both }).code).toBe('E_DUPLICATE');
    const apart = ['S', 'T'].map((session) => ({ title: 'a', externalId: 'T-1', session }));
    expect(world.ok({ type: 'task.add', tasks: apart }).about).toHaveLength(2);
  });

  test('a session and a name are not taken for another pair that reads the same', () => {
    const world = createWorld();
    const tasks = [
      { title: 'a', session: 'a', externalId: 'b/c' },
      { title: 'b', session: 'a/b', externalId: 'c' },
    ];
    expect(world.ok({ type: 'task.add', tasks }).about).toHaveLength(2);
  });

  test('stay taken when the task is over', () => {
    const world = createWorld();
    world.cancel(world.addOne({ externalId: 'T-1' }));
    expect(world.no({ type: 'task.add', tasks: [{ title: 'a', externalId: 'T-1' }] }).code).toBe('E_DUPLICATE');
  });

  test('of a child are those of its parent’s session', () => {
    const world = createWorld();
    const parent = world.addOne({ session: 'S', externalId: 'P' });
    world.addOne({ session: 'S', externalId: 'T-1' });
    const child = { title: 'a', externalId: 'T-1', parentId: parent, session: 'elsewhere' };
    expect(world.no({ type: 'task.add', tasks: [child] }).message).toContain('session S');
  });
});

describe('parents', () => {
  test('a child is in its parent’s session, whatever it says', () => {
    const world = createWorld();
    const parent = world.addOne({ session: 'S' });
    expect(world.task(world.addOne({ parentId: parent })).session).toBe('S');
    expect(world.task(world.addOne({ parentId: parent, session: 'T' })).session).toBe('S');
  });

  test('by external id, in the session that the child names', () => {
    const world = createWorld();
    const parent = world.addOne({ session: 'S', externalId: 'P' });
    const child = world.addOne({ session: 'S', parentId: 'P' });
    expect(world.task(child)).toMatchObject({ parentId: parent, session: 'S', depth: 1 });
    const lost = world.no({ type: 'task.add', tasks: [{ title: 'a', parentId: 'P' }] });
    expect(lost).toMatchObject({ code: 'E_NOT_FOUND', message: 'there is no task P to be the parent of this one' });
  });

  test('three deep by default, no deeper', () => {
    const world = createWorld();
    let at = world.addOne();
    for (const depth of [1, 2, 3]) {
      at = world.addOne({ parentId: at });
      expect(world.task(at).depth).toBe(depth);
    }
    expect(world.no({ type: 'task.add', tasks: [{ title: 'a', parentId: at }] })).toEqual({
      code: 'E_MAX_DEPTH_EXCEEDED',
      message: `expected a delegation at most 3 deep, got one 4 deep, below ${at}`,
      hint: 'delegation.max_depth in config.yaml sets the limit',
    });
  });

  test.each([0, 1, 5])('a limit of %i', (maxDepth) => {
    const world = createWorld();
    let at = world.addOne();
    for (let depth = 1; depth <= maxDepth; depth++) {
      at = world.ok({ type: 'task.add', tasks: [{ title: 'a', parentId: at }], maxDepth }).about[0] as string;
    }
    const refusal = world.no({ type: 'task.add', tasks: [{ title: 'a', parentId: at }], maxDepth });
    expect(refusal.code).toBe('E_MAX_DEPTH_EXCEEDED');
  });
});

describe('dependencies of new tasks', () => {
  test('by id and by external id of the session', () => {
    const world = createWorld();
    const [a, b] = world.add({ session: 'S', externalId: 'A' }, { externalId: 'A' }) as [string, string];
    expect(world.task(world.addOne({ session: 'S', dependsOn: ['A', a, b] })).dependsOn).toEqual([a, b]);
    expect(world.task(world.addOne({ dependsOn: ['A'] })).dependsOn).toEqual([b]);
  });

  test('an unknown one is refused, and nothing of the batch is made', () => {
    const world = createWorld();
    world.addOne({ session: 'S', externalId: 'A' });
    const refusal = world.no({ type: 'task.add', tasks: [{ title: 'a' }, { title: 'b', dependsOn: ['A'] }] });
    expect(refusal).toMatchObject({ code: 'E_NOT_FOUND', message: expect.stringContaining('there is no task A') });
    expect(world.state.size).toBe(1);
  });

  test('itself: by given id, by the id it is about to get, by external id', () => {
    const world = createWorld();
    for (const own of [{ id: id(1) }, {}]) {
      const refusal = world.no({ type: 'task.add', tasks: [{ title: 'a', ...own, dependsOn: [id(1)] }] });
      expect(refusal).toMatchObject({
        code: 'E_CYCLE',
        message: `${id(1)} cannot depend on itself: ${id(1)} → ${id(1)}`,
      });
    }
    const refusal = world.no({ type: 'task.add', tasks: [{ title: 'a', externalId: 'X', dependsOn: ['X'] }] });
    expect(refusal).toMatchObject({ code: 'E_CYCLE', message: `X cannot depend on itself: ${id(1)} → ${id(1)}` });
  });

  test('a batch may name each other forwards and backwards', () => {
    const world = createWorld();
    const ids = world.add(
      { externalId: 'A', dependsOn: ['B', id(7)] },
      { externalId: 'B', dependsOn: ['C'] },
      { externalId: 'C' },
      { id: id(7), dependsOn: ['C'] },
    );
    expect(ids).toEqual([id(8), id(9), id(10), id(7)]);
    expect(world.task(id(8)).dependsOn).toEqual([id(9), id(7)]);
    expect(world.next()).toBe(id(10));
  });

  test('an id is an id before it is an external id', () => {
    const world = createWorld();
    const real = world.addOne();
    const [, second] = world.add({ externalId: real }, { dependsOn: [real] }) as [string, string];
    expect(world.task(second).dependsOn).toEqual([real]);
  });

  test.each([2, 3, 7])('a batch in a circle of %i is refused with its path', (length) => {
    const world = createWorld();
    const tasks = Array.from({ length }, (_, i) => ({
      title: 'a',
      externalId: `T${i}`,
      dependsOn: [`T${(i + 1) % length}`],
    }));
    const path = Array.from({ length: length + 1 }, (_, i) => id((i % length) + 1)).join(' → ');
    expect(world.no({ type: 'task.add', tasks })).toMatchObject({
      code: 'E_CYCLE',
      message: `these tasks would wait for each other for ever: ${path}`,
    });
    expect(world.state.size).toBe(0);
  });

  test('on what has failed: blocked from the beginning, and all of the batch that waits for it', () => {
    const world = createWorld();
    const dead = world.addOne();
    world.kill(dead);
    // Each names the next, so that the one next to the failure comes last.
    const facts = world.ok({
      type: 'task.add',
      tasks: [
        { title: 'a', externalId: 'A', dependsOn: ['B'] },
        { title: 'b', externalId: 'B', dependsOn: ['C'], status: 'backlog' },
        { title: 'c', externalId: 'C', dependsOn: [dead] },
        { title: 'd' },
      ],
    });
    const [a, b, c, d] = facts.about as [string, string, string, string];
    expect(world.statuses(a, b, c, d)).toEqual(['blocked', 'blocked', 'blocked', 'ready']);
    for (const [one, was] of [
      [a, 'ready'],
      [b, 'backlog'],
      [c, 'ready'],
    ] as const) {
      expect(world.task(one).cause).toEqual({
        code: 'E_DEPENDENCY_FAILED',
        message: `${dead} is deadletter`,
        task: dead,
        was,
      });
    }
    expect(eventsOf(facts).sort()).toEqual([
      ...Array.from({ length: 4 }, () => 'task.created'),
      ...Array.from({ length: 3 }, () => 'task.transitioned'),
    ]);
  });

  test('on what has failed, several that wait for the same one of the batch', () => {
    const world = createWorld();
    const dead = world.addOne();
    world.kill(dead);
    const ids = world.add(
      { externalId: 'A', dependsOn: [dead] },
      ...Array.from({ length: 3 }, () => ({ dependsOn: ['A'] })),
    );
    expect(world.statuses(...ids)).toEqual(ids.map(() => 'blocked'));
  });

  test('a batch of 50,000 in a chain, and one of 10,000 that wait for the same task', () => {
    const world = createWorld();
    const length = 50_000;
    const chain = world.add(...Array.from({ length }, (_, i) => (i + 1 < length ? { dependsOn: [id(i + 2)] } : {})));
    expect(world.next()).toBe(chain.at(-1));
    world.kill(chain.at(-1) as string);
    expect(world.status(chain[0] as string)).toBe('blocked');
    world.retry(chain.at(-1) as string);
    expect(world.status(chain[0] as string)).toBe('ready');
    const [hub] = world.add({ externalId: 'hub' }, ...Array.from({ length: 10_000 }, () => ({ dependsOn: ['hub'] })));
    world.kill(hub as string);
    expect([...world.state.all()].filter(({ status }) => status === 'blocked')).toHaveLength(10_000);
  });
});

describe('a parent in the same batch', () => {
  test('is found by its external id or its own, wherever it stands, and gives its depth', () => {
    const world = createWorld();
    const [leaf, middle, root] = world.add(
      { externalId: 'leaf', parentId: 'middle' },
      { externalId: 'middle', parentId: id(7) },
      { id: id(7) },
    ) as [string, string, string];
    expect(world.task(leaf)).toMatchObject({ parentId: middle, depth: 2 });
    expect(world.task(middle)).toMatchObject({ parentId: root, depth: 1 });
  });

  test('counts towards the depth', () => {
    const world = createWorld();
    const chain = Array.from({ length: 5 }, (_, i) => ({
      title: 't',
      externalId: `T${i}`,
      ...(i === 0 ? {} : { parentId: `T${i - 1}` }),
    }));
    expect(world.no({ type: 'task.add', tasks: chain }).code).toBe('E_MAX_DEPTH_EXCEEDED');
    world.ok({ type: 'task.add', tasks: chain.slice(0, 4) });
  });

  test('parents in a circle are nobody', () => {
    const world = createWorld();
    const tasks = [
      { title: 'a', externalId: 'A', parentId: 'B' },
      { title: 'b', externalId: 'B', parentId: 'A' },
    ];
    expect(world.no({ type: 'task.add', tasks }).code).toBe('E_NOT_FOUND');
    expect(world.no({ type: 'task.add', tasks: [{ title: 'a', externalId: 'A', parentId: 'A' }] }).code).toBe(
      'E_NOT_FOUND',
    );
  });
});

describe('names that nobody can say or see', () => {
  const plain = (what: string): string =>
    `expected ${what} of 1 to 256 characters, none of them a control character, got another`;
  test.each([
    [{ session: '../..\n' }, plain('a session')],
    [{ session: 'a\ud800' }, plain('a session')],
    [{ session: ' ' }, plain('a session')],
    [{ routing: { agent: '\n' } }, plain('an agent')],
    [{ routing: { agent: 'bob\u0007' } }, plain('an agent')],
    [{ routing: { agent: 'x\u202e' } }, plain('an agent')],
    [{ title: '\u0007\u001b' }, 'expected a title, got one that shows nothing'],
    [{ title: '\u200b \u2029' }, 'expected a title, got one that shows nothing'],
  ])('%j is refused, of a new task and of one that is there', (given, sentence) => {
    const world = createWorld();
    const expected = { code: 'E_SCHEMA_VALIDATION', message: sentence };
    expect(world.no({ type: 'task.add', tasks: [{ title: 'a task', ...given }] })).toMatchObject(expected);
    if ('session' in given) return;
    const of = world.addOne();
    expect(world.no({ type: 'task.edit', id: of, ...given }).message).toBe(`${of}: ${sentence}`);
  });

  test('others are names', () => {
    const world = createWorld();
    world.ok({
      type: 'task.add',
      tasks: [{ title: '🚪\u0007', session: 'Über 9000/x', routing: { agent: 'Émile B.' } }],
    });
  });
});
