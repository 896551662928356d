/**
 * What a run said of the knowledge graph and what became of it: applied, or held back because its evidence failed. Approving the task applies
 * what was held back, so a task is not done before. Both are marks among the messages that the task remembers.
 */
import type { Task } from '../task.ts';
import { withMessage } from './remembered.ts';

type Marked = Pick<Task, 'messages' | 'run'>;

const appliedMark = (run: string): string => `graph:${run}`;

/** The mark of a run whose word on the graph is held back. */
export const heldMark = (run: string): string => `held:${run}`;

/** A run's word on the graph is taken once. */
export const isApplied = ({ messages }: Marked, run: string): boolean => messages.includes(appliedMark(run));

/** Whether the word of its latest run waits to be applied. */
export const isHeldBack = ({ messages, run }: Marked): boolean => run !== null && messages.includes(heldMark(run.id));

export function markApplied(task: Task, run: string): Partial<Task> {
  const messages = task.messages.filter((mark) => mark !== heldMark(run));
  return isApplied(task, run) ? { messages } : withMessage({ ...task, messages }, appliedMark(run));
}
