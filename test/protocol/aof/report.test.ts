import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyReport, losses, OUTCOMES, type Report } from '../../../src/core/index.ts';
import { decodeAofValue, fromReport, NO_AGENT, NO_TASK, toReport } from '../../../src/protocol/aof/index.ts';
import { anyText, completion, envelope, handoff, inHandoff, NOW, statusUpdate, TASK } from './samples.ts';

const context = { now: NOW };
const bare = { type: null, hash: null, status: null, sizeBytes: null };

/** All that a completion.report has words for. */
const sayable: Report = {
  ...emptyReport('partial', 'Implemented core logic; needs QA review.'),
  taskId: TASK,
  agent: { name: 'swe-backend', provider: null, model: null },
  completedAt: '2026-02-09T21:10:00.000Z',
  detailsFile: 'outputs/summary.md',
  handoffFile: 'outputs/handoff.md',
  artifacts: [{ path: 'src/foo.ts', ...bare }],
  tests: { total: 120, passed: 120, failed: 0 },
  blockers: ['Awaiting API key'],
};

describe('a completion.report', () => {
  it('becomes a Report', () => {
    expect(toReport(envelope('completion.report', completion))).toEqual(sayable);
  });

  it('of which only the outcome is known leaves the rest open, but for its sender and task', () => {
    expect(toReport(envelope('completion.report', { outcome: 'done' }))).toEqual({
      ...emptyReport('done', ''),
      taskId: TASK,
      agent: { name: 'swe-backend', provider: null, model: null },
    });
  });

  it('that leaves a count of its tests open says nothing of its tests', () => {
    const read = (tests: object) => toReport(envelope('completion.report', { outcome: 'done', tests }))?.tests;
    const whole = { total: 3, passed: 2, failed: 0 };
    expect(read(whole)).toEqual(whole);
    for (const part of [{ total: 3 }, { total: 3, passed: 2 }, { total: 3, failed: 0 }, { passed: 2, failed: 0 }, {}]) {
      expect(read(part)).toBeNull();
    }
  });

  it('has its summary in the first paragraph of its notes', () => {
    const read = (notes: string) => toReport(envelope('completion.report', { outcome: 'done', notes }));
    expect(read('\n\nShort.\r\n\r\nLong.\n\nLonger.')).toMatchObject({ summary: 'Short.', notes: 'Long.\n\nLonger.' });
    expect(read('One\ntwo\n\n')).toMatchObject({ summary: 'One\ntwo', notes: null });
  });

  it('is the only message that is one; an invalid one is none', () => {
    for (const value of [
      envelope('status.update', statusUpdate),
      inHandoff(handoff),
      envelope('completion.report', { outcome: 'failed' }),
      { outcome: 'done' },
      null,
      [],
      'done',
    ]) {
      expect(toReport(value)).toBeNull();
    }
  });

  it('is found in a run_result.json too', () => {
    expect(toReport({ runId: 'run-1', ...completion })).toEqual(sayable);
    expect(toReport(completion)).toBeNull(); // names no run
  });
});

