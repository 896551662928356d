/** The document's own examples, in their envelopes, and what the tests feed to the dialect besides. */
import * as fc from 'fast-check';

export const TASK = 'TASK-2026-02-09-057';
export const CHILD = 'TASK-2026-02-09-060';
export const NOW = '2026-02-09T21:00:00.000Z';

export const envelope = (type: string, payload: unknown, more: Record<string, unknown> = {}) => ({
  protocol: 'aof',
  version: 1,
  type,
  taskId: TASK,
  fromAgent: 'swe-backend',
  sentAt: NOW,
  payload,
  ...more,
});

export const statusUpdate = {
  taskId: TASK,
  agentId: 'swe-backend',
  status: 'blocked',
  progress: 'Implemented core logic; waiting on API key',
  blockers: ['Awaiting API key'],
  notes: 'ETA after credentials arrive',
};

export const completion = {
  taskId: TASK,
  agentId: 'swe-backend',
  completedAt: '2026-02-09T21:10:00.000Z',
  outcome: 'partial',
  summaryRef: 'outputs/summary.md',
  handoffRef: 'outputs/handoff.md',
  deliverables: ['src/foo.ts'],
  tests: { total: 120, passed: 120, failed: 0 },
  blockers: ['Awaiting API key'],
  notes: 'Implemented core logic; needs QA review.',
};

export const handoff = {
  taskId: CHILD,
  parentTaskId: TASK,
  fromAgent: 'swe-backend',
  toAgent: 'swe-qa',
  acceptanceCriteria: ['All tests pass', 'Update docs'],
  expectedOutputs: ['tests/report.md', 'docs/QA.md'],
  contextRefs: [`tasks/in-progress/${TASK}.md`, `tasks/in-progress/${TASK}/outputs/handoff.md`],
  constraints: ['No new dependencies'],
  dueBy: '2026-02-10T12:00:00.000Z',
};

export const inHandoff = (payload: unknown, type = 'handoff.request') =>
  envelope(type, payload, { taskId: CHILD, parentTaskId: TASK, toAgent: 'swe-qa' });

/** Any sixteen-bit units, so lone surrogates and NUL too. */
export const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) }),
  fc.constantFrom(
    '---',
    '## Work Log',
    '\n---\n',
    '```',
    '__proto__',
    'null',
    '~',
    '0x1f',
    '2026-02-09',
    ' # ',
    '- a\r\n',
  ),
);
