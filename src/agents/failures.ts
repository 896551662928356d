/** What went wrong with a model, as a code of ours. README.md has the table and its reasons. */
import type { ErrorCode } from '../core/errors.ts';
import { brief } from './words.ts';

export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
}

const WORDS: readonly (readonly [RegExp, ErrorCode])[] = [
  [
    /unauthori[sz]ed|unauthenticated|invalid.{0,10}api.?key|api key (?:not|is)|not logged in|log ?in again|authenticat|credit balance/i,
    'E_CREDENTIALS',
  ],
  [
    /model.{0,80}(?:not found|does not exist|not supported|not available|unknown)|model ?not ?found|unknown model/i,
    'E_MODEL_UNAVAILABLE',
  ],
  [
    /(?:prompt|input|context|conversation).{0,40}(?:too long|too large|exceed|overflow)|max_output_tokens/i,
    'E_CONTEXT_OVERFLOW',
  ],
];

const byWords = (said: string): ErrorCode | null => WORDS.find(([words]) => words.test(said))?.[1] ?? null;

/** Rate limits and a server's own errors pass, so they are not of the codes that are never tried again (core/laws/retries.ts). */
function codeOf(status: number | null, said: string): ErrorCode {
  if (status === 401 || status === 402 || status === 403) return 'E_CREDENTIALS';
  if (status === 404) return 'E_MODEL_UNAVAILABLE';
  if (status === 413) return 'E_CONTEXT_OVERFLOW';
  if (status === null) return byWords(said) ?? 'E_PROCESS_CRASH';
  if (status === 408 || status === 409 || status === 425 || status === 429 || status >= 500) return 'E_PROCESS_CRASH';
  return byWords(said) ?? 'E_UNKNOWN';
}

/** The failure of a call of the model: by its HTTP status where one is known, else by what was said. */
export function failureOf(status: number | null, said: string): Failure {
  const words = brief(said, 500);
  const what = status === null ? 'the call of its model failed' : `its model answered HTTP ${status}`;
  return { code: codeOf(status, words), message: words === '' ? what : `${what}: ${words}` };
}

/** An answer that stops where the model's limit of output was reached is not an answer. */
export const cutAnswer = (said: string): Failure => ({
  code: 'E_CONTEXT_OVERFLOW',
  message: `the answer was cut off at the model's limit of output tokens: ${brief(said, 300) || 'it said no more'}`,
});

/** The HTTP status that a sentence of a program names. */
export function statusIn(text: string): number | null {
  const found = /(?:\bstatus:? |\bHTTP |API Error: |"code": ?)\(?([1-5]\d\d)\b/.exec(text.slice(0, 4000))?.[1];
  return found === undefined ? null : Number(found);
}
