/** What others may find wrong with a report that its agent could put right, and which messages are meant as a report at all. */
import type { Run, Task } from '../core/task.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { isReport } from '../protocol/dialects.ts';
import type { Heard } from './hearing.ts';

interface CheckedRun {
  readonly task: Task;
  readonly run: Run;
  readonly message: TaskMessage;
}

/**
 * What is wrong with a report and could be put right by its agent, in sentences; none where nothing is. It only looks: it is asked before the
 * agent is, and once more afterwards.
 */
export type RepairCheck = (heard: Heard | null, of: CheckedRun) => readonly string[] | Promise<readonly string[]>;

/** @param kind the dialect, and behind it the kind of message where it has one */
export function isReportKind(kind: string): boolean {
  const [dialect = '', ...rest] = kind.split(' ');
  return dialect === 'output' || isReport(dialect, rest.join(' '));
}
