/** Whether a text is over so many tokens, asked in a way that stays cheap for any text. */
import type { CountTokens } from '../message.ts';
import { exceedsBytes } from '../text/clean.ts';

/**
 * No token of the o200k vocabulary is longer than this many bytes, so no text of more than `limit` times as many fits the limit.
 * It matters because a byte-pair tokenizer takes the square of an unbroken run's length: megabytes never get to it.
 */
export const LONGEST_TOKEN = 128;

/** A token is at least a byte, so most texts are short enough without counting. Without a counter an open question is not answered. */
export function exceedsTokens(text: string, limit: number, countTokens: CountTokens | undefined): boolean {
  if (countTokens === undefined || !exceedsBytes(text, limit)) return false;
  return text.length > limit * LONGEST_TOKEN || countTokens(text) > limit;
}
