/** One meaning in another dialect: a report becomes any other report, a TASK a prompt, a v1 prompt a TASK. Says what is lost. */
import { error, type Problem } from '../core/problem.ts';
import type { Report } from '../core/report.ts';
import * as aof from './aof/report.ts';
import type { Aop1Report } from './aop1/decode.ts';
import * as aop1 from './aop1/encode.ts';
import type { TaskType } from './aop1/limits.ts';
import { fallBack } from './aop2/fallback.ts';
import { toV1Prompt } from './aop2/prompt.ts';
import * as aop2 from './aop2/report.ts';
import type { ResponseMessage, VersionFallbackEvent } from './aop2/schema.ts';
import { liftV1, type V1Prompt } from './aop2/v1.ts';
import type { Found } from './detect.ts';
import * as output from './output/report.ts';
import type { AddNode, Output } from './output/schema.ts';

export const TARGETS = ['task', 'prompt', 'response', 'aop1', 'aof', 'output'] as const;
export type Target = (typeof TARGETS)[number];

export interface ConvertContext {
  readonly now: string;
  readonly workspaceRoot: string;
  readonly sessionId: string;
  readonly taskId: string;
  readonly taskType?: TaskType;
  /** What the one who converts knows and the source does not say. */
  readonly known?: Partial<Pick<Report, 'sessionId' | 'taskId' | 'agent'>>;
}

export interface Converted {
  readonly output: unknown;
  /** What the target has no words for: fields of the report, or pointers into the TASK. */
  readonly lost: readonly string[];
  /** Emitted when a TASK that fails its schema falls back to a prompt. */
  readonly event?: VersionFallbackEvent;
}

export type Conversion = Converted | { readonly problem: Problem };

export function convert(found: readonly Found[], target: Target, context: ConvertContext): Conversion {
  return target === 'task' || target === 'prompt'
    ? convertTask(found, target, context)
    : convertReport(found, target, context);
}

function convertTask(found: readonly Found[], target: 'task' | 'prompt', context: ConvertContext): Conversion {
  const task = found.find(({ dialect, kind }) => dialect === 'aop2' && kind === 'TASK');
  const prompt = found.find(({ dialect }) => dialect === 'v1');
  if (task?.valid) return target === 'task' ? { output: task.value, lost: [] } : promptOf(task.value);
  if (task && target === 'prompt') {
    const fallen = fallBack(task.value, task.problems, JSON.stringify(task.value), context.now);
    return { output: fallen.prompt, lost: fallen.lost, event: fallen.event };
  }
  if (task) return refuse('expected a valid TASK, got one that fails its schema', task.problems[0]);
  if (!prompt) return refuse(`expected a TASK or a v1 prompt, got ${names(found)}`);
  const { text } = prompt.value as V1Prompt;
  return target === 'task' ? { output: liftV1(text, context), lost: [] } : { output: text, lost: [] };
}

function promptOf(value: unknown): Converted {
  const { text, lost } = toV1Prompt(value);
  return { output: `${text}\n`, lost };
}

function convertReport(
  found: readonly Found[],
  target: Exclude<Target, 'task' | 'prompt'>,
  context: ConvertContext,
): Conversion {
  const said = lastReport(found);
  if (said === null) {
    const broken = found.findLast((message) => !message.valid && message.dialect !== 'unstructured');
    return broken
      ? refuse(
          `expected a valid report, got an invalid ${broken.dialect} ${broken.kind ?? 'message'}`,
          broken.problems[0],
        )
      : refuse(`expected a report (aop1, RESPONSE, completion.report, OUTPUT), got ${names(found)}`);
  }
  const report: Report = { ...said, ...missing(said, context.known ?? {}) };
  switch (target) {
    case 'response': {
      const { response, lost } = aop2.fromReport(report);
      return { output: response, lost };
    }
    case 'aop1': {
      const { text, lost } = aop1.fromReport(report, context.taskType);
      return { output: text, lost };
    }
    case 'aof': {
      const { envelope, lost } = aof.fromReport(report, { now: context.now });
      return { output: envelope, lost };
    }
    case 'output': {
      const { text, lost } = output.fromReport(report, context.now);
      return { output: text, lost };
    }
  }
}

const missing = (report: Report, known: Partial<Report>): Partial<Report> =>
  Object.fromEntries(Object.entries(known).filter(([field]) => report[field as keyof Report] === null));

/** The report of a text: the last valid message that is one. */
export function lastReport(found: readonly Found[]): Report | null {
  for (const message of found.toReversed()) {
    const report = message.valid ? reportOf(message, found) : null;
    if (report !== null) return report;
  }
  return null;
}

function reportOf({ dialect, kind, value }: Found, all: readonly Found[]): Report | null {
  if (dialect === 'aop1') return aop1.toReport(value as Aop1Report);
  if (dialect === 'aop2' && kind === 'RESPONSE') return aop2.toReport(value as ResponseMessage);
  if (dialect === 'aof') return aof.toReport(value);
  if (dialect !== 'output' || kind !== 'OUTPUT') return null;
  const id = (value as Output)._handoff.graph_node;
  const nodes = all.filter((m) => m.kind === 'GRAPH_UPDATE' && m.valid).map((m) => m.value as AddNode);
  return output.toReport(
    value as Output,
    nodes.find((node) => node.type === 'add_node' && node.node_id === id) ?? null,
  );
}

const names = (found: readonly Found[]): string =>
  found.map(({ dialect, kind }) => (kind === null ? dialect : `${dialect} ${kind}`)).join(', ');

const refuse = (message: string, cause?: Problem): { problem: Problem } => ({
  problem: error(
    'E_NOT_CONVERTIBLE',
    cause?.path ?? '',
    cause ? `${message} (${cause.path || '/'}: ${cause.message})` : message,
  ),
});
