/** What a person's words mean: an option by its number or its name, a yes or a no in words. Free text is never taken for a yes. Pure. */
import { BatonError } from '../core/errors.ts';
import type { ApprovalStatus } from '../core/node.ts';
import type { Option } from '../core/question.ts';
import type { InboxKind } from './people-inbox.ts';

export const ANSWER_STATUSES = ['approved', 'rejected', 'changes_requested', 'answered'] as const;
export type AnswerStatus = ApprovalStatus | 'answered';

interface Meaning {
  readonly status: AnswerStatus;
  readonly text: string | null;
  readonly comment: string | null;
}

interface Word {
  readonly status: AnswerStatus;
  readonly text?: string;
  readonly comment?: string;
}

/** Words by which people say a status; `accept` and `redo` are the options of what is not sure enough. */
const WORDS: Readonly<Record<ApprovalStatus, readonly string[]>> = {
  approved: ['approve', 'approved', 'accept', 'accepted', 'yes', 'ok'],
  rejected: ['reject', 'rejected', 'no'],
  changes_requested: ['changes', 'changes_requested', 'redo'],
};

export function meantBy(kind: InboxKind, options: readonly Option[], { status, ...said }: Word): Meaning {
  const comment = said.comment?.trim() || null;
  const written = said.text?.trim() || null;
  if (status !== 'answered') return { status, text: written, comment };
  if (written === null) {
    throw new BatonError(
      'E_SCHEMA_VALIDATION',
      'expected a text that answers it, got none',
      'try: baton answer ID TEXT',
    );
  }
  const text = optionMeant(options, written);
  if (kind === 'uncertainty') return { status, text, comment };
  const word = text.toLowerCase();
  const meant = (Object.keys(WORDS) as ApprovalStatus[]).find((one) => WORDS[one].includes(word));
  if (kind === 'failure') {
    if (meant === 'rejected') return { status: meant, text: null, comment };
    return { status, text: meant === 'approved' || word === 'retry' ? null : text, comment };
  }
  // Whatever else is said about it is something to do about it.
  return { status: meant ?? 'changes_requested', text: meant === undefined ? text : null, comment };
}

function optionMeant(options: readonly Option[], written: string): string {
  const named = options.find(({ option }) => option.trim().toLowerCase() === written.toLowerCase());
  if (named !== undefined) return named.option;
  if (options.length === 0 || !/^\d{1,3}$/.test(written)) return written;
  const numbered = options[Number(written) - 1];
  if (numbered !== undefined) return numbered.option;
  const names = options.map(({ option }, i) => `${i + 1} ${option}`).join(', ');
  throw new BatonError(
    'E_SCHEMA_VALIDATION',
    `expected one of ${options.length} options (${names}), got ${written}`,
    'name one by its number or its words, or answer in a sentence',
  );
}
