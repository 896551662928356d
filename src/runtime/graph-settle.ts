/** What a run said of the knowledge graph, when it has ended and its evidence holds: it is written, and what a person is asked decides how the run ended. */
import type { Question } from '../core/question.ts';
import type { Outcome, Report } from '../core/report.ts';
import type { StoredRecord } from '../core/store.ts';
import type { Run, Task } from '../core/task.ts';
import { shorten } from '../protocol/text/shorten.ts';
import type { Finding } from './evidence/claim.ts';
import { applyGraph, speakerOf, takeBack } from './graph-report.ts';
import type { Host } from './host.ts';
import { WAITS } from './results.ts';
import type { SaidGraph } from './said-graph.ts';

interface Graphed {
  /** What the run claims, after what became of its word. */
  readonly claimed: Pick<Report, 'outcome' | 'summary'>;
  /** What keeps it from being accepted. */
  readonly finding: Finding | null;
  /** Why the task is done once more at once, whatever its policy says of attempts; null where it is not. */
  readonly again: string | null;
  /** What was written, and what becomes of it, for the parent; empty where nothing was. */
  readonly words: string;
}

export async function writeGraph(
  host: Host,
  task: Task,
  run: Run,
  said: SaidGraph,
  claimed: Pick<Report, 'outcome' | 'summary'>,
): Promise<Graphed> {
  const applied = await applyGraph(host, said, speakerOf(task, run));
  if (applied.kind === 'none') return { claimed, finding: null, again: null, words: '' };
  if (applied.kind === 'refused') {
    const { code, message, hint } = applied.refusal;
    // Somebody took the task away: the run is not heard, and that is told elsewhere.
    if (code === 'E_STALE_RUN') return { claimed, finding: null, again: null, words: '' };
    const finding = { code, message: hint === null ? message : `${message} (${hint})` };
    return { claimed: judged(claimed), finding, again: null, words: '' };
  }
  // Whoever runs what was named has to know of the next stage before this one is over.
  if (applied.next.length > 0) await host.watch.caughtUp();
  const open = applied.questions.filter(({ answer }) => answer === null);
  const nodes = (applied.answer.nodes ?? []).filter(({ createdBy }) => createdBy !== 'baton');
  const written = nodes.map(({ id, type, confidence }) => `- Wrote ${type} ${id} (confidence ${confidence})`);
  const next = applied.next.map(({ id, metadata }) => `- Goes on to ${metadata['stage']}: ${id}`);
  const asked = open.map(({ id, question }) => `${WAITS}${id}: ${shorten(question, 150)}`);
  const words = [...asked, ...written, ...next].join('\n');
  // An agent that says all it has to say by its nodes has summed up nothing.
  const summary = claimed.summary.trim() === '' ? [...written, ...next].join('\n') : claimed.summary;
  const settled = (outcome: Outcome, finding: Finding | null = null, again: string | null = null): Graphed => ({
    claimed: { outcome, summary },
    finding,
    again,
    words,
  });
  // What the agent asks itself it cannot go on without; what Baton asks about its result is for a person to accept.
  if (open.some(({ kind, about, node }) => kind === 'uncertainty' && about === node)) return settled('blocked');
  const known = applied.questions.find(({ answer }) => answer !== null);
  if (known !== undefined) {
    const again = knownAnew(await host.store.history(task.id), task.id, run.id);
    if (again === null) return settled(judged(claimed).outcome, answeredBefore(known));
    // It went on without the answer.
    if (applied.next.length > 0) await takeBack(host, task, again);
    return settled('needs_review', null, again);
  }
  return settled(open.length > 0 ? 'needs_review' : claimed.outcome);
}

/** What is blocked is not judged, and a finding would be lost. */
const judged = (claimed: Graphed['claimed']): Graphed['claimed'] =>
  claimed.outcome === 'blocked' ? { ...claimed, outcome: 'partial' } : claimed;

/** What a run asked that was answered before, where its task had not been told so yet: the next run has it in its words. Null where there is nothing new. */
export function knownAnew(history: readonly StoredRecord[], task: string, run: string): string | null {
  const told = new Set<unknown>();
  for (const { type, task: of, run: by, detail } of history.flatMap(({ events }) => events)) {
    if (of !== task || (type !== 'question.known' && type !== 'question.answered')) continue;
    const question = detail?.['question'];
    if (type === 'question.known' && by === run && !told.has(question)) {
      const words = detail?.['text'] ?? detail?.['comment'] ?? detail?.['status'];
      return shorten(`${question} was answered before: ${words}`, 500);
    }
    told.add(question);
  }
  return null;
}

/** It was told the answer, and asks all the same. */
const answeredBefore = ({ question, answer, id }: Question): Finding => ({
  code: 'E_BLOCKED',
  message: `the question was answered before (${id}: ${shorten(question, 200)}): ${answer?.text ?? answer?.comment ?? answer?.status}`,
});
