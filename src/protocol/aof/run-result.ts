/** `run_result.json` as Baton writes it: all that the agent said of how it ended, with the run and the task that it belongs to. */
import type { Report } from '../../core/report.ts';
import { fileNameOfRun, type Task } from '../../core/task.ts';
import { isoTime } from '../../core/time.ts';
import { fromReport } from './report.ts';
import { writeRunFile } from './run-files.ts';
import type { CompletionReport, RunResult } from './schema.ts';

/** The file, and the name by which the store keeps its text with the task. */
export const RUN_RESULT = 'run_result.json';

/** The run that a result is of. */
interface ResultRun {
  readonly id: string;
  readonly agent: string;
}

/** @param said the payload of a completion.report or an agent's own file, where that is how it was said: its other fields are kept */
export function runResult(
  task: string,
  run: ResultRun,
  report: Report,
  said: CompletionReport | null,
  now: number,
): string {
  const at = isoTime(now);
  const payload = said ?? fromReport(report, { now: at, taskId: task, fromAgent: run.agent }).envelope.payload;
  const result: RunResult = { completedAt: at, agentId: run.agent, ...payload, runId: run.id, taskId: task };
  return writeRunFile(RUN_RESULT, result);
}

/** The document's word for what a run claimed; a run that failed is written as blocked. */
const OUTCOMES: Readonly<Record<string, RunResult['outcome']>> = {
  done: 'done',
  partial: 'partial',
  needs_review: 'needs_review',
  blocked: 'blocked',
  failed: 'blocked',
};

/** What is written for a run that ended without a report of its own; null where it has not ended so. */
export function silentResult(task: Task): string | null {
  const { run } = task;
  const outcome = run?.outcome == null ? undefined : OUTCOMES[run.outcome];
  if (run === null || outcome === undefined) return null;
  return writeRunFile(RUN_RESULT, {
    runId: fileNameOfRun(run),
    taskId: task.id,
    agentId: run.agent,
    ...(run.endedAt === null ? {} : { completedAt: isoTime(run.endedAt) }),
    ...(task.summary === null ? {} : { notes: task.summary.slice(0, 10_000) }),
    outcome,
  });
}
