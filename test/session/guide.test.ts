/** docs/session.md says of the commands what the table says, all of them and no others. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ERRORS } from '../../src/core/errors.ts';
import { CATEGORIES, COMMANDS, type CommandSpec, usage } from '../../src/protocol/command/index.ts';

/** However wide its columns are. */
const guide = readFileSync(new URL('../../docs/session.md', import.meta.url), 'utf8').replace(/ +/g, ' ');

test('the table of commands', () => {
  const specs: [string, CommandSpec][] = Object.entries(COMMANDS);
  const expected = CATEGORIES.flatMap((category) => specs.filter(([, spec]) => spec.category === category)).flatMap(
    ([name, { forms }]) =>
      forms.map((form) => {
        const cells = [`\`${usage(name, form)}\``, form.does, `\`${form.example}\``];
        return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
      }),
  );
  expect(guide.split('\n').filter((line) => line.startsWith('| `#'))).toEqual(expected);
});

test('the codes of errors', () => {
  const codes = [...guide.matchAll(/^\| `(E\d+)` \|/gm)].map(([, code]) => code);
  expect(codes).toEqual(Object.keys(ERRORS).filter((code) => /^E\d+$/.test(code)));
});
