/** Which agents are installed here. */
import { programOf } from '../agents/index.ts';
import { type AgentKind, CLI_KINDS } from '../core/agent-kinds.ts';
import { whereIs } from '../process/where.ts';

interface Installed {
  readonly name: AgentKind;
  readonly path: string;
}

export const installedAgents = (): Installed[] =>
  CLI_KINDS.flatMap((name) => {
    const path = whereIs(programOf(name) ?? name);
    return path === null ? [] : [{ name, path }];
  });
