/** What the README shows of `baton check` and `baton convert` is what they print. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { batonHere } from './here.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const answer = fileURLToPath(new URL('../fixtures/readme-answer.txt', import.meta.url));

/** What stands below `$ command`, to the next command or the end of the block. */
function shownBelow(command: string): string {
  const from = readme.indexOf(`$ ${command}`);
  expect(from, command).toBeGreaterThan(-1);
  const [, ...lines] = readme.slice(from).split('\n');
  return `${lines
    .slice(
      0,
      lines.findIndex((line) => /^(\$ |```)/.test(line)),
    )
    .join('\n')}\n`;
}

test('baton check answer.txt', async () => {
  const { exit, out } = await batonHere(['check', answer]);
  expect([exit, out]).toEqual([1, shownBelow('baton check answer.txt')]);
});

test('baton convert answer.txt --to aof', async () => {
  const { exit, err } = await batonHere(['convert', answer, '--to', 'aof']);
  expect([exit, err]).toEqual([0, shownBelow('baton convert answer.txt --to aof')]);
});
