/** A report that is whole but for the length of its summary: how long that may be is the runtime's promise to the parent, and no reason not to hear it. */
import type { Message } from '../message.ts';
import { charCount } from '../text/clean.ts';
import { shortenChars } from '../text/shorten.ts';
import type { Aop1Report } from './decode.ts';
import { SUMMARY_CHARS_MOST } from './limits.ts';

/** The report with its summary shortened, where that is all that is wrong with it; else the message as it is. */
export function withinLimit<T extends Message>(message: T): T {
  if (message.dialect !== 'aop1' || message.valid) return message;
  const report = message.value as Aop1Report;
  const errors = message.problems.filter(({ severity }) => severity === 'error');
  const isTooLong = charCount(report.summary ?? '') > SUMMARY_CHARS_MOST;
  if (!isTooLong || errors.length !== 1 || errors[0]?.path !== '/summary') return message;
  const summary = shortenChars(report.summary ?? '', SUMMARY_CHARS_MOST);
  const problems = message.problems.map((problem) =>
    problem.severity === 'error' ? { ...problem, severity: 'warning' as const } : problem,
  );
  return { ...message, valid: true, value: { ...report, summary }, problems };
}
