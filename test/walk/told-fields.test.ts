/** Fields that are there to be read by the agent are in its prompt; a head that is not ours makes no message of ours. */
import { expect, test } from 'vitest';
import { decodeAop2 } from '../../src/protocol/aop2/decode.ts';
import type { TaskMessage } from '../../src/protocol/aop2/schema.ts';
import { detect } from '../../src/protocol/detect.ts';
import { agentPrompt } from '../../src/protocol/prompt.ts';

const FULL = {
  aop_version: '2.0.2-C',
  schema_version: '2.0.2',
  protocol_family: 'AOP',
  message_type: 'TASK',
  session: { session_id: 'said-1', created_at: '2026-03-04T05:06:07Z', orchestrator: 'said-2', origin: 'said-3' },
  target: { agent_name: 'said-4', role: 'EXECUTOR', provider: 'OTHER', model: 'none' },
  task: {
    task_id: 'said-5',
    attempt: 7,
    objective: 'said-6',
    category: 'TESTING',
    complexity: 'LOW',
    environment: { workspace_root: '/said-7', os: 'said-8', shell: 'said-9', git_branch: 'said-10' },
    inputs: [{ type: 'said-11', path: 'said-12', description: 'said-13' }],
    expected_outputs: [
      { type: 'said-14', path: 'said-15', description: 'said-16', validation: { command: 'said-17' } },
    ],
  },
  phases: [
    {
      phase_id: 'said-18',
      label: 'said-19',
      objective: 'said-20',
      checkpoints: [
        {
          checkpoint_id: 'said-21',
          description: 'said-22',
          expected_artifacts: [{ type: 'said-23', path: 'said-24', status: 'DELETED' }],
          validation: { command: 'said-25' },
          status: 'RECOVERED',
        },
      ],
    },
  ],
  orchestration_metadata: {
    initiator: 'said-26',
    spec_author: 'said-27',
    tags: ['said-28', 'said-29'],
    notes: 'said-30\nand on',
  },
};

test('what a TASK says to its agent is in the prompt', () => {
  const { value, valid, problems } = decodeAop2(FULL, JSON.stringify(FULL));
  expect([valid, problems]).toEqual([true, []]);
  const prompt = agentPrompt(value as TaskMessage);
  const told = Array.from({ length: 30 }, (_, i) => `said-${i + 1}`);
  expect(told.filter((word) => !new RegExp(`${word}\\b`).test(prompt))).toEqual([]);
  for (const word of ['2026-03-04T05:06:07Z', 'Attempt: 7', 'TESTING', 'DELETED', 'RECOVERED so far', 'said-30 and on'])
    expect(prompt).toContain(word);
});

test('a message with another head is no message of ours', () => {
  const kinds = (change: object): (string | null)[] =>
    detect(JSON.stringify({ ...FULL, ...change })).map(({ kind, valid }) => (valid ? kind : null));
  expect(kinds({})).toEqual(['TASK']);
  for (const field of ['aop_version', 'schema_version', 'protocol_family', 'message_type'])
    expect(kinds({ [field]: undefined }), field).not.toContain('TASK');
  expect(kinds({ protocol_family: 'XOP' })).not.toContain('TASK');
  expect(kinds({ message_type: 'RESPONSE' })).not.toContain('TASK');
});
