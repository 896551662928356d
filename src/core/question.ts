/** A question that only a person may answer: an approval gate, or an uncertainty. Reviews of tasks are not kept here: a task in review is the question. */
import type { ApprovalStatus } from './node.ts';
import type { Task } from './task.ts';

const QUESTION_KINDS = ['approval', 'uncertainty'] as const;
type QuestionKind = (typeof QUESTION_KINDS)[number];

export interface Option {
  readonly option: string;
  readonly impact: string | null;
}

export interface PersonsAnswer {
  /** `answered`: an uncertainty that was resolved by a text. */
  readonly status: ApprovalStatus | 'answered';
  readonly text: string | null;
  readonly comment: string | null;
  readonly by: string;
  readonly at: number;
  /** The Approval node that it became. */
  readonly node: string;
}

export interface Question {
  /** `ask-1`, `ask-2`, … */
  readonly id: string;
  readonly kind: QuestionKind;
  readonly session: string;
  readonly question: string;
  readonly options: readonly Option[];
  /** Why it is asked. */
  readonly reason: string | null;
  /** The node that is to be approved, or the Uncertainty. */
  readonly node: string;
  /** The node that nobody builds upon until it is answered: `node` itself, or what an Uncertainty is about. */
  readonly about: string;
  /** The task that waits for it, and its run that asked. */
  readonly task: string | null;
  readonly run: string | null;
  /** Where the node goes when it is approved; null where nothing follows. */
  readonly nextStage: string | null;
  readonly requiredFields: readonly string[];
  readonly optionalFields: readonly string[];
  readonly since: number;
  /** By this the same question is found again. */
  readonly key: string;
  readonly answer: PersonsAnswer | null;
}

/** The same words, whatever their case, their spaces and the marks at their ends. What stands between words may be what it is about: `a = b`, `a != b`. */
export const questionKey = (question: string, options: readonly Option[]): string =>
  [question, ...options.map(({ option }) => option)].map(plain).join('|');

const plain = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[?.!,;:"'…]+(?=\s|$)|(?<=\s|^)["'(]+/gu, '')
    .replace(/\s+/g, ' ')
    .trim();

export const QUESTION_ID = /^ask-[1-9]\d*$/;

/** Nobody has to answer it any more: the task that asked is over, or is being done anew. */
export const isVoid = ({ task, run }: Question, asker: Task | undefined): boolean =>
  task !== null &&
  (asker === undefined ||
    asker.status === 'done' ||
    asker.status === 'cancelled' ||
    asker.status === 'deadletter' ||
    (run !== null && asker.run?.id !== run));
