/**
 * A report by message: given to the run that it is about, which is judged when it ends; applied at once where nobody watches over the task. A
 * report of another run than the current one is refused, and kept for the record.
 */
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isFields } from '../core/fields.ts';
import type { Report } from '../core/report.ts';
import { isRunning, TASK_STATUSES, type Task } from '../core/task.ts';
import { newId } from '../process/new-id.ts';
import { lastReport } from '../protocol/convert.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { isHeardOut } from './heard-out.ts';
import { TOO_LATE } from './hearing.ts';
import { isOutput, takeOfRun } from './route-output.ts';
import { isWatched, staleRun } from './route-who.ts';
import {
  type Answered,
  accepted,
  committed,
  ignored,
  keptReport,
  messageIdOf,
  no,
  note,
  originOf,
  RECEIVED,
  type RouterOptions,
  reject,
  type Said,
  WARNING,
} from './routed.ts';

export const reportIn = ({ message }: Said): Report | null => lastReport([{ ...message, line: 1 }]);

const SUMMARY_CHARS = 500;

export async function takeReport(options: RouterOptions, said: Said, task: Task, report: Report): Promise<Answered> {
  const { message, sender } = said;
  const messageId = messageIdOf(message);
  if (messageId !== undefined && task.messages.includes(messageId)) return again(task, messageId);
  const { run } = task;
  const named = runNamed(message.value);
  if (named !== null && named !== run?.id) {
    return reject(options, said, task, staleRun(task, named), { report: keptReport(report) });
  }
  const warned: string[] = [];
  for (const ref of await missingRefs(options, task, report)) {
    const reason = `${ref} is referred to, and it is not there`;
    warned.push(
      ...(await note(options, said, WARNING, { task: task.id, run: run?.id }, { ...originOf(said), reason })),
    );
  }
  const claim = {
    ...originOf(said),
    outcome: report.outcome,
    report: keptReport(report),
    // Whoever finishes the run after a crash needs all of it.
    ...(isOutput(message) ? { graph: message.value, kind: message.kind } : {}),
  };

  if (run !== null && isRunning(task)) {
    const ear = options.runs.get(run.id);
    if (ear !== undefined) {
      const heard = ear.hear(message);
      if (heard.result === 'ignored') return ignored(heard.reason ?? 'it says nothing to this run', task.id);
      if (heard.result === 'rejected') {
        return reject(
          options,
          said,
          task,
          no(heard.code ?? 'E_SCHEMA_VALIDATION', heard.reason ?? 'it was not taken'),
          {
            report: keptReport(report),
          },
        );
      }
      // Acknowledged means on disk: a run whose Baton dies is resumed with what it had said.
      const received = await note(options, said, RECEIVED, { task: task.id, run: run.id }, claim, messageId);
      const told = `${run.id} has said how it ended; that is judged when it ends`;
      return accepted(task.id, [...warned, ...received], told);
    }
    if (isWatched(run)) {
      const late = no('E_STALE_RUN', TOO_LATE);
      if (await isHeardOut(options.store, task))
        return reject(options, said, task, late, { report: keptReport(report) });
      const letter = newId();
      // Whoever watches over it reads the journal.
      const received = await note(
        options,
        said,
        RECEIVED,
        { task: task.id, run: run.id },
        { ...claim, forward: true, letter, ...(isOutput(message) ? { message } : {}) },
        messageId,
      );
      // It may have been over before that was written.
      if (await isHeardOut(options.store, task, letter)) return reject(options, said, task, late);
      return accepted(task.id, [...warned, ...received], `handed to ${run.id}, which is judged when it ends`);
    }
  }

  const graphed = isOutput(message) ? await takeOfRun(options, said, task) : null;
  if (graphed !== null && graphed.result !== 'accepted') return graphed;
  const summary = shorten(report.summary.trim(), SUMMARY_CHARS);
  const answer = await options.store.send({
    message: {
      type: 'task.report',
      id: task.id,
      ...(run !== null && isRunning(task) ? { run: run.id } : {}),
      agent: sender.agent ?? task.routing.agent ?? sender.actor.name,
      outcome: report.outcome,
      ...(summary === '' ? {} : { summary }),
      ...(messageId === undefined ? {} : { messageId }),
      detail: claim,
    },
    by: sender.actor,
  });
  if (answer.kind === 'refused') {
    return reject(options, said, task, answer.refusal, { report: keptReport(report) });
  }
  if (answer.kind === 'same') return accepted(task.id, warned, `${task.id} is ${task.status} already`);
  const events = [...warned, ...committed(answer)];
  const after = answer.tasks[0];
  if (after?.status !== 'review') return accepted(task.id, events);
  if (!events.includes('run.reported')) return accepted(task.id, events, lateWords(after));
  return accepted(task.id, [...events, ...((await options.judge?.(after)) ?? [])]);
}

/** A claim that was recorded with a task that a person has to look at anyhow. */
const lateWords = ({ id }: Task): string =>
  `recorded; ${id} waits for a person, who decides (baton inbox, baton why ${id})`;

export const again = (task: Task, messageId: string): Answered =>
  accepted(task.id, [], `the message ${messageId} was taken before; it acts once`);

/** A report may name its run; all run files do. */
function runNamed(value: unknown): string | null {
  if (!isFields(value)) return null;
  const payload = isFields(value['payload']) ? value['payload'] : {};
  const extensions = isFields(value['extensions']) ? value['extensions'] : {};
  const named = value['runId'] ?? payload['runId'] ?? extensions['x_run_id'];
  return typeof named === 'string' ? named : null;
}

/** The files that a report refers to and that are nowhere to be found: it counts all the same. */
async function missingRefs({ store, dir, workspace }: RouterOptions, task: Task, report: Report): Promise<string[]> {
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
