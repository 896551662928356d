/** How well plain words are understood that the rules were not written for; and that none of them does something else. */
import { describe, expect, test } from 'vitest';
import { effectOf, readCommand } from '../../src/protocol/command/index.ts';
import { interpret } from '../../src/session/natural.ts';
import { FIRST_SET, type HeldOut, SECOND_SET } from './held-out-phrasings.ts';
import { CONTEXT } from './phrasings.ts';

interface Measured {
  readonly understood: readonly string[];
  readonly missed: readonly string[];
  readonly wrong: readonly string[];
}

const isOneOf = (said: string | undefined, right: string | readonly string[]): boolean =>
  said !== undefined && [right].flat().includes(said);

/** A line that acts, and not as meant, is wrong; one that only looks at the wrong thing is a miss. */
function measure(set: readonly HeldOut[]): Measured {
  const understood: string[] = [];
  const missed: string[] = [];
  const wrong: string[] = [];
  for (const [line, ...meant] of set) {
    const { commands, mode } = interpret(line, CONTEXT);
    const isRight = commands.length === meant.length && meant.every((right, i) => isOneOf(commands[i], right));
    const acts =
      mode !== null ||
      commands.some((command) => effectOf(readCommand(command).command ?? { name: '', params: [] }) !== 'looks');
    const told = `${line} → ${commands.join(' | ') || '(asked back)'}`;
    if (isRight && mode === null) understood.push(line);
    else if (acts) wrong.push(told);
    else missed.push(told);
  }
  return { understood, missed, wrong };
}

describe.each([
  ['the first set', FIRST_SET],
  ['the second set', SECOND_SET],
] as const)('%s', (_name, set) => {
  const { understood, missed, wrong } = measure(set);
  test('nothing is done that was not meant', () => expect(wrong).toEqual([]));
  test('at least 85 % is understood', () => {
    expect(understood.length / set.length, missed.join('\n')).toBeGreaterThanOrEqual(0.85);
  });
});
