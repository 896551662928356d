/**
 * One meaning in another dialect: a report becomes any other report, a TASK a prompt, a v1 prompt a TASK. Says what is lost: what
 * the target has no words for, by the name of the Report's field; and what a Report has no room for, by its place in the source.
 */
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

type ReportTarget = Exclude<Target, 'task' | 'prompt'>;

function convertReport(found: readonly Found[], target: ReportTarget, context: ConvertContext): Conversion {
  const said = lastSaid(found);
  if (said === null) {
    const broken = found.findLast((message) => !message.valid && message.dialect !== 'unstructured');
    if (!broken) return refuse(`expected a report (aop1, RESPONSE, completion.report, OUTPUT), got ${names(found)}`);
    const what = `${broken.dialect} ${broken.kind ?? 'message'}`;
    return refuse(`expected a valid report, got an invalid ${what}`, broken.problems[0]);
  }
  const report: Report = { ...said.report, ...missing(said.report, context.known ?? {}) };
  const { output, lost } = write[target](report, context);
  return { output, lost: [...lost, ...said.unreported] };
}

const write: Record<ReportTarget, (report: Report, context: ConvertContext) => Converted> = {
  response(report) {
    const { response, lost } = aop2.fromReport(report);
    return { output: response, lost };
  },
  aop1(report, { taskType }) {
    const { text, lost } = aop1.fromReport(report, taskType);
    return { output: text, lost };
  },
  aof(report, { now }) {
    const { envelope, lost } = aof.fromReport(report, { now });
    return { output: envelope, lost };
  },
  output(report, { now }) {
    const { text, lost } = output.fromReport(report, now);
    return { output: text, lost };
  },
};

const missing = (report: Report, known: Partial<Report>): Partial<Report> =>
  Object.fromEntries(Object.entries(known).filter(([field]) => report[field as keyof Report] === null));

/** The report of a text: the last valid message that is one. */
export const lastReport = (found: readonly Found[]): Report | null => lastSaid(found)?.report ?? null;

interface Said {
  readonly report: Report;
  /** What the message says beside it. */
  readonly unreported: readonly string[];
}

function lastSaid(found: readonly Found[]): Said | null {
  for (const message of found.toReversed()) {
    const said = message.valid ? saidBy(message, found) : null;
    if (said !== null) return said;
  }
  return null;
}

function saidBy({ dialect, kind, value }: Found, all: readonly Found[]): Said | null {
  if (dialect === 'aop1') {
    return { report: aop1.toReport(value as Aop1Report), unreported: aop1.unreported(value as Aop1Report) };
  }
  if (dialect === 'aop2' && kind === 'RESPONSE') {
    return { report: aop2.toReport(value as ResponseMessage), unreported: aop2.unreported(value as ResponseMessage) };
  }
  if (dialect === 'aof') {
    const report = aof.toReport(value);
    return report && { report, unreported: aof.unreported(value) };
  }
  if (dialect !== 'output' || kind !== 'OUTPUT') return null;
  const id = (value as Output)._handoff.graph_node;
  const nodes = all.filter((m) => m.kind === 'GRAPH_UPDATE' && m.valid).map((m) => m.value as AddNode);
  const node = nodes.find((update) => update.type === 'add_node' && update.node_id === id) ?? null;
  return { report: output.toReport(value as Output, node), unreported: output.unreported(value as Output, node) };
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
