/** While a session's files go back nothing of it is begun: its runs are stopped, and what is ready waits until it is over, one way or the other. */
import { describe, expect, test } from 'vitest';
import type { Speaker } from '../../../src/core/laws/messages.ts';
import { createWorld, LEASE, RUNTIME, type World } from './world.ts';

const LEAD: Speaker = { agent: 'orchestrator', run: null, priority: 'P2', leads: true };
const SESSION = 's';

function checkpointed(): World {
  const world = createWorld();
  world.ok({
    type: 'session.checkpoint',
    session: SESSION,
    checkpoint: { kind: 'manual', name: 'start', workspace: '/w', git: null },
    speaker: LEAD,
  });
  return world;
}
const hold = (to: string | null, keep: string | null = 'kept_001', speaker = LEAD) =>
  ({ type: 'session.hold', session: SESSION, to, keep, speaker }) as const;
const claim = (world: World, id: string) =>
  world.ok({ type: 'task.claim', id, claimer: { agent: 'emma' }, leaseMs: LEASE }, RUNTIME);

describe('held', () => {
  test('runs are stopped, nothing is claimed, and other sessions go on', () => {
    const world = checkpointed();
    const [running, ready, other] = [
      world.addOne({ session: SESSION }),
      world.addOne({ session: SESSION }),
      world.addOne({ session: 'other' }),
    ];
    claim(world, running);
    expect(world.ok(hold('cp_001')).about).toEqual([running]);
    expect(world.task(running)).toMatchObject({ status: 'ready', run: { status: 'cancelled' } });
    expect(world.next()).toBe(other);
    claim(world, other);
    expect(world.next()).toBeUndefined();
    expect(world.no({ type: 'task.claim', id: ready, claimer: { agent: 'emma' }, leaseMs: LEASE }, RUNTIME).code).toBe(
      'E_NOT_CLAIMABLE',
    );
  });

  test('given up, all of it is ready again', () => {
    const world = checkpointed();
    const id = world.addOne({ session: SESSION });
    world.ok(hold('cp_001'));
    world.ok(hold(null));
    expect(world.next()).toBe(id);
    expect(world.ask(hold(null)).kind).toBe('same');
  });

  test('rolled back, all of it is ready again', () => {
    const world = checkpointed();
    const id = world.addOne({ session: SESSION });
    world.ok(hold('cp_001'));
    world.ok({
      type: 'session.rollback',
      session: SESSION,
      id: 'cp_001',
      kept: null,
      files: 0,
      anew: [],
      speaker: LEAD,
    });
    expect(world.next()).toBe(id);
    expect(world.state.session(SESSION)?.fact('rollingBack')).toBeUndefined();
  });

  test('begun again it keeps to the ref that it had; to another checkpoint it does not', () => {
    const world = checkpointed();
    world.ok(hold('cp_001', 'kept_001'));
    world.ok(hold('cp_001', 'kept_002'));
    expect(world.state.session(SESSION)?.fact('rollingBack')).toMatchObject({ to: 'cp_001', keep: 'kept_001' });
    expect(world.no(hold('cp_009')).code).toBe('E_NOT_FOUND');
  });

  test('the run that asks goes on', () => {
    const world = checkpointed();
    const id = world.addOne({ session: SESSION });
    claim(world, id);
    const run = world.task(id).run?.id ?? null;
    expect(world.ok(hold('cp_001', null, { ...LEAD, run })).about).toEqual([]);
    expect(world.task(id).status).toBe('in-progress');
  });
});

