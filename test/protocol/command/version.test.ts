import { expect, test } from 'vitest';
import {
  bullets,
  COMMANDS,
  COMPATIBILITY,
  checkVersion,
  FEATURES,
  featureLines,
  supports,
  VERSION_REPLY,
} from '../../../src/protocol/command/index.ts';
import { countTokens, names } from './samples.ts';

test('#VERSION is v1.1.0', () => expect(VERSION_REPLY).toBe('v1.1.0'));

test.each([
  ['1.0.0', 'compatible'],
  ['1.1.0', 'compatible'],
  ['v1.1', 'compatible'],
  ['1.1.9', 'compatible'],
  ['1.2.0', 'incompatible'],
  ['0.9.0', 'incompatible'],
  ['2.0.0', 'incompatible'],
  ['11.0.0', 'incompatible'],
  ['new', null],
  ['1', null],
  ['1.0.0-beta', null],
])('%s is %s', (version, expected) => expect(checkVersion(version)).toBe(expected));

test('the features of the document come first, within four items of eight tokens', () => {
  expect(bullets(featureLines(), { maxItems: 4, tokensPerItem: 8, countTokens })).toBe(
    `• coordination: v1.1+\n• state: v1.0+\n• error_codes: v1.0+\n• +${Object.keys(FEATURES).length - 3} more`,
  );
});

test('a feature is supported or not, and nothing else is', () => {
  expect(supports('coordination')).toBe(true);
  expect(supports('checkpoints')).toBe(true);
  expect(supports('quantum_computing')).toBe(false);
  expect(supports('__proto__')).toBe(false);
  expect(supports('toString')).toBe(false);
});

test('the matrix and the table agree: v1.0 has no coordination', () => {
  expect(COMPATIBILITY.map((row) => row.coordination)).toEqual(['none', 'full']);
  for (const name of names) if (COMMANDS[name].category === 'coordination') expect(COMMANDS[name].since).toBe('1.1');
});
