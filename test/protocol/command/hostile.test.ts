/** Text of any size and content: nothing throws, and nothing takes more than time in proportion. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Command } from '../../../src/protocol/command/index.ts';
import {
  bullets,
  commandName,
  decodeCommand,
  encodeCommand,
  fitText,
  helpReply,
  readVariables,
  substitute,
} from '../../../src/protocol/command/index.ts';
import { cpuMs } from '../../helpers/cpu.ts';
import { anyText, countTokens } from './samples.ts';

const MEGABYTE = 1_000_000;
/** Of the processor. What is linear takes a fraction of this; what is quadratic takes minutes. */
const SOON = 4_000;

const fill = (unit: string, length = MEGABYTE): string => unit.repeat(Math.ceil(length / unit.length));
const units = [
  ':',
  'a',
  ' ',
  '\0',
  '\ud800',
  '😀',
  '#',
  '{',
  '{{A',
  '{{A:-',
  '{{A}}',
  '"',
  '\\',
  ':brief',
  ':limit=1',
  ':persistent',
  '9',
  '\r',
  'é\n',
  '{{A}}: "',
  '\n{{A}}: "\\',
];
const starts = [
  '',
  '#',
  '#A',
  '#STATE:save:k:',
  '#LOCK:',
  '#LOCK:a:',
  '#SUMMARY:',
  '#FROB:',
  '#ASK:t:limit=',
  '#VERSION:check:',
  '#CONTEXT:export:C:/',
  '#STATE',
];

const soon = (work: () => void): void => expect(cpuMs(work)).toBeLessThan(SOON);

test('no text makes decoding or encoding throw', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...starts, '#HELP:', '#DELEGATE:'),
      anyText,
      fc.string({ unit: 'binary' }),
      (start, text, more) => {
        const line = start + text + more;
        const read = decodeCommand(line, { countTokens });
        expect(read.valid).toBe(read.problems.length === 0);
        if (read.value !== null) encodeCommand(read.value as Command, { countTokens });
        helpReply([text, more]);
        substitute(line, readVariables(line), { countTokens });
      },
    ),
    { numRuns: 3000 },
  );
});

describe('a megabyte is read soon', () => {
  test.each(starts)('after %j', (start) => {
    for (const unit of units) {
      // Many texts, so each is a part of a megabyte: the square of it would still be minutes.
      const line = start + fill(unit, MEGABYTE / 4) + (start.length % 2 === 0 ? 'x' : ':brief');
      soon(() => {
        commandName(line);
        const { value } = decodeCommand(line, { countTokens });
        if (value !== null) encodeCommand(value as Command, { countTokens });
      });
    }
  });

  test.each(units)('as a text with variables, of %j', (unit) => {
    const text = fill(unit);
    soon(() => void substitute(text, readVariables(text), { countTokens }));
  });

  test.each(units)('as an answer to be shortened, of %j', (unit) => {
    const text = fill(unit);
    soon(() => {
      expect(countTokens(fitText(text, 100, countTokens))).toBeLessThanOrEqual(100);
      bullets([text, text], { maxItems: 4, tokensPerItem: 8, totalTokens: 20, countTokens });
    });
  });
});

test('ten megabytes of a quoted value are no more than a long line', () => {
  const value = '\\"'.repeat(5 * MEGABYTE);
  soon(() => expect(readVariables(`{{A}}: "${value}"`).get('A')).toHaveLength(5 * MEGABYTE));
});
