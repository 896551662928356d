/** The ids of tasks and runs, and how a task is written without what it has by default. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  compareTaskIds,
  expandTask,
  hasFailed,
  isFinal,
  isRunning,
  isTaskId,
  partsOfId,
  runId,
  sparseTask,
  TASK_DEFAULTS,
  TASK_STATUSES,
  type Task,
  taskId,
  taskOfRun,
} from '../../src/core/task.ts';
import { dayOf, isoTime } from '../../src/core/time.ts';

const SEED = { seed: 11, numRuns: 300 };
const days = fc
  .integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2099, 11, 31) })
  .map((at) => new Date(at).toISOString().slice(0, 10));

describe('task ids', () => {
  test.each([
    ['TASK-2026-03-01-001', true],
    ['TASK-2026-03-01-000', true],
    ['TASK-2026-03-01-999', true],
    ['TASK-2026-03-01-1000', true],
    ['TASK-2026-03-01-12345', true],
    ['TASK-2026-03-01-0999', false],
    ['TASK-2026-03-01-01', false],
    ['TASK-2026-3-1-001', false],
    ['task-2026-03-01-001', false],
    [' TASK-2026-03-01-001', false],
    ['TASK-2026-03-01-001\n', false],
    ['TASK-001', false],
    ['', false],
  ])('%j: %s', (text, is) => {
    expect(isTaskId(text)).toBe(is);
  });

  test('are made of a day and a number, and give them back', () => {
    fc.assert(
      fc.property(days, fc.integer({ min: 0, max: 10_000_000 }), (day, number) => {
        const made = taskId(day, number);
        expect(isTaskId(made)).toBe(true);
        expect(partsOfId(made)).toEqual({ day, number });
      }),
      SEED,
    );
  });

  test('sort by day, then by number', () => {
    const parts = fc.record({ day: fc.constantFrom('2026-02-28', '2026-03-01', '2025-12-31'), number: fc.nat(20_000) });
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const wanted = a.day === b.day ? a.number - b.number : a.day < b.day ? -1 : 1;
        const got = compareTaskIds(taskId(a.day, a.number), taskId(b.day, b.number));
        expect(Math.sign(got)).toBe(Math.sign(wanted));
      }),
      SEED,
    );
  });

  test('the day is that of UTC', () => {
    expect(dayOf(0)).toBe('1970-01-01');
    expect(isoTime(Number.MAX_SAFE_INTEGER)).toBe('9999-12-31T23:59:59.999Z');
    expect(dayOf(Date.UTC(2026, 11, 31, 23, 59, 59, 999))).toBe('2026-12-31');
  });
});

describe('run ids', () => {
  test('name their task', () => {
    expect(runId('TASK-2026-03-01-001', 12)).toBe('TASK-2026-03-01-001-r12');
    expect(taskOfRun('TASK-2026-03-01-001-r12')).toBe('TASK-2026-03-01-001');
    expect(taskOfRun('a-r1-r2')).toBe('a-r1');
  });

  test.each(['', 'TASK-2026-03-01-001', 'x-r', '-r1', 'x-r1 ', 'x-r1x'])('%j is none', (text) => {
    expect(taskOfRun(text)).toBeNull();
  });
});

const PLAIN = {
  id: 'TASK-2026-03-01-001',
  title: 't',
  status: 'ready',
  createdAt: 1,
  createdBy: 'ann',
  updatedAt: 1,
  lastTransitionAt: 1,
} as const;

describe('a task written without its defaults', () => {
  test('is only what was said', () => {
    expect(sparseTask(expandTask(PLAIN))).toEqual(PLAIN);
  });

  test('comes back whole also where it only looks like a default', () => {
    const copy = JSON.parse(JSON.stringify(expandTask(PLAIN))) as Task;
    expect(expandTask(sparseTask(copy))).toEqual(expandTask(PLAIN));
  });

  test('keeps what differs, and comes back whole', () => {
    const task: Task = {
      ...expandTask(PLAIN),
      priority: 'low',
      routing: { agent: 'emma', role: null, team: null, tags: [] },
      dependsOn: ['TASK-2026-03-01-002'],
      reviewRequired: true,
      cause: { code: 'E_MOVED', message: 'm' },
      metadata: { a: null },
      summary: '',
    };
    const sparse = sparseTask(task);
    expect(Object.keys(sparse).sort()).toEqual(
      [
        ...Object.keys(PLAIN),
        'priority',
        'routing',
        'dependsOn',
        'reviewRequired',
        'cause',
        'metadata',
        'summary',
      ].sort(),
    );
    expect(expandTask(JSON.parse(JSON.stringify(sparse)))).toEqual(task);
  });

  test('shares what it has by default', () => {
    expect(expandTask(PLAIN).routing).toBe(TASK_DEFAULTS.routing);
  });
});

test('statuses that are final, and those that have failed', () => {
  expect(TASK_STATUSES.filter(isFinal)).toEqual(['done', 'cancelled']);
  expect(TASK_STATUSES.filter(hasFailed)).toEqual(['cancelled', 'deadletter']);
});

test('running is in-progress with a run that runs', () => {
  const run = { status: 'running' } as Task['run'];
  expect(isRunning({ ...expandTask(PLAIN), status: 'in-progress', run })).toBe(true);
  expect(isRunning({ ...expandTask(PLAIN), status: 'review', run })).toBe(false);
  expect(isRunning({ ...expandTask(PLAIN), status: 'in-progress' })).toBe(false);
  const ended = { status: 'expired' } as Task['run'];
  expect(isRunning({ ...expandTask(PLAIN), status: 'in-progress', run: ended })).toBe(false);
});
