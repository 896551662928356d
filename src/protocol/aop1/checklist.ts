/** What the document keeps out of a summary: file contents, logs, stack traces, snippets over 5 lines. Each is a finding, none an error. */
import { type Problem, warning } from '../../core/problem.ts';
import { BULLETS_MOST } from './limits.ts';

const SNIPPET_LINES = 5;
const LOG_LINES = 3;
const BULLET = /^ ?(?:[-*•+]|\d{1,3}[.)])\s/;

const FRAME = /^\s*(?:File ".*", line \d+|Traceback \(most recent call last\)|goroutine \d+ \[|Caused by: )/;
const FRAME_END = /:\d{1,9}(?::\d{1,9})?\)?$/;
const LOG =
  /^\s*(?:\[?\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}|\[?\d{2}:\d{2}:\d{2}|\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)[\]:\s])/;
const CODE =
  /(?:[;{}]|=>|\):)\s*$|^\s*(?:import |export |from \S+ import |const |let |var |function |class |def |return |#include |package |public |private |fn |use )/;

export function checkSummary(summary: string): Problem[] {
  const lines = summary.split('\n');
  const findings: string[] = [];
  if (lines.some((line) => isFrame(line))) findings.push('a stack trace');
  if (lines.filter((line) => LOG.test(line)).length >= LOG_LINES) findings.push('a log');
  if (longestFence(lines) > SNIPPET_LINES) findings.push(`a code snippet of more than ${SNIPPET_LINES} lines`);
  else if (longestRun(lines, (line) => CODE.test(line) && !/^\s*[-*•]/.test(line)) > SNIPPET_LINES)
    findings.push('the contents of a file');
  const bullets = lines.filter((line) => BULLET.test(line)).length;
  return [
    ...findings.map((what) => warning('E_CHECKLIST', '/summary', `${what} belongs in the details file`)),
    ...(bullets > BULLETS_MOST
      ? [warning('E_CHECKLIST', '/summary', `expected at most ${BULLETS_MOST} bullet points, got ${bullets}`)]
      : []),
  ];
}

/** A summary without what the checklist keeps out of it; as it is where it holds nothing of that. */
export function withoutForbidden(summary: string): string {
  const found = checkSummary(summary);
  if (found.length === 0) return summary;
  const isOnlyLong = checkSummary(firstBullets(summary.split('\n'))).length === 0;
  const kept = firstBullets(isOnlyLong ? summary.split('\n') : plainLines(summary)).trim();
  return kept === '' ? `- The summary held only ${found[0]?.message.replace(/ belongs .*/, '')}.` : kept;
}

/** Up to the end of the last bullet point that a summary may have. */
function firstBullets(lines: readonly string[]): string {
  let bullets = 0;
  const end = lines.findIndex((line) => BULLET.test(line) && ++bullets > BULLETS_MOST);
  return (end < 0 ? lines : lines.slice(0, end)).join('\n');
}

/** The lines of a text that a summary may hold: no frame of a stack, no line of a log, nothing that is code or stands in a fence. */
export function plainLines(text: string): string[] {
  let inFence = false;
  return text.split('\n').filter((line) => {
    if (FENCE.test(line)) {
      inFence = !inFence;
      return false;
    }
    return !inFence && !isFrame(line) && !LOG.test(line) && !CODE.test(line);
  });
}

const FENCE = /^\s*(?:```|~~~)/;

/** `at f (/a/b.ts:1:2)` and its like. Step by step: one expression for it takes cubic time for a line that is made to. */
function isFrame(line: string): boolean {
  if (FRAME.test(line)) return true;
  const rest = /^\s*at /.exec(line);
  const end = rest === null ? null : FRAME_END.exec(line);
  if (rest === null || end === null) return false;
  const place = line.slice(rest[0].length, end.index);
  const blank = place.search(/\s\S*$/);
  const open = blank < 0 ? -1 : place.indexOf('(', blank);
  return (blank < 0 || open > 0) && /[/\\.]/.test(place.slice(open + 1));
}

function longestFence(lines: readonly string[]): number {
  let longest = 0;
  let opened = -1;
  for (const [i, line] of lines.entries()) {
    if (!FENCE.test(line)) continue;
    if (opened < 0) opened = i;
    else {
      longest = Math.max(longest, i - opened - 1);
      opened = -1;
    }
  }
  return opened < 0 ? longest : Math.max(longest, lines.length - opened - 1);
}

function longestRun(lines: readonly string[], matches: (line: string) => boolean): number {
  let longest = 0;
  let run = 0;
  for (const line of lines) {
    run = matches(line) ? run + 1 : line.trim() === '' ? run : 0;
    longest = Math.max(longest, run);
  }
  return longest;
}
