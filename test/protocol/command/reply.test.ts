import fc from 'fast-check';
import ranks from 'gpt-tokenizer/bpeRanks/o200k_base';
import { describe, expect, test } from 'vitest';
import { bullets, errorReply, fitText, flow } from '../../../src/protocol/command/index.ts';
import { LONGEST_TOKEN } from '../../../src/protocol/command/tokens.ts';
import { anyText, countTokens } from './samples.ts';

/** Half of a surrogate pair. */
const LONE = /\p{Surrogate}/u;

test('no token of the vocabulary is longer than is said, so what is longer need not be counted', () => {
  const lengths = ranks.map((token) =>
    typeof token === 'string' ? new TextEncoder().encode(token).length : (token?.length ?? 0),
  );
  expect(lengths.reduce((a, b) => Math.max(a, b), 0)).toBe(LONGEST_TOKEN);
});

describe('a text that is fitted', () => {
  test('is left alone where it fits', () => {
    expect(fitText('Files changed: 5', 10, countTokens)).toBe('Files changed: 5');
    expect(fitText('', 0, countTokens)).toBe('');
  });

  test('ends at a word, with an ellipsis', () => {
    expect(fitText('one two three four five six', 4, countTokens)).toBe('one two three…');
    expect(fitText('one two  three', 3, countTokens)).toBe('one two…');
    expect(fitText('one two supercalifragilisticexpialidocious', 6, countTokens)).toBe('one two…');
  });

  test('is cut within a word only where there is but one', () => {
    const cut = fitText('supercalifragilisticexpialidocious'.repeat(20), 5, countTokens);
    expect(cut).toMatch(/^supercali.*…$/);
    expect(countTokens(cut)).toBeLessThanOrEqual(5);
  });

  test('is empty where there is no room at all', () => {
    expect(fitText('something', 0, countTokens)).toBe('');
    expect(fitText('something else', 1, countTokens)).toBe('…');
  });

  test('is never over, and never half a character', () => {
    const text = fc.oneof(
      anyText,
      fc
        .array(fc.constantFrom('😀', '👩‍👩‍👧', 'word ', '\n', 'é', '漢字', '====', 'https://x.y/z '), { maxLength: 60 })
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, fc.nat(30), (given, tokens) => {
        const fitted = fitText(given, tokens, countTokens);
        expect(countTokens(fitted)).toBeLessThanOrEqual(tokens);
        if (fitted === given || fitted === '') return;
        expect(fitted.endsWith('…')).toBe(true);
        expect(given.startsWith(fitted.slice(0, -1))).toBe(true);
        if (!LONE.test(given)) expect(fitted).not.toMatch(LONE);
      }),
      { numRuns: 1000 },
    );
  });

  test('is counted a few times, not once a character', () => {
    let calls = 0;
    fitText('some words and more '.repeat(5000), 50, (text) => {
      calls++;
      return countTokens(text);
    });
    expect(calls).toBeLessThan(25);
  });
});

describe('a list', () => {
  const options = { maxItems: 4, tokensPerItem: 8, countTokens };

  test('is a bullet a line', () => {
    expect(bullets(['Auth: 80%', 'Tests:\n pending'], options)).toBe('• Auth: 80%\n• Tests: pending');
    expect(bullets([], options)).toBe('');
  });

  test('says how many did not fit, within its items', () => {
    expect(bullets(['a', 'b', 'c', 'd'], options)).toBe('• a\n• b\n• c\n• d');
    expect(bullets(['a', 'b', 'c', 'd', 'e', 'f'], options)).toBe('• a\n• b\n• c\n• +3 more');
    expect(bullets(['a', 'b'], { ...options, maxItems: 1 })).toBe('• a');
    expect(bullets(['a'], { ...options, maxItems: 0 })).toBe('');
  });

  test('gives up items, then words, for its total', () => {
    const items = ['first thing', 'second thing', 'third thing'];
    const within = (totalTokens: number): string => bullets(items, { ...options, totalTokens });
    expect(within(20)).toBe('• first thing\n• second thing\n• third thing');
    expect(within(10)).toBe('• first thing\n• +2 more');
    expect(within(3)).toBe('• first thing');
    expect(within(1)).toBe('');
  });

  test('takes no terminal escapes into a line', () =>
    expect(bullets(['\x1b[31mred\x1b[0m\x07'], options)).toBe('• red'));

  test('keeps to its items, their tokens and its total, whatever they are', () => {
    fc.assert(
      fc.property(
        fc.array(anyText, { maxLength: 8 }),
        fc.nat(6),
        fc.nat(12),
        fc.option(fc.integer({ min: 1, max: 40 })),
        (items, maxItems, tokensPerItem, totalTokens) => {
          const text = bullets(items, { maxItems, tokensPerItem, totalTokens, countTokens });
          const lines = text === '' ? [] : text.split('\n');
          expect(lines.length).toBeLessThanOrEqual(maxItems);
          for (const line of lines) {
            expect(line.startsWith('• ')).toBe(true);
            if (!/^• \+\d+ more$/.test(line))
              expect(countTokens(line.slice(2))).toBeLessThanOrEqual(Math.max(tokensPerItem, 0));
          }
          if (totalTokens !== null) expect(countTokens(text)).toBeLessThanOrEqual(totalTokens);
        },
      ),
      { numRuns: 1500 },
    );
  });
});

test('a flow has arrows', () => expect(flow(['build', 'test\nall', 'ship'])).toBe('build → test all → ship'));

describe('an error', () => {
  test('is written as the document writes it', () => {
    expect(errorReply('E004', 'max_limit_100')).toBe('#ERROR:E004:max_limit_100');
    expect(errorReply('E001', '')).toBe('#ERROR:E001:unknown command');
  });

  test('has a description within its tokens', () => {
    const description = 'one two three four five six seven eight nine ten eleven twelve';
    expect(errorReply('E002', description, { countTokens })).toBe(
      '#ERROR:E002:one two three four five six seven eight nine…',
    );
    expect(errorReply('E002', description, { countTokens, tokens: 20 })).toBe(`#ERROR:E002:${description}`);
  });

  test('does not end in what would be read as a modifier', () => {
    expect(errorReply('E002', 'bad modifier:brief')).toBe('#ERROR:E002:bad modifier brief');
    expect(errorReply('E002', 'a:limit=5:limit=6')).toBe('#ERROR:E002:a limit=5 limit=6');
    expect(errorReply('E002', 'two\nlines')).toBe('#ERROR:E002:two lines');
  });
});
