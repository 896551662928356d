/** The v1 prompt: free text with a few labelled lines. Found where no other message is, always valid, lifted to a TASK. */
import type { TaskMessage } from './schema.ts';
import { AOP_VERSION, PROTOCOL_FAMILY, SCHEMA_VERSION } from './version.ts';

const LABELS = ['task', 'objective', 'agent', 'executor', 'context', 'requirements'] as const;
type Label = (typeof LABELS)[number];

const LABELLED = /^(task|objective|agent|executor|context|requirements):(.*)$/i;

export type V1Prompt = Readonly<Record<Label, string | null>> & { readonly text: string };

/** The labelled values of a prompt: each from its label to the next one; of two equal labels the first counts. */
export function readV1(text: string): V1Prompt {
  const values: Record<Label, string | null> = {
    task: null,
    objective: null,
    agent: null,
    executor: null,
    context: null,
    requirements: null,
  };
  for (const section of sections(text)) {
    if (section.label !== null && values[section.label] === null) values[section.label] = section.value;
  }
  return { ...values, text };
}

interface Section {
  readonly label: Label | null;
  /** The text with its label's line. */
  readonly text: string;
  readonly value: string;
}

function sections(text: string): Section[] {
  const found: { label: Label | null; lines: string[]; value: string[] }[] = [{ label: null, lines: [], value: [] }];
  for (const line of text.split(/\r\n|\r|\n/)) {
    const [, label, rest] = LABELLED.exec(line) ?? [];
    if (label !== undefined) found.push({ label: label.toLowerCase() as Label, lines: [], value: [] });
    const section = found.at(-1);
    section?.lines.push(line);
    section?.value.push(label === undefined ? line : (rest ?? ''));
  }
  return found.map(({ label, lines, value }) => ({
    label,
    text: lines.join('\n').trim(),
    value: value.join('\n').trim(),
  }));
}

export interface LiftContext {
  readonly now: string;
  readonly sessionId: string;
  readonly taskId: string;
  readonly workspaceRoot: string;
}

/** The name and the model of an agent that the prompt leaves open: whoever runs it chooses. */
const OPEN = 'default';

/**
 * A v1 prompt as a TASK. The objective is the `objective:` (else the `task:`), followed by all the rest of the prompt, so that
 * nothing of what was asked is lost.
 */
export function liftV1(text: string, context: LiftContext): TaskMessage {
  const prompt = readV1(text);
  const main: Label = prompt.objective ? 'objective' : 'task';
  const isTarget = (label: Label | null): boolean => label === 'agent' || label === 'executor';
  const rest = sections(text).filter(({ label, text }) => text !== '' && label !== main && !isTarget(label));
  const objective = [prompt[main] ?? '', ...rest.map((section) => section.text)]
    .filter((part) => part !== '')
    .join('\n\n');
  return {
    aop_version: AOP_VERSION,
    schema_version: SCHEMA_VERSION,
    protocol_family: PROTOCOL_FAMILY,
    message_type: 'TASK',
    session: {
      session_id: context.sessionId,
      created_at: context.now,
      orchestrator: 'baton',
      origin: 'V1_COMPAT',
    },
    target: {
      agent_name: firstLine(prompt.agent) ?? firstLine(prompt.executor) ?? OPEN,
      role: 'EXECUTOR',
      provider: 'OTHER',
      model: OPEN,
    },
    task: {
      task_id: context.taskId,
      objective: objective === '' ? text.trim() : objective,
      category: 'OTHER',
      complexity: 'MEDIUM',
      environment: { workspace_root: context.workspaceRoot },
    },
  };
}

const firstLine = (value: string | null): string | null => value?.split('\n', 1)[0]?.trim() || null;
