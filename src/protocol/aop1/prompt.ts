/** The section of a prompt that asks an agent for a report (document, "Implementation in Agent Prompts"). */
import { SUMMARY_CHARS, TASK_CHARS, type TaskType } from './limits.ts';

export interface AskFor {
  /** Where the agent is to write its full results; null leaves that to the runtime, which keeps all it prints. */
  readonly detailsFile: string | null;
  readonly taskType: TaskType;
}

/** Its placeholders are in braces, so that an agent that only repeats it is not taken to have reported. */
export function aop1Prompt({ detailsFile, taskType }: AskFor): string {
  const write = detailsFile === null ? [] : [`Write your detailed results to ${detailsFile}.`];
  return [
    '**OUTPUT REQUIREMENTS (mandatory, Agent Output Protocol):**',
    '',
    ...write,
    'End with this block, not in a code fence, and nothing after it:',
    '',
    '[AOP:START] {ISO timestamp}',
    `[AOP:TASK] {your task in ${TASK_CHARS} characters}`,
    '',
    '[AOP:SUMMARY]',
    `{your key findings in 1 to 5 bullets, at most ${SUMMARY_CHARS[taskType]} characters in all}`,
    '',
    '[AOP:DETAILS_FILE] {path to your detailed results, or none}',
    '[AOP:METRICS] {optional: counts, sizes, durations as key: value pairs}',
    '[AOP:STATUS] success|failure|partial',
    '[AOP:END] {ISO timestamp}',
    '',
    'Keep out of it: file contents, complete search results, logs, stack traces, code snippets of more than 5 lines.',
    'Say success only for what you have checked.',
  ].join('\n');
}
