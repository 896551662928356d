import { describe, expect, test } from 'vitest';
import { type Aop1Report, parseAOPOutput, readMetrics } from '../../../src/protocol/aop1/decode.ts';
import { example } from '../../helpers/documents.ts';
import { codes, kinds, only } from '../../helpers/found.ts';

const block = (parts: Record<string, string>): string =>
  Object.entries({
    START: ' 2026-03-01T09:00:00Z',
    TASK: ' Count',
    SUMMARY: '\n- 17 open',
    DETAILS_FILE: ' out.json',
    STATUS: ' success',
    END: ' 2026-03-01T09:01:00Z',
    ...parts,
  })
    .filter(([, value]) => value !== '')
    .map(([marker, value]) => `[AOP:${marker}]${value}`)
    .join('\n');

const value = (text: string): Aop1Report => only(text).value as Aop1Report;

describe('the examples of the document', () => {
  test.each(['aop1-search.txt', 'aop1-analysis.txt', 'aop1-test.txt'])('%s is a report without a flaw', (name) => {
    const found = only(example(name));
    expect([found.dialect, found.kind, found.valid, found.problems]).toEqual(['aop1', 'report', true, []]);
  });

  test.each(['aop1-template.txt', 'aop1-prompt.txt', 'aop1-without.txt', 'aop1-details.jsonc'])(
    '%s is none',
    (name) => {
      expect(only(example(name)).dialect).toBe('unstructured');
    },
  );
});

describe('which block counts', () => {
  test('the last complete one', () => {
    expect(value(`${block({})}\n${block({ SUMMARY: '\n- 18 open' })}`).summary).toBe('- 18 open');
  });

  test('a complete one before one that was cut off, with a warning', () => {
    const found = only(`${block({})}\n\n[AOP:START] 2026-03-01T10:00:00Z\n[AOP:TASK] Close them`);
    expect((found.value as Aop1Report).task).toBe('Count');
    expect(codes(found)).toEqual(['warning E_CUT_OFF ']);
  });

  test('not a template that follows it, nor one before it', () => {
    expect(value(`${example('aop1-prompt.txt')}\n${block({})}\n${example('aop1-template.txt')}`).task).toBe('Count');
  });

  test('a repeated marker begins a new block even without START or END', () => {
    expect(value('[AOP:SUMMARY] one\n[AOP:STATUS] failure\n[AOP:SUMMARY] two\n[AOP:STATUS] success')).toMatchObject({
      summary: 'two',
      status: 'success',
    });
  });

  test('a block without END is over where START comes, and one with END before any marker', () => {
    expect(value(`[AOP:START] 2026-03-01T08:00:00Z\n[AOP:METRICS] a: 1\n${block({})}`).metrics).toEqual({});
    const found = only(`${block({})}\n[AOP:METRICS] a: 1`);
    expect([(found.value as Aop1Report).metrics, codes(found)]).toEqual([{}, ['warning E_CUT_OFF ']]);
  });

  test('a cut-off block before the complete one is no finding', () => {
    expect(only(`[AOP:START] 2026-03-01T08:00:00Z\n[AOP:TASK] Try\n${block({})}`).problems).toEqual([]);
  });

  test('other markers that come twice are all kept', () => {
    const found = only(
      block({ DETAILS_FILE: ' out.json\n[AOP:METRICS] a: 1\n[AOP:METRICS] b: 2\n[AOP:NOTE] one\n[AOP:NOTE] two' }),
    );
    expect(found.value).toMatchObject({
      metrics: { a: '1', b: '2' },
      unknown: { NOTE: 'one\ntwo' },
      summary: '- 17 open',
    });
    const many = Array.from({ length: 20 }, (_, i) => `[AOP:M${i}] v`).join('\n');
    expect(only(`${many}\n${block({ START: '' })}`).problems.filter((p) => p.code === 'E_FIELD_UNKNOWN')).toHaveLength(
      20,
    );
  });

  test('a template value within a real block counts as missing', () => {
    const found = only(block({ END: ' {timestamp}', STATUS: ' success|failure|partial' }));
    expect(found.value).toMatchObject({ status: null, timestamps: { end: null } });
    expect(codes(found)).toEqual(['error E_SCHEMA_VALIDATION /status', 'warning E_FIELD_MISSING /timestamps/end']);
  });

  test('a summary in braces that is JSON is a real value', () => {
    expect(value(block({ SUMMARY: '\n{"files": 3}' })).summary).toBe('{"files": 3}');
  });
});

