/** Tasks that say they write the same place do not run side by side; nothing is lost while they wait. */
import { describe, expect, test } from 'vitest';
import { createState } from '../../../src/core/state.ts';
import { cpuMs } from '../../helpers/cpu.ts';
import { createWorld, id, LEASE, RUNTIME } from './world.ts';

const CLAIM = { type: 'task.claim', claimer: { agent: 'emma' }, leaseMs: LEASE } as const;

describe('a claim of a task that writes where a running one does', () => {
  test.each([
    ['/w/src', '/w/src', false],
    ['/w/src', '/w/src/deep/file.ts', false],
    ['/w/src/file.ts', '/w/src', false],
    ['/w/src', '/w/src-evil', true],
    ['/w/src', '/w/lib/../src/x', false],
    ['C:\\w\\src', 'c:/w/src/x', false],
    ['/w/src', '/w/test', true],
  ])('%s and %s: %s', (running, asked, may) => {
    const world = createWorld();
    world.add({ writes: ['/other', running] }, { writes: [asked, '/own'] });
    world.claim({ id: id(1) });
    expect(world.next()).toBe(may ? id(2) : undefined);
    if (may) return void world.claim({ id: id(2) });
    expect(world.no({ ...CLAIM, id: id(2) })).toMatchObject({
      code: 'E_NOT_CLAIMABLE',
      message: `${id(2)} cannot be claimed: it waits for ${id(1)}, which writes ${running}`,
    });
    expect(world.no(CLAIM).code).toBe('E_NOTHING_READY');
  });

  test('one that says nothing waits for nobody, and nobody for it', () => {
    const world = createWorld();
    world.add({ writes: ['/w'] }, {}, { writes: ['/w'] });
    world.claim({ id: id(2) });
    world.claim({ id: id(1) });
    expect(world.next()).toBeUndefined();
    expect(world.task(id(2)).writes).toEqual([]);
  });

  test('what was delegated does not wait for who delegated it', () => {
    const world = createWorld();
    world.addOne({ writes: ['/w'] });
    world.claim();
    world.add({ parentId: id(1) }, { parentId: id(1), writes: ['/w/a'] });
    world.addOne({ parentId: id(2), writes: ['/w/b'] });
    world.addOne({ writes: ['/w/c'] });
    world.claim({ id: id(3) });
    world.claim({ id: id(4) });
    expect(world.no({ ...CLAIM, id: id(5) }).code).toBe('E_NOT_CLAIMABLE');
  });
});

