/** What the router cannot do alone, because it knows neither the evidence nor the workspace: claims that nobody supervises, and a person's answers. */
import { answerQuestion } from './answers.ts';
import { finishVerdict } from './evidence/finish-verdict.ts';
import type { Host } from './host.ts';
import { answerParts } from './host-answers.ts';

/** From now on claims of tasks that nobody supervises are judged here, and what a person says by message is an answer. */
export function judgeClaims(host: Host): void {
  host.judge = (task) => finishVerdict(host, task);
  host.answer = (word, by) => answerQuestion(answerParts(host), word, by);
}