describe('a Report', () => {
  it('within what aof can say loses nothing', () => {
    const { envelope: written, lost } = fromReport(sayable, context);
    expect(lost).toEqual([]);
    expect(written).toEqual(envelope('completion.report', completion));
  });

  it('with notes besides its summary keeps both', () => {
    expect(fromReport({ ...sayable, notes: 'Two\n\nparagraphs' }, context).lost).toEqual([]);
  });

  it.each(OUTCOMES)('that says %s', (outcome) => {
    const { envelope: written, lost } = fromReport({ ...sayable, outcome }, context);
    expect(written.payload.outcome).toBe(outcome === 'failed' ? 'blocked' : outcome);
    expect(lost).toEqual(outcome === 'failed' ? ['outcome'] : []);
  });

  it('of a task or by an agent that cannot be named stands under a placeholder, which is read as none', () => {
    const unnamed = fromReport(emptyReport('done', 'x'), context);
    expect(unnamed).toMatchObject({ lost: [], envelope: { taskId: NO_TASK, fromAgent: NO_AGENT } });
    expect(toReport(unnamed.envelope)).toMatchObject({ taskId: null, agent: null });
    expect(fromReport({ ...sayable, taskId: 'TASK-001' }, context)).toMatchObject({
      lost: ['taskId'],
      envelope: { taskId: NO_TASK },
    });
  });

  it('takes task, sender and message id from its context, where it leaves them open without a loss', () => {
    const given = { now: NOW, taskId: TASK, fromAgent: 'emma', messageId: 'm-1' };
    expect(fromReport(emptyReport('done', 'x'), given)).toMatchObject({
      lost: [],
      envelope: { taskId: TASK, fromAgent: 'emma', messageId: 'm-1' },
    });
    expect(fromReport({ ...sayable, taskId: 'TASK-001' }, given).lost).toEqual(['taskId']);
    expect(fromReport(sayable, given).envelope.payload.agentId).toBe('swe-backend');
  });

  it('names what aof has no words for', () => {
    const rich: Report = {
      ...sayable,
      agent: { name: 'swe-backend', provider: 'CODEX', model: 'm' },
      artifacts: [{ path: 'a', type: 'code', hash: 'h', status: 'CREATED', sizeBytes: 1 }],
      actions: ['did'],
      metrics: { a: '1' },
      cost: { usd: 1, tokensInput: null, tokensOutput: null },
      confidence: 0.9,
    };
    expect(fromReport(rich, context).lost).toEqual(['agent', 'actions', 'artifacts', 'metrics', 'cost', 'confidence']);
  });

  it('that is too long is cut where that is honest, and says so', () => {
    const long: Report = {
      ...sayable,
      summary: '🙂'.repeat(20_000),
      blockers: Array(21).fill('b'.repeat(300)),
      artifacts: [
        { path: 'p'.repeat(257), ...bare },
        { path: 'gone.ts', ...bare, status: 'DELETED' },
        ...Array.from({ length: 60 }, (_, i) => ({ path: `f${i}`, ...bare })),
      ],
    };
    const { envelope: written, lost } = fromReport(long, context);
    expect(lost).toEqual(['summary', 'artifacts', 'blockers']);
    expect(written.payload.notes).toBe(`${'🙂'.repeat(9_999)}…`);
    expect(written.payload.blockers).toEqual(Array(20).fill(`${'b'.repeat(255)}…`));
    expect(written.payload.deliverables).toEqual(Array.from({ length: 50 }, (_, i) => `f${i}`)); // no half paths, no deleted files
  });
});

const or = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });
const someText = fc.oneof(
  anyText,
  fc.nat(12_000).map((n) => 'x🙂\n\n'.repeat(n).slice(0, n)),
  fc.constantFrom(TASK, NOW),
);
const number = fc.oneof(fc.nat(5), fc.constant(-0), fc.double(), fc.integer());
const anyReport: fc.Arbitrary<Report> = fc.record({
  outcome: fc.constantFrom(...OUTCOMES),
  summary: someText,
  task: or(someText),
  sessionId: or(someText),
  taskId: or(someText),
  agent: or(fc.record({ name: someText, provider: or(someText), model: or(someText) })),
  startedAt: or(someText),
  completedAt: or(someText),
  detailsFile: or(someText),
  handoffFile: or(someText),
  actions: fc.array(someText),
  artifacts: fc.array(
    fc.record({
      path: someText,
      type: or(someText),
      hash: or(someText),
      status: or(fc.constantFrom('CREATED' as const, 'DELETED' as const)),
      sizeBytes: or(number),
    }),
    { maxLength: 60, size: '+1' },
  ),
  checkpoints: fc.constant([]),
  tests: or(fc.record({ total: number, passed: number, failed: number })),
  blockers: fc.array(someText, { maxLength: 30, size: '+1' }),
  notes: or(someText),
  warnings: fc.array(someText),
  errors: fc.array(someText),
  metrics: fc.dictionary(someText, someText),
  cost: fc.constant(null),
  confidence: or(number),
  graphNode: or(someText),
  nextStage: or(someText),
});

it('counts that JSON cannot hold are a loss, not a surprise', () => {
  const { envelope: written, lost } = fromReport({ ...sayable, tests: { total: -0, passed: 0, failed: 0 } }, context);
  expect([written.payload.tests, lost]).toEqual([{ total: 0, passed: 0, failed: 0 }, ['tests']]);
  expect(fromReport({ ...sayable, tests: { total: 1, passed: 1, failed: 1 } }, context).lost).toEqual(['tests']);
});

describe('whatever a Report holds', () => {
  it('the envelope is valid, and what is lost is exactly what reads back differently', () => {
    fc.assert(
      fc.property(anyReport, (report) => {
        const { envelope: written, lost } = fromReport(report, context);
        expect(decodeAofValue(written).problems).toEqual([]);
        const back = toReport(JSON.parse(JSON.stringify(written)));
        expect(back && losses(report, back)).toEqual(lost);
      }),
    );
  });

  it('writing it a second time loses nothing more', () => {
    fc.assert(
      fc.property(anyReport, (report) => {
        const back = toReport(fromReport(report, context).envelope);
        if (back === null) throw new Error('unreadable');
        const again = fromReport(back, context);
        expect(again.lost).toEqual([]);
      }),
    );
  });
});
