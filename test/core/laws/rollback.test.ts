/** Checkpoints and the way back: all that a session remembers goes back together, and what was done since is made anew. */
import { describe, expect, test } from 'vitest';
import type { Speaker } from '../../../src/core/laws/messages.ts';
import type { TableName } from '../../../src/core/session.ts';
import { createWorld, eventOf, eventsOf, type World } from './world.ts';

const S = 's';
const A: Speaker = { agent: 'a', run: null, priority: 'P2', leads: true };
const GIT = { ref: 'refs/baton/s/cp_001', commit: 'c1', head: 'h1', branch: 'main', files: 3 };

const save = (world: World, key: string, value: string) =>
  world.ok({ type: 'session.save', session: S, key, value, persistent: false, speaker: A });
const checkpoint = (world: World, name = 'before') =>
  world.ok({
    type: 'session.checkpoint',
    session: S,
    checkpoint: { kind: 'manual', name, workspace: '/w', git: GIT },
    speaker: A,
  });
const back = (world: World, id = 'cp_001', anew: readonly string[] = [], speaker = A) =>
  world.ok({
    type: 'session.rollback',
    session: S,
    id,
    kept: 'refs/baton/kept',
    files: 2,
    anew: anew.map((task) => ({ task, made: { title: `${world.task(task).title} again`, session: S } })),
    speaker,
  });
const tableOf = (world: World, name: TableName): Record<string, unknown> =>
  Object.fromEntries(world.state.session(S)?.table(name) ?? []);

describe('a checkpoint', () => {
  test('binds state, variables and the statuses of tasks, and has a number of its own', () => {
    const world = createWorld();
    save(world, 'k', 'v');
    world.ok({ type: 'session.variable', session: S, name: 'V', value: 'x' });
    const [one = '', two = ''] = world.add({ session: S }, { session: S });
    world.add({ session: 'other' });
    world.finish(one);
    expect(checkpoint(world).about).toContain('reply:checkpoint_id:cp_001');
    expect(tableOf(world, 'checkpoints')['cp_001']).toMatchObject({
      kind: 'manual',
      name: 'before',
      at: world.now(),
      by: 'a',
      git: GIT,
      state: { k: { value: 'v' } },
      variables: { V: 'x' },
      tasks: { [one]: 'done', [two]: 'ready' },
    });
    expect(checkpoint(world).about).toContain('reply:checkpoint_id:cp_002');
    const taken = { kind: 'manual', name: 'x', workspace: '/w', git: null } as const;
    const message = { type: 'session.checkpoint', session: S, checkpoint: taken, id: 'cp_001', speaker: A } as const;
    expect(world.no(message).code).toBe('E_DUPLICATE');
  });
});

describe('the way back', () => {
  test('state and variables are as they were, locks and signals since are gone', () => {
    const world = createWorld();
    save(world, 'kept', 'old');
    world.ok({ type: 'session.variable', session: S, name: 'V', value: 'old' });
    world.ok({ type: 'session.signal', session: S, condition: 'before', value: 'true', speaker: A });
    checkpoint(world);
    world.wait(1_000);
    save(world, 'kept', 'new');
    save(world, 'since', 'x');
    world.ok({ type: 'session.variable', session: S, name: 'V', value: 'new' });
    world.ok({ type: 'session.variable', session: S, name: 'W', value: 'new' });
    world.ok({ type: 'session.lock', session: S, resource: 'r', seconds: 600, speaker: A });
    world.ok({ type: 'session.signal', session: S, condition: 'since', value: 'true', speaker: A });
    const facts = back(world);
    expect(facts.about).toContain('reply:rolled_back:cp_001');
    expect(eventOf(facts, 'session.rolledback')?.detail).toMatchObject({ checkpoint: 'cp_001', files: 2, keys: 1 });
    expect(tableOf(world, 'state')).toMatchObject({ kept: { value: 'old' } });
    expect(Object.keys(tableOf(world, 'state'))).toEqual(['kept']);
    expect(tableOf(world, 'variables')).toEqual({ V: 'old' });
    expect(Object.keys(tableOf(world, 'signals'))).toEqual(['before']);
    const other: Speaker = { ...A, agent: 'b', leads: false };
    const lock = { type: 'session.lock', session: S, resource: 'r', seconds: 60, speaker: other } as const;
    expect(world.ok(lock).about).toContain('reply:locked');
    expect(tableOf(world, 'facts')['rolledBack']).toEqual({
      to: 'cp_001',
      at: world.now(),
      kept: 'refs/baton/kept',
      files: 2,
    });
  });

  test('what was done since is stale and made anew, and who waited for it waits for that', () => {
    const world = createWorld();
    const [before = '', since = ''] = world.add({ session: S, title: 'before' }, { session: S, title: 'since' });
    world.finish(before);
    checkpoint(world);
    world.wait(1_000);
    world.finish(since);
    const waiting = world.addOne({ session: S, dependsOn: [since, before] });
    const elsewhere = world.addOne({ session: 'other' });
    world.finish(elsewhere);
    const facts = back(world, 'cp_001', [since]);
    const made = facts.about.find((each) => each.startsWith('TASK-')) as string;
    expect(world.task(made)).toMatchObject({ title: 'since again', status: 'ready', session: S });
    expect(world.task(since)).toMatchObject({ status: 'done', metadata: { stale: true } });
    expect(world.task(before).metadata).toEqual({});
    expect(world.task(elsewhere).metadata).toEqual({});
    expect(world.task(waiting).dependsOn).toEqual([made, before]);
    expect(eventsOf(facts)).toContain('task.stale');
    // Once more changes nothing of it: what is stale has its new one.
    const again = back(world, 'cp_001', [since]);
    expect(again.about.filter((each) => each.startsWith('TASK-'))).toEqual([]);
  });

  test('open tasks begin again; the run that asks for it goes on', () => {
    const world = createWorld();
    checkpoint(world);
    const [running = '', asking = '', dead = ''] = world.add({ session: S }, { session: S }, { session: S });
    world.claim({ id: running });
    const run = world.claim({ id: asking });
    world.kill(dead);
    back(world, 'cp_001', [], { ...A, run });
    expect(world.statuses(running, asking, dead)).toEqual(['ready', 'in-progress', 'deadletter']);
    expect(world.task(running).run?.status).toBe('cancelled');
  });

  test('to where nobody was is refused', () => {
    const world = createWorld();
    const message = {
      type: 'session.rollback',
      session: S,
      id: 'cp_009',
      kept: null,
      files: 0,
      anew: [],
      speaker: A,
    } as const;
    expect(world.no(message).code).toBe('E_NOT_FOUND');
  });
});

test('while it is on its way nothing is begun; called off, work goes on', () => {
  const world = createWorld();
  checkpoint(world);
  const [running = '', ready = ''] = world.add({ session: S }, { session: S });
  world.claim({ id: running });
  const hold = (to: string | null) =>
    world.ask({ type: 'session.hold', session: S, to, keep: 'refs/baton/kept', speaker: A });
  expect(hold('cp_001').kind).toBe('changed');
  expect(world.statuses(running, ready)).toEqual(['ready', 'ready']);
  expect(world.next()).toBeUndefined();
  expect(hold(null).kind).toBe('changed');
  expect(hold(null).kind).toBe('same');
  expect(world.next()).toBe(running);
  expect(hold('cp_404').kind).toBe('refused');
});
