/**
 * What every adapter is: it turns (prompt, model, access) into a program to start, and what that program prints into signs of life,
 * progress, cost and an end. Adapters are tables and parsers; they start nothing, write nothing and know no store.
 */
import type * as z from 'zod';
import type { AgentKind } from '../core/agent-kinds.ts';
import type { Config } from '../core/config.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { Access, Budget } from '../core/policy.ts';
import type { Provider as ProviderSchema } from '../protocol/aop2/schema.ts';

export type AgentConfig = Config['agents'][string];

export type Provider = z.infer<typeof ProviderSchema>;

/** Baton's own tools, as a program that speaks MCP on its standard input and output. */
export interface McpProgram {
  readonly name: 'baton';
  readonly command: readonly string[];
  /** All that it needs to know: programs do not pass on all of their environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** What one turn of an agent is asked for. */
export interface TurnRequest {
  readonly agent: AgentConfig;
  readonly prompt: string;
  readonly model: string | null;
  /** Where it works; absolute. */
  readonly workspace: string;
  /** What it may touch: effective, absolute, symlinks resolved. */
  readonly access: Access;
  /** Whether a sandbox of ours is around it, so that its own permissions need not be. */
  readonly sandboxed: boolean;
  readonly budget: Budget;
  /** The conversation to go on with; null begins a new one. */
  readonly resume: string | null;
  /** What is asked makes sense in that conversation only: where it cannot be gone on with, the turn fails. */
  readonly resumeOnly?: boolean;
  /** What the turns before used of the conversation to go on with, as their `usage` signs said; codex counts conversations, not turns. */
  readonly spent?: { readonly tokensInput: number; readonly tokensOutput: number };
  /** A UUID for a new conversation, where the program lets us choose. */
  readonly conversation: string;
  /** The tools that it can report and hand on with; null where it gets none. */
  readonly mcp: McpProgram | null;
  /** A folder of this run's own, for files that the program reads. */
  readonly folder: string;
  /** Baton's own environment, to look things up in (endpoints, homes). */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A program to start, and all that it needs. */
export interface Launch {
  /** The program and its arguments; the program is a name to find on PATH, or a path. */
  readonly command: readonly string[];
  /** Variables to set. */
  readonly env: Readonly<Record<string, string>>;
  /** Names of variables to pass on from Baton's environment, where they are set: credentials and settings of this program. */
  readonly passEnv: readonly string[];
  /** What it gets on its standard input, which is then closed; null is no input; `open` stays open for `say`. */
  readonly stdin: string | null | 'open';
  /** Files to write before the start; absolute, below `folder`. */
  readonly files: readonly { readonly path: string; readonly content: string }[];
  /** Folders and files of HOME that it keeps its login and state in, bound writable into a sandbox where they exist. */
  readonly state: readonly string[];
  /** The URLs of its model: the only ones it may reach with network NONE. */
  readonly endpoints: readonly string[];
  /** What of the access its own flags enforce, in words for the run's record: `write paths by --permission-mode …`. */
  readonly enforces: readonly string[];
}

/** What is learnt from an agent while it works. */
export type AgentSign =
  /** It did something, and there is no more to say about it. */
  | { readonly kind: 'alive' }
  /** The id by which this conversation can be gone on with. */
  | { readonly kind: 'conversation'; readonly id: string }
  | { readonly kind: 'model'; readonly model: string }
  /** What it says; messages of all dialects are looked for here. Deltas come as they are, `whole` marks a complete statement. */
  | { readonly kind: 'text'; readonly text: string; readonly whole: boolean }
  /** A tool it uses, in a few words. */
  | { readonly kind: 'tool'; readonly name: string; readonly detail: string }
  /** What was used so far in this turn, all together; `usd` null where the program does not tell dollars. */
  | {
      readonly kind: 'usage';
      readonly tokensInput: number;
      readonly tokensOutput: number;
      readonly usd: number | null;
      /** The program's last word, not a count on the way. */
      readonly final: boolean;
    }
  /** Something it wanted and was not allowed. */
  | { readonly kind: 'denied'; readonly what: string }
  /** Its model does not answer and it tries again. */
  | { readonly kind: 'retrying'; readonly status: number | null; readonly attempt: number | null }
  /** Something went wrong; the last one counts where the turn fails. */
  | { readonly kind: 'error'; readonly code: ErrorCode; readonly message: string }
  /** The terminal event of the turn: what no killed or crashed program prints. `text` is the last statement. */
  | { readonly kind: 'end'; readonly ok: boolean; readonly reason: string; readonly text: string | null };

export interface ReaderContext {
  readonly request: TurnRequest;
  emit(sign: AgentSign): void;
  /** Writes to the program's standard input; only with `stdin: 'open'`. */
  say(text: string): void;
  /** Closes the program's standard input: nothing more will be said. */
  hangUp(): void;
}

/** Reads what a program prints. Never throws; what it does not understand is a sign of life. */
export interface Reader {
  stdout(chunk: Uint8Array): void;
  stderr(chunk: Uint8Array): void;
  /** Both are at their end and the process is gone. `code` null with a signal. */
  end(exit: { readonly code: number | null; readonly signal: string | null }): void;
}

/** What is known of a kind of agent before it runs. */
interface Traits {
  readonly kind: AgentKind;
  /** What a TASK calls it; OTHER where the contract has no name for it. */
  readonly provider: Provider;
  /** Whether a later turn can go on with its conversation. */
  readonly goesOn: boolean;
  /** Whether an exit without an `end` sign means that the turn was cut off. */
  readonly hasEnd: boolean;
  /** When usage is known: while it works, when the turn is over, or never. */
  readonly usage: 'streamed' | 'at-end' | 'never';
  /** Whether it tells dollars while it works, and not tokens alone. */
  readonly streamsDollars: boolean;
}

export interface ProgramAdapter extends Traits {
  readonly way: 'program';
  /** What to look for on PATH where config gives no command; null where config has to. */
  readonly program: string | null;
  launch(request: TurnRequest): Launch;
  reader(context: ReaderContext): Reader;
}

/** An agent that is not a program of this machine. */
export interface RemoteAdapter extends Traits {
  readonly way: 'remote';
  /** Emits signs until the turn is over, then resolves. Never rejects: failures are `error` signs. */
  call(
    request: TurnRequest,
    context: { emit(sign: AgentSign): void; readonly fetch: typeof fetch; readonly signal: AbortSignal },
  ): Promise<void>;
}

export type Adapter = ProgramAdapter | RemoteAdapter;
