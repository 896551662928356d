/** The table of agents: an adapter for every kind that config names (`core/agent-kinds.ts`). */
import { AGENT_KINDS, type AgentKind } from '../core/agent-kinds.ts';
import { acp } from './acp.ts';
import type { Adapter, Provider } from './adapter.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { command } from './command.ts';
import { gemini } from './gemini.ts';
import { openclaw } from './openclaw.ts';
import { opencode } from './opencode.ts';

export const ADAPTERS: Readonly<Record<AgentKind, Adapter>> = {
  command,
  claude,
  codex,
  gemini,
  opencode,
  acp,
  openclaw,
};

export const adapterFor = (kind: AgentKind): Adapter => ADAPTERS[kind];

/** The kind that an aop2 provider means; null where config has to say. */
export const kindOfProvider = (provider: Provider): AgentKind | null =>
  provider === 'OTHER' ? null : (AGENT_KINDS.find((kind) => ADAPTERS[kind].provider === provider) ?? null);

/** The program to look for on PATH; null where config has to name one, or where there is none. */
export function programOf(kind: AgentKind): string | null {
  const adapter = ADAPTERS[kind];
  return adapter.way === 'program' ? adapter.program : null;
}
