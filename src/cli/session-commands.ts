/** The session language at the command line: `do`, `session`. */
import type { Command } from 'commander';
import type { Globals } from './globals.ts';
import { type AddCommand, notEmpty, sessionOption } from './options.ts';

const AS = 'speak as this agent; for people only, and written down as "user as …"';

export function addSessionCommands(baton: Command, command: AddCommand): void {
  command('do', 'say one line of the session language: a #COMMAND, or plain words')
    .argument('<line>', 'the line; in quotes, because a shell takes # for a comment')
    .addOption(sessionOption('the session it is said in (default: default; within a run its own)'))
    .option('--as <agent>', AS, notEmpty)
    .option('--dry-run', 'only show the commands that it would run')
    .addHelpText('after', DO_HELP)
    .action(async (line: string, options) => (await import('./do.ts')).doLine(line, options));

  const session = command(
    'session',
    'speak the session language line after line: at a prompt, or from standard input',
    baton,
  )
    .argument('[session]', 'the session (default: default; within a run its own)')
    .option('--as <agent>', AS, notEmpty)
    .addHelpText('after', SESSION_HELP)
    .action(async (named: string | undefined, options) => (await import('./session.ts')).session(named, options));

  command('list', 'list the sessions: their tasks, keys and open questions', session).action(async (options: Globals) =>
    (await import('./session-list.ts')).listSessions(options),
  );

  command('end', 'end a session: its final report, and what it remembers is cleared', session)
    .argument('<session>', 'the session')
    .addHelpText('after', "\nExport what is still needed before: baton do '#CONTEXT:export:session.ctx'")
    .action(async (named: string, options: Globals) => (await import('./session-end.ts')).endOf(named, options));
}

const DO_HELP = `
Within a run it is the run that speaks, and in its own session. Exits 3 when the
answer is an #ERROR, and when it has to be asked back first.

Examples:
  baton do '#STATE:save:db:postgres'
  baton do "ask emma to fix the login bug, it's urgent" --dry-run
  baton do '#WAIT:dev_complete:60' --as qa --json`;

const SESSION_HELP = `
At a terminal: Tab completes, Ctrl-C ends a wait, Ctrl-D leaves. From a pipe
each line is said in its order, and the exit code is 3 when one failed.

Examples:
  baton session
  baton session refactor < commands.txt
  baton session list
  baton session end refactor`;
