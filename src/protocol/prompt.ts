/** The text that an agent gets for a TASK: what to do, what it may touch, and how to report. */

import { accessLines } from '../core/access.ts';
import type { Access } from '../core/policy.ts';
import { type TaskType, taskTypeOf } from './aop1/limits.ts';
import { aop1Prompt } from './aop1/prompt.ts';
import { policyOf } from './aop2/policy.ts';
import { renderTask, toV1Prompt } from './aop2/prompt.ts';
import type { TaskMessage } from './aop2/schema.ts';
import { stripControls } from './text/clean.ts';

/** The type of a task, which decides how long its report may be and what goes into its details. */
export const taskTypeOfTask = ({ task }: TaskMessage): TaskType =>
  taskTypeOf(task.category, task.extensions?.['x_task_type']);

export interface PromptOptions {
  /** Where the agent writes its full results; null leaves that to the runtime. */
  readonly detailsFile?: string | null;
  /** The access of the run, and what of it is not enforced; without it, what the TASK says. */
  readonly access?: { readonly granted: Access; readonly gaps: readonly string[] };
}

export function agentPrompt(message: TaskMessage, { detailsFile = null, access }: PromptOptions = {}): string {
  const report = aop1Prompt({ detailsFile, taskType: taskTypeOfTask(message) });
  // An agent that does not speak 2.x gets the prompt that says what it leaves out.
  const task = speaksV2(message) ? `${renderTask(message).text}\n\n${origin(message)}` : toV1Prompt(message).text;
  return `${task}\n\n${limits(message, access)}\n\n${report}\n`;
}

const speaksV2 = ({ target }: TaskMessage): boolean =>
  target.capabilities?.aop_versions_supported?.some((version) => version.startsWith('2.')) ?? true;

/** Where the task comes from. The agent needs the session and the attempt to answer with a RESPONSE of its own. */
function origin({ session, task, orchestration_metadata: notes = {} }: TaskMessage): string {
  const said = [
    ['Session', session.session_id],
    ['Session begun', session.created_at],
    ['Orchestrator', session.orchestrator],
    ['Sent by', session.origin],
    ['Attempt', (task.attempt ?? 1) > 1 ? String(task.attempt) : null],
    ['Asked for by', notes.initiator],
    ['Written by', notes.spec_author],
    ['Tags', notes.tags?.join(', ')],
    ['Notes', notes.notes],
  ];
  const lines = said.flatMap(([name, value]) =>
    value == null || value === '' ? [] : [`- ${name}: ${stripControls(value).replace(/\s+/g, ' ').trim()}`],
  );
  return ['Where this task comes from:', ...lines].join('\n');
}

/** What holds for the run, as it will be enforced: after precedence, defaults and the stricter of two statements. */
function limits(message: TaskMessage, of: PromptOptions['access']): string {
  const { access, budget, delegationAllowed, timeoutSeconds } = policyOf(message);
  return [
    'Limits:',
    ...accessLines(of?.granted ?? access, of?.gaps),
    `- Time: ${timeoutSeconds} seconds`,
    ...(budget.maxCostUsd === null ? [] : [`- Cost: at most ${budget.maxCostUsd} dollars`]),
    ...(budget.maxTokens === null ? [] : [`- Tokens: at most ${budget.maxTokens}`]),
    ...(delegationAllowed ? [] : ['- Do not hand this on to another agent.']),
  ].join('\n');
}
