/**
 * An agent whose report is missing or not right is asked for it once more, in the same conversation: it knows best what it has done. Once, whatever
 * it answers. What comes of asking never makes a run worse than it was: it has a time of its own, and a budget that is used up ends it alone.
 */

import type { Run, Task } from '../core/task.ts';
import { taskTypeOfTask } from '../protocol/prompt.ts';
import { shorten } from '../protocol/text/shorten.ts';
import type { Attempt } from './attempt.ts';
import type { Heard, Hearing } from './hearing.ts';
import type { Host } from './host.ts';
import { isReportKind } from './repair-check.ts';
import { writtenResult } from './run-result.ts';
import { turnFailure } from './turn.ts';
import { repairWords } from './words.ts';
import type { Supervision } from './work.ts';

/** How long an answer may take at most, and what of the run's time has to be left after it. */
const REPAIR_MS = 120_000;
const SPARE_MS = 5_000;
const LEAST_MS = 5_000;
const MOST_REASONS = 5;
const REASON_CHARS = 300;

export const NO_REPORT = 'no report was found in what you said';

/** All that the agent could put right: its report itself first, then what others find. */
async function repairReasons(given: Supervision, attempt: Pick<Attempt, 'hearing' | 'broken'>): Promise<string[]> {
  const { host, task, run } = given;
  const { message } = given.prepared;
  const { heard } = attempt.hearing;
  const isBroken = heard === null || attempt.hearing.malformed !== null;
  const own = isBroken ? await reasonsForNone(given, attempt) : missingIn(heard);
  const others: string[] = [];
  // One that has written its result down has reported.
  const report = heard ?? (await resultOf(host, task, run));
  for (const check of host.repairs) others.push(...(await check(report, { task, run, message })));
  return [...own, ...others].map((text) => shorten(text, REASON_CHARS));
}

const missingIn = ({ missing }: Heard): string[] =>
  missing.length === 0 ? [] : [`the RESPONSE lacks ${missing.join(', ')}, which the guard rails of the task require`];

async function resultOf(host: Host, task: Task, run: Run): Promise<Heard | null> {
  const found = await writtenResult(host, task, run);
  return found === null || found === 'unreadable' ? null : { ...found, dialect: 'aof', missing: [] };
}

async function reasonsForNone(
  { host, task, run }: Supervision,
  { hearing, broken }: Pick<Attempt, 'hearing' | 'broken'>,
): Promise<string[]> {
  const result = await writtenResult(host, task, run);
  if (result !== null && result !== 'unreadable') return [];
  const wrong = [...broken, ...refusedReports(hearing)].map(({ kind, reason }) => `${kind}: ${reason}`);
  if (result === 'unreadable') wrong.push('the result file that you wrote cannot be read');
  if (wrong.length > 0) return [...new Set(wrong)];
  return [hearing.sawFenced ? `${NO_REPORT} but in a code fence, where it does not count` : NO_REPORT];
}

/** Of what was not taken, what was meant as a report. */
const refusedReports = ({ refused }: Hearing): Hearing['refused'] => refused.filter(({ kind }) => isReportKind(kind));

/** Asks once where there is something to ask for, and time, budget and a conversation to do it with. */
export async function askForRepair(given: Supervision, attempt: Attempt): Promise<void> {
  const { host, facts, prepared, startedAt } = given;
  const { adapter } = prepared.chosen;
  const { stopper, meter } = attempt;
  if (!host.config.reports.repair || !adapter.goesOn || attempt.conversation() === null) return;
  const left = startedAt + prepared.policy.timeoutSeconds * 1000 - host.now() - SPARE_MS;
  if (stopper.reason !== null || meter.exceeded() !== null || left < LEAST_MS) return;
  if (attempt.hearing.heard === null) {
    // What it said by other ways may be on its way here.
    await facts.written();
    await host.watch.caughtUp();
  }
  const reasons = await repairReasons(given, attempt);
  if (reasons.length === 0 || stopper.reason !== null) return;

  const { heard } = attempt.hearing;
  const words = repairWords({
    reasons: reasons.slice(0, MOST_REASONS),
    taskType: taskTypeOfTask(prepared.message),
    isHeard: heard !== null && heard.missing.length === 0 && attempt.hearing.malformed === null,
    hasTools: attempt.hasTools,
  });
  const end = await attempt.turn(words, null, { mostMs: Math.min(left, REPAIR_MS) });
  if (stopper.reason !== null) return;
  const failure = turnFailure(adapter, end);
  await facts.written();
  await host.watch.caughtUp();
  const ok = (await repairReasons(given, attempt)).length === 0;
  facts.tell('run.repair', {
    asked: reasons.join('; '),
    ok,
    ...(failure === null || ok ? {} : { why: failure.message }),
  });
}
