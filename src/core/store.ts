/**
 * The port of every store. What goes in is a message, decided inside the store's own transaction by the laws (`laws/decide.ts`):
 * a message is plain data, so a store may be in another process or on another machine. Nothing is answered before it is durable.
 */
import type { Event, Facts, Refusal } from './laws/decision.ts';
import type { Actor, AnyMessage, TaskMessage } from './laws/messages.ts';
import type { Edge, Node } from './node.ts';
import type { Question } from './question.ts';
import type { SessionJson } from './session.ts';
import type { Task, TaskStatus } from './task.ts';

/**
 * One decision as the store keeps it: `seq` counts without gaps from 1. Changes of nodes are told without their documents (`document` is null),
 * which are read with the nodes: a record stays small.
 */
export interface StoredRecord extends Facts {
  readonly seq: number;
}

export interface Ask {
  readonly message: AnyMessage;
  readonly by: Actor;
  /** The same id asked twice acts once and gets the same answer. */
  readonly request?: string;
}

export type Answer =
  | {
      readonly kind: 'changed' | 'same';
      readonly tasks: readonly Task[];
      /** Only where it speaks of any. */
      readonly nodes?: readonly Node[];
      readonly questions?: readonly Question[];
      /** What is to be said, where a law has words for it. */
      readonly reply?: string;
      /** The events of the record that this message made. Only with `changed`: an answer of `same` made no record. */
      readonly events?: readonly Event[];
    }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

export interface TaskFilter {
  readonly status?: readonly TaskStatus[];
  readonly session?: string;
}

export interface NodeFilter {
  readonly type?: readonly string[];
  readonly domain?: string;
  /** The stage that it goes to next. */
  readonly stage?: string;
  readonly session?: string;
  /** The task that wrote it. */
  readonly task?: string;
  /** Words that stand somewhere in the node, in any case. */
  readonly text?: string;
  /** Only those that came after this node; none where it is not there. */
  readonly after?: string;
}

export interface QuestionFilter {
  /** Those that nobody has answered, or the others. */
  readonly open?: boolean;
  readonly session?: string;
}

/** A node with all that is written in it and known of it. */
export interface WholeNode extends Node {
  /** The node as it was written, with what was changed since; parsed JSON. */
  readonly document: Readonly<Record<string, unknown>>;
  readonly consumers: readonly string[];
  /** What its own confidence comes to with nodes that bear it out. */
  readonly effectiveConfidence: number;
  /** Edges in and out, lineage included. */
  readonly degree: number;
}

export interface Lineage {
  /** The node itself, and all that it comes from or that came from it. */
  readonly nodes: readonly Node[];
  /** `relation` null: made from; `used`: loaded by the task that wrote it; else as the edge says. */
  readonly edges: readonly { readonly from: string; readonly to: string; readonly relation: string | null }[];
  /** More than are told here. */
  readonly isCut: boolean;
}

export interface LineageQuery {
  readonly up?: boolean;
  readonly down?: boolean;
  /** So many steps; all where nothing is said. */
  readonly hops?: number;
  /** So many nodes at most. */
  readonly most?: number;
}

export interface EventQuery {
  /** Records after this number; 0 is from the beginning. */
  readonly after: number;
  readonly task?: string;
  readonly session?: string;
  /** Goes on with what happens, until this says stop. */
  readonly follow?: AbortSignal;
}

/** Something on disk that is not as it was written. */
export interface Broken {
  /** The record that is broken, or that names what is. */
  readonly seq: number | null;
  readonly where: string;
  readonly reason: string;
}

/** Whether all that is on disk is as it was written: the chains of hashes, the long texts, and what was made from the journal. */
export interface Verification {
  readonly ok: boolean;
  readonly records: number;
  /** How many long texts were looked at. */
  readonly texts?: number;
  /** The first of what is broken. */
  readonly brokenAt: Broken | null;
  /** All of it. In the journal only the first: what comes behind it is not looked at. */
  readonly problems?: readonly Broken[];
}

/** Something that was looked at, and what was found. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** What the checks of a message have to know of the tasks that are there. */
export type KnownTasks = Pick<Store, 'find' | 'tasks'>;

/** Checks and completes a message that was made of a file in the tree; throws where it is refused. */
export type AdmitFile = (message: TaskMessage, known: KnownTasks) => Promise<TaskMessage>;

export interface Store {
  send(ask: Ask): Promise<Answer>;
  /** A sign of life of a run; not written down. False where it is not the task's current run. */
  alive(run: string): Promise<boolean>;
  /** By id, or by external id within a session (any session where none is given and only one has it). */
  find(id: string, session?: string): Promise<Task | undefined>;
  /** In the order of their ids. */
  tasks(filter?: TaskFilter): AsyncIterable<Task>;
  /** `body`, or a file of the task's folder; null where there is none. */
  text(id: string, name: string): Promise<string | null>;
  node(id: string): Promise<WholeNode | undefined>;
  /** In the order in which they came. */
  nodes(filter?: NodeFilter): AsyncIterable<WholeNode>;
  /** Both ways where nothing is said; undefined where there is no such node. */
  lineage(id: string, query?: LineageQuery): Promise<Lineage | undefined>;
  /** Edges that were added, beside lineage; of one node, those that begin at it first, or all in the order in which they came. */
  edges(id?: string): Promise<readonly Edge[]>;
  question(id: string): Promise<Question | undefined>;
  /** In the order in which they were asked. */
  questions(filter?: QuestionFilter): Promise<readonly Question[]>;
  /** What a session remembers besides its tasks; undefined where nothing was ever said in it. */
  session(id: string): Promise<SessionJson | undefined>;
  sessions(): Promise<readonly SessionJson[]>;
  /** The records that touched a task, oldest first. */
  history(id: string): Promise<readonly StoredRecord[]>;
  eventsAfter(query: EventQuery): AsyncIterable<StoredRecord>;
  /** The number of the last record: where somebody begins to follow who cares only for what is to come. */
  lastRecord(): Promise<number>;
  verify(session?: string): Promise<Verification>;
  /** Looks at everything the store keeps, and mends what can be made again. */
  examine(): Promise<readonly Check[]>;
  /** Waits until all that was accepted is durable and the file tree shows it; with a task, until the tree shows that task as it is now. */
  settled(task?: string): Promise<void>;
  close(): Promise<void>;
}
