import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { unrepeated } from '../../../src/core/fields.ts';
import { pointer } from '../../../src/core/problem.ts';
import { emptyReport, losses } from '../../../src/core/report.ts';
import { charCount, stripAnsi, stripControls, utf8Length } from '../../../src/protocol/text/clean.ts';
import { shapeOf, tooDeep } from '../../../src/protocol/text/depth.ts';
import { quote } from '../../../src/protocol/text/quote.ts';
import { lastOf, shorten, shortenChars } from '../../../src/protocol/text/shorten.ts';
import { readYaml } from '../../../src/protocol/text/yaml.ts';
import { cpuMs } from '../../helpers/cpu.ts';

test('a pointer escapes what it is made of', () => {
  expect(pointer(['a/b', 'c~d', 0])).toBe('/a~1b/c~0d/0');
});

test('a list is not a mapping, even where both are empty', () => {
  const report = emptyReport('done', 's');
  expect(losses(report, { ...report, metrics: [] as never })).toEqual(['metrics']);
});

describe('what a terminal would obey is taken out', () => {
  test.each([
    ['colours', '\x1b[1;31mred\x1b[0m', 'red'],
    ['a title', '\x1b]0;evil\x07text', 'text'],
    ['a title ended by ST', '\x1b]0;evil\x1b\\text', 'text'],
    ['a device control string', '\x1bPq#0\x1b\\text', 'text'],
    ['a cut-off escape', 'text\x1b[', 'text'],
  ])('%s', (_, text, clean) => expect(stripAnsi(text)).toBe(clean));

  test('controls and overrides of direction, but not tabs and line feeds', () => {
    expect(stripControls('a\x00\x07\x7f\x9b\u202eb\u2066\tc\nd')).toBe('ab\tc\nd');
  });
});

test('bytes are counted as they would be written', () => {
  for (const text of ['a', 'é', '€', '🙂', 'a🙂é€', '\ud800', '\udc00x'])
    expect(utf8Length(text)).toBe(Buffer.byteLength(text));
});

test('64 levels are not too deep, 65 are', () => {
  const nest = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
  expect([tooDeep(nest(64)), tooDeep(nest(65))]).toEqual([false, true]);
  expect(shapeOf(JSON.parse('{"a":[{"__proto__":1}]}'))).toBe('proto');
});

test('a value is quoted short, on one line', () => {
  expect(quote('x'.repeat(100))).toBe(`"${'x'.repeat(59)}…"`);
  expect([quote('a\n\x1b[31mb'), quote(undefined), quote([1]), quote({}), quote(null)]).toEqual([
    '"a b"',
    'nothing',
    'a list of 1',
    'an object',
    'null',
  ]);
});

describe('text is shortened where a reader would', () => {
  test('at a sentence, else at a word, never within a character', () => {
    expect(shorten('One two. Three four five', 15)).toBe('One two.');
    expect(shorten('One two three four five', 15)).toBe('One two three…');
    expect(shorten('🙂'.repeat(10), 10)).toBe('🙂🙂🙂🙂…');
    expect(shorten('short', 5)).toBe('short');
  });

  test('at the end of a bullet or a paragraph; a line that is broken in its middle is none', () => {
    expect(shorten('- one two three\n- four five six\n- seven', 35)).toBe('- one two three\n- four five six');
    expect(shorten('Some words\n\nand some others', 18)).toBe('Some words');
    expect(shorten('Some words that\ngo on and on', 20)).toBe('Some words that\ngo…');
    expect(shorten('Some words here\n1. The first of many', 22)).toBe('Some words here');
    expect(shorten('日本語。テスト文章です。もっと長い', 14)).toBe('日本語。テスト文章です。');
  });

  test('by characters, as the output protocol counts', () => {
    expect(shortenChars('🙂'.repeat(10), 10)).toBe('🙂'.repeat(10));
    expect(shortenChars('🙂'.repeat(11), 10)).toBe(`${'🙂'.repeat(9)}…`);
  });

  test('to its end: the last whole sentences, else the last words', () => {
    expect(lastOf('First one. Second one. Third one is here.', 32)).toBe('Second one. Third one is here.');
    expect(lastOf('aaa bbb ccc ddd eee fff', 10)).toBe('…eee fff');
    expect(lastOf('🙂'.repeat(10), 10)).toBe('…🙂🙂🙂🙂');
    expect(lastOf('short', 5)).toBe('short');
  });

  test('within its bound, from its own text, whole where there is no mark; and in no time', () => {
    const text = fc
      .array(fc.constantFrom('word', '. ', '\n', '- ', ' ', '🙂', '。', '1. ', '…', '\ud800'))
      .map((all) => all.join(''));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 60 }), (all, most) => {
        const [first, last, chars] = [shorten(all, most), lastOf(all, most), shortenChars(all, most)];
        expect(Math.max(first.length, last.length, charCount(chars))).toBeLessThanOrEqual(most);
        if (!first.endsWith('…')) expect(all.startsWith(first)).toBe(true);
        if (!last.startsWith('…')) expect(all.endsWith(last)).toBe(true);
      }),
    );
    const spent = cpuMs(() => {
      for (const piece of ['x', ' ', '\n', '. ', '1.']) {
        shorten(piece.repeat(1e6), 5e5);
        lastOf(piece.repeat(1e6), 5e5);
      }
    });
    expect(spent).toBeLessThan(3000);
  });
});

describe('YAML', () => {
  test('has at most a hundred aliases', () => {
    const aliases = (n: number): string => `a: &a [1]\nb: [${Array(n).fill('*a').join(', ')}]`;
    expect([readYaml(aliases(50)).ok, readYaml(aliases(150)).ok]).toEqual([true, false]);
  });

  test('of many levels is not given to the parser', () => {
    expect(readYaml(`${'- '.repeat(300)}a`)).toMatchObject({ ok: false, reason: expect.stringContaining('levels') });
    expect(readYaml(`${'- '.repeat(100)}a`).ok).toBe(false);
    expect(readYaml(`${'- '.repeat(60)}a`).ok).toBe(true);
  });
});

test('what is not repeated is named by its place', () => {
  expect(unrepeated({ a: 1, b: { c: [1, 2], d: null }, e: { f: 1 } }, { a: 1, b: { c: [1, 3] } })).toEqual([
    '/b/c/1',
    '/e',
  ]);
});
