/** Locks, waits and signals: one owner, the most urgent first, nobody waits in a circle, and no waiter is forgotten. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Speaker } from '../../../src/core/laws/messages.ts';
import type { LockPriority } from '../../../src/core/session.ts';
import { createWorld, eventOf, PERSON, type World } from './world.ts';

const S = 's';
const who = (agent: string, more: Partial<Speaker> = {}): Speaker => ({
  agent,
  run: null,
  priority: 'P2',
  leads: false,
  ...more,
});

function talk(world: World) {
  const say = (message: Parameters<World['ask']>[0]): string => {
    const decision = world.ask(message, PERSON);
    if (decision.kind === 'refused') return `refused ${decision.refusal.code}`;
    const about = decision.kind === 'changed' ? decision.facts.about : decision.about;
    return about.find((each) => each.startsWith('reply:'))?.slice(6) ?? '';
  };
  return {
    lock: (speaker: Speaker, resource = 'r', seconds = 60) =>
      say({ type: 'session.lock', session: S, resource, seconds, speaker }),
    unlock: (speaker: Speaker, resource = 'r') => say({ type: 'session.unlock', session: S, resource, speaker }),
    wait: (speaker: Speaker, condition = 'r', wait?: number) =>
      say({
        type: 'session.wait',
        session: S,
        condition,
        seconds: 60,
        speaker,
        ...(wait === undefined ? {} : { wait }),
      }),
    over: (speaker: Speaker, condition: string, wait: number) =>
      say({ type: 'session.wait', session: S, condition, seconds: 60, speaker, wait, over: true }),
    signal: (condition: string, value = 'true') =>
      say({ type: 'session.signal', session: S, condition, value, speaker: who('z') }),
  };
}
const setting = () => {
  const world = createWorld();
  return { world, ...talk(world) };
};

describe('a lock', () => {
  test('has one owner, who may take it again and gives it back', () => {
    const { lock, unlock } = setting();
    expect(lock(who('dev'))).toBe('locked');
    expect(lock(who('dev'))).toBe('locked');
    expect(lock(who('test'))).toBe('busy:dev');
    expect(unlock(who('test'))).toBe('not_owner');
    expect(unlock(who('dev'))).toBe('unlocked');
    expect(unlock(who('dev'))).toBe('refused E002');
    expect(lock(who('test'))).toBe('locked');
    expect(lock(who('dev'), 'other')).toBe('locked');
  });

  test('ends with its time, with its run, and by the word of who leads', () => {
    const { world, lock, unlock } = setting();
    lock(who('dev'), 'r', 10);
    world.wait(10_001);
    expect(lock(who('test'))).toBe('locked');
    expect(unlock(who('boss', { leads: true }))).toBe('unlocked');
    const task = world.addOne({ session: S });
    const run = world.claim({ id: task });
    expect(lock(who('emma', { run }))).toBe('locked');
    expect(lock(who('test'))).toBe('busy:emma');
    world.fail(run);
    expect(lock(who('test'))).toBe('locked');
  });

  test('two runs of one agent are two owners', () => {
    const { world, lock } = setting();
    const [one, two] = world.add({ session: S }, { session: S }).map((id) => world.claim({ id }));
    expect(lock(who('emma', { run: one as string }))).toBe('locked');
    expect(lock(who('emma', { run: two as string }))).toBe('busy:emma');
  });
});

describe('who waits for a lock', () => {
  test('is told when it is free, and has a moment to take it', () => {
    const { world, lock, unlock, wait } = setting();
    lock(who('dev'));
    expect(wait(who('test'))).toBe('waits:1');
    unlock(who('dev'));
    expect(lock(who('late'))).toBe('busy:test');
    expect(wait(who('test'), 'r', 1)).toBe('ready');
    expect(lock(who('late'))).toBe('busy:test');
    expect(lock(who('test'))).toBe('locked');
    unlock(who('test'));
    expect(wait(who('late'))).toBe('ready');
    world.wait(10_001);
    expect(lock(who('other'))).toBe('locked');
  });

  test('one that came free in between is not missed', () => {
    const { lock, unlock, wait } = setting();
    lock(who('dev'));
    unlock(who('dev'));
    expect(wait(who('test'))).toBe('ready');
  });

  test('the most urgent goes first, then who came first; one who says nothing for long is gone', () => {
    const { world, lock, unlock, wait } = setting();
    lock(who('dev'));
    expect(wait(who('a'))).toBe('waits:1');
    world.wait(1);
    expect(wait(who('b'))).toBe('waits:2');
    world.wait(1);
    expect(wait(who('c', { priority: 'P0' }))).toBe('waits:3');
    unlock(who('dev'));
    expect(wait(who('a'), 'r', 1)).toBe('waits:1');
    expect(wait(who('c', { priority: 'P0' }), 'r', 3)).toBe('ready');
    lock(who('c', { priority: 'P0' }));
    unlock(who('c'));
    expect(wait(who('b'), 'r', 2)).toBe('waits:2');
    world.wait(16_000);
    expect(wait(who('b'), 'r', 2)).toBe('ready');
  });

  test('asking again writes nothing as long as nothing changes', () => {
    const { world, lock, wait } = setting();
    lock(who('dev'));
    wait(who('a'));
    const records = world.journal.length;
    wait(who('a'), 'r', 1);
    expect(world.journal.length).toBe(records);
    world.wait(11_000);
    wait(who('a'), 'r', 1);
    expect(world.journal.length).toBe(records + 1);
  });
});

describe('who is who', () => {
  test('a name without a run is not one of its runs, and two runs are not both told', () => {
    const { world, lock, unlock, wait } = setting();
    const [one, two, three] = world
      .add({ session: S }, { session: S }, { session: S })
      .map((id) => world.claim({ id })) as [string, string, string];
    expect(lock(who('bob', { run: one }))).toBe('locked');
    expect(lock(who('bob'))).toBe('busy:bob');
    expect(unlock(who('bob'))).toBe('not_owner');
    expect(wait(who('bob', { run: two }))).toBe('waits:1');
    expect(wait(who('bob', { run: three }))).toBe('waits:2');
    unlock(who('bob', { run: one }));
    expect(wait(who('bob', { run: two }), 'r', 1)).toBe('ready');
    expect(wait(who('bob', { run: three }), 'r', 2)).toBe('waits:2');
    expect(lock(who('bob', { run: three }))).toBe('busy:bob');
    expect(lock(who('bob', { run: two }))).toBe('locked');
  });

  test('who asks again and again does not keep it longer', () => {
    const { world, lock, unlock, wait } = setting();
    lock(who('dev'));
    unlock(who('dev'));
    expect(wait(who('low', { priority: 'P3' }))).toBe('ready');
    world.wait(9_000);
    expect(wait(who('low', { priority: 'P3' }))).toBe('ready');
    world.wait(1_001);
    expect(lock(who('high', { priority: 'P0' }))).toBe('locked');
  });

  test('a signal of the same name is no lock; a path nobody has locked is free', () => {
    const { lock, wait, signal } = setting();
    expect(wait(who('a'), 'src/a.js')).toBe('ready');
    lock(who('dev'), 'x');
    signal('x', 'true');
    expect(wait(who('a'), 'x')).toBe('waits:1');
  });

  test('the end of the session ends the waits, and they do not begin it anew', () => {
    const { world, lock, wait } = setting();
    lock(who('dev'));
    expect(wait(who('a'))).toBe('waits:1');
    world.ok({ type: 'session.end', session: S, speaker: who('boss', { leads: true }) });
    expect(wait(who('a'), 'r', 1)).toBe('timeout');
    expect(world.state.session(S)?.fact('endedAt')).toBeDefined();
  });
});

describe('a circle', () => {
  test('of two: the last to wait gives way where they are equal, else the less urgent', () => {
    const { world, lock, wait } = setting();
    lock(who('a'), 'x');
    lock(who('b'), 'y');
    expect(wait(who('a'), 'y')).toBe('waits:1');
    expect(wait(who('b'), 'x')).toBe('deadlock:b→a→b');
    expect(wait(who('b', { priority: 'P0' }), 'x')).toBe('waits:2');
    expect(wait(who('a'), 'y', 1)).toBe('deadlock:b→a→b');
    expect(
      eventOf(world.journal.findLast((facts) => eventOf(facts, 'session.deadlock')) as never, 'session.deadlock')
        ?.detail,
    ).toEqual({
      path: 'b→a→b',
      told: 'a',
    });
  });

  test('of three', () => {
    const { lock, wait } = setting();
    for (const [agent, resource] of [
      ['a', 'x'],
      ['b', 'y'],
      ['c', 'z'],
    ] as const)
      lock(who(agent), resource);
    expect(wait(who('a'), 'y')).toBe('waits:1');
    expect(wait(who('b'), 'z')).toBe('waits:2');
    expect(wait(who('c'), 'x')).toBe('deadlock:c→a→b→c');
  });
});

test('two runs of one agent are no circle, and each waits by itself', () => {
  const { world, lock, unlock, wait } = setting();
  const [one, two, three] = world.add({ session: S }, { session: S }, { session: S }).map((id) => {
    return who('emma', { run: world.claim({ id }) });
  }) as [Speaker, Speaker, Speaker];
  lock(one, 'x');
  lock(two, 'y');
  expect(wait(two, 'x')).toBe('waits:1');
  expect(wait(three, 'x')).toBe('waits:2');
  // A circle of two runs is one all the same.
  expect(wait(one, 'y')).toBe('deadlock:emma→emma→emma');
  unlock(one, 'x');
  expect(wait(two, 'x', 1)).toBe('ready');
  expect(lock(two, 'x')).toBe('locked');
  // Whoever takes it gives up its own wait, and nobody else's.
  expect(Object.values(Object.fromEntries(world.state.session(S)?.table('waiters') ?? []))).toMatchObject([
    { run: three.run },
  ]);
});

describe('a signal', () => {
  test('wakes who waits for it, also who comes later, and false is none', () => {
    const { wait, signal, over } = setting();
    expect(wait(who('a'), 'dev_complete')).toBe('waits:1');
    expect(wait(who('b'), 'dev_complete')).toBe('waits:2');
    expect(signal('dev_complete', 'false')).toBe('signaled:0');
    expect(wait(who('a'), 'dev_complete', 1)).toBe('waits:1');
    expect(signal('dev_complete')).toBe('signaled:2');
    expect(wait(who('a'), 'dev_complete', 1)).toBe('ready');
    expect(over(who('b'), 'dev_complete', 2)).toBe('timeout');
    expect(wait(who('c'), 'dev_complete')).toBe('ready');
    expect(signal('dev_complete')).toBe('signaled:0');
  });

  test('a task that is done is one', () => {
    const { world, wait } = setting();
    const task = world.addOne({ session: S, externalId: 'auth' });
    expect(wait(who('a'), 'auth')).toBe('waits:1');
    world.finish(task);
    expect(wait(who('a'), 'auth', 1)).toBe('ready');
    expect(wait(who('a'), task)).toBe('ready');
  });
});

test('whatever happens: never two owners, and a free lock goes to somebody who waits', () => {
  const agents = ['a', 'b', 'c', 'd'];
  const step = fc.record({
    agent: fc.constantFrom(...agents),
    what: fc.constantFrom('lock', 'unlock', 'wait', 'time'),
    priority: fc.constantFrom<LockPriority>('P0', 'P2'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { world, lock, unlock, wait } = setting();
      lock(who('a'));
      unlock(who('a'));
      let owner: { agent: string; until: number } | null = null;
      const waits = new Map<string, { number: number; speaker: Speaker }>();
      for (const { agent, what, priority } of steps) {
        const speaker = waits.get(agent)?.speaker ?? who(agent, { priority });
        if (owner !== null && owner.until <= world.now()) owner = null;
        if (what === 'lock') {
          const reply = lock(speaker, 'r', 20);
          if (reply === 'locked') {
            expect(owner === null || owner.agent === agent).toBe(true);
            owner = { agent, until: world.now() + 20_000 };
            waits.delete(agent);
          } else expect(reply).toMatch(/^busy:/);
        } else if (what === 'unlock') {
          if (unlock(speaker) === 'unlocked' && owner?.agent === agent) owner = null;
        } else if (what === 'time') world.wait(3_000);
        else {
          const reply = wait(speaker, 'r', waits.get(agent)?.number);
          if (reply.startsWith('waits:')) waits.set(agent, { number: Number(reply.slice(6)), speaker });
          else waits.delete(agent);
        }
      }
      // All is given back and time passes: whoever still asks gets it, one after the other.
      if (owner !== null) unlock(who(owner.agent));
      world.wait(11_000);
      const left = [...waits.values()];
      for (let turn = 0; left.length > 0 && turn < 20; turn++) {
        world.wait(4_000);
        for (const each of [...left]) {
          const reply = wait(each.speaker, 'r', each.number);
          if (reply === 'ready') {
            expect(lock(each.speaker)).toBe('locked');
            unlock(each.speaker);
            left.splice(left.indexOf(each), 1);
          }
        }
      }
      expect(left).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

describe('who has waited long', () => {
  test('is as urgent as those above it, a step every 30 s: nobody starves', () => {
    const world = createWorld();
    const { lock, unlock, wait } = talk(world);
    const [low, holder] = [who('low', { priority: 'P3' }), who('holder')];
    lock(holder, 'r', 600);
    expect(wait(low)).toBe('waits:1');
    const pass = (seconds: number): void => {
      for (let i = 0; i < seconds; i += 10) {
        world.wait(10_000);
        wait(low, 'r', 1);
      }
    };
    pass(20);
    // Not yet: one that is more urgent goes first.
    const urgent = who('urgent', { priority: 'P2' });
    wait(urgent);
    unlock(holder);
    expect(wait(low, 'r', 1)).toBe('waits:1');
    expect(lock(urgent, 'r', 600)).toBe('locked');
    pass(10);
    // Now it is P2, and came first.
    expect(wait(who('late', { priority: 'P2' }))).toBe('waits:3');
    unlock(urgent);
    expect(lock(who('other', { priority: 'P2' }))).toBe('busy:low');
    expect(wait(who('late', { priority: 'P2' }), 'r', 3)).toBe('waits:3');
    // Who is more urgent still goes before it.
    expect(lock(who('first', { priority: 'P1' }), 'r', 600)).toBe('locked');
    pass(60);
    unlock(who('first'));
    expect(wait(who('most', { priority: 'P0' }))).toBe('waits:4');
    expect(wait(low, 'r', 1)).toBe('ready');
  });
});

describe('a condition that names an agent', () => {
  const waitFor = (world: World, speaker = who('a')) => {
    const decision = world.ask(
      { type: 'session.wait', session: S, condition: 'emma', seconds: 60, agents: ['emma'], speaker },
      PERSON,
    );
    return decision.kind === 'refused' ? '' : decision.kind === 'changed' ? 'waits' : decision.about[0];
  };

  test.each([
    ['was found wanting', 'done', false],
    ['says itself that a person has to look', 'needs_review', true],
  ] as const)('is met when what it came to %s, for then it waits for a person', (_, outcome, passed) => {
    const world = createWorld();
    world.addOne({ session: S, routing: { agent: 'emma' } });
    const run = world.claim({ supervisor: { pid: 1, started: '1' } });
    world.report(run, { outcome });
    if (outcome === 'done') expect(waitFor(world)).toBe('waits');
    world.judge(run, passed, passed ? [] : ['expected a file, and it is not there']);
    expect(waitFor(world)).toBe('reply:ready');
  });

  test('is met when that agent has no run and nothing to begin', () => {
    const world = createWorld();
    expect(waitFor(world)).toBe('reply:ready');
    const id = world.addOne({ session: S, routing: { agent: 'Emma' } });
    world.addOne({ session: S, routing: { agent: 'bob' } });
    world.addOne({ session: 'another', routing: { agent: 'emma' } });
    expect(waitFor(world)).toBe('waits');
    const run = world.claim({ id });
    expect(waitFor(world)).toBe('waits');
    expect(waitFor(world, who('emma', { run }))).toBe('reply:ready');
    world.report(run);
    expect(waitFor(world)).toBe('reply:ready');
  });

  test('a signal, a lock or a task of that name goes before it', () => {
    const world = createWorld();
    talk(world).signal('emma', 'no');
    expect(waitFor(world)).toBe('waits');
    const other = createWorld();
    other.addOne({ session: S, externalId: 'emma', status: 'backlog' });
    expect(waitFor(other)).toBe('waits');
  });
});
