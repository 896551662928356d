import { describe, expect, test } from 'vitest';
import { readVariables, substitute } from '../../../src/protocol/command/index.ts';
import { countTokens } from './samples.ts';

describe('declarations', () => {
  test('stand at the start of a line, indented or in a list', () => {
    const text =
      '# Variables\n{{PROJECT}}: "Baton"\n  - {{STACK_2}} : "Node, React"\r\n{{EMPTY}}: ""\nSee {{NOT_THIS}}: "x"\n';
    expect([...readVariables(text)]).toEqual([
      ['PROJECT', 'Baton'],
      ['STACK_2', 'Node, React'],
      ['EMPTY', ''],
    ]);
  });

  test('may quote a quote and a backslash; the last of a name counts', () => {
    expect(readVariables('{{A}}: "say \\"hi\\" to C:\\\\x"').get('A')).toBe('say "hi" to C:\\x');
    expect(readVariables('{{A}}: "1"\n{{A}}: "2"').get('A')).toBe('2');
  });

  test.each([
    '{{a}}: "x"',
    '{{_A}}: "x"',
    '{{2A}}: "x"',
    '{{A}}: x',
    '{{A}}: "x',
    '{{A}} "x"',
    '{{A:-d}}: "x"',
    '{{A}}: "x\n"',
    '{{A}}: "x\\',
  ])('%j is none', (text) => expect(readVariables(text).size).toBe(0));
});

describe('substitution', () => {
  const variables = new Map([
    ['NAME', 'Baton'],
    ['NESTED', '{{NAME}}'],
    ['PATTERN', "$& $1 $'"],
    ['EMPTY', ''],
  ]);
  const fill = (text: string): string => substitute(text, variables, { countTokens }).text;

  test('puts in the value, or else the default', () => {
    expect(fill('{{NAME}} is {{NAME}}.')).toBe('Baton is Baton.');
    expect(fill('{{NAME:-other}} {{MISSING:-a default: yes}} {{MISSING:-}}|{{EMPTY:-full}}|')).toBe(
      'Baton a default: yes ||',
    );
  });

  test('never looks at a value again', () => {
    expect(fill('{{NESTED}}')).toBe('{{NAME}}');
    expect(fill('{{PATTERN}}')).toBe("$& $1 $'");
    expect(substitute('{{A}}', new Map([['A', '{{A}}{{A}}']])).text).toBe('{{A}}{{A}}');
  });

  test('leaves what is not a variable, and declarations, as they are', () => {
    for (const text of ['{{name}}', '{NAME}', '{{ NAME }}', '{{NAME', 'NAME}}', '{{A:-{x}}}', '{{NAME}}: "Baton"\n'])
      expect(fill(text)).toBe(text);
    expect(fill('{{NAME}}: "x"\n{{NAME}}!')).toBe('{{NAME}}: "x"\nBaton!');
    expect(fill('{{{NAME}}}')).toBe('{Baton}');
  });

  test('leaves an unknown one in place and says so once, E002', () => {
    expect(substitute('{{GONE}} and {{GONE}} of {{NAME}}', variables)).toEqual({
      text: '{{GONE}} and {{GONE}} of Baton',
      problems: [
        {
          severity: 'error',
          code: 'E002',
          path: '/GONE',
          message: 'expected a value or a default for {{GONE}}, got none',
        },
      ],
    });
    expect(substitute('{{CONSTRUCTOR}}', new Map()).problems).toHaveLength(1);
  });

  test('leaves a value over 50 tokens in place, E004, and counts it once', () => {
    const fifty = Array.from({ length: 50 }, () => 'word').join(' ');
    let calls = 0;
    const count = (text: string): number => {
      calls++;
      return countTokens(text);
    };
    expect(countTokens(fifty)).toBe(50);
    expect(substitute('{{A}}', new Map([['A', fifty]]), { countTokens: count }).text).toBe(fifty);
    expect(calls).toBe(1);
    const long = substitute('{{A}} {{A}}', new Map([['A', `${fifty} word`]]), { countTokens: count });
    expect(long).toMatchObject({ text: '{{A}} {{A}}', problems: [{ code: 'E004', path: '/A' }] });
    expect(calls).toBe(2);
    expect(substitute(`{{B:-${fifty} word}}`, new Map(), { countTokens }).problems).toMatchObject([{ code: 'E004' }]);
    expect(substitute('{{A}}', new Map([['A', `${fifty} word`]])).problems).toEqual([]);
  });
});
