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
    // All that the document has.
    const document =
      'ASK BROADCAST CHECKPOINT CONTEXT COORDINATE DEFINE DELEGATE DEPENDS DIRECT ERROR ESCALATE EVALUATE HEALTH HELP LOCK NEXT REPORT ' +
      'RETRY ROLLBACK SIGNAL STATE SUBSCRIBE SUMMARY SUPPORTS UNLOCK UNSUBSCRIBE VERSION WAIT';
    expect(names).toEqual(expect.arrayContaining(document.split(' ')));
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
    ['#UNLOCK:C:/src/auth.js', ['C:/src/auth.js']],
    ['#UNLOCK:c:\\src\\auth.js', ['c:\\src\\auth.js']],
    ['#HELP:#STATE:save', ['#STATE', 'save']],
    ['#HELP:STATE:save', ['STATE', 'save']],
    ['#VERSION:check:1.0.0', ['check', '1.0.0']],
    ['#ROLLBACK:cp_001:force', ['cp_001', 'force']],
    ['#ROLLBACK:dry-run:cp_001', ['dry-run', 'cp_001']],
  ])('%s', (line, expected) => expect(params(line)).toEqual(expected));

  test.each([
    ['#DELEGATE:emma:fix http://localhost:3000/login', ['emma', 'fix http://localhost:3000/login']],
    ['#DELEGATE:emma:see src/a.cpp:42, std::vector:P1', ['emma', 'see src/a.cpp:42, std::vector', 'P1']],
    ['#DELEGATE:emma:set x:P1:P2', ['emma', 'set x:P1', 'P2']],
    ['#DELEGATE:emma:P1', ['emma', 'P1']],
    ['#DELEGATE:emma:fix it: the login', ['emma', 'fix it: the login']],
    ['#DELEGATE:emma:ratio 3:1', ['emma', 'ratio 3:1']],
    ['#DELEGATE:Dev:task:P1:x', ['Dev', 'task:P1:x']],
    ['#ASK:http://a:b', ['http://a:b']],
    ['#DEPENDS:emma:fix http://a:80', ['emma', 'fix http://a:80']],
    ['#ESCALATE:disk full: /var', ['disk full', ' /var']],
    ['#ESCALATE:TASK-1:why: a:b', ['TASK-1', 'why: a:b']],
  ])('%s keeps its text', (line, expected) => expect(params(line)).toEqual(expected));

  test.each(['#DELEGATE:emma:fix it:P4', '#DELEGATE:emma:fix it:p1', '#DELEGATE:emma:a:b:P9'])(
    '%s ends in what looks like a priority and is none',
    (line) => expect(decodeCommand(line).problems).toMatchObject([{ code: 'E002', path: '/params/2' }]),
  );

  test('go to the text of nine forms, and of no other', () => {
    const absorbing = allForms.filter(({ form }) => form.params.some((param) => param.absorbs));
    expect(absorbing.map(({ name, form }) => [name, form.sub].filter(Boolean).join(':')).sort()).toEqual([
      'ASK',
      'BROADCAST',
      'DELEGATE',
      'DEPENDS',
      'DIRECT',
      'ERROR',
      'ESCALATE',
      'SIGNAL',
      'STATE:save',
    ]);
    for (const { form } of absorbing) {
      const behind = form.params.slice(form.params.findIndex((param) => param.absorbs) + 1);
      expect(behind.map((param) => param.form)).toEqual(behind.length === 0 ? [] : ['priority']);
    }
  });
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
    '#UNLOCK:a:b',
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
    '#DELEGATE:Dev:task:P7',
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
    '#LOCK:db:users:60',
    '#LOCK:C:/src/auth.js:60:more',
    '#UNLOCK',
    '#UNLOCK:db:users',
    '#UNLOCK:localhost:8080',
    '#UNLOCK:C:/src/auth.js:60',
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
      { severity: 'error', code: 'E002', path: '/params/1', message: 'expected #STATE:load:<key>, got no parameters' },
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

  test.each([
    // The first one missing, where it would stand.
    ['#UNLOCK', '/params/0'],
    ['#STATE', '/params/0'],
    ['#STATE:load', '/params/1'],
    ['#STATE:save', '/params/1'],
    ['#STATE:save:k', '/params/2'],
    ['#SIGNAL:c', '/params/1'],
    ['#SIGNAL', '/params/0'],
    ['#DELEGATE:Dev', '/params/1'],
    ['#CONTEXT:export', '/params/1'],
    // An empty one before it is missing first.
    ['#STATE:save:', '/params/1'],
    ['#ASK:', '/params/0'],
    // The first one too much.
    ['#UNLOCK:a:b', '/params/1'],
    ['#UNLOCK:C:/a:b:c', '/params/1'],
    ['#LOCK:a:b:60', '/params/2'],
    ['#STATE:load:a:b:c', '/params/2'],
    ['#STATE:list:all', '/params/1'],
    ['#VERSION:1.0.0', '/params/0'],
    ['#UNLOCK:topic:brief:detailed', '/params/1'],
    ['#UNLOCK::b', '/params/0'],
  ])('%s is wrong at %s', (line, path) => expect(decodeCommand(line).problems.map((p) => p.path)).toEqual([path]));

  test('any number of parameters is right where it may be any', () => {
    for (const name of ['DEFINE', 'SUMMARY', 'NEXT', 'EVALUATE', 'RETRY', 'COORDINATE']) {
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
