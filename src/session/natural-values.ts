/** From words to the values of a command: keys, names, topics, seconds. */

const ARTICLE = /^(?:the|my|our|your|a|an|this|that)\s+/i;

export const withoutArticle = (text: string): string => text.trim().replace(ARTICLE, '');

const MOST_KEY = 40;
const MOST_KEY_WORDS = 5;

/** `the api url` → `api_url`; null where nothing of it could be a key, or it is a sentence rather than a name. */
export function keyOf(text: string): string | null {
  const key = withoutArticle(text)
    .replace(/['’]s\b/g, '')
    .replace(/[^A-Za-z0-9_]+/g, '_')
    .replace(/^_+|_+$/g, '');
  if (key === '' || key.length > MOST_KEY || withoutArticle(text).split(/\s+/).length > MOST_KEY_WORDS) return null;
  return key;
}

/** The name of a checkpoint or a condition, as the document writes them: `before the refactor` → `before_refactor`. */
export function nameOf(text: string): string | null {
  const name = withoutArticle(text)
    .replace(/\b(?:the|a|an|my|our)\s+/gi, '')
    .replace(/[^\p{L}\p{N}_.-]+/gu, '_')
    .replace(/^[_.-]+|[_.-]+$/g, '');
  return name === '' ? null : name.slice(0, 60).replace(/[_.-]+$/, '');
}

/**
 * A topic that is looked for, as one parameter: spaces stay, colons go, since the language has no escapes. What is kept or handed on is never
 * changed so: it is the text of a command, which may have colons.
 */
export function topicText(text: string): string {
  return text
    .replace(/https?:\/\//gi, '')
    .replace(/\s*:+(?=\s)/g, ' -')
    .replace(/(\d):+(?=\d)/g, '$1.')
    .replace(/:+(?=\d)/g, ' ')
    .replace(/:+$/g, '')
    .replace(/^:+/g, '')
    .replace(/:+/g, '.')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Without the full stop or the mark of exclamation that ends a sentence. */
export const withoutEnd = (text: string): string => text.replace(/[\s.,;!?]+$/, '');

const NUMBERS: Readonly<Record<string, number>> = {
  a: 1,
  an: 1,
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  fifteen: 15,
  twenty: 20,
  thirty: 30,
};

/** How a time is said, for the rules. */
export const TIME = `(?:half an hour|(?:\\d{1,6}|${Object.keys(NUMBERS).join('|')}) ?(?:seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h)\\b)`;

/** `10 minutes` → `600`; null where it is no time. */
export function secondsOf(text: string): string | null {
  if (/^half an hour$/i.test(text)) return '1800';
  const match = /^(\d{1,6}|[a-z]+?) ?(s|m|h)[a-z]*$/i.exec(text.trim());
  if (match === null) return null;
  const [, amount = '', unit = ''] = match;
  const number = /^\d/.test(amount) ? Number(amount) : NUMBERS[amount.toLowerCase()];
  const factor = { s: 1, m: 60, h: 3600 }[unit.toLowerCase()];
  if (number === undefined || factor === undefined) return null;
  const seconds = number * factor;
  return seconds > 0 && seconds < 1e9 ? String(seconds) : null;
}
