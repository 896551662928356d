/** A line that begins with `#` → the command that it is, with its variables filled in, or what is wrong with it. Pure. */
import { type Config, nearest } from '../core/config.ts';
import type { Problem } from '../core/problem.ts';
import {
  COMMANDS,
  type Command,
  commandName,
  isBuiltIn,
  readCommand,
  substitute,
  type Variables,
  withDefaults,
} from '../protocol/command/index.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { failed, type Said } from './call.ts';
import { codeOf } from './refusals.ts';

/** A longer line is no command. */
const MOST_CHARS = 100_000;
const MOST_NAME = 40;

/** A command as it was understood, or why it was not. */
export interface Understood {
  readonly command: Command;
  readonly said: Said | null;
}

export const hasVariables = (line: string): boolean => line.includes('{{');

export const NO_VARIABLES: Variables = new Map();

/** What a terminal would act upon has no place in a command, nor in a value. */
export const isPlain = (line: string): boolean => stripControls(line) === line;

export function createReader(
  config: Pick<Config, 'commands'>,
  countTokens: (text: string) => number,
): (line: string, variables: Variables) => Understood {
  const extraNames = new Set(Object.keys(config.commands));
  const plain = { countTokens, extraNames };

  const unknown = (name: string): string => {
    const short = name.slice(0, MOST_NAME);
    return `unknown #${short}, nearest #${nearest(short, [...Object.keys(COMMANDS), ...extraNames])}`;
  };
  /** `#state:list`: who writes it so means a command, and is told how it is written. */
  const noCommand = (line: string): string => {
    const name = /^#([a-z][a-z0-9_]*)(?=:|\s*$)/i.exec(line)?.[1]?.toUpperCase() ?? '';
    return isBuiltIn(name) || extraNames.has(name) ? `write #${name}` : 'expected #COMMAND';
  };
  const refusal = (line: string, code: 'E001' | 'E002' | 'E004', words: string): Understood => ({
    command: { name: commandName(line) ?? '', params: [], limit: null, persistent: false },
    said: failed(code, words),
  });

  return (line, variables) => {
    if (line.length > MOST_CHARS) return refusal(line, 'E004', `line_over_${MOST_CHARS}_characters`);
    if (!isPlain(line)) return refusal(line, 'E002', 'control_characters');
    const missing: Problem[] = [];
    const fill = (param: string): string => {
      const { text, problems } = substitute(param, variables, { countTokens });
      missing.push(...problems);
      return text;
    };
    const { command, problems } = readCommand(line, hasVariables(line) ? { ...plain, fill } : plain);
    if (command === null) return refusal(line, 'E001', noCommand(line));
    // A variable that has no value is what is wrong, not what stands there without it.
    const wrong = missing[0] ?? problems.find(({ severity }) => severity === 'error');
    if (wrong === undefined) return { command: withDefaults(command), said: null };
    return { command, said: failed(codeOf(wrong), wrong.code === 'E001' ? unknown(command.name) : wrong.message) };
  };
}
