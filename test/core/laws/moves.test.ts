/** Which status may follow which, who may say done, and what retry and cancel do to each status. */
import { describe, expect, test } from 'vitest';
import { TASK_STATUSES, type TaskStatus } from '../../../src/core/task.ts';
import { AGENT, createWorld, eventOf, eventsOf, PERSON, RUNTIME, taskIn, UNKNOWN } from './world.ts';

/** Typed by hand. Rows are from, columns to, in this order. */
const ORDER: readonly TaskStatus[] = [
  'backlog',
  'ready',
  'in-progress',
  'blocked',
  'review',
  'done',
  'cancelled',
  'deadletter',
];
const LEGAL: Readonly<Record<TaskStatus, string>> = {
  //             b r i b r d c d
  backlog: '     = x . x . . x . ',
  ready: '       . = x x . . x x ',
  'in-progress': '. x = x x . x x ',
  blocked: '     . x . = . . x x ',
  review: '      . x x x = x x . ',
  done: '        . . . . . = . . ',
  cancelled: '   . . . . . . = . ',
  deadletter: '  . x . . . . . = ',
};

describe('the table of moves', () => {
  const pairs = ORDER.flatMap((from) => ORDER.map((to) => [from, to] as const));

  test('has all the statuses there are', () => {
    expect([...TASK_STATUSES].sort()).toEqual([...ORDER].sort());
    expect(pairs).toHaveLength(64);
  });

  test.each(pairs)('%s to %s', (from, to) => {
    const world = createWorld();
    const id = taskIn(world, from);
    const written = world.journal.length;
    const wanted = LEGAL[from].replaceAll(' ', '')[ORDER.indexOf(to)];
    const decision = world.ask({ type: 'task.move', id, to });
    if (wanted === '=') {
      expect(decision).toEqual({ kind: 'same', about: [id] });
    } else if (wanted === 'x') {
      expect(decision.kind).toBe('changed');
      expect(world.status(id)).toBe(to);
      expect(eventOf(world.journal.at(-1) as never, 'task.transitioned')?.detail).toMatchObject({ from, to });
    } else {
      expect(decision).toMatchObject({ kind: 'refused', refusal: { code: 'E_ILLEGAL_MOVE' } });
      expect(world.status(id)).toBe(from);
    }
    expect(world.journal.length - written).toBe(wanted === 'x' ? 1 : 0);
  });

  test('a refusal says what is and what may be', () => {
    const world = createWorld();
    const id = taskIn(world, 'deadletter');
    expect(world.no({ type: 'task.move', id, to: 'done' })).toEqual({
      code: 'E_ILLEGAL_MOVE',
      message: `${id} is deadletter and cannot become done`,
      hint: 'from deadletter it may become ready',
    });
    const done = taskIn(world, 'done');
    expect(world.no({ type: 'task.move', id: done, to: 'ready' }).hint).toBe('done is final');
  });
});

