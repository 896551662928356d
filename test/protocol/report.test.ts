/** One meaning, every dialect: a Report is written in each that has one, read back, and what differs is what was listed as lost. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { emptyReport, losses, type Outcome, type Report, type ReportField } from '../../src/core/report.ts';
import * as aop1 from '../../src/protocol/aop1/index.ts';
import * as aop2 from '../../src/protocol/aop2/index.ts';
import { type Conversion, convert, lastReport } from '../../src/protocol/convert.ts';
import { detect, type Found } from '../../src/protocol/detect.ts';
import { REPORTS, type Target } from '../../src/protocol/dialects.ts';
import { PARTS } from '../../src/protocol/parts.ts';
import { anyReport } from '../helpers/arbitrary.ts';
import { example, exampleJson } from '../helpers/documents.ts';

const NOW = '2026-03-01T09:05:00Z';
const CONTEXT = { now: NOW, workspaceRoot: '/ws', sessionId: 'S-1', taskId: 'TASK-001' };

type Dialect = Exclude<Target, 'task' | 'prompt'>;

const write = Object.fromEntries(
  REPORTS.map(({ name, to }) => [
    to,
    (report: Report) => {
      const { output, lost } = PARTS[name].report.write(report, { now: NOW });
      return { text: typeof output === 'string' ? output : JSON.stringify(output), lost };
    },
  ]),
) as Record<Dialect, (report: Report) => { text: string; lost: readonly string[] }>;
const DIALECTS = REPORTS.map(({ to }) => to) as Dialect[];

/** A report that says everything there is to say. */
const full: Report = {
  outcome: 'done',
  summary: '- Null check added\n- 1,204 tests pass',
  task: 'Fix the login form',
  sessionId: 'AOP-SESSION-2026-03-01-001',
  taskId: 'TASK-2026-03-01-001',
  agent: { name: 'emma', provider: 'CODEX', model: 'gpt-5.3-codex' },
  startedAt: '2026-03-01T09:00:00Z',
  completedAt: '2026-03-01T09:05:00Z',
  detailsFile: 'outputs/summary.md',
  handoffFile: 'outputs/handoff.md',
  actions: ['Read src/login.py', 'Added a check'],
  artifacts: [{ path: 'src/login.py', type: 'FILE', hash: 'sha256:ab', status: 'UPDATED', sizeBytes: 840 }],
  checkpoints: [{ id: 'CP-1', status: 'PASS', notes: 'compiles' }],
  tests: { total: 1204, passed: 1204, failed: 0 },
  blockers: ['none of ours'],
  notes: 'Please deploy.',
  warnings: ['slow test'],
  errors: ['one flake'],
  metrics: { files: '1', duration: '00:05:00' },
  cost: { usd: 0.18, tokensInput: 12500, tokensOutput: 3200 },
  confidence: 0.95,
  graphNode: 'report_login_20260301_090500',
  nextStage: 'test-engineer',
};

/** What each README says that its dialect loses. */
const LOST: Record<Dialect, ReportField[]> = {
  aop1: [
    'sessionId',
    'taskId',
    'agent',
    'handoffFile',
    'actions',
    'artifacts',
    'checkpoints',
    'tests',
    'blockers',
    'notes',
    'warnings',
    'errors',
    'cost',
    'confidence',
    'graphNode',
    'nextStage',
  ],
  response: [],
  aof: [
    'task',
    'sessionId',
    'agent',
    'startedAt',
    'actions',
    'artifacts',
    'checkpoints',
    'warnings',
    'errors',
    'metrics',
    'cost',
    'confidence',
    'graphNode',
    'nextStage',
  ],
  output: [],
};

