/**
 * A report by message: given to the run that it is about, which is judged when it ends; applied at once where nobody watches over the task. A
 * report of another run than the current one is refused, and kept for the record.
 */
import { type Report, wordsOf } from '../core/report.ts';
import { isRunning, type Task } from '../core/task.ts';
import { newId } from '../process/new-id.ts';
import { lastReport } from '../protocol/convert.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { claimDetail, recordClaim, resultTexts, warnOfRefs } from './claims.ts';
import { isHeardOut } from './heard-out.ts';
import { runNamed, TOO_LATE } from './hearing.ts';
import { beyondReport, underRails } from './response/outside.ts';
import { responseIn } from './response/said.ts';
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
  type RouterOptions,
  reject,
  type Said,
} from './routed.ts';

export const reportIn = ({ message }: Said): Report | null => lastReport([{ ...message, line: 1 }]);

const SUMMARY_CHARS = 500;

export async function takeReport(options: RouterOptions, said: Said, task: Task, given: Report): Promise<Answered> {
  const { message } = said;
  const report = await underRails(options, task, message, given);
  const messageId = messageIdOf(message);
  if (messageId !== undefined && task.messages.includes(messageId)) return again(task, messageId);
  const { run } = task;
  const named = runNamed(message.value);
  if (named !== null && named !== run?.id && named !== run?.externalId) {
    return reject(options, said, task, staleRun(task, named), { report: keptReport(report) });
  }
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
      const events = await recordClaim(options, said, task, report);
      return accepted(task.id, events, `${run.id} has said how it ended; that is judged when it ends`);
    }
    if (isWatched(run)) {
      const late = no('E_STALE_RUN', TOO_LATE);
      if (await isHeardOut(options.store, task))
        return reject(options, said, task, late, { report: keptReport(report) });
      const letter = newId();
      // The process that supervises it reads the journal.
      const more = { forward: true, letter, ...(isOutput(message) || responseIn(message) !== null ? { message } : {}) };
      const events = await recordClaim(options, said, task, report, more);
      // It may have been over before that was written.
      if (await isHeardOut(options.store, task, letter)) return reject(options, said, task, late);
      return accepted(task.id, events, `handed to ${run.id}, which is judged when it ends`);
    }
  }

  const graphed = isOutput(message) ? await takeOfRun(options, said, task) : null;
  if (graphed !== null && graphed.result !== 'accepted') return graphed;
  return applyClaim(options, said, task, report);
}

/** The claim of a task that no live run of Baton supervises: it acts at once, and is judged. */
export async function applyClaim(options: RouterOptions, said: Said, task: Task, report: Report): Promise<Answered> {
  const { message, sender } = said;
  const { run } = task;
  const messageId = messageIdOf(message);
  const beyond = await beyondReport(options, task, message, report);
  if ('code' in beyond) return reject(options, said, task, beyond, { report: keptReport(report) });
  const warned = await warnOfRefs(options, said, task, report);
  const summary = shorten(wordsOf(report), SUMMARY_CHARS);
  const answer = await options.store.send({
    message: {
      type: 'task.report',
      id: task.id,
      ...(run !== null && isRunning(task) ? { run: run.id } : {}),
      agent: sender.agent ?? task.routing.agent ?? sender.actor.name,
      outcome: report.outcome,
      ...beyond.fields,
      ...(summary === '' ? {} : { summary }),
      ...(messageId === undefined ? {} : { messageId }),
      texts: resultTexts(options, message, task, report, sender.agent),
      detail: claimDetail(said, report),
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
