/** What went wrong, in one sentence that begins with its code: never a stack, never long. */
import { BatonError, messageOf } from '../../core/errors.ts';
import { words } from './shown.ts';

export function sentenceOf(cause: unknown): string {
  if (!(cause instanceof BatonError)) {
    return words(`E_UNKNOWN: ${messageOf(cause)}`);
  }
  const hint = cause.hint === null ? '' : ` (${cause.hint})`;
  return words(`${cause.code}: ${cause.message}${hint}`);
}
