/** A line is read with one kind of quotes and single blanks; what is handed on is what was written. */

const SAME: Readonly<Record<string, string>> = {
  "'": "['\\u2018\\u2019\\u02BC]",
  '"': '["\\u201C\\u201D\\u201E\\u00AB\\u00BB]',
  ' ': '[\\s\\u0000-\\u001F\\u007F-\\u00A0\\uFEFF]+',
};
const UNSEEN = '[\\u200B-\\u200F\\u202A-\\u202E\\u2060-\\u2069]*';

/** The text as it stands in the line; the text itself where it is not there in one piece, or not on one line. */
export function originalOf(line: string, text: string): string {
  if (text === '' || line.includes(text)) return text;
  const source = [...text].map((char) => SAME[char] ?? char.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&')).join(UNSEEN);
  const found = new RegExp(source).exec(line)?.[0];
  return found === undefined ||
    /[\u0000-\u001F\u007F-\u009F\u2028\u2029\u200B-\u200F\u202A-\u202E\u2060-\u2069]/.test(found)
    ? text
    : found;
}
