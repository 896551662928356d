/** The checks for messages that are made below the runtime, of files that people drop and edit. */
import type { TaskMessage } from '../../core/laws/messages.ts';
import { checkAgentName } from '../agents.ts';
import { admitTasks, type Checks, surroundings } from './admit.ts';

/** Throws where it is refused. */
export async function admitMessage(checks: Checks, message: TaskMessage): Promise<TaskMessage> {
  if (message.type === 'task.add') return { ...message, tasks: (await admitTasks(checks, message.tasks)).tasks };
  const agent = message.type === 'task.edit' ? message.routing?.agent : null;
  if (agent != null) checkAgentName(surroundings(checks), agent);
  return message;
}
