/**
 * How the world outside talks to Baton: messages of any dialect go into the router, tools go through a door. Both know who speaks by the
 * channel, never by what is said (DESIGN: Agents). Contracts only.
 */
import type { Actor } from '../core/laws/messages.ts';
import type { NodeJson } from '../core/node-json.ts';
import type { TaskJson } from '../core/task-json.ts';
import type { Message } from '../protocol/message.ts';
import type { DoorInput } from './door-inputs.ts';

export type Channel = 'stdout' | 'socket' | 'cli' | 'http' | 'mcp' | 'inbox' | 'openclaw' | 'file';

/** Who speaks, as the channel knows it. */
export interface Sender {
  readonly channel: Channel;
  /** The run that speaks; it may touch its own task and its children. Null for anybody else. */
  readonly run: string | null;
  /** The agent's name as Baton knows it: of the run, or of `--as`. Null for a person who speaks as themselves. */
  readonly agent: string | null;
  readonly actor: Actor;
  /** Where a person wants new nodes that build upon nothing; the default session where nothing is said. */
  readonly session?: string;
}

/** A node, with the names of those fields of its data that had to be shortened. */
export type LoadedNode = NodeJson & { readonly shortened: readonly string[] };

/** What became of a message. */
export interface Routed {
  readonly result: 'accepted' | 'rejected' | 'unknown' | 'ignored';
  readonly reason: string | null;
  /** The task it is about, by Baton's own id. */
  readonly task: string | null;
  /** The types of the events that it led to. */
  readonly events: readonly string[];
}

/** A line of the session language: a `#COMMAND`, or words that stand for some; in the session of the run where one speaks. */
export type LineAsk = DoorInput<'do'>;

/** What came of it. */
export interface DoneLine {
  readonly reply: string;
  readonly commands: readonly string[];
  /** A question back: nothing was done. */
  readonly clarify: string | null;
  /** An answer was an `#ERROR`. */
  readonly failed: boolean;
}

/** Who understands the session language. It stands above the runtime, so it is given to it. */
export type DoLine = (ask: LineAsk, sender: Sender, signal?: AbortSignal) => Promise<DoneLine>;

export interface Router {
  /** Every message of a text, in its order. Never throws for what was said; a store that fails does. */
  take(text: string | Uint8Array, sender: Sender): Promise<readonly Routed[]>;
  message(message: Message, sender: Sender): Promise<Routed>;
}

/** What an agent may ask for through tools (MCP, the run's socket, HTTP). Every refusal is a BatonError with a code. */
export interface Door {
  /** `aof_task_create`: a child of the run's own task, or a task. */
  create(ask: DoorInput<'create'>): Promise<TaskJson>;
  /** `aof_task_update`: status, progress, blockers, notes; as a `status.update`. */
  update(ask: DoorInput<'update'>): Promise<TaskJson>;
  /** `aof_task_complete`: as a `completion.report`. Within a run the claim is taken and judged when the run ends. */
  complete(ask: DoorInput<'complete'>): Promise<TaskJson>;
  list(ask: DoorInput<'list'>): Promise<readonly TaskJson[]>;
  /** `aof_handoff`: a child task with handoff.json and handoff.md. */
  handoff(ask: DoorInput<'handoff'>): Promise<TaskJson>;
  /** `aof_message`: any protocol messages, as text. */
  message(ask: DoorInput<'message'>): Promise<readonly Routed[]>;
  /** `baton_report`: the final report of this run, in the words of aop1. */
  report(ask: DoorInput<'report'>): Promise<{ readonly accepted: boolean; readonly reason: string | null }>;
  /** `baton_context`: what this run needs to know, at most `maxChars`. */
  context(ask: DoorInput<'context'>): Promise<string>;
  /** `baton_load`: a node of the knowledge graph that may be built upon; that it was used is written down. */
  load(ask: DoorInput<'load'>): Promise<LoadedNode>;
  /** `baton_wait`: until one of the tasks has ended or changed, or `timeoutMs` (under 55 s) has passed. */
  wait(ask: DoorInput<'wait'>): Promise<readonly TaskJson[]>;
  /** `baton_do`: a line of the session language, as the one who speaks here. `signal` ends what waits. */
  do(ask: DoorInput<'do'>, signal?: AbortSignal): Promise<DoneLine>;
}
