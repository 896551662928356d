/** What config.yaml says of a stage is in the TASK of the stage, and gives it no more than whoever hands on has. */
import { expect, test } from 'vitest';
import type { Task } from '../../src/core/task.ts';
import { policyOf } from '../../src/protocol/aop2/policy.ts';
import { keptEnvelope } from '../../src/runtime/envelope.ts';
import { withLimits } from '../../src/runtime/stage-limits.ts';
import { USER } from './messages.ts';
import { makeWorld, taskOf } from './world.ts';

const AT = { workspace: '/ws' };

test('the stricter of two holds, and of paths what lies in both', () => {
  const above = taskOf(AT, {
    agent: 'a',
    task: {
      budgets: { max_cost_usd: 1 },
      access: { filesystem: { write_paths: ['/ws/src', '/ws/docs/api'] } },
    },
    policy: { timeout_seconds: 100 },
  });
  const narrow = policyOf(withLimits(above, { budget: 2, timeout: 600, write: ['src/a', 'docs', 'test'], retries: 2 }));
  expect(narrow).toMatchObject({ budget: { maxCostUsd: 1 }, timeoutSeconds: 100, maxRetries: 2 });
  expect(narrow.access).toMatchObject({ writePaths: ['/ws/src/a', '/ws/docs/api'], readPaths: ['/ws'] });
  const open = policyOf(withLimits(taskOf(AT, { agent: 'a' }), { budget: 2, timeout: 600, write: ['src'] }));
  expect(open).toMatchObject({ budget: { maxCostUsd: 2 }, timeoutSeconds: 600, access: { writePaths: ['/ws/src'] } });
  expect(withLimits(above, {})).toEqual(above);
});

test('the task of a stage has its limits and its phases, from the first hand on', async () => {
  const phases = [
    { name: 'mend', do: 'Mend it.', check: 'npm test' },
    { name: 'tell', do: 'Tell of it.' },
  ];
  const world = await makeWorld({
    config: {
      agents: { dev: { kind: 'command', command: ['true'] } },
      stages: { fix: { agent: 'dev', budget: 2, timeout: 60, write: ['src'], retries: 1, phases } },
    },
  });
  const said = `[GRAPH_UPDATE]
type: add_node
node_id: bug_a_20261116_090000
node_type: BugBrief
metadata: { created_by: ann, confidence: 0.95 }
data: { summary: s }
[/GRAPH_UPDATE]
OUTPUT:
  _meta: { output_type: brief, created_by: ann, confidence: 0.95 }
  _handoff: { next_stage: fix, graph_node: bug_a_20261116_090000, required_fields: [summary] }
`;
  const answers = await world.host.router.take(said, USER);
  const task = (await world.store.find(answers.at(-1)?.task ?? '')) as Task;
  expect(task).toMatchObject({
    status: 'ready',
    session: 'default',
    writes: [world.path('src')],
    retry: { maxRetries: 1 },
  });
  const kept = keptEnvelope(await world.store.text(task.id, 'inputs/task.json'));
  expect(kept).toMatchObject({
    task: { budgets: { max_cost_usd: 2 }, access: { filesystem: { write_paths: [world.path('src')] } } },
    execution_policy: { timeout_seconds: 60, max_retries: 1 },
    phases: [
      {
        phase_id: 'mend',
        phase_order: 1,
        objective: 'Mend it.',
        checkpoints: [{ validation: { command: 'npm test', expects: 'EXIT_CODE_0' }, recovery_strategy: 'RETRY' }],
      },
      { phase_id: 'tell', phase_order: 2, objective: 'Tell of it.' },
    ],
  });
});
