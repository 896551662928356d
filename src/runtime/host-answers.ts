/** A person's answers where all of Baton is at hand: work is merged before it is done, and put back when it is called off. */
import type { AnswerParts } from './answers.ts';
import type { Host } from './host.ts';
import { finishRollback } from './recovery.ts';
import { mergeAccepted } from './task-worktree.ts';

export const answerParts = (host: Host): AnswerParts => ({
  store: host.store,
  config: host.config,
  now: host.now,
  workspace: host.workspace,
  merge: (task) => mergeAccepted(host, task),
  rollBack: (task) => finishRollback(host, task),
});
