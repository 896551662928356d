/** What an agent wrote down itself as its result, `runs/<task>/run_result.json`, and what it said before its supervisor died. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Report } from '../core/report.ts';
import type { StoredRecord } from '../core/store.ts';
import { toReport } from '../protocol/aof/report.ts';
import { readRunFile } from '../protocol/aof/run-files.ts';

/** Null where there is none, or one of another run. */
export async function writtenResult(dir: string, task: string, run: string): Promise<Report | 'unreadable' | null> {
  let text: string;
  try {
    text = await readFile(join(dir, 'runs', task, 'run_result.json'), 'utf8');
  } catch {
    // Missing artifacts are no error: the run is one without a result.
    return null;
  }
  const read = readRunFile('run_result.json', text);
  if (!read.ok) return 'unreadable';
  return read.value.runId === run && read.value.taskId === task ? toReport(read.value) : null;
}

/** The last report that was taken in for a run, as the journal has it; null where there is none. */
export function claimedBefore(history: readonly StoredRecord[], run: string): Report | null {
  for (const { events } of history.toReversed()) {
    const told = events.findLast(({ type, run: of, detail }) => type === RECEIVED && of === run && detail?.['report']);
    if (told !== undefined) return told.detail?.['report'] as Report;
  }
  return null;
}

const RECEIVED = 'protocol.message.received';
const REJECTED = 'protocol.message.rejected';

/** Whether it was told already that the result of a run cannot be read: then the run counts as one without. */
export const isToldUnreadable = (history: readonly StoredRecord[], run: string): boolean =>
  history.some(({ events }) =>
    events.some(({ type, run: of, detail }) => type === REJECTED && of === run && detail?.['reason'] === UNREADABLE),
  );

/** As the law says it. */
export const UNREADABLE = 'run_result.json is unreadable';
