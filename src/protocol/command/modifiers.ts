/** What may stand at the end of any command: `:brief :standard :detailed :limit=N`, `:persistent` on STATE:save (§5, §6), and `:from=N` on a list. */
import { error, type Problem } from '../../core/problem.ts';
import { quote } from '../text/quote.ts';
import { isLimitWord, type Limit, MAX_LIMIT } from './command.ts';
import type { CommandForm } from './form.ts';

interface Modifiers {
  /** What is left of the line for the parameters. */
  readonly segments: readonly string[];
  readonly limit: Limit;
  readonly persistent: boolean;
  readonly from: number | null;
  readonly problems: readonly Problem[];
}

const CUSTOM = 'limit=';
/** The next page of a list. Nine digits are more entries than any list has. */
const FROM = /^from=([1-9]\d{0,8})$/;

export const isLimitModifier = (segment: string): boolean => isLimitWord(segment) || segment.startsWith(CUSTOM);

/**
 * Reads modifiers off the end, in any order, each kind at most once: what stands before them belongs to the parameters.
 * The only value left is never a modifier, so it stops at `fewest`, and at one even where a form needs none:
 * `#STATE:save:k:brief` saves the word, `#SUMMARY:brief` sums it up.
 */
export function takeModifiers(
  segments: readonly string[],
  fewest: number,
  { persistable, reply }: Pick<CommandForm, 'persistable' | 'reply'>,
): Modifiers {
  let end = segments.length;
  let from: number | null = null;
  let limit: string | null = null;
  let persistent = false;
  while (end > fewest) {
    const last = segments[end - 1] as string;
    const isOnly = end === 1;
    // `#NEXT:from=4` is the next page: no agent is called so.
    if (from === null && reply.kind === 'list' && FROM.test(last)) from = Number(FROM.exec(last)?.[1]);
    else if (!isOnly && persistable && !persistent && last === 'persistent') persistent = true;
    else if (!isOnly && limit === null && isLimitModifier(last)) limit = last;
    else break;
    end--;
  }
  return { segments: segments.slice(0, end), persistent, from, ...readLimit(limit) };
}

function readLimit(written: string | null): { limit: Limit; problems: readonly Problem[] } {
  if (written === null || isLimitWord(written)) return { limit: written, problems: [] };
  const digits = written.slice(CUSTOM.length);
  const limit = /^\d+$/.test(digits) ? Number(digits) : 0;
  if (limit === 0) {
    return {
      limit: null,
      problems: [error('E002', '/limit', `expected limit=1 to limit=${MAX_LIMIT}, got ${quote(written)}`)],
    };
  }
  if (limit <= MAX_LIMIT) return { limit, problems: [] };
  const message = `max_limit_${MAX_LIMIT}: expected at most ${MAX_LIMIT} tokens, got ${quote(written)}`;
  return { limit: Number.isSafeInteger(limit) ? limit : null, problems: [error('E004', '/limit', message)] };
}
