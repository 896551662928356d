/** The queue against the plainest one there is: a list that is searched from end to end. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createReadyQueue } from '../../src/core/ready-queue.ts';
import { expandTask, type Routing, TASK_PRIORITIES, type Task } from '../../src/core/task.ts';

const PLAIN = { title: 't', createdAt: 1, createdBy: 'ann', updatedAt: 1, lastTransitionAt: 1 } as const;
const taskOf = (number: number, more: Partial<Task> = {}): Task =>
  expandTask({ ...PLAIN, id: `TASK-2026-03-01-${String(number).padStart(3, '0')}`, status: 'ready', ...more });

function createTasks() {
  const tasks = new Map<string, Task>();
  const closed = new Set<string>();
  const isOpen = (task: Task): boolean => !closed.has(task.id);
  /** The number of the task that another waits for. */
  const held = new Map<string, string>();
  const queue = createReadyQueue(
    (id) => tasks.get(id),
    isOpen,
    (task) => held.get(task.id),
  );
  const put = (task: Task): void => {
    tasks.set(task.id, task);
    queue.put(task, isOpen(task));
  };
  /** Somebody writes where this task will; ends with `stop`. */
  const hold = (id: string, writer: string): void => void held.set(id, writer);
  const stop = (writer: string): void => {
    for (const [id, by] of held) if (by === writer) held.delete(id);
    queue.stopped(writer);
  };
  return { tasks, closed, held, queue, put, hold, stop };
}

const ANYBODY = { agent: 'emma' };

describe('the ready queue', () => {
  test('says when the next task comes out of its backoff', () => {
    const { queue, put } = createTasks();
    expect(queue.nextTime()).toBeUndefined();
    put(taskOf(1));
    expect(queue.nextTime()).toBeUndefined();
    put(taskOf(2, { availableAt: 500 }));
    put(taskOf(3, { availableAt: 200 }));
    expect(queue.nextTime()).toBe(200);
    expect(queue.next(ANYBODY, 200)).toBe('TASK-2026-03-01-001');
    expect(queue.nextTime()).toBe(500);
  });

  test('does not keep what was closed again after it had been entered', () => {
    const { closed, queue, put } = createTasks();
    put(taskOf(1));
    closed.add('TASK-2026-03-01-001');
    expect(queue.next(ANYBODY, 0)).toBeUndefined();
    closed.clear();
    put(taskOf(1));
    expect(queue.next(ANYBODY, 0)).toBe('TASK-2026-03-01-001');
  });

  test('asking does not take', () => {
    const { queue, put } = createTasks();
    put(taskOf(1));
    expect([queue.next(ANYBODY, 0), queue.next(ANYBODY, 0)]).toEqual(['TASK-2026-03-01-001', 'TASK-2026-03-01-001']);
  });

  test('any history: the same as a search of all', () => {
    const routing: fc.Arbitrary<Routing> = fc.constantFrom(
      ...[
        {},
        { agent: 'emma' },
        { agent: 'zed' },
        { role: 'agent', team: 'emma' },
        { tags: ['a'] },
        { tags: ['a', 'b'] },
      ].map((some) => ({ agent: null, role: null, team: null, tags: [], ...some })),
    );
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          number: fc.integer({ min: 997, max: 1003 }),
          status: fc.constantFrom('ready' as const, 'ready' as const, 'blocked' as const),
          priority: fc.constantFrom(...TASK_PRIORITIES),
          availableAt: fc.constantFrom(0, 0, 10, 20, 30),
          routing,
        }),
      },
      { weight: 1, arbitrary: fc.record({ close: fc.integer({ min: 997, max: 1003 }), isClosed: fc.boolean() }) },
      {
        weight: 1,
        arbitrary: fc.record({ hold: fc.integer({ min: 997, max: 1003 }), writer: fc.constantFrom('w1', 'w2') }),
      },
      { weight: 1, arbitrary: fc.record({ stop: fc.constantFrom('w1', 'w2') }) },
      { weight: 1, arbitrary: fc.record({ now: fc.constantFrom(0, 10, 15, 20, 30) }) },
      { weight: 3, arbitrary: fc.constant(null) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { tasks, closed, held, queue, put, hold, stop } = createTasks();
        let now = 0;
        for (const item of steps) {
          if (item === null) {
            for (const claimer of [
              ANYBODY,
              { agent: 'zed', tags: ['b', 'a'] },
              { agent: 'x', roles: ['agent'], teams: ['emma'] },
            ]) {
              const fitting = [...tasks.values()].filter(
                ({ status, availableAt, id, routing: { agent, role, team, tags } }) =>
                  status === 'ready' &&
                  availableAt <= now &&
                  !closed.has(id) &&
                  !held.has(id) &&
                  (agent === null || agent === claimer.agent) &&
                  (role === null || ('roles' in claimer && claimer.roles.includes(role))) &&
                  (team === null || ('teams' in claimer && claimer.teams.includes(team))) &&
                  tags.every((tag) => 'tags' in claimer && claimer.tags.includes(tag)),
              );
              const best = fitting.sort(
                (a, b) =>
                  TASK_PRIORITIES.indexOf(a.priority) - TASK_PRIORITIES.indexOf(b.priority) ||
                  Number(a.id.slice(16)) - Number(b.id.slice(16)),
              )[0];
              expect(queue.next(claimer, now)).toBe(best?.id);
            }
          } else if ('now' in item) {
            now = item.now;
          } else if ('hold' in item) {
            // Who waits for one keeps waiting for it until that one stops, as tasks do.
            if (!held.has(taskOf(item.hold).id)) hold(taskOf(item.hold).id, item.writer);
          } else if ('stop' in item) {
            stop(item.stop);
          } else if ('close' in item) {
            const task = tasks.get(taskOf(item.close).id);
            if (item.isClosed) closed.add(taskOf(item.close).id);
            else closed.delete(taskOf(item.close).id);
            if (task !== undefined) put(task);
          } else {
            const { number, ...more } = item;
            put(taskOf(number, more));
          }
        }
      }),
      { seed: 5, numRuns: 400 },
    );
  });
});
