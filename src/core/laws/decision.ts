/** What a law sees, and what it says. */
import type { ErrorCode } from '../errors.ts';
import type { Edge, Node } from '../node.ts';
import type { Question } from '../question.ts';
import type { Session, SessionChange } from '../session.ts';
import type { Run, Task } from '../task.ts';
import type { Actor, Claimer, Texts } from './messages.ts';

/** What laws see of the knowledge graph. A store may read it only when it is asked for. */
export interface GraphSlice {
  node(id: string): Node | undefined;
  /** The nodes that were made from this one, or used it. */
  consumers(id: string): Iterable<string>;
  edgesFrom(id: string): Iterable<Edge>;
  edgesTo(id: string): Iterable<Edge>;
  /** The nodes that a task has loaded. */
  loads(task: string): readonly string[];
  /** The nodes that a task has written. */
  madeBy(task: string): Iterable<string>;
}

/** The part of the state that a message names. Read only; a store that has to fetch it may decide twice. */
export interface Slice {
  task(id: string): Task | undefined;
  byExternalId(session: string, externalId: string): string | undefined;
  /** The tasks that name this one in their `dependsOn`. */
  dependents(id: string): Iterable<string>;
  /** The highest number given out on a day. */
  lastNumber(day: string): number;
  /** The most urgent task that this claimer may have now. */
  nextReady(claimer: Claimer, now: number): string | undefined;
  /** The tasks in progress that say what they write. */
  writers(): Iterable<Task>;
  /** Until when a run counts as alive: its last sign of life and its lease. */
  leaseUntil(run: Run): number;
  readonly graph: GraphSlice;
  question(id: string): Question | undefined;
  /** The latest that was asked in these words; an answered one before one that is open. */
  questionLike(key: string): Question | undefined;
  /** All that a task has ever asked, oldest first. */
  questionsOf(task: string): Iterable<Question>;
  /** Those that nobody has answered. */
  openQuestions(): Iterable<Question>;
  /** The highest number of a question given out. */
  lastQuestion(): number;
  /** What a session remembers; undefined where nothing was ever said in it. */
  session(id: string): Session | undefined;
  /** Its tasks. It may look at all there are. */
  tasksOf(session: string): Iterable<Task>;
}

/** New values of a task's fields. A new task has all that it does not have by default. */
export interface Change {
  readonly task: string;
  readonly set: Partial<Task>;
  readonly texts?: Texts;
}

/** What changes in the knowledge graph, or among the questions to people. */
export type GraphChange =
  | {
      readonly kind: 'node';
      readonly node: string;
      /** A new node has all fields. */
      readonly set: Partial<Node>;
      /** What was written: the whole node (`new`), or what changes. Null where only `set` does. */
      readonly document: { readonly isNew: boolean; readonly text: string } | null;
    }
  /** New or changed: there is one between two nodes for each relation. `was` names the relation that it had. */
  | { readonly kind: 'edge'; readonly edge: Edge; readonly was?: string | null }
  | { readonly kind: 'load'; readonly task: string; readonly node: string }
  | { readonly kind: 'question'; readonly question: Question };

/** A fact, as people and other programs read it. */
export interface Event {
  readonly type: string;
  readonly task?: string;
  readonly run?: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** What is written down of one decision; the store adds its number and its hash. */
export interface Facts {
  readonly at: number;
  readonly session: string;
  readonly by: Actor;
  readonly events: readonly Event[];
  readonly changes: readonly Change[];
  readonly graph?: readonly GraphChange[];
  readonly sessions?: readonly SessionChange[];
  /** Makes a retry of the same request act once. */
  readonly request?: string;
  /** What the answer speaks of: tasks by their id, nodes as `node:<id>`, questions as `question:<id>`; and what is to be said, as `reply:<text>`. */
  readonly about: readonly string[];
}

export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string | null;
}

export type Decision =
  | { readonly kind: 'changed'; readonly facts: Facts }
  /** It is so already, or has been done before. */
  | { readonly kind: 'same'; readonly about: readonly string[] }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

export const refused = (code: ErrorCode, message: string, hint: string | null = null): Decision => ({
  kind: 'refused',
  refusal: { code, message, hint },
});

export const same = (...about: string[]): Decision => ({ kind: 'same', about });
