/**
 * Slips of the pen in the words that make a line a wish: `plese`, `aks emma to`, `retyr it`. Only the first words of a clause are looked at, and
 * only for words that lose nothing when they are misread; a task's own words are never touched.
 */

const WORDS =
  'please ask tell have delegate assign give show list remember save store lock unlock release wait signal broadcast announce subscribe unsubscribe checkpoint retry escalate export what which status progress help summarize could would should'.split(
    ' ',
  );
/** So many words at the beginning may be wrong. */
const MOST_WORDS = 3;
const LEAST_LETTERS = 3;

/** The clause with its first words as they were probably meant; the same clause where nothing is wrong with them. */
export function corrected(clause: string): string {
  const words = clause.split(' ');
  const fixed = words.map((word, i) => (i < MOST_WORDS ? meant(word) : word));
  return fixed.join(' ');
}

function meant(word: string): string {
  const small = word.toLowerCase();
  if (!/^[a-z]+$/.test(small) || small.length < LEAST_LETTERS || WORDS.includes(small)) return word;
  const near = WORDS.filter((known) => isSlip(small, known));
  return near.length === 1 ? (near[0] ?? word) : word;
}

/** One letter too many, too few or wrong, or two that changed places. A short word has to have the same letters. */
function isSlip(written: string, known: string): boolean {
  if (Math.abs(written.length - known.length) > 1) return false;
  if (known.length < 5) return swapped(written, known);
  return swapped(written, known) || oneApart(written, known);
}

function swapped(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  const at = [...a].findIndex((letter, i) => letter !== b[i]);
  return at >= 0 && a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2);
}

function oneApart(a: string, b: string): boolean {
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  return Math.max(a.length, b.length) - start - end <= 1;
}
