/** What an agent wrote down itself as its result, `runs/<task>/run_result.json`, and what it said before its supervisor died. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Report } from '../core/report.ts';
import type { Store, StoredRecord } from '../core/store.ts';
import { fileNameOfRun, type Run, type Task } from '../core/task.ts';
import { toReport } from '../protocol/aof/report.ts';
import { readRunFile } from '../protocol/aof/run-files.ts';
import { RUN_RESULT, silentResult } from '../protocol/aof/run-result.ts';
import type { Message } from '../protocol/message.ts';
import type { Host } from './host.ts';
import type { SaidCost, SaidError } from './response/said.ts';

interface WrittenResult {
  readonly report: Report;
  /** The file as a message, whose value is all that stands in it. */
  readonly message: Message;
}

/** Null where there is none, where it is of another run, and where it is what Baton wrote itself. */
export async function writtenResult(
  { store, dir }: Pick<Host, 'store' | 'dir'>,
  task: Task,
  run: Run,
): Promise<WrittenResult | 'unreadable' | null> {
  let text: string;
  try {
    text = await readFile(join(dir, 'runs', task.id, RUN_RESULT), 'utf8');
  } catch {
    // Missing artifacts are no error: the run is one without a result.
    return null;
  }
  const read = readRunFile(RUN_RESULT, text);
  if (!read.ok) return 'unreadable';
  const { value, problems } = read;
  if (value.runId !== fileNameOfRun(run) || value.taskId !== task.id) return null;
  const report = toReport(value);
  if (report === null) return 'unreadable';
  if (await isOwnResult(store, task, text)) return null;
  return { report, message: { dialect: 'aof', kind: RUN_RESULT, valid: true, problems, value } };
}

/** Whether the text of a `run_result.json` is what Baton itself wrote there: what was said by another door, or what silence comes to. */
export const isOwnResult = async (
  store: Pick<Store, 'text' | 'find'>,
  { id }: Task,
  text: string,
): Promise<boolean> => {
  if (text === (await store.text(id, RUN_RESULT))) return true;
  const now = await store.find(id);
  return now !== undefined && text === silentResult(now);
};

/** The last report that was taken in for a run, as the journal has it; null where there is none. */
export const claimedBefore = (history: readonly StoredRecord[], run: string): Report | null =>
  claimBefore(history, run)?.report ?? null;

/** The same with the error and the cost that it named. */
export interface ClaimBefore {
  readonly report: Report;
  readonly error?: SaidError;
  readonly cost?: SaidCost;
}

export function claimBefore(history: readonly StoredRecord[], run: string): ClaimBefore | null {
  for (const { events } of history.toReversed()) {
    const told = events.findLast(({ type, run: of, detail }) => type === RECEIVED && of === run && detail?.['report']);
    if (told !== undefined) return told.detail as unknown as ClaimBefore;
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
