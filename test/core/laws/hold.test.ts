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
