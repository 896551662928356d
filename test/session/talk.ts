/** A session to talk to in tests: an interpreter over a store in memory, and short words for what is said most. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countTokens } from '../../src/cli/tokens.ts';
import { type Config, configOf } from '../../src/core/config.ts';
import type { Speaker } from '../../src/core/laws/messages.ts';
import type { Store } from '../../src/core/store.ts';
import type { Done, SessionParts, Voice } from '../../src/session/call.ts';
import { createInterpreter, type InterpreterOptions } from '../../src/session/interpreter.ts';
import { logOf } from '../../src/session/log.ts';
import { openMemoryStore } from '../../src/store/memory.ts';

// Loading the vocabulary takes longer than what tests wait for.
countTokens('a text');

export const SESSION = 's';

export const voiceOf = (agent: string, more: Partial<Speaker> = {}, session = SESSION): Voice => ({
  session,
  speaker: { agent, run: null, priority: 'P2', leads: agent === 'orchestrator', ...more },
  actor: { kind: agent === 'orchestrator' ? 'person' : 'agent', name: agent },
});

export interface Talk {
  readonly store: Store;
  readonly warnings: string[];
  readonly config: Config;
  readonly workspace: string;
  /** The reply of the orchestrator's line. */
  say(line: string): Promise<string>;
  as(agent: string, line: string, more?: Partial<Speaker>): Promise<string>;
  done(line: string, voice?: Voice, options?: { dryRun?: boolean; signal?: AbortSignal }): Promise<Done>;
  log(session?: string): string;
  close(): Promise<void>;
}

export interface TalkOptions {
  readonly config?: unknown;
  readonly store?: Store;
  readonly now?: () => number;
  /** A data folder, for the log. */
  readonly hasFolder?: boolean;
  readonly askAgent?: SessionParts['askAgent'];
  readonly unsure?: InterpreterOptions['unsure'];
}

export async function talk(options: TalkOptions = {}): Promise<Talk> {
  const now = options.now ?? Date.now;
  const store = options.store ?? openMemoryStore({ now });
  const config = configOf(options.config ?? {});
  const dir = options.hasFolder === true ? await mkdtemp(join(tmpdir(), 'baton-session-')) : null;
  const workspace = dir ?? (await mkdtemp(join(tmpdir(), 'baton-session-')));
  const warnings: string[] = [];
  const interpreter = createInterpreter({
    store,
    config,
    dir,
    workspace,
    now,
    countTokens,
    warn: (text) => warnings.push(text),
    askAgent: options.askAgent ?? null,
    unsure: options.unsure,
  });
  const done: Talk['done'] = (line, voice = voiceOf('orchestrator'), more = {}) => interpreter.do(line, voice, more);
  return {
    store,
    warnings,
    config,
    workspace,
    say: async (line) => (await done(line)).reply,
    as: async (agent, line, more) => (await done(line, voiceOf(agent, more))).reply,
    done,
    log: (session = SESSION) => readFileSync(logOf(dir ?? '', session), 'utf8'),
    async close() {
      if (options.store === undefined) await store.close();
      await rm(workspace, { recursive: true, force: true });
    },
  };
}
