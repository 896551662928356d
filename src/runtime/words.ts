/** What an agent is told beside its task: the phase it is in, what went before, why the last attempt was not enough. Pure. */
import type { Cause, Task } from '../core/task.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { agentPrompt } from '../protocol/prompt.ts';
import type { Passed, Phase } from './phases.ts';

export interface Words {
  readonly message: TaskMessage;
  readonly detailsFile: string;
  readonly task: Pick<Task, 'attempts' | 'cause'>;
  readonly phase: { readonly phase: Phase; readonly number: number; readonly of: number } | null;
  readonly passed: Passed;
  /** Why this phase is done again. */
  readonly findings: readonly string[];
  /** The agent remembers the turns before, so the task need not be told again. */
  readonly goesOn: boolean;
}

export function wordsFor({ message, detailsFile, task, phase, passed, findings, goesOn }: Words): string {
  const parts: string[] = [];
  if (!goesOn) parts.push(agentPrompt(message, { detailsFile }).trimEnd());
  if (!goesOn && task.attempts > 1 && task.cause !== null) parts.push(again(task.cause));
  if (phase !== null) parts.push(ofPhase(phase.phase, phase.number, phase.of, passed, goesOn));
  if (findings.length > 0) {
    parts.push(
      `This phase was looked at and is not done:\n${findings.map((text) => `- ${text}`).join('\n')}\nMend that now.`,
    );
  }
  return `${parts.join('\n\n')}\n`;
}

const again = ({ code, message }: Cause): string =>
  `An earlier attempt at this task did not succeed (${code}): ${message}\nLook at what is there already before you begin.`;

function ofPhase(phase: Phase, number: number, of: number, passed: Passed, goesOn: boolean): string {
  const checks = (phase.checkpoints ?? []).filter(({ checkpoint_id: id }) => !passed.checkpoints.has(id));
  return [
    `Phase ${number} of ${of}: ${phase.label ?? phase.phase_id} (${phase.phase_id}).`,
    `Do only this phase now${goesOn ? '' : ', and report when it is done; the phases after it come later'}.`,
    ...(phase.objective === undefined ? [] : [`Its objective: ${phase.objective}`]),
    ...(number > 1 ? ['The phases before it have passed.'] : []),
    ...checks.map(({ checkpoint_id: id, description, validation }) => {
      const how = validation?.command === undefined ? '' : `; checked with: ${validation.command}`;
      return `- ${id}: ${description ?? 'has to pass'}${how}`;
    }),
  ].join('\n');
}
