/**
 * How a rule of plain language is written. A pattern is a regular expression over a whole clause, in small letters or large: `(a|b)` does
 * not capture, `{agent}` does, by name. A rule is tried only on a clause that has one of its words, so a line with none of them does nothing.
 */
import type { Command, Limit } from '../protocol/command/command.ts';
import type { Names, NaturalContext } from './natural-agents.ts';
import { QUOTED_CHARS, unmask } from './natural-quotes.ts';
import { TIME } from './natural-values.ts';

export type Mode = 'show' | 'hide' | 'explain' | 'protocol' | 'natural';

export type Meaning =
  /** `free`: ends in free text, which goes on as long as nothing else clearly begins. */
  | { readonly kind: 'do'; readonly commands: readonly Command[]; readonly free: boolean }
  | { readonly kind: 'ask'; readonly question: string }
  | { readonly kind: 'mode'; readonly mode: Mode };

/** What a pattern has found, and what is known. */
export interface Said {
  /** A part as it stands in the line, quotations hidden; empty where the pattern has none. */
  readonly part: (name: string) => string;
  /** The same with its quotations. */
  readonly text: (name: string) => string;
  /** Any piece of a part, with its quotations. */
  readonly whole: (piece: string) => string;
  /** The whole clause. */
  readonly line: string;
  readonly context: NaturalContext;
  readonly names: Names;
  /** What `it` may mean: the task that the same line or the session delegated last. */
  readonly antecedent: string | null;
}

export interface Rule {
  /** One of these has to be in the clause, in small letters. */
  readonly words: readonly string[];
  readonly patterns: readonly string[];
  /** Null where the words fit but mean nothing here. */
  readonly means: (said: Said) => Meaning | null;
}

/** `words` are apart by blanks. */
export const rule = (words: string, patterns: readonly string[], means: Rule['means']): Rule => ({
  words: words.split(' '),
  patterns,
  means,
});

export const command = (name: string, params: readonly string[], limit: Limit = null, persistent = false): Command => ({
  name,
  params,
  limit,
  persistent,
});

export const act = (...commands: readonly Command[]): Meaning => ({ kind: 'do', commands, free: false });
export const actFreely = (...commands: readonly Command[]): Meaning => ({ kind: 'do', commands, free: true });
export const ask = (question: string): Meaning => ({ kind: 'ask', question });
export const always =
  (name: string, ...params: readonly string[]): Rule['means'] =>
  () =>
    act(command(name, params));

const CHAR = `[\\w${QUOTED_CHARS}]`;
const PARTS: Readonly<Record<string, string>> = {
  time: TIME,
  size: 'brief|short|quick|detailed|full|long|complete|in-depth',
  /** Words without a blank: a path, a key, a quotation. */
  file: '\\S+',
  file2: '\\S+',
  topic:
    'results?|outcomes?|output|findings|errors?|failures?|problems?|issues|mistakes|updates?|news|progress|status|state|security|performance|coverage|audit|costs?|usage|blockers',
  /** Up to four words that may be a name. */
  who: `@?${CHAR}[\\w.-]*(?: ${CHAR}[\\w.-]*){0,3}?`,
  word: `${CHAR}[\\w.-]*`,
  task: '(?:task )?(?:TASK-[\\w-]+|task_[\\w-]+)',
};

/** The pattern as an expression, for these names of agents. */
export function compile(pattern: string, names: Names): RegExp {
  const source = pattern.replace(/\((?!\?)/g, '(?:').replace(/\{([a-z]+2?)\}/g, (_, name: string) => {
    const part = name === 'agent' || name === 'agent2' ? names.pattern : (PARTS[name] ?? '.+?');
    return `(?<${name}>${part})`;
  });
  return new RegExp(`^(?:${source})$`, 'i');
}

/** What the pattern's parts are in this clause. */
export function saidBy(
  match: RegExpExecArray,
  quotes: readonly string[],
  context: NaturalContext,
  names: Names,
  antecedent: string | null,
): Said {
  const part = (name: string): string => match.groups?.[name]?.trim() ?? '';
  const whole = (piece: string): string => unmask(piece, quotes);
  return { part, text: (name) => whole(part(name)), whole, line: match[0], context, names, antecedent };
}

/** `brief` and its like, where the line asks for a length. */
export function sizeOf(words: string): Limit {
  if (/^(?:brief|short|quick)$/i.test(words)) return 'brief';
  return /^(?:detailed|full|long|complete|in-depth)$/i.test(words) ? 'detailed' : null;
}