describe.each(DIALECTS)('%s', (dialect) => {
  const readBack = (text: string): Report => {
    const report = lastReport(detect(text));
    if (report === null) throw new Error(`no report in ${text}`);
    return report;
  };

  test('loses of a full report what its README says, and nothing else', () => {
    const { text, lost } = write[dialect](full);
    expect(lost).toEqual(LOST[dialect]);
    expect(losses(full, readBack(text))).toEqual(LOST[dialect]);
  });

  test('whatever a report holds, what is written is valid, and what is read back differs only in what was listed', () => {
    fc.assert(
      fc.property(anyReport, (report) => {
        const { text, lost } = write[dialect](report);
        expect(detect(text).filter((m) => !m.valid)).toEqual([]);
        expect(losses(report, readBack(text)).filter((field) => !lost.includes(field))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});

/** "Four ways to say done": written as, read back as. */
const TABLE: [Outcome, Record<Dialect, Outcome>][] = [
  ['done', { aop1: 'done', response: 'done', aof: 'done', output: 'done' }],
  ['partial', { aop1: 'partial', response: 'partial', aof: 'partial', output: 'partial' }],
  ['needs_review', { aop1: 'partial', response: 'partial', aof: 'needs_review', output: 'needs_review' }],
  ['blocked', { aop1: 'partial', response: 'failed', aof: 'blocked', output: 'blocked' }],
  ['failed', { aop1: 'failed', response: 'failed', aof: 'blocked', output: 'partial' }],
];

describe.each(TABLE)('%s', (outcome, expected) => {
  test.each(DIALECTS)('in %s', (dialect) => {
    const { text, lost } = write[dialect](emptyReport(outcome, 'It is so.'));
    expect(lastReport(detect(text))?.outcome).toBe(expected[dialect]);
    expect(lost.includes('outcome')).toBe(expected[dialect] !== outcome);
  });
});

test('every report converts to every dialect and, but for what is lost, back again', () => {
  for (const from of DIALECTS) {
    for (const to of DIALECTS) {
      const converted = convert(detect(write[from](full).text), to as Target, CONTEXT);
      if ('problem' in converted) throw new Error(converted.problem.message);
      const text = typeof converted.output === 'string' ? converted.output : JSON.stringify(converted.output);
      expect(lastReport(detect(text))?.summary).toBe(full.summary);
      expect(detect(text).every((m: Found) => m.valid)).toBe(true);
    }
  }
});

test('of several reports the last valid one is converted', () => {
  const two = `${write.response(full).text}\n${write.aop1(emptyReport('failed', 'It broke.')).text}`;
  expect(lastReport(detect(two))?.outcome).toBe('failed');
  expect(lastReport(detect(`${two}\n${write.aof(full).text.replace('"done"', '"never"')}`))?.outcome).toBe('failed');
});

test('a v1 prompt that no TASK can hold is refused, not made into one that is invalid', () => {
  const lift = (chars: number): Conversion => convert(detect(`task: ${'x'.repeat(chars)}`), 'task', CONTEXT);
  const lifted = lift(200_000);
  expect('output' in lifted && detect(JSON.stringify(lifted.output)).map((m) => m.valid)).toEqual([true]);
  expect(lift(210_000)).toMatchObject({ problem: { code: 'E_NOT_CONVERTIBLE' } });
});

test('what an agent puts where Baton keeps its own is read only if it has the right shape', () => {
  const response = JSON.parse(write.response(full).text) as { extensions: { x_report: Record<string, unknown> } };
  response.extensions.x_report = { ...response.extensions.x_report, tests: 'all', confidence: '1' };
  expect(lastReport(detect(JSON.stringify(response)))).toMatchObject({
    tests: null,
    confidence: null,
    task: full.task,
  });
});

describe('what a Report has no room for is listed too, by its place in the source', () => {
  const lost = (source: string, to: Target): readonly string[] => {
    const converted = convert(detect(source), to, CONTEXT);
    if ('problem' in converted) throw new Error(converted.problem.message);
    return converted.lost;
  };

  test('of a RESPONSE', () => {
    const response = { ...exampleJson('aop2-response.json'), error_details: { code: 'E_TIMEOUT' } };
    expect(lost(JSON.stringify(response), 'output')).toEqual(
      expect.arrayContaining([
        '/execution_summary/extensions',
        '/checkpoint_results/0/validation_output',
        '/checkpoint_results/0/evidence',
        '/error_details',
        '/timing/duration_seconds',
        '/timing/retries_attempted',
        '/cost_tracking/estimated_cost_usd',
        '/cost_tracking/model_pricing_tier',
        '/progress_log',
        '/extensions',
      ]),
    );
    const aborted = JSON.stringify({ ...response, task_status: { state: 'ABORTED', final_signal: 'ABORTED' } });
    expect(lost(aborted, 'response')).toEqual(
      expect.arrayContaining(['/task_status/state', '/task_status/final_signal']),
    );
  });

  test('of a node and its envelope', () => {
    const source = `${example('output-bug-node.yaml')}\n${example('output-bug-brief.yaml')}`;
    expect(lost(source, 'aof')).toEqual(
      expect.arrayContaining([
        '/data/reproduction_steps',
        '/data/acceptance_criteria',
        '/_handoff/optional_fields',
        'confidence',
      ]),
    );
  });

  test('of an envelope without its node', () => {
    expect(lost(example('output-approval-gate.yaml'), 'response')).toEqual([
      'outcome',
      'agent',
      '/_meta/output_type',
      '/_handoff/required_fields/0',
      '/_handoff/required_fields/1',
      '/_handoff/approval_question',
    ]);
  });

  test('of a block', () => {
    expect(lost('[AOP:SUMMARY] s\n[AOP:NOTE] keep me\n[AOP:STATUS] success', 'response')).toEqual(['/unknown/NOTE']);
  });

  test('of a completion.report', () => {
    const envelope = {
      protocol: 'aof',
      version: 1,
      type: 'completion.report',
      taskId: 'TASK-2026-02-09-057',
      parentTaskId: 'TASK-2026-02-07-001',
      fromAgent: 'a',
      sentAt: '2026-02-09T21:00:00Z',
      payload: { ...exampleJson('aof-completion-payload.json'), mood: 'good' },
    };
    expect(lost(JSON.stringify(envelope), 'response')).toEqual(['agent', '/parentTaskId', '/payload/mood']);
  });
});

test('an aop1 block is never longer than its type of task allows, and says that it was shortened', () => {
  const summary = 'This is a sentence of some length. '.repeat(60).trim();
  for (const [taskType, limit] of Object.entries(aop1.SUMMARY_CHARS)) {
    const { text, lost } = aop1.fromReport(emptyReport('done', summary), taskType as aop1.TaskType);
    const written = aop1.parseAOPOutput(text).summary ?? '';
    expect(written.length).toBeLessThanOrEqual(limit);
    expect(written).toMatch(/\.$/);
    expect(lost).toContain('summary');
  }
});

test('a RESPONSE is never longer than the contract allows', () => {
  const huge = { ...full, actions: Array.from({ length: 5000 }, () => 'x'.repeat(500)), summary: '🙂'.repeat(400_000) };
  const { response, lost } = aop2.fromReport(huge);
  const found = detect(JSON.stringify(response));
  expect(found.map((m) => m.valid)).toEqual([true]);
  expect(lost).toEqual(expect.arrayContaining(['actions', 'summary']));
});
