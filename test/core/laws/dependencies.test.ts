/** Cycles are found with their path; a failure reaches all that wait for it, and they go on when it does. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findCycle } from '../../../src/core/laws/dependencies.ts';
import { createWorld, eventOf, id, type World } from './world.ts';

const from = (edges: Readonly<Record<string, readonly string[]>>) => (of: string) => edges[of] ?? [];

describe('findCycle', () => {
  test.each([
    [{}, null],
    [{ a: ['b'], b: ['c'] }, null],
    [{ a: ['b', 'c'], b: ['d'], c: ['d'] }, null],
    [{ a: ['a'] }, ['a', 'a']],
    [{ a: ['b'], b: ['a'] }, ['a', 'b', 'a']],
    [{ a: ['b'], b: ['c'], c: ['b'] }, ['b', 'c', 'b']],
    [{ a: ['x', 'b'], b: ['y', 'c'], c: ['z', 'a'] }, ['a', 'b', 'c', 'a']],
  ])('%j: %j', (edges, cycle) => {
    expect(findCycle(['a'], from(edges as Record<string, string[]>))).toEqual(cycle);
  });

  test('looks from all that it is given', () => {
    expect(findCycle(['a', 'b'], from({ b: ['c'], c: ['b'] }))).toEqual(['b', 'c', 'b']);
    expect(findCycle(['a'], from({ b: ['c'], c: ['b'] }))).toBeNull();
  });

  test('longer than any stack', () => {
    const length = 200_000;
    const ring = findCycle(['0'], (of) => [String((Number(of) + 1) % length)]);
    expect(ring).toHaveLength(length + 1);
    expect(findCycle(['0'], (of) => (Number(of) < length ? [String(Number(of) + 1)] : []))).toBeNull();
  });

  test('layers that are all tied to each other are looked at once', () => {
    // 2^60 paths, 60 layers of two.
    const layers = (of: string): string[] => {
      const layer = Number(of.slice(1));
      return layer < 60 ? [`a${layer + 1}`, `b${layer + 1}`] : [];
    };
    expect(findCycle(['a0'], layers)).toBeNull();
  });

  test('any graph: what it finds is a cycle, and it finds none only where there is none', () => {
    const graph = fc.array(fc.array(fc.nat(7), { maxLength: 4 }), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(graph, (edges) => {
        const names = edges.map((_, i) => String(i));
        const next = (of: string): string[] => (edges[Number(of)] ?? []).map(String);
        const cycle = findCycle(names, next);
        if (cycle !== null) {
          expect(cycle.length).toBeGreaterThan(1);
          expect(cycle[0]).toBe(cycle.at(-1));
          for (let i = 1; i < cycle.length; i++) expect(next(cycle[i - 1] as string)).toContain(cycle[i]);
          return;
        }
        // Without a cycle one can always take away a node that nothing leads on from.
        let left = names;
        while (left.length > 0) {
          const open = left.filter((of) => next(of).some((other) => left.includes(other)));
          expect(open.length).toBeLessThan(left.length);
          left = open;
        }
      }),
      { seed: 7, numRuns: 300 },
    );
  });
});

/** Tasks by name with what they depend on, in the order given. */
function graphOf(world: World, edges: Readonly<Record<string, readonly string[]>>): (name: string) => string {
  world.add(...Object.entries(edges).map(([externalId, dependsOn]) => ({ externalId, dependsOn })));
  return (name) => world.state.byExternalId('default', name) as string;
}

const namesIn = (world: World, status: string): string =>
  [...world.state.all()]
    .filter((task) => task.status === status)
    .map((task) => task.externalId)
    .sort()
    .join('');

