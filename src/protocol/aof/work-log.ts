/** The single `## Work Log` section of a task's body: a line is appended, and all else stays as it is. */
import { stripControls } from '../text/clean.ts';

const TITLE = 'Work Log';
const HEADING = /^ {0,3}#{1,2}(?:[ \t]|$)/;
/** Of a line without trailing space; `#`s may close a heading. */
const WORK_LOG = /^ {0,3}##[ \t]+work log(?:[ \t]+#+)?$/i;
/** A fence of backticks has none in its info string; that would be inline code. */
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;

/** The body with one line more. A text of several lines becomes one; one that says nothing changes nothing. */
export function appendWorkLog(body: string, line: string): string {
  const said = oneLine(line);
  if (said === '') return body;
  // A list item, so that no text can open a fence or a section of its own.
  const entry = said.startsWith('- ') ? said : `- ${said}`;
  const eol = /\r?\n/.exec(body)?.[0] ?? '\n';
  const found = scan(body);
  if (found.section === null) return withNewSection(body, found.openFence, entry, eol);
  const { at, empty } = found.section;
  const before = body.slice(0, at);
  return `${before}${before.endsWith('\n') ? '' : eol}${empty ? eol : ''}${entry}${eol}${body.slice(at)}`;
}

/** The body without that section. */
export function withoutWorkLog(body: string): string {
  const { section } = scan(body);
  return section === null ? body : body.slice(0, section.start) + body.slice(section.at);
}

function withNewSection(body: string, openFence: string | null, entry: string, eol: string): string {
  let text = body;
  if (text !== '' && !text.endsWith('\n')) text += eol;
  // A fence that is never closed ends with the text; it has to be closed for our heading not to be in it.
  if (openFence !== null) text += `${openFence}${eol}`;
  if (text !== '' && !/\n[ \t]*\r?\n$/.test(text)) text += eol;
  return `${text}## ${TITLE}${eol}${eol}${entry}${eol}`;
}

const oneLine = (text: string): string => stripControls(text.replace(/[\r\n\u2028\u2029]+/g, ' ')).trim();

interface Scan {
  /** Just after the section's last line that is not blank; `empty` where that is its heading. */
  readonly section: { readonly start: number; readonly at: number; readonly empty: boolean } | null;
  /** What would close the fence that is open at the end. */
  readonly openFence: string | null;
}

/** One pass over the lines. The section reaches to the next heading of its level or above, or to the end. */
function scan(body: string): Scan {
  let fence: string | null = null;
  let section: { start: number; at: number; empty: boolean } | null = null;
  for (let start = 0; start < body.length; ) {
    const end = body.indexOf('\n', start);
    const next = end < 0 ? body.length : end + 1;
    const line = body.slice(start, next).trimEnd();
    const isProse = fence === null;
    fence = fenceAfter(fence, line);
    if (isProse && section !== null && HEADING.test(line)) return { section, openFence: null };
    if (section !== null && line !== '') section = { start: section.start, at: next, empty: false };
    else if (isProse && WORK_LOG.test(line)) section = { start, at: next, empty: true };
    start = next;
  }
  return { section, openFence: fence };
}

/** CommonMark §4.5: a fence is closed by a line of the same character, at least as long, with nothing after it. */
function fenceAfter(open: string | null, line: string): string | null {
  const marks = FENCE.exec(line)?.[1];
  if (marks === undefined) return open;
  if (open === null) return marks;
  return marks[0] === open[0] && marks.length >= open.length && line.trim() === marks ? null : open;
}