describe('where a value ends', () => {
  test('the summary at the next marker at a line start, and at no other', () => {
    expect(value(block({ SUMMARY: '\n- see [AOP:STATUS] failure\n\n- two' })).summary).toBe(
      '- see [AOP:STATUS] failure\n\n- two',
    );
  });

  test('the summary at the end of the fence its block stands in', () => {
    const text = 'Report:\n```\n[AOP:STATUS] success\n[AOP:SUMMARY]\n- done\n```\nBye.';
    expect(value(text).summary).toBe('- done');
  });

  test('a fence is closed by its own kind, and by nothing that opens one', () => {
    expect(value('~~~\n[AOP:STATUS] success\n[AOP:SUMMARY]\n- a\n```json\n- b\n~~~\nBye.').summary).toBe(
      '- a\n```json\n- b',
    );
    expect(value('```\n[AOP:STATUS] success\n[AOP:SUMMARY]\n- a\n```json\n- b\n```\nBye.').summary).toBe(
      '- a\n```json\n- b',
    );
  });

  test('a fence within a summary is part of it', () => {
    expect(value(block({ SUMMARY: '\n- do\n```sh\nnpm test\n```' })).summary).toBe('- do\n```sh\nnpm test\n```');
  });

  test('the summary before another message', () => {
    const text = `[AOP:STATUS] success\n[AOP:SUMMARY]\n- done\n\n${example('output-bug-brief.yaml')}`;
    expect(kinds(text)).toEqual(['aop1 report', 'output OUTPUT']);
  });

  test('an unknown marker ends the value before it and is kept, with a warning', () => {
    const found = only(block({ SUMMARY: '\n- done\n[AOP:NOTES] hello' }));
    expect(found.value).toMatchObject({ summary: '- done', unknown: { NOTES: 'hello' } });
    expect(codes(found)).toEqual(['warning E_FIELD_UNKNOWN /unknown/NOTES']);
  });

  test('JSON that is nobody’s is part of the summary', () => {
    expect(value(block({ SUMMARY: '\n{\n  "a": 1\n}\nthat was it' })).summary).toBe('{\n  "a": 1\n}\nthat was it');
  });
});

describe('what a marker looks like', () => {
  test('indented, in bold or in colour, but not behind other text', () => {
    expect(value('  \x1b[1m**[AOP:SUMMARY]**\x1b[0m all well\n**[AOP:STATUS] success**')).toMatchObject({
      summary: 'all well',
      status: 'success',
    });
    expect(value('**[AOP:TASK] Count**\n**[AOP:SUMMARY]** all well\n\t[AOP:STATUS] success')).toMatchObject({
      task: 'Count',
      summary: 'all well',
      status: 'success',
    });
    expect(only('> [AOP:STATUS] success\n- [AOP:SUMMARY] x').dialect).toBe('unstructured');
  });

  test('a status may be decorated and explained', () => {
    expect(value(block({ STATUS: ' **Partial** - two tests are red' })).status).toBe('partial');
    expect(only(block({ STATUS: ' successful' })).valid).toBe(false);
  });

  test.each(['success or failure', 'success | failure', 'success/failure/partial', 'partial failure'])(
    '%s is no status',
    (status) => {
      expect(only(block({ STATUS: ` ${status}` })).valid).toBe(false);
    },
  );
});

