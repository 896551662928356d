/** Report ⇄ aop1. The block that is written is read back as the same report, and never exceeds the limit of its type of task. */
import { pointer } from '../../core/problem.ts';
import { emptyReport, losses, type Outcome, type Report, type ReportField } from '../../core/report.ts';
import { MARKS } from '../dialects.ts';
import { stripControls } from '../text/clean.ts';
import { shortenChars } from '../text/shorten.ts';
import { createBlockReader, isTemplate } from './blocks.ts';
import { withoutForbidden } from './checklist.ts';
import { type Aop1Report, decodeAop1, type Status } from './decode.ts';
import { defuse, metricKey, metricValue, oneLine } from './defuse.ts';
import { SUMMARY_CHARS, TASK_CHARS, type TaskType } from './limits.ts';

const STATUS: Record<Outcome, Status> = {
  done: 'success',
  partial: 'partial',
  needs_review: 'partial',
  blocked: 'partial',
  failed: 'failure',
};

const OUTCOME = new Map<string | null, Outcome>([
  ['success', 'done'],
  ['partial', 'partial'],
  ['failure', 'failed'],
]);

/** What a valid block claims. */
export const toReport = (value: Aop1Report): Report => ({
  ...emptyReport(OUTCOME.get(value.status) ?? 'needs_review', value.summary ?? ''),
  task: value.task,
  detailsFile: value.detailsFile,
  metrics: value.metrics,
  startedAt: value.timestamps.start,
  completedAt: value.timestamps.end,
});

/** What a block says and a Report has no room for, by its place. */
export const unreported = (value: Aop1Report): string[] =>
  Object.keys(value.unknown ?? {}).map((name) => pointer(['unknown', name]));

export interface Written {
  readonly text: string;
  readonly lost: readonly ReportField[];
}

/** @param most of the summary, in characters, where that is to be less than its type of task allows */
export function fromReport(
  report: Report,
  taskType: TaskType = 'other',
  most: number = SUMMARY_CHARS[taskType],
): Written {
  const metrics = Object.entries(report.metrics).map(([key, value]) => `${metricKey(key)}: ${metricValue(value)}`);
  const lines = [
    ['START', oneLine(report.startedAt ?? '')],
    ['TASK', shortenChars(oneLine(report.task ?? ''), TASK_CHARS)],
    ['SUMMARY', `\n${writeSummary(report.summary, Math.min(most, SUMMARY_CHARS[taskType]))}\n`],
    ['DETAILS_FILE', oneLine(report.detailsFile ?? '') || 'none'],
    ['METRICS', metrics.join(', ')],
    ['STATUS', STATUS[report.outcome]],
    ['END', oneLine(report.completedAt ?? '')],
  ] as const;
  // START and END are asked for even where their time is not known; an empty TASK or METRICS is left out.
  const written = lines.filter(([marker, value]) => value !== '' || marker === 'START' || marker === 'END');
  const text = `${written.map(([marker, value]) => `[AOP:${marker}]${value.startsWith('\n') || value === '' ? value : ` ${value}`}`).join('\n')}\n`;
  return { text, lost: losses(report, readBack(text)) };
}

function readBack(text: string): Report {
  const reader = createBlockReader();
  for (const [i, line] of text.split('\n').entries()) reader.line(line, i + 1, false);
  const found = reader.end();
  if (found === null) throw new Error('an aop1 block that was written must be readable');
  return toReport(decodeAop1(found).value as Aop1Report);
}

/** A line that a reader of any dialect would take for the beginning of a message. */
const OPENER = new RegExp(
  `^\\s*(?:\\*\\*)?(?:\\[AOP:|\\[GRAPH_UPDATE\\]|OUTPUT:|\\{|#[A-Z]|\`\`\`|~~~|${MARKS.map(([mark]) => `${mark} `).join('|')})`,
);

function writeSummary(summary: string, most: number): string {
  const clean = defuse(withoutForbidden(stripControls(summary))).trim();
  if (clean === '') return '(no summary)';
  const quoted = clean.split('\n').map((line) => (OPENER.test(line) ? `- ${line.trimStart()}` : line));
  const text = shortenChars(quoted.join('\n'), most);
  return isTemplate('SUMMARY', text) ? shortenChars(`- ${text}`, most) : text;
}
