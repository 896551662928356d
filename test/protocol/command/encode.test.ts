import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Command, decodeCommand, encodeCommand, errorReply } from '../../../src/protocol/command/index.ts';
import { anyCommand, anyText, countTokens, plainCommand } from './samples.ts';

const state = (value: string, more: Partial<Command> = {}): Command => ({
  name: 'STATE',
  params: ['save', 'k', value],
  limit: null,
  persistent: false,
  ...more,
});

describe('what is written reads back', () => {
  test('as the same command, for every form of every command', () => {
    fc.assert(
      fc.property(plainCommand, (command) => {
        const encoded = encodeCommand(command);
        expect(encoded).toMatchObject({ ok: true });
        if (!encoded.ok) return;
        const read = decodeCommand(encoded.line);
        expect(read.problems).toEqual([]);
        expect(read.value).toEqual(command);
      }),
      { numRuns: 2000 },
    );
  });

  test('or is refused, whatever the values hold', () => {
    fc.assert(
      fc.property(anyCommand, (command) => {
        const encoded = encodeCommand(command, { countTokens });
        if (!encoded.ok) {
          expect(encoded.problem.severity).toBe('error');
          return;
        }
        expect(encoded.line).not.toMatch(/[\r\n]/);
        expect(decodeCommand(encoded.line, { countTokens })).toMatchObject({ valid: true, value: command });
      }),
      { numRuns: 3000 },
    );
  });

  test('and a valid line that is read is written as one that means the same', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('#STATE:save:k:', '#SIGNAL:', '#LOCK:', '#SUMMARY:', '#CONTEXT:export:', '#ASK:'),
        anyText,
        (start, rest) => {
          const read = decodeCommand(start + rest);
          if (!read.valid) return;
          const encoded = encodeCommand(read.value as Command);
          // What one line said, one line can say.
          expect(encoded).toMatchObject({ ok: true });
          if (encoded.ok) expect(decodeCommand(encoded.line).value).toEqual(read.value);
        },
      ),
      { numRuns: 3000 },
    );
  });
});

describe('the canonical line', () => {
  test.each([
    [state('v'), '#STATE:save:k:v'],
    [state('a:b', { persistent: true, limit: 20 }), '#STATE:save:k:a:b:persistent:limit=20'],
    [state('brief'), '#STATE:save:k:brief'],
    [state('persistent', { persistent: true }), '#STATE:save:k:persistent:persistent'],
    [state('v:brief', { limit: 'detailed' }), '#STATE:save:k:v:brief:detailed'],
    [{ name: 'HELP', params: [], limit: null, persistent: false }, '#HELP'],
    [{ name: 'HELP', params: ['brief'], limit: null, persistent: false }, '#HELP:brief'],
    [{ name: 'SUMMARY', params: ['brief'], limit: null, persistent: false }, '#SUMMARY:brief'],
    [{ name: 'SUMMARY', params: ['brief'], limit: 'brief', persistent: false }, '#SUMMARY:brief:brief'],
    [{ name: 'STATE', params: ['list'], limit: 'brief', persistent: false }, '#STATE:list:brief'],
    [{ name: 'LOCK', params: ['C:/src/auth.js', '60'], limit: null, persistent: false }, '#LOCK:C:/src/auth.js:60'],
  ] satisfies [Command, string][])('of %j', (command, line) =>
    expect(encodeCommand(command)).toEqual({ ok: true, line }),
  );
});

describe('what one line cannot say is refused, at its place', () => {
  test.each([
    ['a line break', state('a\nb'), '/params'],
    ['a line break at the end', state('a\n'), '/params/2'],
    ['blanks at the end', state('a '), '/params/2'],
    ['a value that ends like a modifier', state('v:brief'), '/params/2'],
    ['a value that ends like a mark', state('v:persistent'), '/params/2'],
    ['an empty value', state(''), '/params/2'],
    ['a mark where there is none', { ...state(''), params: ['load', 'k'], persistent: true }, '/persistent'],
    ['a colon where it separates', { name: 'SUPPORTS', params: ['a:b'], limit: null, persistent: false }, '/params/0'],
    ['a colon in a resource', { name: 'UNLOCK', params: ['a:b'], limit: null, persistent: false }, '/params/0'],
    [
      'a resource before a time-out',
      { name: 'LOCK', params: ['a:b', '60'], limit: null, persistent: false },
      '/params/0',
    ],
    ['a parameter too few', { name: 'STATE', params: ['load'], limit: null, persistent: false }, '/params/1'],
    ['a parameter too many', { name: 'SUPPORTS', params: ['a', 'b'], limit: null, persistent: false }, '/params/1'],
    [
      'a limit with no parameter before it',
      { name: 'SUMMARY', params: [], limit: 'brief', persistent: false },
      '/limit',
    ],
    ['the same where none may stand', { name: 'VERSION', params: [], limit: 5, persistent: false }, '/limit'],
    [
      'a resource that ends like a time-out',
      { name: 'LOCK', params: ['localhost:8080'], limit: null, persistent: false },
      '/params/0',
    ],
    ['a limit of 101', state('v', { limit: 101 }), '/limit'],
    ['half a limit', state('v', { limit: 0.5 }), '/limit'],
    ['an unknown name', { name: 'FROB', params: [], limit: null, persistent: false }, '/name'],
    ['a name in lower case', { name: 'state', params: ['list'], limit: null, persistent: false }, ''],
    ['a name with more in it', { name: 'STATE:save:k', params: ['v'], limit: null, persistent: false }, '/name'],
  ] satisfies [string, Command, string][])('%s', (_, command, path) => {
    const encoded = encodeCommand(command);
    expect(encoded).toMatchObject({ ok: false, problem: { severity: 'error', path } });
  });

  test('a value over its tokens, where somebody counts', () => {
    const long = state('word '.repeat(31).trim());
    expect(encodeCommand(long, { countTokens })).toMatchObject({ ok: false, problem: { code: 'E004' } });
    expect(encodeCommand(long)).toMatchObject({ ok: true });
  });
});

test('an error reply is one line that reads back as that error, whatever its description', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('E001' as const, 'E005' as const),
      anyText,
      fc.boolean(),
      (code, description, counted) => {
        const line = errorReply(code, description, counted ? { countTokens } : {});
        const read = decodeCommand(line);
        expect(read).toMatchObject({ kind: 'ERROR', valid: true, value: { limit: null } });
        const { params } = read.value as Command;
        expect(params).toEqual([code, line.slice(`#ERROR:${code}:`.length)]);
        if (counted) expect(countTokens(params[1] ?? '')).toBeLessThanOrEqual(10);
      },
    ),
    { numRuns: 2000 },
  );
});