describe('what a move leaves behind', () => {
  test('times, the reason, and the event', () => {
    const world = createWorld();
    const id = world.addOne();
    const created = world.now();
    world.wait(5);
    const facts = world.ok({ type: 'task.move', id, to: 'blocked', reason: 'no keys' });
    expect(world.task(id)).toMatchObject({
      createdAt: created,
      updatedAt: created + 5,
      lastTransitionAt: created + 5,
      cause: { code: 'E_MOVED', message: 'no keys' },
    });
    expect(facts).toMatchObject({ at: created + 5, by: PERSON, about: [id], session: 'default' });
    expect(facts.events).toEqual([
      { type: 'task.transitioned', task: id, detail: { from: 'ready', to: 'blocked', reason: 'no keys' } },
    ]);
  });

  test('without a reason the cause says that it was moved', () => {
    const world = createWorld();
    const id = world.addOne();
    const facts = world.move(id, 'deadletter');
    expect(world.task(id).cause).toEqual({ code: 'E_MOVED', message: 'moved by hand' });
    expect(facts.events[0]?.detail).toEqual({ from: 'ready', to: 'deadletter' });
  });

  test('what is moved on has no cause any more', () => {
    const world = createWorld();
    const id = taskIn(world, 'blocked');
    world.move(id, 'ready');
    expect(world.task(id).cause).toBeNull();
  });

  test.each(['review', 'ready', 'blocked', 'deadletter', 'cancelled'] as const)(
    'a run ends with a move to %s by another',
    (to) => {
      const world = createWorld();
      const id = world.addOne();
      const run = world.claim({ id });
      world.wait(10);
      world.move(id, to);
      expect(world.task(id)).toMatchObject({
        availableAt: 0,
        run: { id: run, status: 'cancelled', endedAt: world.now(), outcome: null },
      });
      expect(world.no({ type: 'run.report', run, outcome: 'done' }).code).toBe('E_STALE_RUN');
    },
  );

  test('a run that has ended keeps its end', () => {
    const world = createWorld();
    const id = taskIn(world, 'review');
    const { run } = world.task(id);
    world.move(id, 'in-progress');
    world.move(id, 'ready');
    expect(world.task(id).run).toEqual(run);
  });

  test('a backoff ends with a move, and attempts stay unless it was dead', () => {
    const world = createWorld();
    const id = world.addOne({ retry: { maxRetries: 1, backoffSeconds: [10] } });
    world.fail(world.claim({ id }));
    world.move(id, 'blocked');
    world.move(id, 'ready');
    expect(world.task(id)).toMatchObject({ availableAt: 0, attempts: 1 });
    world.fail(world.claim({ id }));
    expect(world.status(id)).toBe('deadletter');
    world.move(id, 'ready');
    expect(world.task(id)).toMatchObject({ attempts: 0, runs: 2, cause: null, availableAt: 0 });
  });

  test('an unknown task is named', () => {
    expect(createWorld().no({ type: 'task.move', id: 'TASK-1', to: 'ready' })).toMatchObject({
      code: 'E_NOT_FOUND',
      message: 'there is no task TASK-1',
    });
  });
});

describe('who may make a task done', () => {
  test.each([
    [PERSON, false, true],
    [PERSON, true, true],
    [RUNTIME, false, true],
    [RUNTIME, true, false],
    [AGENT, false, false],
    [AGENT, true, false],
    [UNKNOWN, false, false],
    [UNKNOWN, true, false],
  ] as const)('%o, a review being required: %s, may: %s', (by, reviewRequired, may) => {
    const world = createWorld();
    const id = world.addOne({ reviewRequired });
    world.report(world.claim({ id }), { outcome: 'needs_review' });
    if (may) {
      world.move(id, 'done', by);
      expect(world.task(id)).toMatchObject({ status: 'done', cause: null });
    } else {
      const refusal = world.no({ type: 'task.move', id, to: 'done' }, by);
      expect(refusal.code).toBe('E_PERMISSION_DENIED');
      expect(refusal.message).toContain(by.name);
    }
  });

  test('an illegal move is illegal, whoever asks', () => {
    const world = createWorld();
    expect(world.no({ type: 'task.move', id: world.addOne(), to: 'done' }, AGENT).code).toBe('E_ILLEGAL_MOVE');
  });
});

describe('to in-progress by hand', () => {
  test('not before what it depends on is done', () => {
    const world = createWorld();
    const [first, second] = world.add({}, { dependsOn: ['TASK-2026-03-01-001'] }) as [string, string];
    const refusal = world.no({ type: 'task.move', id: second, to: 'in-progress' });
    expect(refusal).toMatchObject({
      code: 'E_NOT_CLAIMABLE',
      message: `${second} cannot be in-progress: it waits for ${first}, which is ready`,
    });
    world.finish(first);
    world.move(second, 'in-progress');
    expect(world.task(second)).toMatchObject({ status: 'in-progress', run: null, attempts: 0 });
  });
});

