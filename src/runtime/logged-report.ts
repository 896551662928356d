/** The last report that a run printed, found again in its log by the rules by which it was heard: for a Baton that finishes what another began. */
import type { StoredRecord } from '../core/store.ts';
import type { Run, Task } from '../core/task.ts';
import { policyOf } from '../protocol/aop2/policy.ts';
import { taskMessage } from './child.ts';
import { createHearing, type Heard } from './hearing.ts';
import type { Host } from './host.ts';
import { readWords } from './logged-words.ts';
import { phasesInOrder } from './phases.ts';
import { keptReport, RECEIVED } from './routed.ts';

/** Null where it printed none, and where the journal has it already: then the journal knows which report was the last. */
export async function printedReport(
  host: Host,
  task: Task,
  run: Run,
  history: readonly StoredRecord[],
): Promise<Heard | null> {
  const message = await taskMessage(host.store, task, host.workspace);
  const { requireFinalSignal: finalSignal, requireMinimalReport: minimalReport } = policyOf(message);
  const hearing = createHearing({
    task,
    run: run.id,
    rails: { finalSignal, minimalReport },
    onProgress: () => {},
  });
  const read = await readWords(host, task, run, {
    text: (piece) => hearing.text(piece),
    pause: () => hearing.pause(),
    turnEnded: () => hearing.end(),
  });
  hearing.end();
  const { heard } = hearing;
  // Config no longer has this agent, so Baton cannot tell which of the printed words were its own.
  if (heard === null || !read.isKnown || heard.missing.length > 0) return null;
  return isJournaled(history, run.id, heard) ? null : heard;
}

function isJournaled(history: readonly StoredRecord[], run: string, { report }: Heard): boolean {
  const text = JSON.stringify(keptReport(report));
  return history.some(({ events }) =>
    events.some(
      ({ type, run: of, detail }) => type === RECEIVED && of === run && JSON.stringify(detail?.['report']) === text,
    ),
  );
}

/**
 * Where in its history a run's last phase began; 0 where its task has none. A report that came before is one of an earlier phase, and says nothing
 * of how the run ended. Infinity where the last phase never began.
 */
export async function lastPhaseFrom(
  host: Host,
  task: Task,
  run: Run,
  history: readonly StoredRecord[],
): Promise<number> {
  const last = phasesInOrder(await taskMessage(host.store, task, host.workspace)).at(-1);
  if (last === undefined) return 0;
  const began = history.findLast(({ events }) =>
    events.some(
      ({ type, run: of, detail }) =>
        type === 'run.phase' && of === run.id && detail?.['phase'] === last.phase_id && detail?.['state'] === 'started',
    ),
  );
  return began?.seq ?? Number.POSITIVE_INFINITY;
}
