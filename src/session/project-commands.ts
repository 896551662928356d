/** Commands that a project adds in its config: what they are called and what holds for them. What answers them is in `commands/project.ts`. */
import type { Config } from '../core/config.ts';
import { BatonError } from '../core/errors.ts';
import { isBuiltIn, type ProjectCommand } from '../protocol/command/index.ts';

type Own = Pick<Config, 'commands'>;

export const projectCommands = ({ commands }: Own): ProjectCommand[] =>
  Object.entries(commands).map(([name, { usage, does, deprecated }]) => ({
    name,
    usage: usage ?? `#${name}`,
    does,
    deprecated: deprecated ?? null,
  }));

/** The language's own commands mean the same everywhere; throws where a config gives one of them another meaning. */
export function checkProjectCommands({ commands }: Own): void {
  const taken = Object.keys(commands).find(isBuiltIn);
  if (taken === undefined) return;
  throw new BatonError(
    'E_CONFIG',
    `config.yaml, commands.${taken}: expected a name that is not in the language yet, got ${taken}, which is`,
    'see: #HELP:all',
  );
}
