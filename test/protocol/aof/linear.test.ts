/** A file of blanks is read in a moment: nothing in finding a title takes time by the square. */
import { expect, test } from 'vitest';
import { titleOf } from '../../../src/cli/new-tasks.ts';
import { readTaskFile } from '../../../src/protocol/aof/task-file.ts';
import { cpuMs } from '../../helpers/cpu.ts';

const LONG = 4_000_000;

test.each([
  ['blanks', ' '.repeat(LONG)],
  ['a heading of blanks', `# x${' '.repeat(LONG)}y`],
  ['empty lines', '\n'.repeat(LONG)],
  ['marks', '#'.repeat(LONG)],
])('%s', (_, text) => {
  const spent = cpuMs(() => {
    const read = readTaskFile(`---\ntitle: t\n---\n${text}`);
    expect([read.ok, titleOf(text).length <= 120]).toEqual([true, true]);
  });
  expect(spent).toBeLessThan(5_000);
});
