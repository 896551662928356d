import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AOF_TYPES, asEnvelope, decodeAof, decodeAofValue } from '../../../src/protocol/aof/index.ts';
import { anyText, CHILD, completion, envelope, handoff, inHandoff, statusUpdate, TASK } from './samples.ts';

const MB10 = 10 * 1024 * 1024;
const decode = (value: unknown) => decodeAof(JSON.stringify(value));
const paths = (value: unknown, severity = 'error') =>
  decode(value)
    .problems.filter((p) => p.severity === severity)
    .map((p) => p.path);
const without = (value: Record<string, unknown>, key: string) =>
  Object.fromEntries(Object.entries(value).filter(([k]) => k !== key));

describe('a message of each core type', () => {
  it.each([
    [
      'status.update',
      envelope('status.update', statusUpdate, { parentTaskId: 'TASK-2026-02-07-001', messageId: 'm-1' }),
    ],
    ['completion.report', envelope('completion.report', completion, { toAgent: 'swe-qa' })],
    ['handoff.request', inHandoff(handoff)],
    ['handoff.accepted', inHandoff({}, 'handoff.accepted')],
    ['handoff.rejected', inHandoff({ reason: 'Not mine', status: 'ready' }, 'handoff.rejected')],
  ])('%s is valid, and its value is the object as written', (kind, value) => {
    expect(decode(value)).toEqual({ dialect: 'aof', kind, valid: true, problems: [], value });
  });

  it('is found after `AOF/1 `, after a byte order mark, indented, with CRLF', () => {
    const value = envelope('status.update', statusUpdate);
    const text = JSON.stringify(value, null, 2).replaceAll('\n', '\r\n');
    for (const form of [text, `AOF/1 ${text}`, `\ufeff${text}`, `\ufeffAOF/1 ${text}\r\n`]) {
      expect(decodeAof(form)).toMatchObject({ valid: true, value });
    }
  });

  it('is typed once it is valid, and not before', () => {
    expect(asEnvelope(decode(inHandoff(handoff)))?.taskId).toBe(CHILD);
    expect(asEnvelope(decode(inHandoff({})))).toBeNull();
  });
});

describe('text that cannot be read', () => {
  it.each(['{"protocol": "aof", "version": 1, ', '', 'hello', '{"a":1} and more'])('%j is ours but broken', (text) => {
    expect(decodeAof(`AOF/1 ${text}`)).toMatchObject({
      dialect: 'aof',
      kind: null,
      valid: false,
      value: null,
      problems: [{ severity: 'error', code: 'E_PARSE_FAILURE', path: '' }],
    });
  });

  it.each(['[]', '5', '"x"', 'null', 'true'])('%s is JSON, but no message', (text) => {
    expect(decodeAof(text)).toMatchObject({ kind: null, valid: false, problems: [{ code: 'E_PARSE_FAILURE' }] });
  });

  it('of more than 10 MB is refused unread, counted in bytes of UTF-8', () => {
    const padded = (bytes: number) => `${JSON.stringify(envelope('status.update', statusUpdate))}`.padEnd(bytes);
    expect(decodeAof(padded(MB10)).valid).toBe(true);
    expect(decodeAof(padded(MB10 + 1))).toMatchObject({
      kind: null,
      valid: false,
      value: null,
      problems: [{ code: 'E_CONTEXT_OVERFLOW' }],
    });
    const twoBytesEach = 'é'.repeat(MB10 / 2);
    expect(decodeAof(`{"protocol":"aof","x":"${twoBytesEach}"}`)).toMatchObject({
      problems: [{ code: 'E_CONTEXT_OVERFLOW' }],
    });
  });

  it('that nests too deep is refused, and its value is not handed on', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(decodeAof(`{"protocol":"aof","type":"status.update","payload":${deep}}`)).toMatchObject({
      valid: false,
      value: null,
      problems: [{ code: 'E_SCHEMA_VALIDATION' }],
    });
  });
});

