/** What a person's words mean: an option by its number or its name, and no number that is no option. */
import { expect, test } from 'vitest';
import { meantBy } from '../../src/runtime/answer-meaning.ts';

const OPTIONS = [
  { option: 'sqlite', impact: null },
  { option: 'postgres', impact: 'needs a server' },
];
const said = (text: string, options = OPTIONS): string | null =>
  meantBy('uncertainty', options, { status: 'answered', text }).text;

test('a number chooses the option of that number, a name that of its name', () => {
  expect([said('1'), said('2'), said('Postgres')]).toEqual(['sqlite', 'postgres', 'postgres']);
  expect(said('neither of them')).toBe('neither of them');
});

test.each(['3', '0', '99'])('%s of two options is refused, and the options are named', (number) => {
  expect(() => said(number)).toThrow(`expected one of 2 options (1 sqlite, 2 postgres), got ${number}`);
});

test('where there are no options a number is an answer; a numeric option is meant by its words', () => {
  expect(said('3', [])).toBe('3');
  expect(
    said('20', [
      { option: '10', impact: null },
      { option: '20', impact: null },
    ]),
  ).toBe('20');
});