describe('those that wait', () => {
  test('are passed over for what comes after them, and have their turn in order when the way is free', () => {
    const world = createWorld();
    world.add(
      { writes: ['/w'], priority: 'critical' },
      { writes: ['/w/a'], priority: 'high' },
      { writes: ['/w/b'] },
      {},
      { writes: ['/x'] },
    );
    const first = world.claim();
    expect(world.task(id(1)).run?.id).toBe(first);
    expect([world.next(), world.next()]).toEqual([id(4), id(4)]);
    world.claim();
    world.claim();
    expect(world.next()).toBeUndefined();
    world.edit(id(3), { priority: 'critical' });
    expect(world.next()).toBeUndefined();
    world.report(first);
    expect(world.next()).toBe(id(3));
    world.claim();
    world.claim();
    expect(world.statuses(id(1), id(2), id(3))).toEqual(['review', 'in-progress', 'in-progress']);
  });

  test.each(['fail', 'cancel', 'expire', 'hand'] as const)('go on however the other ends: %s', (how) => {
    const world = createWorld();
    world.add({ writes: ['/w'], priority: 'high' }, { writes: ['/w'] });
    const run = world.claim();
    expect(world.next()).toBeUndefined();
    if (how === 'fail') world.fail(run);
    if (how === 'cancel') world.cancel(id(1));
    if (how === 'expire') {
      world.ok({ type: 'run.resume', run, result: 'none', gone: true }, RUNTIME);
      world.claim({ id: id(1) });
      expect(world.next()).toBeUndefined();
      world.fail(world.task(id(1)).run?.id as string);
    }
    if (how === 'hand') world.move(id(1), 'blocked');
    expect(world.next()).toBe(id(2));
  });

  test('one after another, when several stand in the way', () => {
    const world = createWorld();
    world.add(
      { writes: ['/a'] },
      { writes: ['/b'] },
      { writes: ['/a', '/b'], priority: 'critical', status: 'backlog' },
    );
    const runs = [world.claim(), world.claim()];
    world.move(id(3), 'ready');
    expect(world.next()).toBeUndefined();
    world.report(runs[0] as string);
    expect(world.next()).toBeUndefined();
    world.report(runs[1] as string);
    expect(world.next()).toBe(id(3));
  });

  test('what has gone meanwhile does not come back', () => {
    const world = createWorld();
    world.add({ writes: ['/w'] }, { writes: ['/w'] });
    const run = world.claim();
    expect(world.next()).toBeUndefined();
    world.cancel(id(2));
    world.report(run);
    expect(world.next()).toBeUndefined();
  });

  test('also from a snapshot, and from the journal', () => {
    const world = createWorld();
    world.add({ writes: ['/w'] }, { writes: ['/w'] });
    world.claim();
    const loaded = createState();
    for (const task of world.state.all()) loaded.load(JSON.parse(JSON.stringify(task)));
    loaded.loaded();
    const folded = createState();
    for (const facts of world.journal) folded.apply(JSON.parse(JSON.stringify(facts)));
    for (const state of [loaded, folded]) {
      expect([...state.writers()].map((task) => task.id)).toEqual([id(1)]);
      expect(state.nextReady({ agent: 'emma' }, world.now())).toBeUndefined();
    }
  });
});

test('ten thousand that wait for one do not slow down who asks', () => {
  const world = createWorld();
  world.add(...Array.from({ length: 10_000 }, () => ({ writes: ['/w/x'] })));
  world.claim();
  world.add(...Array.from({ length: 2_000 }, () => ({})));
  const spent = cpuMs(() => {
    for (let i = 0; i < 2_000; i++) world.claim();
  });
  // They are looked at once, not once for every claim: that would be twenty million times.
  expect(spent).toBeLessThan(2_000);
  expect(world.next()).toBeUndefined();
});

describe('a claimer of any', () => {
  const ANY = { agent: 'emma', any: true };
  test('takes whatever the routing, for the agent that is named', () => {
    const world = createWorld();
    world.add({ routing: { agent: 'zed' } }, { routing: { role: 'X', tags: ['t'] } }, { routing: { team: 'T' } });
    for (const agent of ['zed', 'emma', 'emma']) {
      const run = world.claim({ claimer: ANY });
      expect(world.task(run.slice(0, -3)).run?.agent).toBe(agent);
    }
  });

  test('leaves what is for an agent that it is to leave', () => {
    const world = createWorld();
    world.add({ routing: { agent: 'zed' }, priority: 'high' }, { routing: { role: 'X' } });
    const claimer = { ...ANY, except: ['zed', 'emma'] };
    expect(world.next(claimer)).toBe(id(2));
    expect(world.no({ ...CLAIM, claimer, id: id(1) }).code).toBe('E_NOT_CLAIMABLE');
    world.claim({ claimer });
    expect(world.next(claimer)).toBeUndefined();
    expect(world.next({ ...ANY, except: [] })).toBe(id(1));
  });
});

test('a note may name its run', () => {
  const world = createWorld();
  world.addOne();
  const run = world.claim();
  const facts = world.ok({ type: 'note', event: 'run.phase', task: id(1), run, detail: { phase: 'P' } }, RUNTIME);
  expect(facts.events).toEqual([{ type: 'run.phase', task: id(1), run, detail: { phase: 'P' } }]);
});
