/** What a run said of the knowledge graph, when it has ended and its evidence holds: it is written, and what a person is asked decides how the run ended. */
import type { Question } from '../core/question.ts';
import type { Outcome, Report } from '../core/report.ts';
import type { StoredRecord } from '../core/store.ts';
import type { Run, Task } from '../core/task.ts';
import { shorten } from '../protocol/text/shorten.ts';
import type { Finding } from './evidence.ts';
import { applyGraph, speakerOf } from './graph-report.ts';
import type { Host } from './host.ts';
import { createGraphEar, type SaidGraph } from './said-graph.ts';

export interface Graphed {
  /** What the run claims, after what became of its word. */
  readonly claimed: Pick<Report, 'outcome' | 'summary'>;
  /** What keeps it from being accepted. */
  readonly finding: Finding | null;
}

export async function writeGraph(
  host: Host,
  task: Task,
  run: Run,
  said: SaidGraph,
  claimed: Pick<Report, 'outcome' | 'summary'>,
): Promise<Graphed> {
  const applied = await applyGraph(host, said, speakerOf(task, run));
  if (applied.kind === 'none') return { claimed, finding: null };
  if (applied.kind === 'refused') {
    const { code, message, hint } = applied.refusal;
    // Somebody took the task away: the run is not heard, and that is told elsewhere.
    if (code === 'E_STALE_RUN') return { claimed, finding: null };
    return { claimed: judged(claimed), finding: { code, message: hint === null ? message : `${message} (${hint})` } };
  }
  // Whoever runs what was named has to know of the next stage before this one is over.
  if (applied.next !== null) await host.watch.caughtUp();
  const open = applied.questions.filter(({ answer }) => answer === null);
  // What the agent asks itself it cannot go on without; what Baton asks about its result is for a person to accept.
  const unsure = open.filter(({ kind, about, node }) => kind === 'uncertainty' && about === node);
  if (unsure.length > 0) return { claimed: waiting(claimed, 'blocked', open), finding: null };
  const known = applied.questions.find(({ answer }) => answer !== null);
  if (known !== undefined) return { claimed: judged(claimed), finding: answeredBefore(known) };
  if (open.length > 0) return { claimed: waiting(claimed, 'needs_review', open), finding: null };
  return { claimed, finding: null };
}

/** What a run had said of the graph by its socket or by tools, which was acknowledged and so is kept. */
export function saidInJournal(history: readonly StoredRecord[], run: string): SaidGraph {
  const ear = createGraphEar();
  for (const { events } of history) {
    for (const { type, run: of, detail } of events) {
      if (type !== 'protocol.message.received' || of !== run || detail?.['graph'] === undefined) continue;
      const kind = String(detail['kind']);
      ear.take({ dialect: 'output', kind, valid: true, problems: [], value: detail['graph'], line: 1 });
    }
  }
  return ear.said;
}

/** What is blocked is not judged, and a finding would be lost. */
const judged = (claimed: Graphed['claimed']): Graphed['claimed'] =>
  claimed.outcome === 'blocked' ? { ...claimed, outcome: 'partial' } : claimed;

function waiting(claimed: Graphed['claimed'], outcome: Outcome, open: readonly Question[]): Graphed['claimed'] {
  const [first] = open;
  const ids = open.map(({ id }) => id).join(', ');
  const summary = `waits for an answer: ${ids} (${shorten(first?.question ?? '', 200)})\n${claimed.summary}`;
  return { outcome, summary: summary.trim() };
}

/** It need not be asked again: the next attempt has the answer in its words. */
const answeredBefore = ({ question, answer, id }: Question): Finding => ({
  code: 'E_BLOCKED',
  message: `the question was answered before (${id}: ${shorten(question, 200)}): ${answer?.text ?? answer?.comment ?? answer?.status}`,
});
