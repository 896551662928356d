/**
 * What an agent said in its own words, read again from the log of its run by the reader that its adapter has: tool output and other programs'
 * text are left out, exactly as they were when it was heard live.
 */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentSign, Reader, TurnRequest } from '../agents/adapter.ts';
import { adapterFor } from '../agents/index.ts';
import { BatonError } from '../core/errors.ts';
import type { Run, Task } from '../core/task.ts';
import { policyOf } from '../protocol/aop2/policy.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { type Chosen, chooseAgent } from './agents.ts';
import { taskMessage } from './child.ts';
import { eachPiece } from './details.ts';
import type { Host } from './host.ts';
import { logFolder } from './places.ts';

interface Listener {
  text(piece: string): void;
  /** A whole statement has ended. */
  pause(): void;
  turnEnded(): void;
}

interface Read {
  /** `not-a-file`: something else is in the log's place, and it is not looked into. */
  readonly kind: 'read' | 'no-log' | 'not-a-file';
  /** The configuration still knows the agent. Where it does not, its output was read as plain text, tool output among it. */
  readonly isKnown: boolean;
}

export async function readWords(host: Host, task: Task, run: Run, listener: Listener): Promise<Read> {
  const message = await taskMessage(host.store, task, host.workspace);
  const { agent, adapter, isKnown } = agentOf(host, task, run, message);
  let isOver = false;
  const emit = (sign: AgentSign): void => {
    if (sign.kind === 'end') isOver = true;
    if (sign.kind !== 'text') return;
    listener.text(sign.text);
    if (sign.whole) listener.pause();
  };
  const request = requestOf(host, run, message, agent);
  // Of an agent that is no program here, what it said is in the log as it was heard.
  const from = adapter.way === 'remote' ? adapterFor('command') : adapter;
  if (from.way === 'remote') return { kind: 'no-log', isKnown };
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
      listener.turnEnded();
      reader = open();
      isOver = false;
    }
  });
  reader.end({ code: 0, signal: null });
  if (isRead) return { kind: 'read', isKnown };
  const isThere = lstatSync(join(folder, 'out.log'), { throwIfNoEntry: false }) !== undefined;
  return { kind: isThere ? 'not-a-file' : 'no-log', isKnown };
}

const NEW_LINE = 10;

/** The one that did it, as it was chosen then; where config has changed since, what it printed is read as plain text. */
function agentOf(
  host: Host,
  task: Task,
  run: Run,
  message: TaskMessage,
): Pick<Chosen, 'agent' | 'adapter'> & { readonly isKnown: boolean } {
  try {
    const { config, environment } = host;
    return { ...chooseAgent({ config, environment, task, message, claimed: run.agent }), isKnown: true };
  } catch (cause) {
    if (!(cause instanceof BatonError)) throw cause;
    return {
      agent: { kind: 'command', args: [], env: [], roles: [], tags: [] },
      adapter: adapterFor('command'),
      isKnown: false,
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
