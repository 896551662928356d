/** Words for people: a text cut to its length, a value in a sentence, a number with its noun. */

/** At most so many UTF-16 units, the last one `…` where something is missing; no pair is cut in two. `shorten` of protocol cuts at sentences. */
export const clip = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`;

const MOST_SHOWN = 60;

/** A value of unknown shape, in a sentence. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  // JSON has no word for .nan and .inf.
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value));
  return clip(text, MOST_SHOWN);
}

/** `1 key`, `3 keys` */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
