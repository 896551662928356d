/** A person's answers where all of Baton is at hand: what is approved is merged, and what is called off is put back. */
import type { AnswerParts } from './answers.ts';
import type { Host } from './host.ts';
import { finishRollback } from './recovery.ts';
import { mergeLinked } from './worktrees/linked.ts';
import { mergeWork } from './worktrees/merge-work.ts';

export const answerParts = (host: Host): AnswerParts => ({
  store: host.store,
  config: host.config,
  now: host.now,
  workspace: host.workspace,
  mergeLinked: (task) => mergeLinked(host, task),
  merge: async (id) => (await mergeWork(host, id)).finding,
  rollBack: (task) => finishRollback(host, task),
});
