/** What the session's commands are given, and what they answer. Contracts only: every command is a handler in `commands/`, found by the one table in `handlers.ts`. */
import type { Config } from '../core/config.ts';
import type { SessionErrorCode } from '../core/errors.ts';
import type { Actor, Speaker } from '../core/laws/messages.ts';
import type { Store } from '../core/store.ts';
import type { Command, Situation } from '../protocol/command/index.ts';

/** What the interpreter works with. */
export interface SessionParts {
  readonly store: Store;
  readonly config: Config;
  /** The data folder's real path; null where there is none (a store in memory): then nothing is logged. */
  readonly dir: string | null;
  /** The folder that files of a session lie in: locks name paths of it, exports are written inside it. */
  readonly workspace: string;
  /** Where programs of agents are looked for; that of this process where it is not given. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  now(): number;
  countTokens(text: string): number;
  /** A sentence for the person who looks on. */
  warn(text: string): void;
  /** Asks a configured agent; null where there is none. Its answer is text, not a command. */
  readonly askAgent: ((agent: string, prompt: string, signal?: AbortSignal) => Promise<string>) | null;
}

/** Who speaks in which session, as the channel knows it. */
export interface Voice {
  readonly session: string;
  readonly speaker: Speaker;
  readonly actor: Actor;
}

export interface Call extends SessionParts, Voice {
  readonly command: Command;
  /** The parameters with their defaults; a sub-command is the first. */
  readonly params: readonly string[];
  /** Ends a `#WAIT` early. */
  readonly signal: AbortSignal;
  /** What the same line of plain words says besides; null for a command by itself. */
  readonly line: LineSoFar | null;
}

/** A line of plain words may make several tasks that wait for each other. */
export interface LineSoFar {
  /** The tasks it has made, by whom they are for and their words (`madeKey`). */
  readonly made: Map<string, string>;
  /** The `#DEPENDS` that belong to the task being made: they hold from its beginning. */
  readonly needs: readonly Command[];
}

/** What is answered. The formatter keeps it within the command's limits (`answer.ts`). */
export type Said =
  /** Words that the document quotes: no limit binds them. */
  | {
      readonly kind: 'form';
      readonly text: string;
      /** The answers to the `#DEPENDS` that were done with it. */
      readonly more?: readonly string[];
    }
  | { readonly kind: 'text'; readonly text: string; readonly situation?: Situation }
  | {
      readonly kind: 'list';
      readonly items: readonly string[];
      readonly situation?: Situation;
      /** What shows the rest, where it is not the same command from an entry on. */
      readonly next?: (from: number) => string;
    }
  | {
      readonly kind: 'error';
      readonly code: SessionErrorCode;
      readonly description: string;
      readonly situation?: Situation;
      /** What could have been meant, a line each: ids are never cut, titles are. */
      readonly candidates?: readonly string[];
    };

export type Handler = (call: Call) => Promise<Said>;

export const form = (text: string): Said => ({ kind: 'form', text });
export const text = (words: string, situation?: Situation): Said => ({
  kind: 'text',
  text: words,
  ...(situation === undefined ? {} : { situation }),
});
export const list = (items: readonly string[], situation?: Situation): Said => ({
  kind: 'list',
  items,
  ...(situation === undefined ? {} : { situation }),
});
export const failed = (code: SessionErrorCode, description: string, situation?: Situation): Said => ({
  kind: 'error',
  code,
  description,
  ...(situation === undefined ? {} : { situation }),
});

/** What the words of a person are turned into (`hear.ts`). */
export interface Heard {
  readonly commands: readonly string[];
  /** A question back: then nothing is done. */
  readonly clarify: string | null;
  /** What is said besides, where something is. */
  readonly note?: string;
  /** How the answers are told, where it is not as they are. */
  readonly tell?: (commands: readonly string[], replies: readonly string[]) => string;
}

/** What one line came to. */
export interface Done {
  /** One answer a command, in their order, joined by line ends. In natural mode, a sentence. */
  readonly reply: string;
  readonly commands: readonly string[];
  /** A question back: nothing was done. */
  readonly clarify: string | null;
  /** Whether an answer was an `#ERROR`. */
  readonly failed: boolean;
}

export interface Interpreter {
  /** One line: a `#COMMAND`, or natural language. Never throws for what was said; a store that fails does. */
  do(line: string, voice: Voice, options?: { readonly dryRun?: boolean; readonly signal?: AbortSignal }): Promise<Done>;
}
