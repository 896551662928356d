import { describe, expect, test } from 'vitest';
import type { Command } from '../../../src/protocol/command/index.ts';
import { commandName, decodeCommand, isKnownCommand, withDefaults } from '../../../src/protocol/command/index.ts';
import { CommandValue } from '../../../src/protocol/command/schema.ts';
import { allForms, countTokens, names } from './samples.ts';

const value = (line: string): Command => decodeCommand(line).value as Command;
const params = (line: string): readonly string[] => {
  const read = decodeCommand(line);
  expect(read.problems, line).toEqual([]);
  return (read.value as Command).params;
};
const codes = (line: string): string[] => decodeCommand(line, { countTokens }).problems.map((problem) => problem.code);

describe('what is of command form', () => {
  test.each([
    ['#HELP', 'HELP'],
    ['#HELP  ', 'HELP'],
    ['#HELP\r', 'HELP'],
    ['\uFEFF#HELP', 'HELP'],
    ['#STATE:list', 'STATE'],
    ['#X2_Y:', 'X2_Y'],
  ])('%j is', (line, name) => expect(commandName(line)).toBe(name));

  test.each([
    '',
    '#',
    '# Heading',
    '#TODO list',
    '#!/bin/sh',
    '#1234',
    '#include <x>',
    '#state:list',
    '#State',
    ' #STATE:list',
    'see #STATE:list',
    '##HELP',
    '#HELP :x',
    '#HELP-ME',
    '#HELP\nmore',
  ])('%j is not', (line) => {
    expect(commandName(line)).toBeNull();
    expect(decodeCommand(line)).toMatchObject({
      kind: null,
      valid: false,
      value: null,
      problems: [{ code: 'E_PARSE_FAILURE' }],
    });
  });

  test('the names of objects are not commands', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'FROBNICATE']) expect(isKnownCommand(name)).toBe(false);
    expect(names.every((name) => isKnownCommand(name))).toBe(true);
    expect([...names].sort().join(' ')).toBe(
      'ASK BROADCAST CHECKPOINT CONTEXT COORDINATE DEFINE DELEGATE DEPENDS DIRECT ERROR ESCALATE EVALUATE HEALTH HELP LOCK NEXT REPORT ' +
        'RETRY ROLLBACK SIGNAL STATE SUBSCRIBE SUMMARY SUPPORTS UNLOCK UNSUBSCRIBE VERSION WAIT',
    );
  });
});

test('every example of the table is a valid command that fits the schema, and its usage is told apart from others', () => {
  for (const { name, form } of allForms) {
    const read = decodeCommand(form.example, { countTokens });
    expect(read, form.example).toMatchObject({ dialect: 'command', kind: name, valid: true, problems: [] });
    expect(CommandValue.safeParse(read.value).success).toBe(true);
    if (form.sub !== null) expect((read.value as Command).params[0]).toBe(form.sub);
  }
});

test('the value is exactly name, params, limit and persistent', () => {
  expect(value('#STATE:save:user:alice')).toStrictEqual({
    name: 'STATE',
    params: ['save', 'user', 'alice'],
    limit: null,
    persistent: false,
  });
});