describe('what becomes ready meanwhile', () => {
  test('waits as well: added, made ready, tried again, freed by what it waited for', () => {
    const world = checkpointed();
    const [later, blocked, dead] = [
      world.addOne({ session: SESSION, status: 'backlog' }),
      world.addOne({ session: SESSION }),
      world.addOne({ session: SESSION }),
    ];
    world.move(blocked, 'blocked');
    world.kill(dead);
    world.ok(hold('cp_001'));
    const added = world.addOne({ session: SESSION });
    world.move(later, 'ready');
    world.move(blocked, 'ready');
    world.retry(dead);
    world.retry(added);
    expect(world.next()).toBeUndefined();
    for (const id of [later, blocked, dead, added]) {
      const claimed = { type: 'task.claim', id, claimer: { agent: 'emma' }, leaseMs: LEASE } as const;
      expect(world.no(claimed, RUNTIME).code).toBe('E_NOT_CLAIMABLE');
    }
    world.ok(hold(null));
    expect(world.next()).toBe(later);
    for (const id of [later, blocked, dead, added]) claim(world, id);
  });

  test('one that an older Baton has let be ready is not claimed either', () => {
    const world = checkpointed();
    const id = world.addOne({ session: SESSION });
    const held = world.ok(hold('cp_001'));
    world.state.apply({ ...held, sessions: [], events: [], changes: [{ task: id, set: { availableAt: 0 } }] });
    const claimed = { type: 'task.claim', id, claimer: { agent: 'emma' }, leaseMs: LEASE } as const;
    expect(world.no(claimed, RUNTIME).message).toContain('are being rolled back');
  });

  test('should nobody ever end it, goes on when its time is over', () => {
    const world = checkpointed();
    world.ok(hold('cp_001'));
    const id = world.addOne({ session: SESSION });
    world.wait(10 * 60_000);
    expect(world.next()).toBe(id);
    claim(world, id);
  });

  test('a run that asks and fails is tried again when it is over', () => {
    const world = checkpointed();
    const id = world.addOne({ session: SESSION });
    claim(world, id);
    const run = world.task(id).run?.id ?? '';
    world.ok(hold('cp_001', null, { ...LEAD, run }));
    world.move(id, 'ready');
    expect(world.next()).toBeUndefined();
    world.ok(hold(null));
    expect(world.next()).toBe(id);
  });
});

describe('one at a time', () => {
  const one = { token: 'one', pid: 1, started: null };
  const two = { token: 'two', pid: 2, started: null };
  const back = (holder: string) =>
    ({
      type: 'session.rollback',
      session: SESSION,
      id: 'cp_001',
      kept: null,
      files: 0,
      anew: [],
      holder,
      speaker: LEAD,
    }) as const;
  const holderNow = (world: World) => world.state.session(SESSION)?.fact('rollingBack')?.holder;

  test('another is refused, and neither calls it off nor ends it', () => {
    const world = checkpointed();
    world.ok({ ...hold('cp_001'), holder: one });
    expect(world.no({ ...hold('cp_001'), holder: two })).toMatchObject({
      code: 'E002',
      message: 'rolling_back cp_001',
    });
    expect(world.ask({ ...hold(null), holder: two }).kind).toBe('same');
    expect(world.no(back('two')).message).toBe('rolling_back cp_001');
    expect(holderNow(world)).toEqual(one);
    world.ok(back('one'));
    expect(holderNow(world)).toBeUndefined();
    // It is over: whoever comes late has nothing to end.
    expect(world.no(back('one')).code).toBe('E002');
  });

  test('in the place of one that is gone, has left, or whose time is over, there is another', () => {
    const world = checkpointed();
    world.ok({ ...hold('cp_001'), holder: one });
    world.no({ ...hold('cp_001'), holder: two, instead: 'three' });
    world.ok({ ...hold('cp_001'), holder: two, instead: 'one' });
    expect(world.no(back('one')).message).toBe('rolling_back cp_001');
    expect(world.ask({ ...hold('cp_001'), holder: one, left: true }).kind).toBe('same');
    world.ok({ ...hold('cp_001'), holder: two, left: true });
    expect(holderNow(world)).toBeNull();
    expect(world.no(back('two')).message).toMatch(/another rollback/);
    world.ok({ ...hold('cp_001'), holder: one });
    world.wait(10 * 60_000);
    world.ok({ ...hold('cp_001'), holder: two });
    expect(holderNow(world)).toEqual(two);
  });

  test('there is no checkpoint of files that go back, nor of those that went back while it was taken', () => {
    const world = checkpointed();
    const checkpoint = (since?: number | null) =>
      ({
        type: 'session.checkpoint',
        session: SESSION,
        checkpoint: { kind: 'manual', name: 'more', workspace: '/w', git: null },
        ...(since === undefined ? {} : { since }),
        speaker: LEAD,
      }) as const;
    world.ok({ ...hold('cp_001'), holder: one });
    expect(world.no(checkpoint(null)).message).toBe('rolling_back cp_001');
    world.ok(back('one'));
    expect(world.no(checkpoint(null)).message).toBe('the files were rolled back meanwhile');
    world.ok(checkpoint(world.now()));
    world.ok(checkpoint());
  });
});
