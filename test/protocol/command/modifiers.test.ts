import { describe, expect, test } from 'vitest';
import { type Command, decodeCommand } from '../../../src/protocol/command/index.ts';

const value = (line: string): Command => decodeCommand(line).value as Command;
const params = (line: string): readonly string[] => {
  const read = decodeCommand(line);
  expect(read.problems, line).toEqual([]);
  return (read.value as Command).params;
};
const codes = (line: string): string[] => decodeCommand(line).problems.map((problem) => problem.code);

describe('modifiers', () => {
  test.each([
    ['#ASK:topic:brief', ['topic'], 'brief'],
    ['#ASK:topic:standard', ['topic'], 'standard'],
    ['#REPORT:DevAgent:security:detailed  ', ['DevAgent', 'security'], 'detailed'],
    ['#ASK:topic:limit=100', ['topic'], 100],
    ['#ASK:topic:limit=1', ['topic'], 1],
    ['#STATE:list:brief', ['list'], 'brief'],
    ['#ROLLBACK:status:brief', ['status'], 'brief'],
    ['#HEALTH:session:brief', ['session'], 'brief'],
    ['#HELP:state:brief', ['state'], 'brief'],
    ['#SUMMARY:auth:brief', ['auth'], 'brief'],
    ['#SUMMARY:brief:detailed', ['brief'], 'detailed'],
    ['#NEXT:limit=5:limit=7', ['limit=5'], 7],
    ['#DELEGATE:Dev:fix:brief', ['Dev', 'fix'], 'brief'],
    ['#CONTEXT:export:a.ctx:critical:limit=20', ['export', 'a.ctx', 'critical'], 20],
    ['#BROADCAST:deploy_status:at 12:30:brief', ['deploy_status', 'at 12:30'], 'brief'],
  ])('%s', (line, expected, limit) => {
    expect(params(line)).toEqual(expected);
    expect(value(line)).toMatchObject({ limit, persistent: false });
  });

  test.each([
    ['#STATE:save:k:v:persistent', 'v', null, true],
    ['#STATE:save:k:v:persistent:brief', 'v', 'brief', true],
    ['#STATE:save:k:v:brief:persistent', 'v', 'brief', true],
    ['#STATE:save:k:a:b:limit=20:persistent', 'a:b', 20, true],
    ['#STATE:save:k:v:detailed', 'v', 'detailed', false],
    // The only value left is never read as a modifier.
    ['#STATE:save:k:brief', 'brief', null, false],
    ['#STATE:save:k:persistent', 'persistent', null, false],
    ['#STATE:save:k:limit=900', 'limit=900', null, false],
    ['#STATE:save:k:brief:persistent', 'brief', null, true],
    ['#STATE:save:k:persistent:brief', 'persistent', 'brief', false],
    // Each kind at most once: what stands before it is the value's.
    ['#STATE:save:k:v:brief:detailed', 'v:brief', 'detailed', false],
    ['#STATE:save:k:v:persistent:persistent', 'v:persistent', null, true],
    ['#STATE:save:k::x:', ':x:', null, false],
  ])('%s', (line, saved, limit, persistent) => {
    expect(params(line)).toEqual(['save', 'k', saved]);
    expect(value(line)).toMatchObject({ limit, persistent });
  });

  test('the only value left is never a modifier, in any command', () => {
    expect(params('#ASK:brief')).toEqual(['brief']);
    expect(params('#STATE:load:detailed')).toEqual(['load', 'detailed']);
    expect(params('#SIGNAL:done:limit=5')).toEqual(['done', 'limit=5']);
    expect(params('#ROLLBACK:dry-run:brief')).toEqual(['dry-run', 'brief']);
    expect(params('#UNLOCK:standard')).toEqual(['standard']);
  });

  test.each([
    ['#SUMMARY:brief', 'brief'],
    ['#NEXT:limit=5', 'limit=5'],
    ['#NEXT:limit=900', 'limit=900'],
    ['#DEFINE:standard', 'standard'],
    ['#HELP:brief', 'brief'],
  ])('nor is it in %s, which needs no value', (line, only) => {
    expect(params(line)).toEqual([only]);
    expect(value(line).limit).toBeNull();
  });

  test('a lone modifier is judged like any other parameter', () => {
    const read = decodeCommand('#VERSION:brief');
    expect(read).toMatchObject({ valid: false, value: { params: ['brief'], limit: null } });
    expect(read.problems).toMatchObject([{ code: 'E002', path: '/params/0' }]);
    expect(value('#FROBNICATE:brief')).toMatchObject({ params: ['brief'], limit: null });
    expect(decodeCommand('#DEPLOY:brief', { extraNames: new Set(['DEPLOY']) })).toMatchObject({
      valid: true,
      value: { params: ['brief'], limit: null },
    });
  });

  test('persistent belongs to STATE:save alone', () => {
    expect(codes('#UNLOCK:topic:persistent')).toEqual(['E002']);
    expect(codes('#STATE:load:k:persistent')).toEqual(['E002']);
    expect(params('#SIGNAL:c:v:persistent')).toEqual(['c', 'v:persistent']);
    expect(value('#SIGNAL:c:v:persistent').persistent).toBe(false);
  });

  test('a limit above 100 is E004 and says max_limit_100', () => {
    for (const limit of ['101', '200', '9'.repeat(400)]) {
      const read = decodeCommand(`#ASK:topic:limit=${limit}`);
      expect(read.valid).toBe(false);
      expect(read.problems).toMatchObject([{ severity: 'error', code: 'E004', path: '/limit' }]);
      expect(read.problems[0]?.message).toContain('max_limit_100');
    }
  });

  test.each(['0', '00', '', '-5', '+5', '1.5', '1e2', 'many', '0x10', ' 5', '٣'])('limit=%s is E002', (limit) =>
    expect(codes(`#ASK:topic:limit=${limit}`)).toEqual(['E002']),
  );

  test('two limits are one too many', () => expect(codes('#UNLOCK:topic:brief:detailed')).toEqual(['E002']));
});
