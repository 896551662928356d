/** The ids of messages that a task remembers, so that a message which is sent twice acts once. */
import type { Task } from '../task.ts';

/** So many of them; a message that is sent again comes soon. */
export const MOST_MESSAGES = 200;

export const withMessage = (task: Task, messageId: string | undefined): Partial<Task> =>
  messageId === undefined ? {} : { messages: [...task.messages.slice(1 - MOST_MESSAGES), messageId] };
