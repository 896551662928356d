/** Text made to fit: cut where a reader would cut it. */

/** At most so many UTF-16 units: whole if it fits, else up to the end of a sentence or line in its second half, else of a word, with `…`. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const room = text.slice(0, most - 1);
  const least = most / 2;
  const sentence = Math.max(lastEnd(room, /[.!?](?=\s)/g), room.lastIndexOf('\n'));
  const word = room.search(/\s\S*$/);
  const end = sentence > least ? sentence : word > least ? word : safeEnd(room);
  return `${room.slice(0, end).trimEnd()}…`;
}

function lastEnd(text: string, pattern: RegExp): number {
  let end = -1;
  for (const match of text.matchAll(pattern)) end = match.index + 1;
  return end;
}

/** Not in the middle of a surrogate pair. */
const safeEnd = (text: string): number => (/[\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length);
