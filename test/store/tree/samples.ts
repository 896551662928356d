/** Tasks for the tests of the tree. */
import * as fc from 'fast-check';
import {
  expandTask,
  ISOLATIONS,
  MERGE_POLICIES,
  RUN_STATUSES,
  type Run,
  type SparseTask,
  TASK_PRIORITIES,
  TASK_STATUSES,
  type Task,
  taskId,
  VERDICTS,
} from '../../../src/core/task.ts';
import type { ScanState } from '../../../src/store/fs/tree/scan.ts';
import { anyText } from '../../protocol/aof/samples.ts';

export const NOW = Date.parse('2026-07-01T10:00:00.000Z');
export const id = (number: number): string => taskId('2026-07-01', number);

export const task = (more: Partial<SparseTask> = {}): Task =>
  expandTask({
    id: id(1),
    title: 'Fix the login page',
    status: 'ready',
    createdAt: NOW,
    createdBy: 'user',
    updatedAt: NOW,
    lastTransitionAt: NOW,
    ...more,
  });

export const run = (more: Partial<Run> = {}): Run => ({
  id: `${id(1)}-r1`,
  attempt: 1,
  agent: 'emma',
  model: null,
  startedAt: NOW,
  endedAt: null,
  status: 'running',
  leaseMs: 60_000,
  supervisor: null,
  outcome: null,
  ...more,
});

/** The state of these tasks; each has its title as its body, unless `bodies` says otherwise. */
export const stateOf = (tasks: readonly Task[], bodies: Readonly<Record<string, string>> = {}): ScanState => ({
  task: (id) => tasks.find((each) => each.id === id),
  body: (id) => bodies[id] ?? '',
  tasks: () => tasks,
});

const filled = anyText.filter((text) => text !== '');
const orNull = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(arbitrary, { nil: null });
const time = fc.integer({ min: 0, max: 4e12 });
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);

export const anyRun: fc.Arbitrary<Run> = fc.record({
  id: fc.constant(`${id(1)}-r1`),
  attempt: fc.integer({ min: 1, max: 9 }),
  agent: filled,
  model: orNull(filled),
  startedAt: time,
  endedAt: orNull(time),
  status: fc.constantFrom(...RUN_STATUSES),
  leaseMs: fc.oneof(fc.nat(), fc.constant(Number.MAX_SAFE_INTEGER)),
  supervisor: orNull(fc.record({ pid: fc.nat(), started: fc.string() })),
  outcome: orNull(fc.constantFrom('done', 'failed')),
});

export const anyTask: fc.Arbitrary<Task> = fc.record({
  id: fc.integer({ min: 1, max: 2000 }).map(id),
  externalId: orNull(filled),
  title: filled,
  status: fc.constantFrom(...TASK_STATUSES),
  priority: fc.constantFrom(...TASK_PRIORITIES),
  routing: fc.record({
    agent: orNull(filled),
    role: orNull(filled),
    team: orNull(filled),
    tags: fc.array(filled, { maxLength: 3 }),
  }),
  model: orNull(filled),
  workspace: orNull(
    fc.record({
      path: filled,
      repository: orNull(filled),
      folder: fc.string(),
      branch: orNull(filled),
      isolation: fc.constantFrom(...ISOLATIONS),
      merge: fc.constantFrom(...MERGE_POLICIES),
      base: orNull(filled),
    }),
  ),
  session: filled,
  parentId: orNull(fc.constant(id(7))),
  depth: fc.nat(3),
  dependsOn: fc.uniqueArray(fc.nat(5).map(id), { maxLength: 3 }),
  retry: fc.record({ maxRetries: fc.nat(5), backoffSeconds: fc.array(fc.nat(), { minLength: 1, maxLength: 3 }) }),
  writes: fc.array(filled, { maxLength: 2 }),
  fallback: orNull(
    fc.record({
      provider: filled,
      model: filled,
      used: fc.array(fc.nat(3), { maxLength: 2 }),
      causes: fc.array(fc.record({ code: fc.constant('E_TIMEOUT'), message: anyText }), { maxLength: 2 }),
    }),
  ),
  attempts: fc.nat(3),
  runs: fc.nat(3),
  run: orNull(anyRun),
  availableAt: time,
  cause: orNull(fc.record({ code: fc.constant('E_TIMEOUT'), message: anyText })),
  reviewRequired: fc.boolean(),
  verdict: orNull(fc.constantFrom(...VERDICTS)),
  merging: orNull(
    fc.record({
      accepted: fc.constantFrom('evidence', 'person'),
      supervisor: orNull(fc.record({ pid: fc.nat(), started: fc.string() })),
    }),
  ),
  conflicts: fc.nat({ max: 9 }),
  cost: fc.record({ usd: fc.nat(), tokensInput: fc.nat(), tokensOutput: fc.nat() }),
  summary: orNull(anyText),
  createdAt: time,
  createdBy: anyText,
  updatedAt: time,
  lastTransitionAt: time,
  messages: fc.constant([]),
  metadata: fc.dictionary(anyText, json, { maxKeys: 3 }),
});
