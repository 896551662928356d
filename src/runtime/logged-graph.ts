/**
 * What a run has said of the knowledge graph, for whoever finishes it after its Baton died: what it printed stands in its log, what it said by its socket
 * or by tools in the journal. It is read as it was heard.
 */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentSign, Reader, TurnRequest } from '../agents/adapter.ts';
import { adapterFor } from '../agents/index.ts';
import { BatonError } from '../core/errors.ts';
import type { StoredRecord } from '../core/store.ts';
import type { Run, Task } from '../core/task.ts';
import { policyOf } from '../protocol/aop2/policy.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { createDetector, type Found } from '../protocol/index.ts';
import { type Chosen, chooseAgent } from './agents.ts';
import { taskMessage } from './child.ts';
import { eachPiece } from './details.ts';
import type { Host } from './host.ts';
import { logFolder } from './places.ts';
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
  const message = await taskMessage(host.store, task, host.workspace);
  const { agent, adapter } = agentOf(host, task, run, message);
  let detector = createDetector();
  let isOver = false;
  const take = (all: readonly Found[]): void => {
    for (const found of all) if (isOfGraph(found)) ear.take(found);
  };
  const pause = (): void => {
    take(detector.end());
    detector = createDetector();
  };
  const emit = (sign: AgentSign): void => {
    if (sign.kind === 'end') isOver = true;
    if (sign.kind !== 'text') return;
    take(detector.feed(sign.text));
    if (sign.whole) pause();
  };
  const request = requestOf(host, run, message, agent);
  // Of an agent that is no program here, what it said is in the log as it was heard.
  const from = adapter.way === 'remote' ? adapterFor('command') : adapter;
  if (from.way === 'remote') return true;
  const open = (): Reader => from.reader({ request, emit, say: () => {}, hangUp: () => {} });
  let reader = open();
  const folder = logFolder(host.dir, run.id);
  const isRead = await eachPiece(folder, 'out.log', async (piece) => {
    for (let at = 0; at < piece.length; ) {
      const line = piece.indexOf(NEW_LINE, at);
      const end = line < 0 ? piece.length : line + 1;
      // The piece is used again for the next one.
      reader.stdout(new Uint8Array(piece.subarray(at, end)));
      at = end;
      if (!isOver) continue;
      // Another turn may follow.
      pause();
      ear.nextTurn();
      reader = open();
      isOver = false;
    }
  });
  reader.end({ code: 0, signal: null });
  pause();
  return isRead || lstatSync(join(folder, 'out.log'), { throwIfNoEntry: false }) === undefined;
}

const NEW_LINE = 10;

/** The one that did it, as it was chosen then; where config has changed since, what it printed is read as plain text. */
function agentOf(host: Host, task: Task, run: Run, message: TaskMessage): Pick<Chosen, 'agent' | 'adapter'> {
  try {
    const { config, environment } = host;
    return chooseAgent({ config, environment, task, message, claimed: run.agent });
  } catch (cause) {
    if (!(cause instanceof BatonError)) throw cause;
    return {
      agent: { kind: 'command', args: [], env: [], roles: [], tags: [] },
      adapter: adapterFor('command'),
    };
  }
}

/** Nothing is started with it: readers look some things up in what was asked for. */
function requestOf(host: Host, run: Run, message: TaskMessage, agent: TurnRequest['agent']): TurnRequest {
  const { access, budget } = policyOf(message);
  return {
    agent,
    prompt: '',
    model: run.model,
    workspace: message.task.environment.workspace_root,
    access,
    sandboxed: false,
    budget,
    resume: null,
    conversation: '',
    mcp: null,
    folder: logFolder(host.dir, run.id),
    environment: host.environment,
  };
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