describe('the envelope', () => {
  const whole = envelope('status.update', statusUpdate);

  it.each(['protocol', 'version', 'type', 'taskId', 'fromAgent', 'sentAt', 'payload'])('requires %s', (field) => {
    expect(paths(without(whole, field))).toEqual([`/${field}`]);
  });

  it.each([
    ['version', 2],
    ['version', '1'],
    ['taskId', 'TASK-001'],
    ['taskId', 'TASK-2026-02-09-0999'],
    ['parentTaskId', 'TASK-001'],
    ['fromAgent', ''],
    ['toAgent', 5],
    ['sentAt', 'yesterday'],
    ['sentAt', '2026-02-30T00:00:00Z'],
    ['messageId', ''],
    ['payload', []],
    ['payload', 'done'],
    ['type', 7],
  ])('refuses %s: %j', (field, value) => {
    const said = decode({ ...whole, payload: { progress: 'on it' }, [field]: value });
    expect(said.problems).toMatchObject([{ severity: 'error', code: 'E_SCHEMA_VALIDATION', path: `/${field}` }]);
  });

  it('takes the 1000th task of a day', () => {
    expect(decode({ ...whole, taskId: `${TASK.slice(0, -3)}1000`, payload: { notes: 'x' } }).valid).toBe(true);
  });

  it.each(AOF_TYPES.filter((type) => type.startsWith('handoff.')))(
    'of %s requires toAgent, which its payload cannot stand in for',
    (type) => {
      expect(paths(without(inHandoff({ ...handoff, reason: 'x' }, type), 'toAgent'))).toEqual(['/toAgent']);
    },
  );

  it.each(['handoff.postponed', 'constructor', '__proto__', 'Status.Update'])(
    'of the unknown type %s is ours, and invalid',
    (type) => {
      const said = decode({ ...whole, type });
      expect(said).toMatchObject({ dialect: 'aof', kind: type, valid: false });
      expect(said.problems).toMatchObject([{ severity: 'error', code: 'E_UNKNOWN_TYPE', path: '/type' }]);
    },
  );

  it('has its own mistakes reported even when its type is unknown', () => {
    expect(paths({ protocol: 'aof', type: 'x' })).toEqual([
      '/type',
      '/version',
      '/taskId',
      '/fromAgent',
      '/sentAt',
      '/payload',
    ]);
  });
});

describe('payload and envelope', () => {
  it.each(['status.update', 'completion.report'])('of %s name the same task', (type) => {
    const said = decode(envelope(type, { progress: 'x', outcome: 'done', taskId: CHILD }));
    expect(said.problems.filter((p) => p.severity === 'error')).toEqual([
      {
        severity: 'error',
        code: 'E_SCHEMA_VALIDATION',
        path: '/payload/taskId',
        message: `expected the envelope's taskId "${TASK}", got "${CHILD}"`,
      },
    ]);
  });

  it('of a handoff name the same receiver', () => {
    expect(paths(inHandoff({ ...handoff, toAgent: 'someone-else' }))).toEqual(['/payload/toAgent']);
  });

  it('may differ on who speaks and on the parent: that is odd, not wrong', () => {
    const odd = inHandoff({ ...handoff, fromAgent: 'x', parentTaskId: CHILD });
    expect(decode(odd).valid).toBe(true);
    expect(paths(odd, 'warning')).toEqual(['/payload/fromAgent', '/payload/parentTaskId']);
  });

  it('disagree visibly whatever else is wrong', () => {
    expect(paths(envelope('completion.report', { taskId: CHILD, outcome: 'failed' }, { version: 2 }))).toEqual([
      '/version',
      '/payload/outcome',
      '/payload/taskId',
    ]);
  });
});

describe('a completion.report', () => {
  const report = (payload: object) => envelope('completion.report', payload);

  it('needs nothing but its outcome', () => {
    expect(decode(report({ outcome: 'done' })).problems).toEqual([]);
    expect(paths(report({ notes: 'All there.' }))).toEqual(['/payload/outcome']);
  });

  it.each([
    ['outcome', 'failed', '/payload/outcome'],
    ['tests', { total: 120, passed: 100, failed: 21 }, '/payload/tests'],
    ['tests', { total: 1, passed: 2 }, '/payload/tests'],
    ['tests', { total: 1, failed: 2 }, '/payload/tests'],
    ['tests', { total: 1, passed: 1.5, failed: -1 }, '/payload/tests/passed'],
    ['tests', { failed: -1 }, '/payload/tests/failed'],
    ['tests', { total: null }, '/payload/tests/total'],
    ['tests', 3, '/payload/tests'],
    ['deliverables', Array(51).fill('x'), '/payload/deliverables'],
    ['deliverables', ['ok', 'x'.repeat(257)], '/payload/deliverables/1'],
    ['deliverables', 'src/foo.ts', '/payload/deliverables'],
    ['blockers', Array(21).fill('x'), '/payload/blockers'],
    ['notes', 'x'.repeat(10_001), '/payload/notes'],
    ['completedAt', 'now', '/payload/completedAt'],
    ['summaryRef', '', '/payload/summaryRef'],
    ['agentId', null, '/payload/agentId'],
  ])('is refused for %s', (field, value, path) => {
    expect(paths(report({ ...completion, [field]: value }))).toContain(path);
  });

  it.each([{ total: 3 }, { total: 3, passed: 3 }, { total: 1, failed: 1 }, { passed: 2, failed: 5 }, {}])(
    'may count no more than %j of its tests',
    (tests) => {
      expect(decode(report({ outcome: 'done', tests })).problems).toEqual([]);
    },
  );

  it('is taken at the very limits, counted in characters', () => {
    const items = (n: number) => Array(n).fill('🙂'.repeat(256));
    const tests = { total: 120, passed: 100, failed: 20 };
    const full = { ...completion, deliverables: items(50), blockers: items(20), notes: '🙂'.repeat(10_000), tests };
    expect(decode(report(full)).problems).toEqual([]);
  });
});

