/** Which agents are installed here. */
import { whereIs } from '../process/where.ts';

/** The agents that Baton can drive, by the name of their program. */
export const AGENT_PROGRAMS = ['claude', 'codex', 'gemini', 'opencode'] as const;

export interface Installed {
  readonly name: string;
  readonly path: string;
}

export const installedAgents = (): Installed[] =>
  AGENT_PROGRAMS.flatMap((name) => {
    const path = whereIs(name);
    return path === null ? [] : [{ name, path }];
  });
