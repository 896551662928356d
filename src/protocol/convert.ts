/**
 * One meaning in another dialect: a report becomes any other report, a TASK a prompt, a v1 prompt a TASK. Says what is lost: what
 * the target has no words for, by the name of the Report's field; and what a Report has no room for, by its place in the source.
 */
import { error, type Problem } from '../core/problem.ts';
import type { Report } from '../core/report.ts';
import { fallBack } from './aop2/fallback.ts';
import { checkSize } from './aop2/limits.ts';
import { toV1Prompt } from './aop2/prompt.ts';
import type { VersionFallbackEvent } from './aop2/schema.ts';
import { liftV1, type V1Prompt } from './aop2/v1.ts';
import type { Found } from './detect.ts';
import type { Said, WriteContext, WrittenReport } from './dialect.ts';
import { isReport, REPORTS, type Target } from './dialects.ts';
import { PARTS } from './parts.ts';

export interface ConvertContext extends WriteContext {
  readonly workspaceRoot: string;
  readonly sessionId: string;
  readonly taskId: string;
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
  if (target === 'prompt') return { output: text, lost: [] };
  const lifted = liftV1(text, context);
  const [tooLong] = checkSize('TASK', JSON.stringify(lifted));
  return tooLong
    ? refuse('expected a v1 prompt that a TASK can hold, got a longer one', tooLong)
    : { output: lifted, lost: [] };
}

function promptOf(value: unknown): Converted {
  const { text, lost } = toV1Prompt(value);
  return { output: `${text}\n`, lost };
}

function convertReport(found: readonly Found[], target: Target, context: ConvertContext): Conversion {
  const said = lastSaid(found);
  if (said === null) {
    const broken = found.findLast((message) => !message.valid && message.dialect !== 'unstructured');
    const reports = REPORTS.map(({ name, kind }) => `${name} ${kind}`).join(', ');
    if (!broken) return refuse(`expected a report (${reports}), got ${names(found)}`);
    const what = `${broken.dialect} ${broken.kind ?? 'message'}`;
    return refuse(`expected a valid report, got an invalid ${what}`, broken.problems[0]);
  }
  const report: Report = { ...said.report, ...missing(said.report, context.known ?? {}) };
  const { output, lost } = writerOf(target)(report, context);
  return { output, lost: [...lost, ...said.unreported] };
}

function writerOf(target: Target): (report: Report, context: WriteContext) => WrittenReport {
  const found = REPORTS.find(({ to }) => to === target);
  if (found === undefined) throw new Error(`there is no report called ${target}`);
  return PARTS[found.name].report.write;
}

const missing = (report: Report, known: Partial<Report>): Partial<Report> =>
  Object.fromEntries(Object.entries(known).filter(([field]) => report[field as keyof Report] === null));

/** The report of a text: the last valid message that is one. */
export const lastReport = (found: readonly Found[]): Report | null => lastSaid(found)?.report ?? null;

function lastSaid(found: readonly Found[]): Said | null {
  for (const message of found.toReversed()) {
    const said = message.valid ? saidBy(message, found) : null;
    if (said !== null) return said;
  }
  return null;
}

function saidBy(message: Found, all: readonly Found[]): Said | null {
  const { dialect, kind } = message;
  return isReport(dialect, kind) ? PARTS[dialect].report.read(message, all) : null;
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
