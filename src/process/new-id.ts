/** Names that nobody else has. What has a meaning (a task, a run, a node, a checkpoint) is named by core, from what is known of it. */
import { randomBytes, randomUUID } from 'node:crypto';

/** For a request, a letter, a conversation: unlike any other, anywhere. */
export const newId = (): string => randomUUID();

/** The end of a name: unlike its neighbours. So many bytes as hex. */
export const newSuffix = (bytes = 8): string => randomBytes(bytes).toString('hex');