describe('retry', () => {
  test.each(['blocked', 'review', 'deadletter'] as const)('of %s makes it ready with all its attempts', (from) => {
    const world = createWorld();
    const id = taskIn(world, from);
    const facts = world.retry(id);
    expect(world.task(id)).toMatchObject({ status: 'ready', attempts: 0, availableAt: 0, cause: null });
    expect(eventsOf(facts)).toEqual(['task.transitioned', 'task.retried']);
    expect(eventOf(facts, 'task.retried')?.detail).toEqual({ from });
  });

  test.each([
    ['backlog', true],
    ['in-progress', false],
    ['done', false],
    ['cancelled', false],
  ] as const)('of %s is refused', (from, hasHint) => {
    const world = createWorld();
    const id = taskIn(world, from);
    const refusal = world.no({ type: 'task.retry', id });
    expect(refusal.code).toBe('E_ILLEGAL_MOVE');
    expect(refusal.message).toContain(`got ${id}, which is ${from}`);
    expect(refusal.hint).toBe(hasHint ? `try: baton task move ${id} ready` : null);
  });

  test('of what is ready and new changes nothing', () => {
    const world = createWorld();
    const id = world.addOne();
    expect(world.ask({ type: 'task.retry', id })).toEqual({ kind: 'same', about: [id] });
  });

  test('of what is in-progress by hand, without a run', () => {
    const world = createWorld();
    const id = world.addOne();
    world.move(id, 'in-progress');
    world.retry(id);
    expect(world.status(id)).toBe('ready');
  });

  test('of what waits out a backoff ends the wait', () => {
    const world = createWorld();
    const id = world.addOne({ retry: { maxRetries: 3, backoffSeconds: [60] } });
    world.fail(world.claim({ id }));
    expect(world.next()).toBeUndefined();
    const facts = world.retry(id);
    expect(eventsOf(facts)).toEqual(['task.retried']);
    expect(world.task(id)).toMatchObject({ status: 'ready', attempts: 0, availableAt: 0 });
    expect(world.next()).toBe(id);
  });

  test('of what is due but has used attempts gives them back', () => {
    const world = createWorld();
    const id = world.addOne({ retry: { maxRetries: 3, backoffSeconds: [] } });
    world.fail(world.claim({ id }));
    expect(world.task(id)).toMatchObject({ attempts: 1, availableAt: world.now() });
    world.retry(id);
    expect(world.task(id).attempts).toBe(0);
    expect(world.ask({ type: 'task.retry', id }).kind).toBe('same');
  });

  test('attempts count anew, runs go on', () => {
    const world = createWorld();
    const id = taskIn(world, 'review');
    world.retry(id);
    const run = world.claim({ id });
    expect(run).toBe(`${id}-r2`);
    expect(world.task(id)).toMatchObject({ attempts: 1, runs: 2, run: { attempt: 1 } });
  });
});

describe('cancel', () => {
  test.each(['backlog', 'ready', 'in-progress', 'blocked', 'review'] as const)('of %s', (from) => {
    const world = createWorld();
    const id = taskIn(world, from);
    const facts = world.ok({ type: 'task.cancel', id, reason: 'not wanted' });
    expect(world.task(id)).toMatchObject({ status: 'cancelled', cause: null });
    expect(facts.events[0]?.detail).toEqual({ from, to: 'cancelled', reason: 'not wanted' });
    expect(world.task(id).run?.status).not.toBe('running');
  });

  test.each(['done', 'deadletter'] as const)('of %s is refused', (from) => {
    const world = createWorld();
    expect(world.no({ type: 'task.cancel', id: taskIn(world, from) }).code).toBe('E_ILLEGAL_MOVE');
  });

  test('of what is cancelled changes nothing', () => {
    const world = createWorld();
    const id = taskIn(world, 'cancelled');
    expect(world.ask({ type: 'task.cancel', id })).toEqual({ kind: 'same', about: [id] });
  });
});
