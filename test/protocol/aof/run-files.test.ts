import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkRunFile, LIMITS, type RunArtifact, readRunFile, writeRunFile } from '../../../src/protocol/aof/index.ts';
import { anyText, completion, NOW, TASK } from './samples.ts';

const run: RunArtifact = {
  runId: 'run-1',
  taskId: TASK,
  agentId: 'emma',
  startedAt: NOW,
  status: 'running',
  attempt: 2,
  endedAt: null,
};
const heartbeat = { runId: 'run-1', taskId: TASK, lastHeartbeat: NOW, beatCount: 3 };
const result = { runId: 'run-1', ...completion };

describe('a run file', () => {
  it.each([
    ['run.json' as const, run],
    ['run_heartbeat.json' as const, heartbeat],
    ['run_result.json' as const, result],
  ])('%s is read, and names its run and its task', (name, value) => {
    expect(readRunFile(name, JSON.stringify(value))).toEqual({ ok: true, value, problems: [] });
    for (const field of ['runId', 'taskId']) {
      const rest = Object.fromEntries(Object.entries(value).filter(([key]) => key !== field));
      expect(checkRunFile(name, rest)).toMatchObject({
        ok: false,
        problems: [{ code: 'E_SCHEMA_VALIDATION', path: `/${field}` }],
      });
    }
  });

  it('is written readably, in order, and read back with what nobody knows', () => {
    const text = writeRunFile('run.json', { later: { x: [1] }, ...run });
    expect(text).toMatch(/^\{\n {2}"runId": "run-1",\n {2}"taskId"/);
    expect(text.endsWith('}\n')).toBe(true);
    expect(readRunFile('run.json', text)).toMatchObject({
      ok: true,
      value: { ...run, later: { x: [1] } },
      problems: [{ severity: 'warning', code: 'E_FIELD_UNKNOWN', path: '/later' }],
    });
  });

  it('run_result.json is held to the rules of a completion report', () => {
    for (const [field, value, path] of [
      ['outcome', 'failed', '/outcome'],
      ['tests', { total: 1, passed: 1, failed: 1 }, '/tests'],
      ['blockers', Array(21).fill('x'), '/blockers'],
    ] as const) {
      expect(checkRunFile('run_result.json', { ...result, [field]: value })).toMatchObject({
        ok: false,
        problems: [{ path }],
      });
    }
  });

  it('that cannot be read says so and does not throw', () => {
    const code = (text: string) => readRunFile('run.json', text).problems[0]?.code;
    expect(code('{"runId":')).toBe('E_PARSE_FAILURE');
    expect(code('[]')).toBe('E_SCHEMA_VALIDATION');
    expect(code('null')).toBe('E_SCHEMA_VALIDATION');
    expect(code(JSON.stringify(run).replace('{', `{"a":${'['.repeat(1000)}${']'.repeat(1000)},`))).toBe(
      'E_SCHEMA_VALIDATION',
    );
    expect(code(' '.repeat(LIMITS.messageBytes + 1))).toBe('E_CONTEXT_OVERFLOW');
    fc.assert(fc.property(anyText, (text) => !readRunFile('run.json', text).ok));
  });

  it('is read back as it was written', () => {
    const value = fc.record({
      runId: fc.constant('r'),
      taskId: fc.constant(TASK),
      lastHeartbeat: fc.constant(NOW),
      other: fc.jsonValue(),
    });
    fc.assert(
      fc.property(value, (meant) => {
        const clean = JSON.parse(JSON.stringify(meant)) as typeof meant;
        expect(readRunFile('run_heartbeat.json', writeRunFile('run_heartbeat.json', clean))).toMatchObject({
          ok: true,
          value: clean,
        });
      }),
    );
  });
});
