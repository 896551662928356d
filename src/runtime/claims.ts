/**
 * A claim made durable, whatever door it came by: what the agent said of how its run ended is in the journal and in `run_result.json` before
 * it counts. The run's own ear only decides which claim is the last.
 */
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isFields } from '../core/fields.ts';
import type { Texts } from '../core/laws/messages.ts';
import type { Report } from '../core/report.ts';
import { fileNameOfRun, isRunning, runId, TASK_STATUSES, type Task } from '../core/task.ts';
import { RUN_RESULT, runResult } from '../protocol/aof/run-result.ts';
import type { CompletionReport } from '../protocol/aof/schema.ts';
import { unknownIn } from '../protocol/aof/unknown-fields.ts';
import type { Message } from '../protocol/message.ts';
import { costIn, errorIn } from './response/said.ts';
import { keptReport, messageIdOf, note, originOf, RECEIVED, type RouterOptions, type Said, WARNING } from './routed.ts';

type Parts = Pick<RouterOptions, 'store' | 'dir' | 'workspace' | 'now'>;

/** What is written down of a claim. */
export function claimDetail(said: Said, report: Report): Record<string, unknown> {
  const { message } = said;
  return {
    ...originOf(said),
    outcome: report.outcome,
    report: keptReport(report),
    ...unknownDetail(message),
    ...saidDetail(message, report),
    // Recovery needs all of it to finish the run after a crash.
    ...(message.dialect === 'output' ? { graph: message.value, kind: message.kind } : {}),
  };
}

/** The error and the cost that a RESPONSE names, for the Baton process that finishes the run after a crash. */
function saidDetail(message: Message, report: Report): Record<string, unknown> {
  const [error, cost] = [errorIn(message), costIn(message, report)];
  return { ...(error === null ? {} : { error }), ...(cost === null ? {} : { cost }) };
}

/** The fields of a message that its schema does not know, by their places. */
export function unknownDetail({ dialect, kind, value }: Message): { readonly unknown?: Record<string, unknown> } {
  const unknown = dialect === 'aof' && kind !== null ? unknownIn(kind, value) : {};
  return Object.keys(unknown).length === 0 ? {} : { unknown };
}

/** Puts a claim of a run that is being supervised into the journal and into its `run_result.json`. Returns the events. */
export async function recordClaim(
  parts: Parts,
  said: Said,
  task: Task,
  report: Report,
  more: Readonly<Record<string, unknown>> = {},
): Promise<readonly string[]> {
  const warned = await warnOfRefs(parts, said, task, report);
  const detail = { ...claimDetail(said, report), ...more };
  const about = { task: task.id, run: task.run?.id };
  const texts = resultTexts(parts, said.message, task, report, said.sender.agent);
  return [...warned, ...(await note(parts, said, RECEIVED, about, detail, messageIdOf(said.message), texts))];
}

/** `run_result.json` for the run that a claim is of: the one that it has, or the one that the claim begins. */
export function resultTexts(
  { now }: Pick<Parts, 'now'>,
  message: Message,
  task: Task,
  report: Report,
  agent: string | null,
): Texts {
  const begins = !isRunning(task) && task.status !== 'review';
  const id = begins || task.run === null ? runId(task.id, task.runs + 1) : fileNameOfRun(task.run);
  const by = (begins ? agent : task.run?.agent) ?? agent ?? task.routing.agent ?? 'unknown';
  return { [RUN_RESULT]: runResult(task.id, { id, agent: by }, report, payloadOf(message), now()) };
}

/** What an agent said in the words of the file itself; null where it was said in another dialect. */
function payloadOf({ dialect, kind, value }: Message): CompletionReport | null {
  if (dialect !== 'aof' || !isFields(value)) return null;
  const payload = kind === RUN_RESULT ? value : value['payload'];
  return isFields(payload) ? (payload as CompletionReport) : null;
}

/** The files that a report refers to and that are not there: it counts all the same, with a warning. */
export async function warnOfRefs(parts: Parts, said: Said, task: Task, report: Report): Promise<readonly string[]> {
  const warned: string[] = [];
  // Of a block of its own run the supervisor knows better where its files are.
  const isOfRun = said.message.dialect === 'aop1' && said.sender.run !== null && isRunning(task);
  for (const ref of isOfRun ? [] : await missingRefs(parts, task, report)) {
    const reason = `${ref} is referred to, and it is not there`;
    const about = { task: task.id, run: task.run?.id };
    warned.push(...(await note(parts, said, WARNING, about, { ...originOf(said), reason })));
  }
  return warned;
}

async function missingRefs({ store, dir, workspace }: Parts, task: Task, report: Report): Promise<string[]> {
  const missing: string[] = [];
  for (const ref of [report.detailsFile, report.handoffFile]) {
    if (ref === null || dir === undefined) continue;
    if ((await store.text(task.id, ref)) !== null) continue;
    const places = [
      ...TASK_STATUSES.map((status) => join(dir, 'tasks', status, task.id, ref)),
      resolve(workspace ?? dir, ref),
      ...(typeof task.metadata['workspace'] === 'string' ? [resolve(task.metadata['workspace'], ref)] : []),
    ];
    const found = await Promise.all(places.map(isThere));
    if (!found.includes(true)) missing.push(ref);
  }
  return missing;
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    // Whatever keeps us from looking: it cannot be shown to be there, and that is only a warning.
    return false;
  }
}