describe('findings', () => {
  test('SUMMARY and STATUS missing are errors', () => {
    expect(codes(only(block({ SUMMARY: '' })))).toEqual(['error E_SCHEMA_VALIDATION /summary']);
    expect(codes(only(block({ STATUS: '' })))).toEqual(['error E_SCHEMA_VALIDATION /status']);
  });

  test('START, TASK, DETAILS_FILE and END missing are warnings', () => {
    expect(codes(only('[AOP:SUMMARY] x\n[AOP:STATUS] success'))).toEqual([
      'warning E_FIELD_MISSING /timestamps/start',
      'warning E_FIELD_MISSING /task',
      'warning E_FIELD_MISSING /detailsFile',
      'warning E_FIELD_MISSING /timestamps/end',
    ]);
  });

  test('characters are counted as characters, not as UTF-16 units', () => {
    expect(only(block({ SUMMARY: `\n${'🙂'.repeat(500)}` })).problems).toEqual([]);
    expect(codes(only(block({ SUMMARY: `\n${'🙂'.repeat(501)}` })))).toEqual([
      'warning E_PAYLOAD_SIZE_WARNING /summary',
    ]);
    expect(codes(only(block({ SUMMARY: `\n${'x'.repeat(601)}` })))).toEqual(['error E_SCHEMA_VALIDATION /summary']);
  });

  test.each([
    ['a stack trace', 'It failed\n    at parse (src/a.ts:45:3)\n'],
    ['a log', '2026-03-01 09:00:00 start\n2026-03-01 09:00:01 work\n2026-03-01 09:00:02 end'],
    ['a code snippet', '```\na\nb\nc\nd\ne\nf\n```'],
    ['the contents of a file', "import a from 'a';\nconst b = 1;\nlet c;\nfoo(b);\nbar(c);\nexport { b };"],
  ])('%s in the summary', (what, summary) => {
    const { problems } = only(block({ SUMMARY: `\n${summary}` }));
    expect(problems.map((p) => p.code)).toEqual(['E_CHECKLIST']);
    expect(problems[0]?.message).toContain(what);
  });

  test('prose is no stack trace, and bullets are no code', () => {
    expect(only(block({ SUMMARY: '\nat 10:30 the build broke' })).problems).toEqual([]);
    expect(only(block({ SUMMARY: `\n${'- one thing;\n'.repeat(5)}` })).problems).toEqual([]);
  });

  test('more than five bullet points are too many', () => {
    const [problem] = only(block({ SUMMARY: `\n${'- one thing;\n'.repeat(6)}` })).problems;
    expect(problem).toMatchObject({ severity: 'warning', code: 'E_CHECKLIST', path: '/summary' });
    expect(problem?.message).toBe('expected at most 5 bullet points, got 6');
  });

  test('limits are what may be, not what may not', () => {
    expect(only(block({ TASK: ` ${'x'.repeat(50)}` })).problems).toEqual([]);
    expect(codes(only(block({ SUMMARY: `\n${'x'.repeat(600)}` })))).toEqual([
      'warning E_PAYLOAD_SIZE_WARNING /summary',
    ]);
    expect(value(block({ DETAILS_FILE: ' None' })).detailsFile).toBe(null);
  });

  test('two lines of a log are no log; a fence that is not closed, and code with blank lines in it, are what they are', () => {
    expect(only(block({ SUMMARY: '\n09:00:00 start\n09:00:01 end' })).problems).toEqual([]);
    expect(only(block({ SUMMARY: '\n```\na\nb\nc\nd\ne\nf' })).problems).toHaveLength(1);
    expect(only(block({ SUMMARY: '\nlet a;\nlet b;\n\nlet c;\nlet d;\n\nlet e;\nlet f;' })).problems).toHaveLength(1);
  });

  test('five lines of code are no finding', () => {
    expect(only(block({ SUMMARY: '\n```\na\nb\nc\nd\ne\n```' })).problems).toEqual([]);
  });
});

test('metrics are split at commas before a key, so numbers, times and addresses survive', () => {
  expect(
    readMetrics('lines: 1,234, started: 12:30:00, at: 10:00, 12:30, url: http://x/?a,b, 95th_percentile: 3s'),
  ).toEqual({
    lines: '1,234',
    started: '12:30:00',
    at: '10:00, 12:30',
    url: 'http://x/?a,b',
    '95th_percentile': '3s',
  });
  expect(readMetrics("time (ms): 5, 200: 7, **files**: 3, user's: 1, a:1,b:2, empty: ")).toEqual({
    'time (ms)': '5',
    '200': '7',
    '**files**': '3',
    "user's": '1',
    a: '1',
    b: '2',
  });
  expect(readMetrics('on: Mon, Jan 5 12:30, x: 1')).toEqual({ on: 'Mon, Jan 5 12:30', x: '1' });
  expect(readMetrics('no pairs here')).toEqual({});
  expect(Object.keys(readMetrics('__proto__: 1'))).toEqual(['__proto__']);
});

describe('parseAOPOutput', () => {
  test('has the document’s shape for a text without a report', () => {
    expect(parseAOPOutput('nothing')).toEqual({
      task: null,
      summary: null,
      detailsFile: null,
      metrics: {},
      status: 'unknown',
      timestamps: { start: null, end: null },
    });
  });

  test('drops colours', () => {
    expect(parseAOPOutput('\x1b[32m[AOP:STATUS] success\x1b[0m\n[AOP:SUMMARY] \x1b[1mx\x1b[0m')).toMatchObject({
      status: 'success',
      summary: 'x',
    });
  });

  test('does not have its faults', () => {
    const text =
      '[AOP:STATUS] success\n[AOP:DETAILS_FILE] out/my file.json\n[AOP:METRICS] lines: 1,234\n[AOP:SUMMARY]\n- last';
    expect(parseAOPOutput(text)).toMatchObject({
      detailsFile: 'out/my file.json',
      metrics: { lines: '1,234' },
      summary: '- last',
    });
    expect(parseAOPOutput(block({ SUMMARY: `\n${'x'.repeat(700)}` })).summary).toHaveLength(600);
  });
});
