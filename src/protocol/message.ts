/** What `detect` finds: one message of one dialect, with what is wrong with it. */
import type { Problem } from '../core/problem.ts';
import { hasError } from '../core/problem.ts';
import type { Dialect } from './dialects.ts';

export interface Message {
  readonly dialect: Dialect;
  /** What it is within its dialect (`TASK`, `report`, `STATE`, `completion.report`); null where it does not say. */
  readonly kind: string | null;
  readonly valid: boolean;
  readonly problems: readonly Problem[];
  /** What was decoded, as it was written; null where nothing could be. */
  readonly value: unknown;
}

/** Builds a message; it is valid when no problem is an error. */
export const message = (
  dialect: Dialect,
  kind: string | null,
  value: unknown,
  problems: readonly Problem[],
): Message => ({ dialect, kind, valid: !hasError(problems), problems, value });

/** Counts the tokens of a text. The vocabulary is large, so it is always an argument, and called only when a limit could be passed. */
export type CountTokens = (text: string) => number;
