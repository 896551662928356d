/** What a line of the session language says: the value of a `command` message. */

export const LIMIT_WORDS = ['brief', 'standard', 'detailed'] as const;
export type LimitWord = (typeof LIMIT_WORDS)[number];

/** How long the answer may be: a number of tokens, a share of the default, or null where the line does not say. */
export type Limit = number | LimitWord | null;

/** The most tokens that `:limit=N` may ask for (§5). */
export const MAX_LIMIT = 100;

export interface Command {
  /** The name without `#`. */
  readonly name: string;
  /** As written: a sub-command is the first one, defaults are not filled in, modifiers are not among them. */
  readonly params: readonly string[];
  readonly limit: Limit;
  /** True only where a STATE:save ends so. */
  readonly persistent: boolean;
  /** `:from=N`: the entry that a list begins with, the first is 1. Not there where the line does not say. */
  readonly from?: number;
}

export const isLimitWord = (text: string): text is LimitWord => (LIMIT_WORDS as readonly string[]).includes(text);
