/** Memory is a fold of what was decided: its indices, what it remembers of requests, and a start from a snapshot. */
import { describe, expect, test } from 'vitest';
import type { Facts } from '../../src/core/laws/decision.ts';
import { createState } from '../../src/core/state.ts';
import { createWorld, id, LEASE } from './laws/world.ts';

const NOTHING: Facts = {
  at: 0,
  session: 'default',
  by: { kind: 'person', name: 'ann' },
  events: [],
  changes: [],
  about: [],
};

describe('the state', () => {
  test('folded again from what was written down is the same', () => {
    const world = createWorld();
    world.add({ externalId: 'A' }, { dependsOn: ['A'] }, { retry: { maxRetries: 1, backoffSeconds: [5] } });
    world.kill(id(1));
    world.fail(world.claim({ id: id(3) }));
    world.retry(id(1));
    const again = createState();
    for (const facts of world.journal) again.apply(JSON.parse(JSON.stringify(facts)) as Facts);
    expect([...again.all()]).toEqual([...world.state.all()]);
    expect(again.size).toBe(3);
    expect(again.lastNumber('2026-03-01')).toBe(3);
    expect([...again.dependents(id(1))]).toEqual([id(2)]);
    expect(again.nextReady({ agent: 'emma' }, world.now())).toBe(id(1));
  });

  test('loaded from a snapshot decides the same, whatever the order', () => {
    const world = createWorld();
    world.add(
      { externalId: 'A', session: 'S', priority: 'low' },
      { dependsOn: [id(1)], priority: 'high' },
      { dependsOn: [id(1), id(2)] },
      { retry: { maxRetries: 1, backoffSeconds: [5] }, priority: 'critical' },
      {},
      { status: 'backlog', priority: 'critical' },
    );
    world.finish(id(1));
    world.fail(world.claim({ id: id(4) }));
    world.finish(id(5));
    for (const order of [(list: unknown[]) => list, (list: unknown[]) => list.reverse()]) {
      const loaded = createState();
      for (const task of order([...world.state.all()])) loaded.load(JSON.parse(JSON.stringify(task)));
      loaded.loaded();
      const claimer = { agent: 'emma' };
      expect(loaded.nextReady(claimer, world.now())).toBe(id(2));
      expect(loaded.nextReady(claimer, world.now() + 5000)).toBe(id(4));
      expect(loaded.byExternalId('S', 'A')).toBe(id(1));
      expect(loaded.byExternalId('T', 'A')).toBeUndefined();
      expect([...loaded.dependents(id(1))].sort()).toEqual([id(2), id(3)]);
      expect(loaded.lastNumber('2026-03-01')).toBe(6);
      expect(loaded.lastNumber('2026-03-02')).toBe(0);
    }
  });

  test('knows dependents as they come and go', () => {
    const world = createWorld();
    world.add({}, {}, {}, {});
    const of = (number: number) => [...world.state.dependents(id(number))];
    expect(of(1)).toEqual([]);
    for (const number of [2, 3, 4]) world.edit(id(number), { dependsOn: [id(1)] });
    expect(of(1)).toEqual([id(2), id(3), id(4)]);
    world.edit(id(3), { dependsOn: [] });
    expect(of(1)).toEqual([id(2), id(4)]);
    world.edit(id(4), { dependsOn: [id(2)] });
    expect([of(1), of(2)]).toEqual([[id(2)], [id(4)]]);
    world.edit(id(2), { dependsOn: [id(1), id(3)] });
    expect([of(1), of(3)]).toEqual([[id(2)], [id(2)]]);
    world.edit(id(2), { dependsOn: [] });
    expect([of(1), of(3)]).toEqual([[], []]);
  });

  test('external ids of several sessions', () => {
    const world = createWorld();
    world.add(...['S', 'T', 'U'].map((session) => ({ session, externalId: 'A' })));
    expect(['S', 'T', 'U', 'V'].map((session) => world.state.byExternalId(session, 'A'))).toEqual([
      id(1),
      id(2),
      id(3),
      undefined,
    ]);
    expect(world.state.named('A')).toHaveLength(3);
    expect(world.state.named('B')).toEqual([]);
  });

  test('remembers the last ten thousand requests', () => {
    const state = createState();
    for (let i = 0; i <= 10_000; i++) state.apply({ ...NOTHING, request: `r${i}`, about: [`t${i}`] });
    expect(state.answered('r0')).toBeUndefined();
    expect(state.answered('r1')).toEqual(['t1']);
    expect(state.answered('r10000')).toEqual(['t10000']);
    expect([...state.requests()]).toHaveLength(10_000);
    state.apply(NOTHING);
    expect([...state.requests()]).toHaveLength(10_000);
    state.remember('again', ['x']);
    expect(state.answered('again')).toEqual(['x']);
    expect(state.answered('r1')).toBeUndefined();
  });

  test('a lease runs from the last sign of life', () => {
    const world = createWorld();
    world.addOne();
    world.claim();
    const run = world.task(id(1)).run;
    if (run === null) throw new Error('no run');
    expect(world.state.leaseUntil(run)).toBe(world.now() + LEASE);
    world.state.alive(run, world.now() + 100);
    expect(world.state.leaseUntil(run)).toBe(world.now() + 100 + LEASE);
    world.edit(id(1), { title: 'still running' });
    expect(world.state.leaseUntil(run)).toBe(world.now() + 100 + LEASE);
    world.report(run.id);
    expect(world.state.leaseUntil(run)).toBe(world.now() + LEASE);
  });
});
