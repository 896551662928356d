/** A line of text → a command of the session language. Nothing here throws, and every step is one pass over the line. */
import { error, type Problem } from '../../core/problem.ts';
import { type CountTokens, type Message, message } from '../message.ts';
import { quote } from '../text/quote.ts';
import type { Command } from './command.ts';
import { type CommandForm, fewest, usage } from './form.ts';
import { takeModifiers } from './modifiers.ts';
import { checkParams, fitParams } from './params.ts';
import { COMMANDS, type CommandName, formOf, isBuiltIn, OPEN_FORM } from './table.ts';

export interface DecodeOptions {
  /** Counts o200k tokens of any text at all. Without it no value is said to be too long. */
  readonly countTokens?: CountTokens;
  /** The names of a project's own commands; they take any number of parameters. A built-in name keeps its meaning. */
  readonly extraNames?: ReadonlySet<string>;
}

export interface ReadCommand {
  /** Null where the line is not of command form. */
  readonly command: Command | null;
  readonly problems: readonly Problem[];
}

interface Read extends ReadCommand {
  readonly command: Command;
}

/** Anchored, and nothing in it can be read in two ways: linear. A byte order mark is no column. */
const FORM = /^\uFEFF?#([A-Z][A-Z0-9_]*)(?=:|\s*$)/;

/** The NAME of a line that starts `#NAME`, and then ends or goes on with a colon; null for `# Heading`, `#TODO list`, `#1234`. */
export function commandName(line: string): string | null {
  const first = line.charCodeAt(0);
  if (first !== 0x23 && first !== 0xfeff) return null; // most lines of most texts end here
  return FORM.exec(line)?.[1] ?? null;
}

export const isKnownCommand = (name: string, extraNames?: ReadonlySet<string>): boolean =>
  isBuiltIn(name) || extraNames?.has(name) === true;

/** The line as a message, whatever is wrong with it. */
export function decodeCommand(line: string, options: DecodeOptions = {}): Message {
  const { command, problems } = readCommand(line, options);
  return message('command', command?.name ?? null, command, problems);
}

/** The same, with its type. */
export function readCommand(line: string, options: DecodeOptions = {}): ReadCommand {
  const name = commandName(line);
  if (name === null) {
    return {
      command: null,
      problems: [error('E_PARSE_FAILURE', '', `expected a line like #NAME:param, got ${quote(line)}`)],
    };
  }
  const body = line.trimEnd().slice(line.indexOf('#') + 1 + name.length);
  const segments = body === '' ? [] : body.slice(1).split(':');
  const { command, problems } = readSegments(name, segments, options);
  if (!/[\r\n]/.test(body)) return { command, problems };
  return { command, problems: [error('E002', '/params', 'expected one line, got a line break'), ...problems] };
}

function readSegments(name: string, segments: readonly string[], { countTokens, extraNames }: DecodeOptions): Read {
  if (!isBuiltIn(name)) {
    const { command, problems } = readForm(name, OPEN_FORM, segments, countTokens);
    if (isKnownCommand(name, extraNames)) return { command, problems };
    return { command, problems: [error('E001', '/name', `expected a known command, got ${quote(`#${name}`)}`)] };
  }
  const form = formOf(name, segments);
  if (form !== null) return readForm(name, form, segments, countTokens);
  const { command } = readForm(name, OPEN_FORM, segments, countTokens);
  const came = segments.length === 0 ? 'no parameters' : quote(segments[0]);
  return { command, problems: [error('E002', '/params/0', `expected ${usages(name)}, got ${came}`)] };
}

function readForm(
  name: string,
  form: CommandForm,
  segments: readonly string[],
  countTokens: CountTokens | undefined,
): Read {
  const taken = takeModifiers(segments, fewest(form), form.persistable);
  const params = fitParams(form, taken.segments);
  const expected = isBuiltIn(name) && form.sub === null ? usages(name) : usage(name, form);
  return {
    command: { name, params, limit: taken.limit, persistent: taken.persistent },
    problems: [...checkParams(form, params, expected, countTokens), ...taken.problems],
  };
}

const usages = (name: CommandName): string => COMMANDS[name].forms.map((form) => usage(name, form)).join(' or ');
