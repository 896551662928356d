/** What an agent is told beside its task: the phase it is in, what went before, why the last attempt was not enough. Pure. */
import type { StoredRecord } from '../core/store.ts';
import type { TaskType } from '../protocol/aop1/limits.ts';
import { aop1Prompt } from '../protocol/aop1/prompt.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { agentPrompt } from '../protocol/prompt.ts';
import { gapsOf, type RunAccess } from './access/run-access.ts';
import type { Passed, Phase } from './phases.ts';

interface Words {
  readonly message: TaskMessage;
  readonly access: RunAccess;
  readonly detailsFile: string;
  /** Whether the agent has Baton's own tools. */
  readonly hasTools: boolean;
  /** What its session has saved and goes on from; null where that is nothing. */
  readonly session?: string | null;
  /** What the tasks that it waited for came to; null where there are none. */
  readonly upon?: string | null;
  /** Null for a first attempt, and where the one before has not failed. */
  readonly earlier: Earlier | null;
  /** What people have said to this task. */
  readonly answers?: readonly string[];
  readonly phase: { readonly phase: Phase; readonly number: number; readonly of: number } | null;
  readonly passed: Passed;
  /** Why this phase is done again. */
  readonly findings: readonly string[];
  /** The agent remembers the turns before, so the task need not be told again. */
  readonly goesOn: boolean;
}

/** How the run before ended. */
interface Earlier {
  readonly code: string;
  readonly findings: readonly string[];
}

export function wordsFor(words: Words): string {
  const { hasTools, upon, earlier, phase, passed, findings, goesOn } = words;
  const parts: string[] = [];
  if (!goesOn) parts.push(promptOf(words).trimEnd());
  if (!goesOn && hasTools) parts.push(TOOLS);
  if (!goesOn && words.session != null) parts.push(words.session);
  if (!goesOn && upon != null) parts.push(upon);
  if (!goesOn && earlier !== null) parts.push(again(earlier));
  if (!goesOn) parts.push(...(words.answers ?? []));
  if (phase !== null) parts.push(ofPhase(phase.phase, phase.number, phase.of, passed, goesOn));
  if (findings.length > 0) {
    parts.push(
      `This phase was looked at and is not done:\n${findings.map((text) => `- ${text}`).join('\n')}\nMend that now.`,
    );
  }
  return `${parts.join('\n\n')}\n`;
}

const promptOf = ({ message, detailsFile, access }: Words): string =>
  agentPrompt(message, { detailsFile, access: { granted: access, gaps: gapsOf(access) } });

interface RepairWords {
  readonly reasons: readonly string[];
  readonly taskType: TaskType;
  /** There is a report, and something else is to be put right. */
  readonly isHeard: boolean;
  readonly hasTools: boolean;
}

/** What an agent is told that has worked and whose report is missing or not right. Short: it remembers its task. */
export function repairWords({ reasons, taskType, isHeard, hasTools }: RepairWords): string {
  const what = isHeard
    ? 'Say your last message again, whole and with that put right, and nothing else.'
    : aop1Prompt({ detailsFile: null, taskType });
  return [
    `Your work has ended, and your report is missing or not right:\n${reasons.map((text) => `- ${text}`).join('\n')}`,
    'Do no more work and change no files. Report what you have done, as it is.',
    what,
    ...(hasTools && !isHeard ? [TOOLS] : []),
  ]
    .join('\n\n')
    .concat('\n');
}

const TOOLS = 'In place of the block you may report with the tool baton_report of the MCP server baton.';

const MOST_FINDINGS = 20;

function again({ code, findings }: Earlier): string {
  const shown = findings.slice(0, MOST_FINDINGS).map((text) => `- ${text}`);
  const left = findings.length - shown.length;
  return [
    `An earlier attempt at this task did not succeed (${code}):`,
    ...shown,
    ...(left > 0 ? [`- and ${left} more`] : []),
    'Look at what is there already before you begin.',
  ].join('\n');
}

/** What the journal says of the run before this one: why it failed, or all that was found when it was looked at. */
export function earlierOf(records: readonly StoredRecord[], run: string): Earlier | null {
  const events = records.flatMap((record) => record.events).filter((event) => event.run && event.run !== run);
  const before = events.at(-1)?.run;
  const ends = events.filter((event) => event.run === before);
  const end = ends.findLast(
    ({ type, detail }) =>
      ['run.failed', 'run.expired', 'run.stopped', 'merge.conflict'].includes(type) ||
      (type === 'run.judged' && !detail?.['passed']),
  );
  if (end === undefined) return null;
  const { code, message, findings } = end.detail ?? {};
  const told = Array.isArray(findings) && findings.length > 0 ? findings.map(String) : [message ?? 'it left no result'];
  const known = end.type === 'merge.conflict' ? 'E_MERGE_CONFLICT' : code;
  return { code: typeof known === 'string' ? known : 'E_EVIDENCE', findings: told.map(String) };
}

function ofPhase(phase: Phase, number: number, of: number, passed: Passed, goesOn: boolean): string {
  const checks = (phase.checkpoints ?? []).filter(({ checkpoint_id: id }) => !passed.checkpoints.has(id));
  return [
    `Phase ${number} of ${of}: ${phase.label === undefined ? phase.phase_id : `${phase.label} (${phase.phase_id})`}.`,
    `Do only this phase now${goesOn ? '' : ', and report when it is done; the phases after it come later'}.`,
    ...(phase.objective === undefined ? [] : [`Its objective: ${phase.objective}`]),
    ...(number > 1 ? ['The phases before it have passed.'] : []),
    ...checks.map(({ checkpoint_id: id, description, validation }) => {
      const how = validation?.command === undefined ? '' : `; checked with: ${validation.command}`;
      return `- ${id}: ${description ?? 'has to pass'}${how}`;
    }),
  ].join('\n');
}
