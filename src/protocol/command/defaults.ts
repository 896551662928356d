/** What a command means where it leaves something out; the decoded value holds only what was written. */
import type { Command } from './command.ts';
import { formOf, isBuiltIn } from './table.ts';

/** `#DELEGATE` without a priority is P2, `#WAIT` and `#LOCK` without a time-out are 300 seconds. */
export function withDefaults(command: Command): Command {
  const form = isBuiltIn(command.name) ? formOf(command.name, command.params) : null;
  if (form === null) return command;
  const given = command.params.length - (form.sub === null ? 0 : 1);
  const params = [...command.params];
  for (const param of form.params.slice(Math.max(0, given))) {
    if (param.fallback === null) break; // parameters are positional: none after a gap
    params.push(param.fallback);
  }
  return { ...command, params };
}
