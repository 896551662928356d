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
  /**
   * Fills in the variables of one parameter. It comes after the line was taken apart and before anything is checked: a value is held to the
   * limits of what it stands for, and can become no other parameter, no modifier and no other form of the command.
   */
  readonly fill?: (param: string) => string;
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
  const segments = body === '' ? [] : split(body.slice(1), options.fill !== undefined);
  const { command, problems } = readSegments(name, segments, options);
  if (!/[\r\n]/.test(body)) return { command, problems };
  return { command, problems: [error('E002', '/params', 'expected one line, got a line break'), ...problems] };
}

/** At the colons; the one in `{{NAME:-default}}` is the variable's, where variables are filled in. */
function split(body: string, hasVariables: boolean): string[] {
  if (!hasVariables || !body.includes('{{')) return body.split(':');
  const segments = [''];
  // Every other piece is a variable: what a pattern's group matches stays in what `split` gives.
  for (const [i, piece] of body.split(VARIABLE).entries()) {
    const [first = '', ...more] = i % 2 === 1 ? [piece] : piece.split(':');
    segments.push(`${segments.pop() ?? ''}${first}`, ...more);
  }
  return segments;
}

/** With a default: only that has a colon of its own. */
const VARIABLE = /(\{\{[A-Z][A-Z0-9_]*:-[^{}\r\n]*\}\})/;

function readSegments(name: string, segments: readonly string[], options: DecodeOptions): Read {
  if (!isBuiltIn(name)) {
    const { command, problems } = readForm(name, OPEN_FORM, segments, options);
    if (isKnownCommand(name, options.extraNames)) return { command, problems };
    return { command, problems: [error('E001', '/name', `expected a known command, got ${quote(`#${name}`)}`)] };
  }
  const form = formOf(name, segments);
  if (form !== null) return readForm(name, form, segments, options);
  const { command } = readForm(name, OPEN_FORM, segments, options);
  const came = segments.length === 0 ? 'no parameters' : quote(segments[0]);
  return { command, problems: [error('E002', '/params/0', `expected ${usages(name)}, got ${came}`)] };
}

function readForm(
  name: string,
  form: CommandForm,
  segments: readonly string[],
  { countTokens, fill }: DecodeOptions,
): Read {
  const taken = takeModifiers(segments, fewest(form), form);
  const written = fitParams(form, taken.segments);
  const params = fill === undefined ? written : written.map(fill);
  const expected = isBuiltIn(name) && form.sub === null ? usages(name) : usage(name, form);
  return {
    command: {
      name,
      params,
      limit: taken.limit,
      persistent: taken.persistent,
      ...(taken.from === null ? {} : { from: taken.from }),
    },
    problems: [
      ...checkParams(form, params, expected, countTokens),
      ...(isBuiltIn(name) && formOf(name, params)?.sub !== formOf(name, written)?.sub ? [otherForm(params)] : []),
      ...taken.problems,
    ],
  };
}

const otherForm = (params: readonly string[]): Problem =>
  error('E002', '/params/0', `expected a value, got a form of the command: ${quote(params[0])}`);

const usages = (name: CommandName): string => COMMANDS[name].forms.map((form) => usage(name, form)).join(' or ');
