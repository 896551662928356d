/** What a hook answers: whether an agent may stop, and what its parent gets of what it said. Pure; files and clocks are the command's. */

import { type Fields, isFields, parseJson } from '../core/fields.ts';
import { emptyReport, type Report } from '../core/report.ts';
import { aop1, detect, lastReport } from '../protocol/index.ts';
import { shorten } from '../protocol/text/shorten.ts';

/** What is asked of an agent that wants to stop; null where it may. `kept` is the file that has all of an answer that is too long for its parent. */
export function askFor(said: string, kept: string | null = null): string | null {
  const found = detect(said);
  const hasReport = lastReport(found) !== null;
  if (hasReport && kept === null) return null;
  const broken = hasReport ? undefined : found.findLast(({ valid, dialect }) => !valid && dialect !== 'unstructured');
  const problem = broken?.problems.find(({ severity }) => severity === 'error');
  const why = hasReport
    ? `Your last message has ${said.length} characters, and whoever called you needs the report only.`
    : problem === undefined
      ? 'Your last message has no report, and whoever called you reads only that.'
      : `The report in your last message is not valid (${broken?.dialect}${problem.path === '' ? '' : `, ${problem.path}`}: ${problem.message}).`;
  const all =
    kept === null
      ? ''
      : ` All that you said is kept in ${kept}: name that as DETAILS_FILE, and say nothing but the block.`;
  return `${why} Say it again as a report: what you did and found, in short.${all}\n\n${aop1.aop1Prompt({ detailsFile: null, taskType: 'other' })}`;
}

/** Tools by which a report is given without words. */
const REPORTING = /(?:^|_)(?:baton_report|aof_task_complete)$/;

/** What the last lines of a transcript say: the last words of the agent, and whether it reported by a tool since it was last asked something. */
export function heardIn(lines: readonly string[]): { readonly said: string | null; readonly reported: boolean } {
  let said: string | null = null;
  let reported = false;
  for (const line of lines.toReversed()) {
    const entry = parseJson(line);
    const message = isFields(entry) && isFields(entry['message']) ? entry['message'] : null;
    if (message === null) continue;
    const blocks = blocksOf(message['content']);
    if (message['role'] === 'assistant') {
      const text = textOf(blocks);
      if (text.trim() !== '') said ??= text;
      if (blocks.some(({ type, name }) => type === 'tool_use' && REPORTING.test(String(name)))) reported = true;
    } else if (message['role'] === 'user' && !blocks.some(({ type }) => type === 'tool_result')) break;
  }
  return { said, reported };
}

const blocksOf = (content: unknown): Fields[] =>
  typeof content === 'string'
    ? [{ type: 'text', text: content }]
    : Array.isArray(content)
      ? content.filter(isFields)
      : [];

const textOf = (blocks: readonly Fields[]): string =>
  blocks.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n');

/** What a parent gets whole: a block and a few words beside it. */
export const MOST_OUTPUT_CHARS = 2_000;

/** What a sub-agent said, as it stands in a tool's answer; null where nothing does. */
export function outputIn(response: unknown): string | null {
  if (typeof response === 'string') return response;
  if (!isFields(response)) return null;
  const text = textOf(blocksOf(response['content']));
  return text === '' ? null : text;
}

/** The block for the parent, of a report where there is one; without one it says that nobody reported, and how it begins. */
export function blockOf(output: string, detailsFile: string, task: string | null): string {
  const report: Report =
    lastReport(detect(output)) ??
    emptyReport('needs_review', `No report was given. It begins: ${shorten(output.trim(), 400)}`);
  const own = report.detailsFile === null ? {} : { details: report.detailsFile };
  return aop1.fromReport({
    ...report,
    task: report.task ?? task,
    detailsFile,
    metrics: { ...report.metrics, ...own, output_chars: String(output.length) },
  }).text;
}

/** The tool's answer with the block in place of the words. It has to keep the form of its tool, or it is not taken. */
export const responseWith = (response: unknown, block: string): unknown =>
  isFields(response) ? { ...response, content: [{ type: 'text', text: block }] } : block;
