import { describe, expect, test } from 'vitest';
import { emptyReport } from '../../../src/core/report.ts';
import { checkSummary, plainLines } from '../../../src/protocol/aop1/checklist.ts';
import { fromReport } from '../../../src/protocol/aop1/encode.ts';
import { taskTypeOf } from '../../../src/protocol/aop1/limits.ts';
import { readDetails, writeDetails } from '../../../src/protocol/aop1/schema.ts';
import { cpuMs } from '../../helpers/cpu.ts';
import { kinds, only } from '../../helpers/found.ts';

describe('a summary that looks like something else stays a summary', () => {
  test.each([
    '[AOP:STATUS] failure',
    '[GRAPH_UPDATE]',
    'OUTPUT:\n  _meta: {}',
    '{"protocol":"aof"}',
    '#STATE:list',
    '```',
    '~~~',
    'AOF/1 {}',
    '{your findings}',
  ])('%j', (summary) => {
    const { text } = fromReport(emptyReport('done', summary));
    expect(kinds(text)).toEqual(['aop1 report']);
    expect(only(text)).toMatchObject({ valid: true, value: { status: 'success' } });
    expect((only(text).value as { summary: string }).summary).toContain(
      summary.split('\n')[0]?.replace('[AOP:STATUS]', '(AOP:STATUS)'),
    );
  });
});

test('the type of a task is what its category stands for, unless it says otherwise', () => {
  const types = [
    'ANALYSIS',
    'PLANNING',
    'REVIEW',
    'DEBUGGING',
    'CODE_GENERATION',
    'CODE_REFACTORING',
    'TESTING',
    'DOCUMENTATION',
    'OTHER',
    'constructor',
  ];
  expect(types.map((category) => taskTypeOf(category))).toEqual([
    'analysis',
    'analysis',
    'analysis',
    'analysis',
    'code',
    'code',
    'test',
    'documentation',
    'other',
    'other',
  ]);
  expect([taskTypeOf('TESTING', 'build'), taskTypeOf('TESTING', 'toString'), taskTypeOf('TESTING', 7)]).toEqual([
    'build',
    'test',
    'test',
  ]);
});

test('a summary keeps out what the checklist forbids; a line that is made to be slow to look at is not', () => {
  const text = 'First.\n    at f (/a/b.ts:1:2)\n2026-11-16 05:00 INFO x\n```\ncode\n```\nconst a = 1;\nLast.';
  expect(plainLines(text)).toEqual(['First.', 'Last.']);
  const spent = cpuMs(() => {
    for (const piece of ['(/', ':1', ' (', '/.']) checkSummary(`at ${piece.repeat(30_000)}x`);
  });
  expect(spent).toBeLessThan(1000);
});

describe('a details file', () => {
  const details = {
    aop_version: '1.0.0' as const,
    agent_id: 'a',
    task: 't',
    timestamp: '2026-02-05T10:30:00Z',
    results: { files: [1] },
    more: 1,
  };

  test('is written and read', () => expect(readDetails(writeDetails(details))).toEqual({ ok: true, details }));

  test('that is none says why', () => {
    expect(readDetails('{')).toMatchObject({ ok: false, problems: [{ code: 'E_PARSE_FAILURE' }] });
    expect(readDetails(JSON.stringify({ ...details, results: 1 }))).toMatchObject({
      ok: false,
      problems: [{ path: '/results' }],
    });
  });
});
