/** The o200k vocabulary: large, so it is loaded at the first value that could be over its limit, and not before. */
import { createRequire } from 'node:module';
import type { CountTokens } from '../protocol/message.ts';

let count: CountTokens | null = null;

export const countTokens: CountTokens = (text) => {
  count ??= (createRequire(import.meta.url)('gpt-tokenizer/encoding/o200k_base') as { countTokens: CountTokens })
    .countTokens;
  return count(text);
};
