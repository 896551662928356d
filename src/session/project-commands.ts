/** Commands that a project adds in its config: what they are called and how long their answers may be. What answers them is in `commands/project.ts`. */
import type { Config } from '../core/config.ts';
import type { ProjectCommand } from '../protocol/command/index.ts';

export const projectCommands = ({ commands }: Pick<Config, 'commands'>): ProjectCommand[] =>
  Object.entries(commands).map(([name, { usage, does, deprecated }]) => ({
    name,
    usage: usage ?? `#${name}`,
    does,
    deprecated: deprecated ?? null,
  }));
