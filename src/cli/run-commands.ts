/** The commands that run tasks, and what is left of runs: `work`, `logs`, `report`. */
import type { Globals } from './globals.ts';
import { type AddCommand, inSession, notEmpty, repeated, whole } from './options.ts';

export function addRunCommands(command: AddCommand): void {
  command('work', 'claim ready tasks and run them, until Ctrl-C')
    .option('--until-empty', 'end when nothing is left to do')
    .option('--parallel <n>', 'so many at once (default: defaults.parallel of config.yaml)', whole)
    .addOption(repeated('--agent <name>', 'only tasks for this agent'))
    .addHelpText('after', '\nExamples:\n  baton work --until-empty\n  baton work --parallel 8 --agent emma')
    .action(async (options) => (await import('./work.ts')).work(options));

  command('logs', 'print what the agent of a task or a run printed, all of it')
    .argument('<id>', 'a task (all its runs), or a run: TASK-…-r1')
    .option('--follow', 'go on while it runs')
    .option('--check <name>', 'what a check of the task printed, in place of what its agent did', notEmpty)
    .addOption(inSession())
    .addHelpText(
      'after',
      '\nIts stdout goes to stdout, its stderr to stderr.\n\nExample:\n  baton logs TASK-2026-11-15-001-r1 --follow',
    )
    .action(async (id: string, options) => (await import('./logs.ts')).logs(id, options));

  command('report', "print a session's final report: tasks, agents, costs, claims, decisions")
    .argument('[session]', 'the session (default: the one that something happened in last)')
    .addHelpText(
      'after',
      '\nWith --json, the SESSION_FINAL_REPORT event.\n\nExamples:\n  baton report\n  baton report default --json',
    )
    .action(async (session: string | undefined, options: Globals) =>
      (await import('./report.ts')).report(session, options),
    );
}
