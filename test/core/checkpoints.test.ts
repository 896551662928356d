/** What a run that goes on after another one need not do again. */
import { expect, test } from 'vitest';
import { checkpointsOf } from '../../src/core/checkpoints.ts';
import type { StoredRecord } from '../../src/core/store.ts';

const record = (seq: number, ...details: Record<string, unknown>[]): StoredRecord => ({
  seq,
  at: seq,
  session: 's',
  by: { kind: 'runtime', name: 'baton' },
  about: [],
  changes: [],
  events: details.map((detail) => ({ type: 'run.checkpoint', task: 't', run: 't-r1', detail })),
});

test('the latest word on each, in the order in which they were first reached', () => {
  const found = checkpointsOf([
    record(1, { checkpoint: 'CP-1', phase: 'A', status: 'FAIL' }),
    record(2, { checkpoint: 'CP-2', phase: 'B', status: 'PASS' }, { checkpoint: 'CP-3', status: 'SKIP' }),
    record(3, { checkpoint: 'CP-1', phase: 'A', status: 'RECOVERED' }),
  ]);
  expect([...found]).toEqual([
    ['CP-1', { status: 'RECOVERED', phase: 'A', finding: '', looked: true }],
    ['CP-2', { status: 'PASS', phase: 'B', finding: '', looked: true }],
    ['CP-3', { status: 'SKIP', phase: null, finding: '', looked: true }],
  ]);
});

test('one that passed and then failed has not passed', () => {
  const found = checkpointsOf([
    record(1, { checkpoint: 'CP-1', phase: 'A', status: 'PASS' }),
    record(2, { checkpoint: 'CP-1', phase: 'A', status: 'FAIL' }),
  ]);
  expect(found.get('CP-1')?.status).toBe('FAIL');
});

test('what is none is passed by', () => {
  const other = {
    ...record(1),
    events: [{ type: 'run.phase', detail: { checkpoint: 'X', status: 'PASS' } }, { type: 'run.checkpoint' }],
  };
  expect(
    checkpointsOf([other, record(2, { checkpoint: 1, status: 'PASS' }, { checkpoint: 'X', status: 'GREAT' })]).size,
  ).toBe(0);
  expect(checkpointsOf([]).size).toBe(0);
});
