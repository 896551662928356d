/** What a run has said of the knowledge graph, for the Baton that finishes it after its own died: what it printed is in its log, what it sent in the journal. */
import type { StoredRecord } from '../core/store.ts';
import type { Run, Task } from '../core/task.ts';
import { createDetector, type Found } from '../protocol/index.ts';
import { taskMessage } from './child.ts';
import type { Host } from './host.ts';
import { readWords } from './logged-words.ts';
import { createGraphEar, type GraphEar, isOfGraph, type SaidGraph } from './said-graph.ts';

export async function saidBy(host: Host, task: Task, run: Run, history: readonly StoredRecord[]): Promise<SaidGraph> {
  const ear = createGraphEar();
  const unread = await hearLog(host, task, run, ear).then(
    (isRead) => (isRead ? null : 'it is no file of its own'),
    (cause: Error) => cause.message,
  );
  hearJournal(history, run.id, ear);
  // What may stand there is not passed over: then nothing of it counts, and a person looks.
  return unread === null ? ear.said : { ...ear.said, broken: [`what ${run.id} printed cannot be read: ${unread}`] };
}

/** False where there is something in the log's place that is not looked into. */
async function hearLog(host: Host, task: Task, run: Run, ear: GraphEar): Promise<boolean> {
  let detector = createDetector({ skipFences: true });
  const take = (all: readonly Found[]): void => {
    for (const found of all) if (isOfGraph(found)) ear.take(found);
  };
  const pause = (): void => {
    take(detector.end());
    detector = createDetector({ skipFences: true });
  };
  const { phases = [] } = await taskMessage(host.store, task, host.workspace);
  const read = await readWords(host, task, run, {
    text: (piece) => take(detector.feed(piece)),
    pause,
    turnEnded() {
      pause();
      // Without phases a second turn is one in which the agent was asked for what was broken.
      if (phases.length === 0) ear.mend();
      ear.nextTurn();
    },
  });
  pause();
  return read.kind !== 'not-a-file';
}

/** What was acknowledged is kept; what was refused there keeps all of it out, as it did then. */
function hearJournal(history: readonly StoredRecord[], run: string, ear: GraphEar): void {
  for (const { type, run: of, detail } of history.flatMap(({ events }) => events)) {
    if (of !== run || detail === undefined) continue;
    const kind = String(detail['kind']);
    if (type === 'protocol.message.received' && detail['graph'] !== undefined) {
      ear.take({ dialect: 'output', kind, valid: true, problems: [], value: detail['graph'], line: 1 });
    } else if (type === 'protocol.message.rejected' && detail['broken'] !== undefined) {
      const message = String(detail['reason']);
      const problems = [{ severity: 'error', code: 'E_SCHEMA_VALIDATION', path: '', message }] as const;
      ear.take({ dialect: 'output', kind, valid: false, problems, value: detail['broken'], line: 1 });
    }
  }
}