describe('a status.update', () => {
  it.each([{ status: 'review' }, { progress: 'Half of it compiles' }, { blockers: [] }, { notes: '' }])(
    'may say no more than %j',
    (payload) => {
      expect(decode(envelope('status.update', payload)).problems).toEqual([]);
    },
  );

  it('that says nothing is refused', () => {
    expect(paths(envelope('status.update', { taskId: TASK, agentId: 'a', reason: 'because' }))).toEqual(['/payload']);
  });

  it('has its limits', () => {
    expect(paths(envelope('status.update', { status: 'sleeping', progress: 'x'.repeat(1001) }))).toEqual([
      '/payload/status',
      '/payload/progress',
    ]);
  });
});

describe('a handoff', () => {
  it('request requires acceptance criteria; an empty list is one', () => {
    expect(paths(inHandoff(without(handoff, 'acceptanceCriteria')))).toEqual(['/payload/acceptanceCriteria']);
    expect(decode(inHandoff({ acceptanceCriteria: [] })).problems).toEqual([]);
  });

  it.each([
    ['All tests pass', '/payload/acceptanceCriteria'],
    [`All tests pass, ${'and all of the others too, '.repeat(20)}`, '/payload/acceptanceCriteria'],
    [null, '/payload/acceptanceCriteria'],
    [{ a: 1 }, '/payload/acceptanceCriteria'],
    [{ length: 100 }, '/payload/acceptanceCriteria'],
    [['ok', 5], '/payload/acceptanceCriteria/1'],
    [[Array(300).fill('x')], '/payload/acceptanceCriteria/0'],
    [[...Array(50).fill('x'), 5], '/payload/acceptanceCriteria'],
  ])('request whose criteria are unreadable (%j) is accepted with a warning', (acceptanceCriteria, path) => {
    const said = decode(inHandoff({ ...handoff, acceptanceCriteria }));
    expect(said.valid).toBe(true);
    expect(said.problems).toMatchObject([{ severity: 'warning', code: 'E_SCHEMA_VALIDATION', path }]);
  });

  it('request whose criteria are readable, but too long or too many, is refused', () => {
    expect(paths(inHandoff({ acceptanceCriteria: Array(51).fill('x') }))).toEqual(['/payload/acceptanceCriteria']);
    expect(paths(inHandoff({ acceptanceCriteria: ['x'.repeat(257)] }))).toEqual(['/payload/acceptanceCriteria/0']);
  });

  it.each(['expectedOutputs', 'contextRefs', 'constraints'])('request has at most 50 %s', (field) => {
    expect(paths(inHandoff({ ...handoff, [field]: Array(51).fill('x') }))).toEqual([`/payload/${field}`]);
  });

  it('rejected without a reason is taken with a warning; the reason has 512 characters at most', () => {
    expect(decode(inHandoff({}, 'handoff.rejected'))).toMatchObject({
      valid: true,
      problems: [{ severity: 'warning', code: 'E_FIELD_MISSING', path: '/payload/reason' }],
    });
    expect(paths(inHandoff({ reason: 'x'.repeat(513) }, 'handoff.rejected'))).toEqual(['/payload/reason']);
  });
});

