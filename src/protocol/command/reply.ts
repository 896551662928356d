/** Answers as the document writes them, within their limits (§5): text, `•` lists, `→` flows and `#ERROR` lines. */
import { ERRORS, type SessionErrorCode } from '../../core/errors.ts';
import type { CountTokens } from '../message.ts';
import { exceedsBytes, stripControls } from '../text/clean.ts';
import { isLimitModifier } from './modifiers.ts';
import { ERROR_TOKENS } from './table.ts';
import { LONGEST_TOKEN } from './tokens.ts';

const ELLIPSIS = '…';

/** The text, or as many of its words as fit, ending in `…`. Empty where not even that fits. */
export const fitText = (text: string, tokens: number, countTokens: CountTokens): string =>
  exceedsBytes(text, Math.max(0, tokens)) ? shorten(text, tokens, countTokens) : text;

/** `count` may count more than the text (a bullet before it). */
function shorten(text: string, tokens: number, count: CountTokens): string {
  const fits = (candidate: string): boolean => count(candidate) <= tokens;
  if (text.length <= tokens * LONGEST_TOKEN && fits(text)) return text;
  const cut = (length: number): string => text.slice(0, whole(text, length)).trimEnd() + ELLIPSIS;
  if (tokens < 1 || !fits(ELLIPSIS)) return '';
  // Doubling first: a tokenizer is never given much more than what fits. Then the largest that was seen to fit.
  let good = 0;
  let bad = Math.min(text.length, 4 * tokens);
  while (bad < text.length && fits(cut(bad))) {
    good = bad;
    bad = Math.min(text.length, bad * 2);
  }
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (fits(cut(middle))) good = middle;
    else bad = middle;
  }
  const atWord = cut(wordEnd(text, good));
  return atWord.length > ELLIPSIS.length && fits(atWord) ? atWord : cut(good);
}

/** Never between the two halves of a surrogate pair. */
function whole(text: string, length: number): number {
  const last = text.charCodeAt(length - 1);
  return last >= 0xd800 && last <= 0xdbff ? length - 1 : length;
}

/** The end of the last word that is complete within so many characters. */
function wordEnd(text: string, length: number): number {
  if (/\s/.test(text.charAt(length))) return length;
  let end = length;
  while (end > 0 && !/\s/.test(text.charAt(end - 1))) end--;
  return end;
}

export interface BulletOptions {
  readonly maxItems: number;
  /** So many are shown whatever the total; one where nothing is said. */
  readonly sureItems?: number;
  /** Of an item's text; its bullet is not counted, as in the document's own lists. */
  readonly tokensPerItem: number;
  /** Of the whole list, bullets and all. */
  readonly totalTokens?: number | null;
  readonly countTokens: CountTokens;
  /** The entry to begin with, the first is 1. */
  readonly from?: number;
  /** The command that shows the list from an entry on. */
  readonly next?: (from: number) => string;
}

/**
 * One `• ` line an item. What does not fit is not dropped silently: the last line says `+3 more` and how to see it, and it is one of the
 * items the limit allows. At least one item is shown, so that every entry is reached from page to page.
 */
export function bullets(items: readonly string[], options: BulletOptions): string {
  const { maxItems, sureItems = 1, tokensPerItem, totalTokens = null, countTokens, from = 1, next } = options;
  const page = items.slice(from - 1);
  if (maxItems < 1 || page.length === 0) return '';
  // The line that says how many more there are is one of the items.
  const atMost = (count: number): number => (page.length <= count ? page.length : Math.max(1, count - 1));
  const sure = atMost(sureItems);
  // No more are fitted than could be shown: each takes a token at least.
  const most = totalTokens === null ? atMost(maxItems) : Math.min(atMost(maxItems), Math.max(sure, totalTokens));
  const fitted = page.slice(0, most).map((item) => fitText(oneLine(item), tokensPerItem, countTokens));
  const lines = (count: number, hasNext: boolean): string => {
    const left = page.length - count;
    const more = left > 0 && maxItems > 1 ? [`+${left} more${hasNext && next ? ` → ${next(from + count)}` : ''}`] : [];
    return [...fitted.slice(0, count), ...more].map(bullet).join('\n');
  };
  if (totalTokens === null) return lines(most, true);
  const fits = (text: string): boolean => countTokens(text) <= totalTokens;
  for (const hasNext of next === undefined ? [false] : sureItems > 1 ? [true] : [true, false]) {
    for (let count = most; count >= sure; count--) if (fits(lines(count, hasNext))) return lines(count, hasNext);
  }
  if (sureItems > 1) return lines(sure, true);
  // The only one is worth more than the number of the others.
  const only = shorten(fitted[0] ?? '', totalTokens, (candidate) => countTokens(bullet(candidate)));
  return only === '' ? '' : bullet(only);
}

const bullet = (text: string): string => `• ${text}`;
const oneLine = (text: string): string => stripControls(text).replace(/\s+/g, ' ').trim();

/** `build → test → ship`. */
export const flow = (steps: readonly string[]): string => steps.map(oneLine).join(' → ');

/** `#ERROR:E004:max_limit_100`, one line that reads back as what it says. The limit binds the description, not the form around it. */
export function errorReply(
  code: SessionErrorCode,
  description: string,
  { tokens = ERROR_TOKENS, countTokens }: { readonly tokens?: number; readonly countTokens?: CountTokens } = {},
): string {
  const line = oneLine(description) || ERRORS[code].meaning;
  const fitted = countTokens === undefined ? line : fitText(line, tokens, countTokens) || ELLIPSIS;
  // Without its colons it is the only value, and that is never read as a modifier.
  const endsInModifier = isLimitModifier(fitted.slice(fitted.lastIndexOf(':') + 1));
  return `#ERROR:${code}:${endsInModifier ? oneLine(fitted.replaceAll(':', ' ')) : fitted}`;
}
