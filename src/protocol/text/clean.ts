/** Terminal escapes, as in ECMA-48: CSI, OSC up to its end, and the two-character ones. All alternatives start at ESC and cannot overlap, so the match is linear. */
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]?|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~]?)/g;

/** The text as a reader sees it: without colours and other terminal escapes. */
export const stripAnsi = (text: string): string => (text.includes('\x1b') ? text.replace(ESCAPES, '') : text);

/** What would move a cursor, ring a bell or hide text: C0 but tab and line feed, DEL, C1, and the bidi overrides. */
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/** Text of unknown origin, made safe to print or to write into a report. */
export const stripControls = (text: string): string => stripAnsi(text).replace(CONTROLS, '');

/** Bytes of UTF-8, without encoding it; a lone surrogate counts as the replacement character does. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else if (unit >= 0xd800 && unit <= 0xdbff && isLow(text.charCodeAt(i + 1))) {
      bytes += 2; // four bytes for a pair of units
      i++;
    } else bytes += 2;
  }
  return bytes;
}

const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** Whether a text is longer than so many bytes; looks at it only when its length leaves the answer open. */
export const exceedsBytes = (text: string, limit: number): boolean =>
  text.length > limit || (text.length * 3 > limit && utf8Length(text) > limit);

/** Characters as a person counts them, more or less: code points. */
export function charCount(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
