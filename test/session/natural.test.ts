/** Plain words to commands: every phrasing, what must not be acted on, and what holds for any text at all. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readCommand } from '../../src/protocol/command/index.ts';
import { interpret, MOST_LINE, type NaturalContext } from '../../src/session/natural.ts';
import { KEYWORDS, RULES } from '../../src/session/phrases.ts';
import { compile } from '../../src/session/phrases-rule.ts';
import { cpuMs } from '../helpers/cpu.ts';
import { countTokens } from '../protocol/command/samples.ts';
import { CONTEXT, FRESH, KNOWN_MISSES, MODES, PHRASINGS, UNCLEAR, UNCLEAR_AT_FIRST } from './phrasings.ts';

const problems = (line: string): unknown => readCommand(line, { countTokens }).problems;

describe('what people say', () => {
  test('there is enough of it', () => {
    const lines = new Set([...PHRASINGS, ...KNOWN_MISSES].map(([line]) => line.toLowerCase()));
    expect(lines.size).toBeGreaterThanOrEqual(150);
    expect(KNOWN_MISSES.length / lines.size).toBeLessThanOrEqual(0.05);
    expect(UNCLEAR.length).toBeGreaterThanOrEqual(30);
  });

  test.each(PHRASINGS)('%s', (line, ...commands) => {
    expect(interpret(line, CONTEXT)).toEqual({ commands, clarify: null, mode: null, unsure: false });
    for (const command of commands) expect(problems(command)).toEqual([]);
  });

  test.each(MODES)('%s is how to talk', (line, mode) => {
    expect(interpret(line, CONTEXT)).toEqual({ commands: [], clarify: null, mode, unsure: false });
  });

  test.each(KNOWN_MISSES)('%s is not understood, and has no effect', (line) => {
    expect(interpret(line, CONTEXT)).toMatchObject({ commands: [], mode: null });
  });

  test('capitals, blanks, politeness and marks at the end change nothing', () => {
    for (const [line, ...commands] of PHRASINGS) {
      const said = interpret(`  please  ${line.replaceAll(' ', '  ')}`, CONTEXT).commands;
      expect(
        said.map((command) => command.replaceAll('  ', ' ')),
        line,
      ).toEqual(commands);
    }
  });
});

describe('what must not be acted on', () => {
  const holds = (line: string, question: RegExp, context: NaturalContext): void => {
    const said = interpret(line, context);
    expect(said).toMatchObject({ commands: [], mode: null });
    expect(said.clarify).toMatch(question);
    expect(said.clarify).toMatch(/\?/);
  };
  test.each(UNCLEAR)('%s', (line, question) => holds(line, question, CONTEXT));
  test.each(UNCLEAR_AT_FIRST)('at first: %s', (line, question) => holds(line, question, FRESH));

  test('nothing in quotes is ever a command', () => {
    for (const [line] of PHRASINGS.filter(([line]) => !/["']/.test(line))) {
      for (const said of [`"${line}"`, `\`${line}\``, `he wrote "${line}" yesterday`, `“${line}”`]) {
        expect(interpret(said, CONTEXT).commands, said).toEqual([]);
      }
    }
  });

  test('no phrasing survives a negation before it', () => {
    const positive = PHRASINGS.filter(
      ([line]) =>
        !/^(?:hey|don't|stop|what|which|who|how|is|are|did|any|where|should|can|could|do)\b|\b(?:not|don't)\b/i.test(
          line,
        ),
    );
    expect(positive.length).toBeGreaterThan(100);
    for (const [line, ...commands] of positive) {
      for (const not of ["don't", 'do not', 'never', 'please do not', 'you must not', 'I would never']) {
        const said = interpret(`${not} ${line}`, CONTEXT);
        // The first wish is what is negated; another one behind it may stand.
        expect(said.commands, `${not} ${line}`).not.toContain(commands[0]);
      }
    }
  });

  test('what only the person can answer is not passed on to an agent', () => {
    expect(interpret('roll back', CONTEXT).unsure).toBe(false);
    expect(interpret("don't roll back", CONTEXT).unsure).toBe(false);
    expect(interpret('implement auth', CONTEXT).unsure).toBe(true);
    expect(interpret('asdf qwer', CONTEXT).unsure).toBe(true);
  });
});

describe('lines that begin with #', () => {
  test.each(['#STATE:list', '#ROLLBACK:cp_001', '#nonsense', '#', '#DELEGATE:emma:x'])('%s is as it is', (line) =>
    expect(interpret(line, CONTEXT)).toEqual({ commands: [line], clarify: null, mode: null, unsure: false }),
  );
  test('not in the middle, and not on a second line', () => {
    expect(interpret('please #ROLLBACK:cp_001', CONTEXT).commands).toEqual([]);
    expect(interpret('checkpoint\n#ROLLBACK:cp_001', CONTEXT)).toMatchObject({ commands: [], unsure: false });
  });
});

describe('who and what is known', () => {
  test('no agents: nobody is given anything', () => {
    const nobody: NaturalContext = { agents: [], lastAgent: null, lastTask: null };
    expect(interpret('ask emma to implement auth', nobody)).toMatchObject({
      commands: [],
      clarify: expect.stringContaining('Who is'),
    });
    expect(interpret('Can you check the test results?', nobody).commands).toEqual(['#REPORT:TestAgent:results']);
  });
  test('names with odd characters are read as they are, and two of one short name are nobody', () => {
    const odd: NaturalContext = { ...FRESH, agents: ['c++ (old)', 'a.b', 'dev-agent', 'DevAgent', 'x:y', ''] };
    expect(interpret('ask c++ (old) to fix the login', odd).commands).toEqual(['#DELEGATE:c++ (old):fix the login:P2']);
    expect(interpret('ask a.b to fix the login', odd).commands).toEqual(['#DELEGATE:a.b:fix the login:P2']);
    expect(interpret('ask dev-agent to fix the login', odd).commands).toEqual(['#DELEGATE:dev-agent:fix the login:P2']);
    expect(interpret('ask the dev to fix the login', odd).commands).toEqual([]);
    expect(interpret('ask x:y to fix the login', odd).commands).toEqual([]);
  });
  test('an agent that is called like a word of the language is still only an agent', () => {
    const words: NaturalContext = { ...FRESH, agents: ['everyone', 'all', 'status', 'checkpoint', 'rollback'] };
    expect(interpret('tell everyone that it works', words).commands).toEqual(['#BROADCAST:priority_alert:it works']);
    expect(interpret('checkpoint', words).commands).toEqual(['#CHECKPOINT:create:manual:checkpoint']);
    expect(interpret('ask rollback to fix the login', words).commands).toEqual(['#DELEGATE:rollback:fix the login:P2']);
  });
  test('one checkpoint is the checkpoint; of several it is asked', () => {
    const one: NaturalContext = { ...FRESH, checkpoints: [{ id: 'cp_007', name: null }] };
    expect(interpret('undo everything since the checkpoint', one).commands).toEqual(['#ROLLBACK:cp_007']);
    expect(interpret('undo everything since the checkpoint', CONTEXT).commands).toEqual([]);
  });
  test('a value that is too long to be saved is asked about', () => {
    const line = `remember that the plan is ${'to walk the dog '.repeat(20)}`;
    expect(interpret(line, { ...CONTEXT, countTokens }).clarify).toMatch(/fewer words/);
  });
  test('a value keeps its colons, and one that reads as a modifier is asked about', () => {
    expect(interpret('save a:b:c as k', CONTEXT).commands).toEqual(['#STATE:save:k:a:b:c']);
    expect(interpret('save "a:brief" as k', CONTEXT)).toMatchObject({ commands: [], clarify: expect.any(String) });
  });
});

/** Words of the rules, agents, ids and joints, thrown together: what comes nearest to meaning something. */
const pieces = fc.constantFrom(
  ...KEYWORDS,
  ...CONTEXT.agents,
  ...'to the a and then , . ? ! ; : # not don\'t never "x" \' is are it that cp_001 cp_009 src/a.ts as under for 10 minutes asap urgent P1 please everyone everything since back on with before called if'.split(
    ' ',
  ),
  '\n',
  'TASK-2026-02-26-001',
);

