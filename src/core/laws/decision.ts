/** What a law sees, and what it says. */
import type { ErrorCode } from '../errors.ts';
import type { Run, Task } from '../task.ts';
import type { Actor, Claimer, Texts } from './messages.ts';

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
}

/** New values of a task's fields. A new task has all that it does not have by default. */
export interface Change {
  readonly task: string;
  readonly set: Partial<Task>;
  readonly texts?: Texts;
}

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
  /** Makes a retry of the same request act once. */
  readonly request?: string;
  /** The tasks the answer speaks of. */
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
