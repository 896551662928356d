/**
 * The kinds of agent, with what config has to say of one; null is nothing: its program is on PATH. Words only, so that help need not load an
 * adapter for them. The adapter of each is in `agents/`, and `agents/index.ts` does not compile without it.
 */
const KINDS = {
  command: 'command',
  claude: null,
  codex: null,
  gemini: null,
  opencode: null,
  acp: 'command',
  openclaw: 'url',
} as const satisfies Readonly<Record<string, 'command' | 'url' | null>>;

export type AgentKind = keyof typeof KINDS;
export const AGENT_KINDS = Object.keys(KINDS) as readonly AgentKind[];

/** The field of config without which an agent of that kind is nothing; null where it needs none. */
export const neededBy = (kind: AgentKind): 'command' | 'url' | null => KINDS[kind];

/** The kinds that need nothing but their program on PATH, in the order in which one is taken where nobody says. */
export const CLI_KINDS: readonly AgentKind[] = AGENT_KINDS.filter((kind) => neededBy(kind) === null);