describe('for any text', () => {
  const check = (line: string): void => {
    for (const context of [{ ...CONTEXT, countTokens }, FRESH]) {
      const said = interpret(line, context);
      expect(said.commands.length === 0 || said.clarify === null).toBe(true);
      expect(said.commands.length > 0 || said.clarify !== null || said.mode !== null).toBe(true);
      if (/^\uFEFF?\s*#/.test(line)) continue;
      for (const command of said.commands) expect(problems(command), command).toEqual([]);
    }
  };
  test('it does not throw, and what it makes is valid: any characters', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), check), { numRuns: 300 });
  });
  test('it does not throw, and what it makes is valid: words of the rules', () => {
    fc.assert(
      fc.property(
        fc.array(pieces, { maxLength: 12 }).map((words) => words.join(' ')),
        check,
      ),
      { numRuns: 1500 },
    );
  });
  test('it does not throw, and what it makes is valid: phrasings with something in the middle', () => {
    const broken = fc
      .tuple(
        fc.constantFrom(...PHRASINGS.map(([line]) => line)),
        fc.nat(60),
        fc.oneof(fc.string({ maxLength: 12 }), pieces),
      )
      .map(([line, at, more]) => `${line.slice(0, at)}${more}${line.slice(at)}`);
    fc.assert(fc.property(broken, check), { numRuns: 800 });
  });
  test('a line without any word of any rule does nothing', () => {
    const has = (line: string): boolean => KEYWORDS.some((word) => line.toLowerCase().includes(word));
    const words = 'cp_001 emma bob #x src/z.ts banana purple 42 yellow "q" jazz Über и но'
      .split(' ')
      .filter((word) => !has(word));
    expect(words.length).toBeGreaterThan(8);
    const line = fc.oneof(
      fc.array(fc.constantFrom(...words), { maxLength: 10 }).map((all) => all.join(' ')),
      fc.string({ maxLength: 80 }),
    );
    fc.assert(
      fc.property(line, (text) => {
        fc.pre(!has(text) && !/^\s*#/.test(text));
        expect(interpret(text, CONTEXT)).toMatchObject({ commands: [], mode: null });
      }),
      { numRuns: 500 },
    );
  });
  test('whatever a pattern fits has one of the words of its rule: the words never keep a rule from what it is for', () => {
    const names = { pattern: 'emma', resolve: () => 'emma', byField: () => null };
    const missed = RULES.flatMap(({ words, patterns }) =>
      patterns.flatMap((pattern) => {
        const source = compile(pattern, names).source;
        return alternatives(source)
          .filter((text) => !words.some((word) => text.toLowerCase().includes(word)))
          .slice(0, 2)
          .map((text) => `${text} ← ${pattern}`);
      }),
    );
    expect(missed).toEqual([]);
  });
});

