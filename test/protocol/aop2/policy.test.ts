import { describe, expect, test } from 'vitest';
import { isWithin, pathSegments } from '../../../src/core/policy.ts';
import { effectiveAccess, policyOf } from '../../../src/protocol/aop2/policy.ts';
import type { TaskMessage } from '../../../src/protocol/aop2/schema.ts';
import { exampleJson } from '../../helpers/documents.ts';

const minimal = exampleJson('aop2-task-minimal.json') as TaskMessage;
const ROOT = minimal.task.environment.workspace_root;

const task = (
  parts: Partial<TaskMessage['task']>,
  capabilities?: TaskMessage['target']['capabilities'],
): TaskMessage => ({
  ...minimal,
  target: { ...minimal.target, ...(capabilities ? { capabilities } : {}) },
  task: { ...minimal.task, ...parts },
});

test('a TASK that says nothing gets the defaults', () => {
  expect(policyOf(minimal)).toEqual({
    timeoutSeconds: 1800,
    terminateOnTimeout: true,
    abortOnFirstCriticalError: false,
    maxRetries: 0,
    backoffSeconds: [30, 120, 300],
    onFailure: 'REPORT_AND_CONTINUE',
    requireFinalSignal: true,
    requireMinimalReport: true,
    delegationAllowed: true,
    heartbeat: { enabled: false, intervalSeconds: 120, maxMissedBeats: 3, onFailure: 'ABORT' },
    budget: { maxCostUsd: null, maxTokens: null },
    access: { readPaths: [ROOT], writePaths: [ROOT], network: 'RESTRICTED' },
  });
});

test('guard rails override the execution policy', () => {
  const both = {
    ...minimal,
    execution_policy: { timeout_seconds: 60, auto_terminate_on_timeout: true },
    guard_rails: { timeout_seconds: 90, auto_terminate_on_timeout: false },
  };
  expect(policyOf(both)).toMatchObject({ timeoutSeconds: 90, terminateOnTimeout: false });
  expect(policyOf({ ...both, guard_rails: {} })).toMatchObject({ timeoutSeconds: 60, terminateOnTimeout: true });
});

test('what a guard rail says of critical errors holds', () => {
  const both = {
    ...minimal,
    execution_policy: { abort_on_first_critical_error: false },
    guard_rails: { abort_on_first_critical_error: true },
  };
  expect(policyOf(both).abortOnFirstCriticalError).toBe(true);
});

test('of budgets and the older constraints the stricter holds', () => {
  const { budget } = policyOf(
    task({ budgets: { max_cost_usd: 1, max_tokens: 10 }, constraints: { max_cost_usd: 0.5, max_tokens: 20 } }),
  );
  expect(budget).toEqual({ maxCostUsd: 0.5, maxTokens: 10 });
});

describe('effective access', () => {
  test('the stricter network of all that is said; one side silent, the other', () => {
    const network = (a?: 'NONE' | 'FULL', b?: 'FULL' | 'RESTRICTED', c?: 'NONE' | 'FULL'): string =>
      effectiveAccess(
        task(
          { ...(b ? { access: { network: b } } : {}), ...(c ? { constraints: { network_access: c } } : {}) },
          a ? { network_access: a } : undefined,
        ),
      ).network;
    expect([
      network('NONE', 'FULL'),
      network(undefined, 'FULL'),
      network('FULL'),
      network('FULL', 'RESTRICTED'),
      network('FULL', 'FULL', 'NONE'),
      network(),
    ]).toEqual(['NONE', 'FULL', 'FULL', 'RESTRICTED', 'NONE', 'RESTRICTED']);
  });

  test('no file system means nothing, read only means no writes', () => {
    expect(effectiveAccess(task({}, { file_system_access: false }))).toMatchObject({ readPaths: [], writePaths: [] });
    expect(
      effectiveAccess(task({ constraints: { read_only_mode: true }, access: { filesystem: { write_paths: ['/x'] } } })),
    ).toMatchObject({ readPaths: [ROOT], writePaths: [] });
  });
});

describe('paths are compared by segment', () => {
  test.each([
    ['/ws/src/a.ts', '/ws/src', true],
    ['/ws/src', '/ws/src/', true],
    ['/ws/src-evil/a.ts', '/ws/src', false],
    ['/ws/src/../secret', '/ws/src', false],
    ['/ws/src/./b/../a.ts', '/ws/src', true],
    ['/../../etc/passwd', '/ws', false],
    ['C:\\ws\\src\\a.ts', 'c:/ws', true],
    ['C:\\ws\\..\\win', 'C:/ws', false],
    ['D:/ws/a', 'C:/ws', false],
    ['/anything', '/', true],
  ])('%s in %s: %s', (path, root, within) => {
    expect(isWithin(path, [root])).toBe(within);
  });

  test('above the root there is nothing', () => {
    expect(pathSegments('/../..')).toEqual(['']);
  });
});
