/** What a session remembers: keys and variables within their limits, letters, listeners, dependencies, its end and its beginning anew. */
import { describe, expect, test } from 'vitest';
import type { SessionMessage, Speaker } from '../../../src/core/laws/messages.ts';
import type { TableName } from '../../../src/core/session.ts';
import { createWorld, eventOf, PERSON, type World } from './world.ts';

const S = 's';
const who = (agent: string): Speaker => ({ agent, run: null, priority: 'P2', leads: false });

function setting() {
  const world = createWorld();
  const say = (message: SessionMessage): string => {
    const decision = world.ask(message, PERSON);
    if (decision.kind === 'refused') return `refused ${decision.refusal.code}`;
    const about = decision.kind === 'changed' ? decision.facts.about : decision.about;
    return about.find((each) => each.startsWith('reply:'))?.slice(6) ?? decision.kind;
  };
  return {
    world,
    save: (key: string, value = 'v', session = S) =>
      say({ type: 'session.save', session, key, value, persistent: false, speaker: who('a') }),
    clear: () => say({ type: 'session.clear', session: S, speaker: who('a') }),
    variable: (name: string) => say({ type: 'session.variable', session: S, name, value: 'v' }),
    lock: (agent: string) => say({ type: 'session.lock', session: S, resource: 'r', seconds: 60, speaker: who(agent) }),
    send: (to: { channel: string; everyone?: boolean } | { agent: string }, text = 'hello', from = 'a') =>
      say({ type: 'session.send', session: S, to, text, speaker: who(from) }),
    listen: (agent: string, channel: string, on = true) =>
      say({ type: 'session.subscribe', session: S, channel, on, speaker: who(agent) }),
    read: (agent: string, upTo: number) => say({ type: 'session.read', session: S, agent, upTo }),
    depend: (agent: string, task: string) =>
      say({ type: 'session.depend', session: S, agent, task, speaker: who('a') }),
    end: () => say({ type: 'session.end', session: S, speaker: who('a') }),
  };
}

const tableOf = (world: World, name: TableName, session = S): Record<string, unknown> =>
  Object.fromEntries(world.state.session(session)?.table(name) ?? []);

describe('keys', () => {
  test('twenty and no more; one that is there may change', () => {
    const { save, world } = setting();
    for (let i = 0; i < 20; i++) expect(save(`k${i}`)).toBe(`saved:k${i}`);
    expect(save('more')).toBe('refused E003');
    expect(save('k0', 'new')).toBe('saved:k0');
    expect(save('more', 'v', 'another session')).toBe('saved:more');
    expect(Object.keys(tableOf(world, 'state'))).toHaveLength(20);
    expect(tableOf(world, 'state')['k0']).toMatchObject({ value: 'new', by: 'a', at: world.now() });
  });

  test('are all gone when they are cleared; what was empty stays so without a record', () => {
    const { save, clear, world } = setting();
    expect(clear()).toBe('nothing_saved');
    expect(world.journal).toHaveLength(0);
    save('a');
    save('A');
    expect(Object.keys(tableOf(world, 'state'))).toEqual(['a', 'A']);
    expect(clear()).toBe('cleared');
    expect(tableOf(world, 'state')).toEqual({});
    expect(eventOf(world.journal.at(-1) as never, 'session.cleared')?.detail).toEqual({ keys: ['a', 'A'] });
  });
});

test('variables have a bound too', () => {
  const { variable } = setting();
  for (let i = 0; i < 1_000; i++) variable(`V${i}`);
  expect(variable('MORE')).toBe('refused E003');
  expect(variable('V1')).toBe('saved:V1');
});

describe('letters', () => {
  test('go to who listens and not to who speaks, and are read up to a number', () => {
    const { send, listen, read, world } = setting();
    expect(send({ channel: 'c' })).toBe('sent:0');
    for (const agent of ['a', 'b', 'c']) expect(listen(agent, 'c')).toBe('subscribed:c');
    expect(send({ channel: 'c' }, 'one', 'a')).toBe('sent:2');
    expect(send({ agent: 'b' }, 'two', 'c')).toBe('sent:1');
    const of = (agent: string) =>
      Object.entries(tableOf(world, 'letters')).filter(([, l]) => (l as { to: string }).to === agent);
    expect(of('b')).toMatchObject([
      ['1', { from: 'a', channel: 'c', text: 'one' }],
      ['3', { from: 'c', channel: null, text: 'two' }],
    ]);
    expect(read('b', 1)).toBe('changed');
    expect(of('b')).toHaveLength(1);
    expect(of('c')).toHaveLength(1);
    expect(read('b', 1)).toBe('same');
    expect(listen('b', 'c', false)).toBe('unsubscribed:c');
    expect(listen('b', 'c', false)).toBe('already_unsubscribed:c');
    expect(send({ channel: 'c' }, 'three', 'a')).toBe('sent:1');
    expect(send({ channel: 'new', everyone: true }, 'four', 'a')).toBe('sent:2');
    expect(send({ channel: 'c', everyone: true }, 'five', 'a')).toBe('sent:1');
  });

  test('of too many that nobody reads the oldest go, of that reader only', () => {
    const { send, world } = setting();
    send({ agent: 'other' }, 'kept');
    for (let i = 0; i < 205; i++) send({ agent: 'b' }, `letter ${i}`);
    const texts = Object.values(tableOf(world, 'letters')).map((letter) => (letter as { text: string }).text);
    expect(texts).toHaveLength(201);
    expect([texts[0], texts[1], texts.at(-1)]).toEqual(['kept', 'letter 5', 'letter 204']);
  });
});

test('a dependency is written down once', () => {
  const { depend, world } = setting();
  expect(depend('dev', 'auth')).toBe('ack');
  expect(depend('dev', 'auth')).toBe('ack');
  expect(Object.values(tableOf(world, 'depends'))).toMatchObject([{ by: 'a', agent: 'dev', task: 'auth' }]);
});

test('at its end a session forgets all but its checkpoints, and the next word begins it anew', () => {
  const { save, lock, listen, send, end, world } = setting();
  expect(end()).toBe('same');
  save('k');
  lock('a');
  listen('a', 'c');
  send({ agent: 'a' });
  const checkpoint = { kind: 'manual', name: 'cp', workspace: '/w', git: null } as const;
  world.ok({ type: 'session.checkpoint', session: S, checkpoint, speaker: who('a') });
  expect(tableOf(world, 'facts')).toMatchObject({ startedAt: world.now() });
  world.wait(1_000);
  expect(end()).toBe('changed');
  for (const table of ['state', 'locks', 'subscribers', 'letters'] as const) expect(tableOf(world, table)).toEqual({});
  expect(Object.keys(tableOf(world, 'checkpoints'))).toEqual(['cp_001']);
  expect(tableOf(world, 'facts')).toMatchObject({ endedAt: world.now() });
  expect(end()).toBe('same');
  world.wait(1_000);
  expect(lock('b')).toBe('locked');
  expect(tableOf(world, 'facts')).toMatchObject({ startedAt: world.now() });
  expect(tableOf(world, 'facts')['endedAt']).toBeUndefined();
});