describe('a reason', () => {
  it.each([
    ['status.update', (reason: string) => envelope('status.update', { status: 'blocked', reason })],
    ['handoff.accepted', (reason: string) => inHandoff({ reason }, 'handoff.accepted')],
    ['handoff.rejected', (reason: string) => inHandoff({ reason }, 'handoff.rejected')],
  ])('is a known field of %s, of 512 characters at most', (_, giving) => {
    expect(decode(giving('🙂'.repeat(512))).problems).toEqual([]);
    expect(paths(giving('x'.repeat(513)))).toEqual(['/payload/reason']);
  });
});

describe('fields that nobody knows', () => {
  it('are kept, with a warning for each, nested ones too', () => {
    const value = envelope(
      'completion.report',
      { outcome: 'done', mood: 1, tests: { total: 1, passed: 1, failed: 0, 'a/b': 2 } },
      { traceId: 't' },
    );
    const said = decode(value);
    expect(said).toMatchObject({ valid: true, value });
    expect(said.problems.map((p) => [p.severity, p.code, p.path])).toEqual([
      ['warning', 'E_FIELD_UNKNOWN', '/payload/mood'],
      ['warning', 'E_FIELD_UNKNOWN', '/payload/tests/a~1b'],
      ['warning', 'E_FIELD_UNKNOWN', '/traceId'],
    ]);
  });

  it('may be called __proto__ or constructor and stay harmless', () => {
    const text = JSON.stringify(envelope('status.update', { notes: 'x' })).replace(
      '{',
      '{"__proto__":{"taskId":"evil"},"constructor":1,',
    );
    const said = decodeAof(text);
    expect(said.valid).toBe(true);
    expect(said.problems.map((p) => p.path)).toEqual(['/__proto__', '/constructor']);
    expect(Object.getPrototypeOf(said.value)).toBe(Object.prototype);
    expect(JSON.stringify(said.value)).toBe(text);
  });

  it('do not answer for fields that are missing', () => {
    expect(
      decodeAof('{"__proto__":{"protocol":"aof","version":1},"type":"status.update"}').problems.map((p) => p.path),
    ).toContain('/version');
  });

  it('are counted, not listed, where there are very many', () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`x${i}`, i]));
    const said = decode(envelope('status.update', { notes: 'x', ...many }));
    expect(said.valid).toBe(true);
    expect(said.problems).toHaveLength(101);
    expect(said.problems.at(-1)?.message).toBe('900 more unknown fields; they are kept');
  });
});

describe('whatever comes', () => {
  it('is judged the same the first and the hundredth time', () => {
    const bad = envelope('completion.report', { ...completion, tests: { total: 1, passed: 1, failed: 1 } });
    const first = decode(bad);
    for (let i = 0; i < 40; i++) expect(decode(bad)).toEqual(first);
    expect(decode(envelope('completion.report', completion)).problems).toEqual([]);
  });

  it('a list of millions is one problem, not millions', () => {
    const said = decodeAof(
      `{"protocol":"aof","type":"completion.report","payload":{"outcome":"done","deliverables":[${'1,'.repeat(3_000_000)}1]}}`,
    );
    expect(said.problems.map((p) => p.path)).toEqual([
      '/version',
      '/taskId',
      '/fromAgent',
      '/sentAt',
      '/payload/deliverables',
    ]);
  });

  it('never throws, and a valid message has no error', () => {
    const anything = fc.oneof(fc.jsonValue(), fc.dictionary(anyText, fc.jsonValue()));
    const message = fc.record({
      type: fc.oneof(fc.constantFrom(...AOF_TYPES), anyText),
      taskId: anyText,
      payload: anything,
      extra: anything,
    });
    fc.assert(
      fc.property(
        fc.oneof(
          anything,
          message.map((m) => ({ ...inHandoff(m.payload, m.type), ...m })),
        ),
        (value) => {
          const said = decodeAof(JSON.stringify(value));
          expect(said.dialect).toBe('aof');
          expect(said.valid).toBe(!said.problems.some((p) => p.severity === 'error'));
          if (said.value !== null) expect(JSON.stringify(said.value)).toBe(JSON.stringify(value));
        },
      ),
    );
    fc.assert(fc.property(anyText, (text) => decodeAof(text).valid === false));
  });

  it('leaves an object that is already parsed as it is', () => {
    const value = Object.freeze({ ...envelope('status.update', Object.freeze({ ...statusUpdate })) });
    expect(decodeAofValue(value).value).toBe(value);
  });
});
