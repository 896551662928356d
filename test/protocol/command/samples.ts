/** What the tests of the session language share: the real token counter, and commands of every form. */
import fc from 'fast-check';
import { countTokens as count } from 'gpt-tokenizer/encoding/o200k_base';
import {
  COMMANDS,
  type Command,
  type CommandForm,
  type CommandName,
  isBuiltIn,
  type Limit,
  type Param,
} from '../../../src/protocol/command/index.ts';

/** The tokenizer throws at `<|endoftext|>` unless it is told that this is text like any other. */
export const countTokens = (text: string): number => count(text, { disallowedSpecial: new Set() });

export const names: readonly CommandName[] = Object.keys(COMMANDS).filter(isBuiltIn);

export const allForms: readonly { readonly name: CommandName; readonly form: CommandForm }[] = names.flatMap((name) =>
  COMMANDS[name].forms.map((form) => ({ name, form })),
);

/** Text as people and agents write it, and as they should not. */
export const anyText = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc
    .array(
      fc.constantFrom(
        ':',
        'brief',
        'limit=7',
        'limit=900',
        'persistent',
        'P1',
        '60',
        'a b',
        'C',
        '/x',
        ' ',
        '\n',
        '\0',
        '\ud800',
        'é',
      ),
      {
        maxLength: 8,
      },
    )
    .map((parts) => parts.join('')),
);

/** A text that is plainly one parameter. */
const plainText = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9_. -]{0,12}[a-z0-9]x$/);

/** What a parameter may be, by its form; `text` stands for the forms that take any. */
export const paramValue = (param: Param, text: fc.Arbitrary<string>): fc.Arbitrary<string> => {
  switch (param.form) {
    case 'word':
      return fc.constantFrom(...param.words);
    case 'key':
      return fc.stringMatching(/^[A-Za-z0-9_]{1,12}$/);
    case 'priority':
      return fc.constantFrom('P0', 'P1', 'P2', 'P3');
    case 'seconds':
    case 'lease':
      return fc.integer({ min: 1, max: 86_400 }).map(String);
    case 'version':
      return fc.tuple(fc.nat(9), fc.nat(9), fc.nat(9)).map((parts) => parts.join('.'));
    default:
      return text;
  }
};

const anyLimit: fc.Arbitrary<Limit> = fc.oneof(
  fc.constantFrom(null, 'brief' as const, 'standard' as const, 'detailed' as const),
  fc.integer({ min: 1, max: 100 }),
);

const commandOf = (text: fc.Arbitrary<string>): fc.Arbitrary<Command> =>
  fc.constantFrom(...allForms).chain(({ name, form }) =>
    fc
      .record({
        given: fc.tuple(...form.params.map((param) => paramValue(param, text))),
        left: fc.nat(form.params.filter((param) => !param.required).length),
        more: fc.array(text, { maxLength: form.open ? 4 : 0 }),
        limit: anyLimit,
        persistent: form.persistable ? fc.boolean() : fc.constant(false),
      })
      .map(({ given, left, more, limit, persistent }) => ({
        name,
        params: [...(form.sub === null ? [] : [form.sub]), ...given.slice(0, given.length - left), ...more],
        limit,
        persistent,
      })),
  );

/** Commands of every form; some hold what no line can say. */
export const anyCommand = commandOf(anyText);
/** Commands of every form with values that a line can say; a limit takes a parameter to stand behind. */
export const plainCommand = commandOf(plainText).map((command) =>
  command.params.length === 0 ? { ...command, limit: null } : command,
);
