/** What the guide's test reads on the page, and that a changed word does not pass. */
import { expect, test } from 'vitest';
import { differs, readGuide } from './read-guide.ts';

test('commands with what they print, files by their names, and nothing in between is passed over', () => {
  const page =
    '# A\n\n```yaml a/b.yaml\nx: 1\n```\n\n```console\n$ one \\\n  two\nout\n…\n$ three # exits 3\n```\n\n```text\nno\n```\n';
  expect(readGuide(page)).toEqual([
    { kind: 'file', line: 3, path: 'a/b.yaml', text: 'x: 1\n' },
    { kind: 'command', line: 8, command: 'one \\\n  two', shown: ['out', '…'], exit: 0 },
    { kind: 'command', line: 12, command: 'three # exits 3', shown: [], exit: 3 },
  ]);
  expect(() => readGuide('```sh\nls\n```\n')).toThrow('line 1: expected console');
  expect(() => readGuide('```console\nout\n```\n')).toThrow('line 2: expected a command');
});

test('times, days, costs and hashes may differ; words, counts and order may not', () => {
  const shown = [
    'TASK-2026-11-16-001 done',
    '…',
    '  2 runs, $0.0112, 12 s, since 2026-11-16 09:00:00',
    'node a_20261116_090000',
  ];
  const came = [
    'TASK-2027-01-02-001 done',
    'x',
    'y',
    '  2 runs, $1.50, 1 min 03 s, since 2027-01-02 10:11:12',
    'node a_20270102_101112',
  ];
  expect(differs(shown, came)).toBeNull();
  expect(differs(shown, came.with(0, 'TASK-2027-01-02-002 done'))).toBe('TASK-DAY-001 done');
  expect(differs(shown, came.with(3, '  3 runs, $1.50, 1 s, since 2027-01-02 10:11:12'))).toContain('2 runs');
  expect(differs(shown, [...came, 'more'])).toContain('another number');
  expect(differs([], ['something'])).toContain('another number');
  expect(differs(['a … c'], ['a b c'])).toBeNull();
  expect(differs(['a … c'], ['a b d'])).toBe('a … c');
  expect(differs(['b', 'a'], ['a', 'b'])).toContain('order');
});
