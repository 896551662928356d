/** What a newcomer calls first: `demo`, `init`, `run`. */
import type { Globals } from './globals.ts';
import { type AddCommand, notEmpty, sessionOption } from './options.ts';
import { addOrderOptions } from './order-options.ts';

export function addBeginCommands(command: AddCommand): void {
  command('demo', 'show what Baton does, with no key and no network')
    .addHelpText('after', '\nFive agents with bad habits, in a temporary folder. Leaves nothing behind.')
    .action(async (options: Globals) => (await import('./demo.ts')).demo(options));

  command('init', 'make the data folder, find the agents installed here, and say what to tell them')
    .addHelpText('after', INIT_HELP)
    .action(async (options: Globals) => (await import('./init.ts')).init(options));

  addOrderOptions(
    command('run', 'run a task to its end, and print the report of a few lines that a parent reads')
      .argument('<task>', 'a FILE with a TASK (or several), - for standard input, or the objective in words')
      .option('--workspace <dir>', 'where it works (default: what the TASK says, else this folder)', notEmpty)
      .addOption(sessionOption('the session it belongs to (default: what the TASK says, else one of its own)'))
      .option('--wait', 'where a person has to answer, wait for that and go on'),
  )
    .addHelpText('after', RUN_HELP)
    .action(async (task: string, options) => (await import('./run.ts')).runFile(task, options));
}

const INIT_HELP = `
The folder is .baton here, unless --dir or BATON_DIR names another or a folder
above has one already. Nothing outside of it is written, and nothing in it that
is there already.

Examples:
  baton init
  baton init --json`;

const RUN_HELP = `
Progress goes to standard error. Standard output gets one aop1 block, so that an
agent can call this from its shell and read no more than that. With --json: the
events as they happen, and last the RESPONSE (of one task) or the
SESSION_FINAL_REPORT (of several).

Exits 0 when the task is done, 1 when it failed, 3 when it waits for a person:
baton inbox.
The same TASK in the same session is the same task: run again, it goes on where
it was left.

Examples:
  baton run "Fix the failing test in src/login.test.ts" --agent claude --budget 2
  baton run task.json --timeout 600 --write src --write test
  baton run tasks.jsonl --json | tail -1`;
