/** What every message has in common: it changes nothing by itself, it names what it cannot find, and a note is only written down. */
import { describe, expect, test } from 'vitest';
import { decide } from '../../../src/core/laws/decide.ts';
import type { TaskMessage } from '../../../src/core/laws/messages.ts';
import { createWorld, id, PERSON, RUNTIME } from './world.ts';

describe('decide', () => {
  test('has no effect: asked twice without being applied, it says the same', () => {
    const world = createWorld();
    const [a, b] = world.add({}, { dependsOn: [id(1)] }) as [string, string];
    const run = world.claim();
    const messages: TaskMessage[] = [
      { type: 'task.add', tasks: [{ title: 'c', dependsOn: [b] }] },
      { type: 'task.cancel', id: a },
      { type: 'run.report', run, outcome: 'done' },
      { type: 'run.fail', run, code: 'E_TIMEOUT', message: 'm' },
      { type: 'task.edit', id: b, dependsOn: [] },
    ];
    for (const message of messages) {
      const first = decide(world.state, message, PERSON, world.now());
      expect(first.kind).toBe('changed');
      expect(decide(world.state, message, PERSON, world.now())).toEqual(first);
    }
  });

  test.each([
    { type: 'task.move', id: 'x', to: 'ready' },
    { type: 'task.cancel', id: 'x' },
    { type: 'task.retry', id: 'x' },
    { type: 'task.edit', id: 'x' },
    { type: 'task.claim', id: 'x', claimer: { agent: 'emma' }, leaseMs: 1 },
  ] as const)('$type of an unknown task', (message) => {
    expect(createWorld().no(message)).toEqual({
      code: 'E_NOT_FOUND',
      message: 'there is no task x',
      hint: 'see: baton task list',
    });
  });

  test.each([
    { type: 'run.report', run: 'x-r1', outcome: 'done' },
    { type: 'run.judge', run: 'x', passed: true },
    { type: 'run.fail', run: '', code: 'E_TIMEOUT', message: 'm' },
    { type: 'run.resume', run: 'x-r1', result: 'none' },
  ] as const)('$type of an unknown run', (message) => {
    expect(createWorld().no(message, RUNTIME)).toMatchObject({
      code: 'E_NOT_FOUND',
      message: `there is no run ${message.run}`,
    });
  });
});

describe('a note', () => {
  test('is written down in the session of its task, and changes nothing', () => {
    const world = createWorld();
    const of = world.addOne({ session: 'S' });
    const before = world.task(of);
    const facts = world.ok(
      { type: 'note', event: 'tree.refused', task: of, session: 'T', detail: { file: 'a' } },
      RUNTIME,
    );
    expect(facts).toEqual({
      at: world.now(),
      session: 'S',
      by: RUNTIME,
      events: [{ type: 'tree.refused', task: of, detail: { file: 'a' } }],
      changes: [],
      about: [of],
    });
    expect(world.task(of)).toBe(before);
  });

  test('of no task, or of one that nobody knows', () => {
    const world = createWorld();
    const note = { type: 'note', event: 'store.recovered', detail: {} } as const;
    expect(world.ok(note)).toMatchObject({ session: 'default', about: [] });
    expect(world.ok({ ...note, session: 'S' })).toMatchObject({ session: 'S', about: [] });
    expect(world.ok({ ...note, task: id(9) })).toMatchObject({
      session: 'default',
      about: [],
      events: [{ task: id(9) }],
    });
  });
});