describe('modifiers', () => {
  test.each([
    ['#ASK:topic:brief', ['topic'], 'brief'],
    ['#ASK:topic:standard', ['topic'], 'standard'],
    ['#REPORT:DevAgent:security:detailed  ', ['DevAgent', 'security'], 'detailed'],
    ['#ASK:topic:limit=100', ['topic'], 100],
    ['#ASK:topic:limit=1', ['topic'], 1],
    ['#STATE:list:brief', ['list'], 'brief'],
    ['#ROLLBACK:status:brief', ['status'], 'brief'],
    ['#VERSION:brief', [], 'brief'],
    ['#SUMMARY:brief', [], 'brief'],
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

  test('persistent belongs to STATE:save alone', () => {
    expect(codes('#ASK:topic:persistent')).toEqual(['E002']);
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

  test('two limits are one too many', () => expect(codes('#ASK:topic:brief:detailed')).toEqual(['E002']));
});

describe('colons that separate nothing', () => {
  test.each([
    ['#SIGNAL:built:image:1.2:amd64', ['built', 'image:1.2:amd64']],
    ['#BROADCAST:deploy_status:finished at 12:30:00', ['deploy_status', 'finished at 12:30:00']],
    ['#DIRECT:TestAgent:see src/a.ts:45: it fails', ['TestAgent', 'see src/a.ts:45: it fails']],
    ['#ERROR:E002:bad value: line 3:12', ['E002', 'bad value: line 3:12']],
    ['#ERROR:code:desc:detailed', ['code', 'desc']],
    ['#CONTEXT:export:C:/x.ctx', ['export', 'C:/x.ctx']],
    ['#CONTEXT:export:C:\\x y\\z.ctx:critical', ['export', 'C:\\x y\\z.ctx', 'critical']],
    ['#CONTEXT:list:d:/contexts/:brief', ['list', 'd:/contexts/']],
    ['#LOCK:src/auth.js:600', ['src/auth.js', '600']],
    ['#LOCK:src/auth.js', ['src/auth.js']],
    ['#LOCK:C:/src/auth.js', ['C:/src/auth.js']],
    ['#LOCK:C:/src/auth.js:60', ['C:/src/auth.js', '60']],
    ['#LOCK:db:users:60', ['db:users', '60']],
    ['#LOCK:localhost:8080:60', ['localhost:8080', '60']],
    ['#UNLOCK:localhost:8080', ['localhost:8080']],
    ['#UNLOCK:C:/src/auth.js', ['C:/src/auth.js']],
    ['#HELP:#STATE:save', ['#STATE', 'save']],
    ['#HELP:STATE:save', ['STATE', 'save']],
    ['#VERSION:check:1.0.0', ['check', '1.0.0']],
    ['#ROLLBACK:cp_001:force', ['cp_001', 'force']],
    ['#ROLLBACK:dry-run:cp_001', ['dry-run', 'cp_001']],
  ])('%s', (line, expected) => expect(params(line)).toEqual(expected));
});

describe('wrong parameters are E002', () => {
  test.each([
    '#STATE',
    '#STATE:frobnicate',
    '#STATE:load',
    '#STATE:load:a:b',
    '#STATE:list:all',
    '#STATE:clear:key',
    '#STATE:save:k',
    '#STATE:save:k:',
    '#STATE:save::v',
    '#STATE:save:my-key:value',
    '#STATE:save: k:value',
    '#STATE:load:ключ',
    '#ASK',
    '#ASK:a:b',
    '#HELP:',
    '#HELP:a:b:c',
    '#SUMMARY:a::b',
    '#SIGNAL:dev_complete',
    '#BROADCAST:c',
    '#DIRECT:a',
    '#ERROR:E001',
    '#DELEGATE:Dev',
    '#DELEGATE:Dev:task:P4',
    '#DELEGATE:Dev:task:p1',
    '#DELEGATE:Dev:task:P1:x',
    '#REPORT:agent',
    '#REPORT:a:b:c',
    '#LOCK',
    '#LOCK:a:soon',
    '#LOCK:a:b:c',
    '#LOCK:a:-5',
    '#LOCK:a:1.5',
    '#LOCK:a:0',
    '#WAIT:a:soon',
    '#WAIT:a:1:2',
    '#WAIT:a:99999999999',
    '#UNLOCK',
    '#CHECKPOINT',
    '#CHECKPOINT:create:manual',
    '#CHECKPOINT:create:daily:x',
    '#CHECKPOINT:diff',
    '#ROLLBACK',
    '#ROLLBACK:dry-run',
    '#ROLLBACK:cp_001:hard',
    '#ROLLBACK:status:force',
    '#CONTEXT:export',
    '#CONTEXT:export:a.ctx:some',
    '#CONTEXT:import:a.ctx:sideways',
    '#CONTEXT:list',
    '#HEALTH',
    '#HEALTH:disk',
    '#VERSION:1.0.0',
    '#VERSION:check',
    '#VERSION:check:new',
    '#SUPPORTS',
    '#SUBSCRIBE',
    '#DEPENDS:a',
    '#ASK:two\nlines',
    '#STATE:save:k:a\rb',
  ])('%j', (line) => expect(codes(line)).toEqual(['E002']));

  test('a problem says what was expected and what came, at its place', () => {
    expect(decodeCommand('#STATE:load').problems).toEqual([
      { severity: 'error', code: 'E002', path: '/params', message: 'expected #STATE:load:<key>, got no parameters' },
    ]);
    expect(decodeCommand('#STATE:save:my-key:v').problems).toMatchObject([
      { path: '/params/1', message: 'expected letters, digits and _ as key, got "my-key"' },
    ]);
    expect(decodeCommand('#DELEGATE:Dev:task:P4').problems).toMatchObject([
      { path: '/params/2', message: 'expected a priority from P0 to P3, got "P4"' },
    ]);
    expect(decodeCommand('#VERSION:frob').problems[0]?.message).toBe(
      'expected #VERSION or #VERSION:check:<version> or #VERSION:features, got 1 parameter',
    );
  });

  test('any number of parameters is right where it may be any', () => {
    for (const name of ['DEFINE', 'SUMMARY', 'NEXT', 'EVALUATE', 'RETRY', 'ESCALATE', 'COORDINATE']) {
      expect(params(`#${name}`)).toEqual([]);
      expect(params(`#${name}:a:b:c:d`)).toEqual(['a', 'b', 'c', 'd']);
    }
  });
});

test('an unknown name is E001, taken apart all the same', () => {
  const read = decodeCommand('#FROBNICATE:left:right:brief');
  expect(read).toMatchObject({ kind: 'FROBNICATE', valid: false, problems: [{ code: 'E001', path: '/name' }] });
  expect(read.value).toEqual({ name: 'FROBNICATE', params: ['left', 'right'], limit: 'brief', persistent: false });
});

test("a project's own command is known, with any parameters; a built-in one keeps its meaning", () => {
  const extraNames = new Set(['DEPLOY', 'STATE']);
  expect(decodeCommand('#DEPLOY:staging:fast:brief', { extraNames })).toMatchObject({
    valid: true,
    value: { params: ['staging', 'fast'], limit: 'brief' },
  });
  expect(decodeCommand('#DEPLOY', { extraNames }).valid).toBe(true);
  expect(decodeCommand('#STATE:deploy', { extraNames }).valid).toBe(false);
});

describe('a STATE value', () => {
  const ten = 'one two three four five six seven eight nine ten';
  const thirty = `${ten} ${ten} ${ten}`;

  test('of 30 tokens is kept, of 31 is E004', () => {
    expect(countTokens(thirty)).toBe(30);
    expect(codes(`#STATE:save:note:${thirty}`)).toEqual([]);
    expect(decodeCommand(`#STATE:save:note:${thirty} more`, { countTokens }).problems).toMatchObject([
      { severity: 'error', code: 'E004', path: '/params/2' },
    ]);
    expect(codes(`#STATE:save:note:${thirty}:persistent`)).toEqual([]);
  });

  test('is not counted where its bytes say enough, nor where they say too much', () => {
    const calls: string[] = [];
    const count = (text: string): number => calls.push(text);
    decodeCommand(`#STATE:save:k:${'a'.repeat(30)}`, { countTokens: count });
    expect(decodeCommand(`#STATE:save:k:${'a'.repeat(1_000_000)}`, { countTokens: count }).valid).toBe(false);
    expect(calls).toEqual([]);
    decodeCommand(`#STATE:save:k:${'é'.repeat(16)}`, { countTokens: count });
    expect(calls).toEqual(['é'.repeat(16)]);
  });

  test('is let pass where nobody counts', () => expect(decodeCommand(`#STATE:save:k:${thirty} more`).valid).toBe(true));

  test('may hold the names of special tokens', () =>
    expect(codes(`#STATE:save:k:ends at <|endoftext|>, and so on and on`)).toEqual([]));
});

test('what is left out is filled in only when asked for', () => {
  const filled = (line: string): readonly string[] => withDefaults(value(line)).params;
  expect(value('#DELEGATE:Dev:task').params).toEqual(['Dev', 'task']);
  expect(filled('#DELEGATE:Dev:task')).toEqual(['Dev', 'task', 'P2']);
  expect(filled('#DELEGATE:Dev:task:P0')).toEqual(['Dev', 'task', 'P0']);
  expect(filled('#WAIT:done')).toEqual(['done', '300']);
  expect(filled('#LOCK:src/a.ts')).toEqual(['src/a.ts', '300']);
  expect(filled('#LOCK:src/a.ts:60')).toEqual(['src/a.ts', '60']);
  expect(filled('#ROLLBACK:cp_001')).toEqual(['cp_001']);
  expect(filled('#CONTEXT:export:a.ctx')).toEqual(['export', 'a.ctx']);
  expect(filled('#STATE:list')).toEqual(['list']);
  expect(filled('#FROBNICATE:x')).toEqual(['x']);
});
