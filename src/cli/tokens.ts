/** The o200k vocabulary: large, so it is loaded at the first text that has to be counted, and not before. */
import { createRequire } from 'node:module';
import type { CountTokens } from '../protocol/message.ts';

type Tokenizer = { countTokens(text: string, options: { disallowedSpecial: Set<string> }): number };

let tokenizer: Tokenizer | null = null;

/** The names of special tokens are text like any other here; without saying so, the tokenizer throws on them. */
const ALL_IS_TEXT = { disallowedSpecial: new Set<string>() };

export const countTokens: CountTokens & { isReady(): boolean } = Object.assign(
  (text: string): number => {
    tokenizer ??= createRequire(import.meta.url)('gpt-tokenizer/encoding/o200k_base') as Tokenizer;
    return tokenizer.countTokens(text, ALL_IS_TEXT);
  },
  { isReady: () => tokenizer !== null },
);