describe('a failure', () => {
  test.each(['cancelled', 'deadletter'] as const)(
    'that ends %s blocks all that waits for it, and nothing else',
    (to) => {
      const world = createWorld();
      const at = graphOf(world, { r: [], a: ['r'], b: ['a'], c: ['b', 'x'], x: [], y: ['x'] });
      const facts = world.move(at('r'), to);
      expect(namesIn(world, 'blocked')).toBe('abc');
      expect(namesIn(world, 'ready')).toBe('xy');
      expect(world.task(at('c')).cause).toEqual({
        code: 'E_DEPENDENCY_FAILED',
        message: `${at('r')} is ${to}`,
        task: at('r'),
        was: 'ready',
      });
      const told = facts.events.filter(({ task }) => task === at('b'));
      expect(told).toEqual([
        {
          type: 'task.transitioned',
          task: at('b'),
          detail: { from: 'ready', to: 'blocked', code: 'E_DEPENDENCY_FAILED', dependency: at('r') },
        },
      ]);
    },
  );

  test('of a run, of an expiry and of a cancel do the same', () => {
    const ends: ((world: World, r: string) => void)[] = [
      (world, r) => world.kill(r),
      (world, r) => void world.cancel(r),
      (world, r) => {
        for (let i = 0; i < 5; i++) {
          world.ok({ type: 'run.resume', run: world.claim({ id: r }), result: 'none', gone: true });
        }
      },
    ];
    for (const end of ends) {
      const world = createWorld();
      const at = graphOf(world, { r: [], a: ['r'], b: ['a'] });
      end(world, at('r'));
      expect(namesIn(world, 'blocked')).toBe('ab');
    }
  });

  test('that is tried again blocks nobody', () => {
    const world = createWorld();
    const [r, a] = world.add({ retry: { maxRetries: 1, backoffSeconds: [1] } }, { dependsOn: [id(1)] }) as [
      string,
      string,
    ];
    world.fail(world.claim({ id: r }));
    expect(world.statuses(r, a)).toEqual(['ready', 'ready']);
  });

  test('retried, sets free what waits for it, backlog excepted', () => {
    const world = createWorld();
    const [r, a, b, c] = world.add(
      {},
      { dependsOn: [id(1)] },
      { dependsOn: [id(2)], status: 'backlog' },
      { dependsOn: [id(3)] },
    ) as [string, string, string, string];
    world.kill(r);
    expect(world.statuses(a, b, c)).toEqual(['blocked', 'blocked', 'blocked']);
    const facts = world.retry(r);
    expect(world.statuses(r, a, b, c)).toEqual(['ready', 'ready', 'blocked', 'ready']);
    expect(world.task(a)).toMatchObject({ cause: null, availableAt: 0 });
    expect(world.task(b).cause).toEqual({
      code: 'E_MOVED',
      message: `${r} goes on; this was in the backlog and waits to be made ready`,
    });
    expect(eventOf({ ...facts, events: facts.events.filter(({ task }) => task === a) }, 'task.transitioned')).toEqual({
      type: 'task.transitioned',
      task: a,
      detail: { from: 'blocked', to: 'ready', reason: `${r} goes on` },
    });
    world.move(b, 'ready');
    expect(world.status(b)).toBe('ready');
  });

  test('a diamond is freed whole', () => {
    const world = createWorld();
    const at = graphOf(world, { r: [], a: ['r'], b: ['r'], c: ['a', 'b'] });
    world.kill(at('r'));
    expect(namesIn(world, 'blocked')).toBe('abc');
    world.retry(at('r'));
    expect(namesIn(world, 'ready')).toBe('abcr');
  });

  test('so is one of which one side is longer than the other', () => {
    const world = createWorld();
    const at = graphOf(world, { r: [], c: ['r', 'b2'], d: ['c'], b2: ['b1'], b1: ['r'] });
    world.kill(at('r'));
    world.retry(at('r'));
    expect(namesIn(world, 'ready')).toBe('b1b2cdr');
  });

  test('of two roots, both have to go on', () => {
    const world = createWorld();
    const at = graphOf(world, { r: [], s: [], a: ['r', 's'], b: ['a'] });
    world.kill(at('r'));
    world.kill(at('s'));
    expect(world.task(at('b')).cause?.task).toBe(at('r'));
    world.retry(at('r'));
    expect(namesIn(world, 'blocked')).toBe('ab');
    expect(world.task(at('a')).cause).toEqual({
      code: 'E_DEPENDENCY_FAILED',
      message: `${at('s')} is deadletter`,
      task: at('s'),
      was: 'ready',
    });
    expect(world.task(at('b')).cause?.task).toBe(at('s'));
    world.retry(at('s'));
    expect(namesIn(world, 'ready')).toBe('abrs');
  });

  test('of two roots, the one that is not the cause may go on first', () => {
    const world = createWorld();
    const at = graphOf(world, { r: [], s: [], a: ['s', 'r'], b: ['a'] });
    world.kill(at('r'));
    world.kill(at('s'));
    // The first cause stays while it is true.
    expect(world.task(at('a')).cause?.task).toBe(at('r'));
    world.retry(at('s'));
    expect(world.task(at('a')).cause?.task).toBe(at('r'));
    world.retry(at('r'));
    expect(namesIn(world, 'ready')).toBe('abrs');
  });

  test('a root farther away takes over, and the status it had is kept', () => {
    const world = createWorld();
    const [r, s, e, d] = world.add(
      {},
      {},
      { dependsOn: [id(2)] },
      { dependsOn: [id(1), id(3)], status: 'backlog' },
    ) as [string, string, string, string];
    world.kill(r);
    world.kill(s);
    world.retry(r);
    expect(world.task(d).cause).toMatchObject({ code: 'E_DEPENDENCY_FAILED', task: s, was: 'backlog' });
    expect(world.status(e)).toBe('blocked');
    world.retry(s);
    expect(world.task(d).cause?.code).toBe('E_MOVED');
  });

  test('what was cancelled is never freed, nor what depends on it', () => {
    const world = createWorld();
    const at = graphOf(world, { r: [], a: ['r'], b: ['a'], c: ['r'] });
    world.kill(at('r'));
    world.cancel(at('a'));
    world.retry(at('r'));
    expect(world.statuses(at('a'), at('b'), at('c'))).toEqual(['cancelled', 'blocked', 'ready']);
    expect(world.task(at('b')).cause).toMatchObject({ task: at('a'), message: `${at('a')} is cancelled` });
    expect(world.no({ type: 'task.retry', id: at('a') }).code).toBe('E_ILLEGAL_MOVE');
  });

  test('what is blocked for another reason stays so, and the failure reaches through it', () => {
    const world = createWorld();
    const at = graphOf(world, { r: [], d: ['r'], t: ['d'] });
    world.move(at('d'), 'blocked');
    world.kill(at('r'));
    expect(world.task(at('d')).cause?.code).toBe('E_MOVED');
    expect(world.task(at('t')).cause).toMatchObject({ code: 'E_DEPENDENCY_FAILED', task: at('r') });
    const later = world.addOne({ dependsOn: ['d'] });
    expect(world.task(later).cause).toMatchObject({ code: 'E_DEPENDENCY_FAILED', task: at('r') });
    world.retry(at('r'));
    expect(world.statuses(at('d'), at('t'), later)).toEqual(['blocked', 'ready', 'ready']);
  });

  test('what is over or under way is left alone', () => {
    const world = createWorld();
    const at = graphOf(world, { r: [], a: ['r'], b: ['a'] });
    world.move(at('a'), 'deadletter');
    world.kill(at('r'));
    expect(world.statuses(at('a'), at('b'))).toEqual(['deadletter', 'blocked']);
    expect(world.task(at('a')).cause?.code).toBe('E_MOVED');
  });
});

describe('a task that waits for a failed one cannot be made ready by hand', () => {
  test.each([
    ['deadletter', 'try: baton task retry TASK-2026-03-01-001'],
    ['cancelled', 'take the dependency out of its file first'],
  ] as const)('%s', (to, hint) => {
    const world = createWorld();
    const at = graphOf(world, { r: [], a: ['r'], b: ['a'] });
    world.move(at('r'), to);
    for (const name of ['a', 'b']) {
      const refusal = {
        code: 'E_DEPENDENCY_FAILED',
        message: `${at(name)} cannot be ready: ${at('r')}, which it waits for, is ${to}`,
        hint,
      };
      expect(world.no({ type: 'task.move', id: at(name), to: 'ready' })).toEqual(refusal);
      expect(world.no({ type: 'task.retry', id: at(name) })).toEqual(refusal);
    }
    world.move(at('b'), 'deadletter');
    expect(world.no({ type: 'task.retry', id: at('b') }).code).toBe('E_DEPENDENCY_FAILED');
  });
});