/** Texts that an expression fits, each alternative taken at least once: with all that is optional left out, as that has the fewest words. */
function alternatives(source: string): string[] {
  let at = 0;
  const MOST = 400;
  const times = (heads: string[], tails: string[]): string[] =>
    heads.flatMap((head) => tails.map((tail) => head + tail)).slice(0, MOST);
  const choice = (): string[] => {
    const all = sequence();
    while (source[at] === '|') {
      at++;
      all.push(...sequence());
    }
    return [...new Set(all)].slice(0, MOST);
  };
  const sequence = (): string[] => {
    let all = [''];
    while (at < source.length && source[at] !== '|' && source[at] !== ')') all = times(all, item());
    return all;
  };
  const item = (): string[] => {
    const one = atom();
    const quantifier = /^(?:[?*+]|\{\d+,?\d*\})\??/.exec(source.slice(at))?.[0] ?? '';
    at += quantifier.length;
    return /^(?:[?*]|\{0)/.test(quantifier) ? [''] : one;
  };
  const atom = (): string[] => {
    if (source[at] === '(') {
      const head = /^\((?:\?<[a-z]+2?>|\?:|\?!|\?=|\?<!)?/.exec(source.slice(at))?.[0] ?? '(';
      at += head.length;
      const inner = choice();
      at++; // the closing one
      return /[!=]$/.test(head) ? [''] : inner;
    }
    if (source[at] === '[') {
      const length = /^\[(?:\\.|[^\]])*\]/.exec(source.slice(at))?.[0].length ?? 1;
      at += length;
      return ['z'];
    }
    if (source[at] === '\\') {
      const escaped = source[at + 1] ?? '';
      at += 2;
      return [escaped === 'b' ? '' : /[Swd]/.test(escaped) ? 'z' : escaped];
    }
    const char = source[at++] ?? '';
    return [char === '^' || char === '$' ? '' : char === '.' ? 'z' : char];
  };
  return choice();
}

describe('time', () => {
  const took = (line: string): number => cpuMs(() => interpret(line, CONTEXT));
  test('a long line is not read at all', () => {
    for (const word of [
      'ask emma to fix ',
      'and ',
      '"',
      "'a ",
      'checkpoint, ',
      'urgent ',
      '. ',
      '\n',
      '(',
      'what is ',
      ' ',
    ]) {
      const line = word.repeat(Math.ceil(100_000 / word.length));
      took(line);
      expect(took(line), word).toBeLessThan(100);
      expect(interpret(line, CONTEXT)).toMatchObject({
        commands: [],
        clarify: expect.stringContaining(String(MOST_LINE)),
      });
    }
  });
  test('the longest line that is read takes no more than a moment', () => {
    const words = [
      'and ',
      'what ',
      'a to ',
      'x as is ',
      "'a ",
      'checkpoint ',
      'cp ',
      'urgent ',
      'all the my ',
      'ask emma to fix, ',
      'to emma ',
      'since the ',
    ];
    for (const start of [
      '',
      'ask emma to ',
      'delegate ',
      'save ',
      'what changed since ',
      'tell everyone ',
      'show me the ',
      'wait for ',
    ]) {
      for (const word of words)
        expect(took((start + word.repeat(2000)).slice(0, MOST_LINE)), start + word).toBeLessThan(2000);
    }
  });
});
