/** What people have said to a task, for the words of its next run: answers to what it asked, and what is to be done differently. Pure. */
import { QUESTION_ID } from '../core/question.ts';
import type { StoredRecord } from '../core/store.ts';
import { shorten } from '../protocol/text/shorten.ts';

/** The latest ones count. */
const MOST_ANSWERS = 20;
const MOST_CHARS = 4_000;

/** What the journal says of it, oldest first. */
export function answersOf(records: readonly StoredRecord[], task: string): string[] {
  const said = records.flatMap(({ events, by }) => {
    const answered = events.filter(
      ({ type, detail }) => type === 'question.answered' && isQuestion(detail?.['question']),
    );
    if (answered.length > 0) {
      return answered.flatMap(({ task: of, detail }) => (of === task ? [ofQuestion(detail ?? {})] : []));
    }
    const known = events.filter(({ type, task: of }) => type === 'question.known' && of === task);
    if (known.length > 0) return known.map(({ detail }) => ofQuestion(detail ?? {}));
    if (by.kind !== 'person') return [];
    return events.flatMap(({ type, task: of, detail }) => {
      const reason = detail?.['reason'];
      const isBack = type === 'task.transitioned' && of === task && detail?.['to'] === 'ready';
      if (!isBack || typeof reason !== 'string' || reason === 'retry' || detail?.['from'] === 'backlog') return [];
      return [`A person sent this task back to you, and says: ${shorten(reason, MOST_CHARS)}`];
    });
  });
  return said.slice(-MOST_ANSWERS);
}

const isQuestion = (id: unknown): boolean => typeof id === 'string' && QUESTION_ID.test(id);

function ofQuestion(detail: Readonly<Record<string, unknown>>): string {
  const text = (key: string): string | null => {
    const value = detail[key];
    return typeof value === 'string' && value.trim() !== '' ? shorten(value, MOST_CHARS) : null;
  };
  const [answer, comment] = [text('text'), text('comment')];
  const words = [answer, comment].filter((word) => word !== null).join(' ') || String(detail['status']);
  if (detail['status'] === 'changes_requested') {
    return `You asked: ${text('asked')}\nA person asks for changes: ${words}`;
  }
  return `You asked: ${text('asked')}\nThe answer (by a person): ${words}`;
}
