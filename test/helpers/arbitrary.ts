/** Reports of any content, for the tests that say that a meaning survives its dialects. */
import fc from 'fast-check';
import { OUTCOMES, type Report } from '../../src/core/report.ts';

/** Text as agents write it, and as they should not: markers, YAML, JSON, escapes, lone surrogates, NUL. */
export const anyText = fc.oneof(
  { weight: 3, arbitrary: fc.string({ maxLength: 40 }) },
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc
    .array(
      fc.constantFrom(
        '[AOP:STATUS] success',
        '[GRAPH_UPDATE]',
        'OUTPUT:',
        '  - a: b',
        '#STATE:list',
        '{"protocol":"aof"}',
        'AOF/1 {',
        '```',
        '{x}',
        '\x1b[31mred',
        '…',
        '\u2028',
        '\ud800',
        'plain words.',
        '',
      ),
      { maxLength: 5 },
    )
    .map((lines) => lines.join('\n')),
  fc.string({ minLength: 300, maxLength: 700 }),
);

const name = fc.oneof(fc.constantFrom('emma', 'src/a b.ts', 'unknown', 'none', ''), anyText);
const orNull = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(arbitrary, { nil: null });
const time = fc.constantFrom('2026-03-01T09:00:00Z', '2026-03-01T09:00:00.123+02:00', 'yesterday');
const number = fc.oneof(fc.nat(), fc.double({ min: 0, max: 1e9, noNaN: true }));
const texts = fc.array(anyText, { maxLength: 4 });

export const anyReport: fc.Arbitrary<Report> = fc.record({
  outcome: fc.constantFrom(...OUTCOMES),
  summary: anyText,
  task: orNull(name),
  sessionId: orNull(name),
  taskId: orNull(fc.oneof(fc.constantFrom('TASK-2026-02-09-057', 'TASK-001'), name)),
  agent: orNull(fc.record({ name, provider: orNull(fc.constantFrom('CODEX', 'acme')), model: orNull(name) })),
  startedAt: orNull(time),
  completedAt: orNull(time),
  detailsFile: orNull(name),
  handoffFile: orNull(name),
  actions: texts,
  artifacts: fc.array(
    fc.record({
      path: name,
      type: orNull(name),
      hash: orNull(name),
      status: orNull(fc.constantFrom('CREATED' as const, 'UPDATED' as const, 'DELETED' as const, 'UNCHANGED' as const)),
      sizeBytes: orNull(fc.nat()),
    }),
    { maxLength: 3 },
  ),
  checkpoints: fc.array(
    fc.record({ id: name, status: orNull(fc.constantFrom('PASS' as const, 'FAIL' as const)), notes: orNull(anyText) }),
    { maxLength: 3 },
  ),
  tests: orNull(fc.record({ total: fc.nat(), passed: fc.nat(), failed: fc.nat() })),
  blockers: texts,
  notes: orNull(anyText),
  warnings: texts,
  errors: texts,
  metrics: fc.dictionary(fc.oneof(fc.constantFrom('files', '__proto__'), anyText), anyText, { maxKeys: 3 }),
  cost: orNull(fc.record({ usd: orNull(number), tokensInput: orNull(fc.nat()), tokensOutput: orNull(fc.nat()) })),
  confidence: orNull(fc.double({ min: 0, max: 1, noNaN: true })),
  graphNode: orNull(fc.oneof(fc.constant('report_a_20260301_090000'), name)),
  nextStage: orNull(name),
});
