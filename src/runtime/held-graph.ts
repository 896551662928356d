/**
 * What a run said of the knowledge graph while its evidence failed is held back: it is kept with the task, and approving the task applies all of it,
 * or is refused with the gap.
 */
import { BatonError } from '../core/errors.ts';
import { parseJson } from '../core/fields.ts';
import { heldMark, isHeldBack } from '../core/laws/held-graph.ts';
import type { Node } from '../core/node.ts';
import type { Question } from '../core/question.ts';
import type { Store } from '../core/store.ts';
import type { Run, Task } from '../core/task.ts';
import { RUNTIME } from './actor.ts';
import { type Applied, applyGraph, saysNothing, speakerOf } from './graph-report.ts';
import type { SaidGraph } from './said-graph.ts';
import type { StageParts } from './stage-task.ts';

const KEPT_AS = 'inputs/held-graph.json';

/** Durable when it returns, and before the run is judged: from then on the task is not done without it. */
export async function holdBack(store: Store, task: Task, run: Run, said: SaidGraph, reason: string): Promise<void> {
  if (saysNothing(said)) return;
  await store.send({
    message: {
      type: 'note',
      event: 'graph.held',
      task: task.id,
      run: run.id,
      messageId: heldMark(run.id),
      texts: { [KEPT_AS]: `${JSON.stringify(said)}\n` },
      detail: { ...sizeOf(said), reason },
    },
    by: RUNTIME,
  });
}

/** For the journal: how much was said, and of which node. */
export const sizeOf = ({ updates, outputs, broken }: SaidGraph): { blocks: number; node: string | null } => ({
  blocks: updates.length + broken.length,
  node: outputs[0]?._handoff.graph_node ?? null,
});

/** Applies what is held back of a task in review. */
export async function applyHeldBack(parts: StageParts, task: Task): Promise<Applied> {
  const { run } = task;
  if (run === null || !isHeldBack(task)) return { kind: 'none' };
  const kept = parseJson((await parts.store.text(task.id, KEPT_AS)) ?? '') as SaidGraph | undefined;
  if (kept === undefined)
    throw new BatonError('E_UNKNOWN', `what ${run.id} said of the graph was held back and cannot be read any more`);
  return applyGraph(parts, kept, speakerOf(task, run));
}

/** What came of it. */
export interface LetGo {
  /** Those that are open about it now. */
  readonly questions: readonly Question[];
  /** The tasks of the next stages. */
  readonly made: readonly Task[];
  readonly nodes: readonly Node[];
  readonly events: readonly string[];
}

/** For a person who approves the task: throws the gap, and then nothing was changed. */
export async function approveHeldBack(parts: StageParts, task: Task): Promise<LetGo> {
  const applied = await applyHeldBack(parts, task);
  if (applied.kind === 'none') return { questions: [], made: [], nodes: [], events: [] };
  if (applied.kind === 'refused') {
    const { code, message } = applied.refusal;
    const hint = `put that right and approve it again, or have it done once more: baton changes ${task.id} --comment TEXT`;
    throw new BatonError(
      code,
      `${task.id} is not approved, since what it hands on cannot be applied: ${message}`,
      hint,
    );
  }
  const { answer, next } = applied;
  return {
    questions: applied.questions.filter((question) => question.answer === null),
    made: next,
    nodes: answer.nodes ?? [],
    events: (answer.events ?? []).map(({ type }) => type),
  };
}
