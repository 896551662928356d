/** All adapters, by the kind that config names. */
import type { AgentKind } from '../core/config.ts';
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
export const providerKinds: Readonly<Record<Provider, AgentKind | null>> = {
  CLAUDE: 'claude',
  CODEX: 'codex',
  GEMINI: 'gemini',
  OPENCODE: 'opencode',
  LOCAL: null,
  OTHER: null,
};
