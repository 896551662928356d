/** Text made to fit: cut where a reader would cut it. A mark (`…`) stands only where a sentence had to be cut in two. */

/**
 * At most so many UTF-16 units: whole if it fits, else up to the last end of a sentence, of a bullet or of a paragraph in its second half; else
 * of a word, with `…`.
 */
export const shorten = (text: string, most: number): string => (text.length <= most ? text : cut(text, most));

/** The same, by characters as the output protocol counts them: code points. */
export function shortenChars(text: string, most: number): string {
  if (text.length <= most) return text;
  const limit = unitsOf(text, most);
  return limit >= text.length ? text : cut(text, limit);
}

/** The end of a text, at most so many UTF-16 units of it: its last whole sentences where they fit, else its last words, with `…` before them. */
export function lastOf(text: string, most: number): string {
  if (text.length <= most) return text;
  const from = text.length - most;
  const latest = text.length - most / 2;
  for (let at = from; at < latest; at++) {
    if (!isBlank(text, at) && beginsAt(text, at)) return text.slice(at);
  }
  const room = text.slice(from + 1);
  const word = room.search(/\s\S/);
  const start = word >= 0 && word < most / 2 ? word + 1 : /^[\udc00-\udfff]/.test(room) ? 1 : 0;
  return `…${room.slice(start)}`;
}

function cut(text: string, limit: number): string {
  if (limit <= 0) return '';
  const least = limit / 2;
  for (let at = limit; at > least; at--) {
    if (endsAt(text, at)) return text.slice(0, at);
  }
  const room = text.slice(0, limit - 1);
  const word = room.search(/\s\S*$/);
  return `${room.slice(0, word > least ? word : safeEnd(room)).trimEnd()}…`;
}

/** What ends a sentence, and what may close behind it; where words are not parted by blanks, the mark alone. */
const ENDS = /(?:[.!?…]["'”’»)\]*_`]{0,3}|[。！？])$/;
/** `1.` at a line's start is a number, not a sentence. */
const NUMBER = /(?:^|\n)[ \t]*\d{1,9}\.$/;
const BEGINS = /^[ \t]*(?:[-*•+#>|]|\d{1,9}[.)][ \t]|\n|$)/;
const LOOK = 16;

const isBlank = (text: string, at: number): boolean => /\s/.test(text.charAt(at));

/** Whether what stands before this place is whole: a sentence ends there, or what follows begins something new. */
function endsAt(text: string, at: number): boolean {
  if (at === 0 || isBlank(text, at - 1)) return false;
  if (text.charAt(at) === '\n' && BEGINS.test(text.slice(at + 1, at + 1 + LOOK))) return true;
  const before = text.slice(Math.max(0, at - LOOK), at);
  const isApart = at >= text.length || isBlank(text, at) || /[。！？]$/.test(before);
  return isApart && ENDS.test(before) && !NUMBER.test(before);
}

/** Whether something whole begins here: what stands before the blanks before it is whole. */
function beginsAt(text: string, at: number): boolean {
  let end = at;
  while (end > 0 && isBlank(text, end - 1)) end--;
  if (end === 0) return true;
  if (text.slice(end, at).includes('\n') && BEGINS.test(text.slice(at, at + LOOK))) return true;
  return endsAt(text, end);
}

/** Where so many code points end. */
function unitsOf(text: string, chars: number): number {
  let at = 0;
  for (let count = 0; count < chars && at < text.length; count++) {
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  }
  return at;
}

/** Not in the middle of a surrogate pair. */
const safeEnd = (text: string): number => (/[\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length);
