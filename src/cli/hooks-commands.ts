/** The commands of `baton hooks`, and `baton hook`, which the hooks call. */
import type { Command } from 'commander';
import type { Globals } from './globals.ts';
import type { AddCommand } from './options.ts';

export function addHooksCommands(baton: Command, command: AddCommand): void {
  const hooks = baton
    .command('hooks')
    .description('have claude and codex ask for a report, by their own hooks; and undo it')
    .addHelpText('after', HOOKS_HELP);
  const user = ['--user', 'for all your projects, not only this one'] as const;

  command('install', 'put the hooks into the settings; what else is there stays as it is', hooks)
    .argument('[agents...]', 'claude, codex (default: those that are installed here)')
    .option(...user)
    .addHelpText('after', '\nExamples:\n  baton hooks install\n  baton hooks install claude --user')
    .action(async (names: string[], options) => (await import('./hooks.ts')).installHooks(names, options));

  command('remove', 'take them out again, and nothing else', hooks)
    .argument('[agents...]', 'claude, codex (default: both)')
    .option(...user)
    .addHelpText('after', '\nExamples:\n  baton hooks remove\n  baton hooks remove claude --user')
    .action(async (names: string[], options) => (await import('./hooks.ts')).removeHooks(names, options));

  // Called by the programs, not by people.
  baton
    .command('hook <name>', { hidden: true })
    .allowExcessArguments()
    .action(async (name: string) => (await import('./hook.ts')).hook(name, HOOK_OPTIONS));
}

/** The hooks say where the data folder is by BATON_DIR. */
const HOOK_OPTIONS: Globals = { json: true };

const HOOKS_HELP = `
An agent that stops without a report is asked for one, once. What a sub-agent of
claude says at length is kept in a file, and its parent gets the block. Before a
context is compacted, Baton's tasks are written to a file. BATON_HOOKS=off turns
it off for a session.

Examples:
  baton hooks install
  baton hooks remove claude --user`;
