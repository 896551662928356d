/** The commands of `baton task`: their names, their options and their help. */
import { Argument, type Command, Option } from 'commander';
import { TASK_STATUSES, type TaskStatus } from '../core/task.ts';
import { type AddCommand, inSession, notEmpty, positive, repeated, sessionOption } from './options.ts';
import { addOrderOptions } from './order-options.ts';

const ID = 'a task, by its id or by its external id';

export function addTaskCommands(baton: Command, command: AddCommand): void {
  const task = baton.command('task').description('make, list, show and change tasks').addHelpText('after', TASK_HELP);

  addOrderOptions(
    command('add', 'make a task of a text, of a TASK, or of a title alone', task)
      .argument('[file]', 'the text or the TASK; - is standard input')
      .addOption(new Option('--title <title>', "a title (default: the text's first line)").argParser(notEmpty))
      .addOption(new Option('--parent <id>', 'the task that it is a part of').argParser(notEmpty))
      .addOption(sessionOption('the session that it belongs to (default: default)'))
      .addOption(new Option('--status <status>', 'where it begins (default: ready)').choices(['backlog', 'ready'])),
  )
    .addHelpText('after', ADD_HELP)
    .action(async (file: string | undefined, options) => (await import('./task-add.ts')).addTask(file, options));

  command('list', 'list tasks, in the order of their ids', task)
    .addOption(repeated('--status <status>', 'only tasks of this status', TASK_STATUSES))
    .option('--open', 'only tasks that are not done and not cancelled')
    .addOption(sessionOption('only tasks of this session'))
    .addHelpText(
      'after',
      '\nExamples:\n  baton task list --open\n  baton task list --status ready --status blocked\n  baton task list --json',
    )
    .action(async (options) => (await import('./task-list.ts')).listTasks(options));

  command('show', 'show a task with its text, its runs and its events', task)
    .argument('<id>', ID)
    .addOption(inSession())
    .addHelpText('after', '\nExample:\n  baton task show TASK-2026-11-15-001')
    .action(async (id: string, options) => (await import('./task-show.ts')).showTask(id, options));

  command('move', 'give a task another status, if that is legal', task)
    .argument('<id>', ID)
    .addArgument(new Argument('<status>', 'the new status').choices(TASK_STATUSES))
    .addOption(new Option('--reason <reason>', 'why; it is written down').argParser(notEmpty))
    .addOption(inSession())
    .addHelpText('after', MOVE_HELP)
    .action(async (id: string, status: TaskStatus, options) =>
      (await import('./task-change.ts')).moveTask(id, status, options),
    );

  command('cancel', 'call a task off, and stop its run', task)
    .argument('<id>', ID)
    .addOption(new Option('--reason <reason>', 'why; it is written down').argParser(notEmpty))
    .addOption(inSession())
    .addHelpText(
      'after',
      '\nWhat depends on it is blocked. A cancelled task stays cancelled.\n\nExample:\n  baton task cancel TASK-2026-11-15-001 --reason "the form is gone"',
    )
    .action(async (id: string, options) => (await import('./task-change.ts')).cancelTask(id, options));

  command('retry', 'make a task ready once more, with all its attempts', task)
    .argument('<id>', ID)
    .addOption(new Option('--agent <name>', 'the agent that should do it from now on').argParser(notEmpty))
    .option('--budget <usd>', 'dollars it may cost from now on, all attempts together', positive)
    .addOption(inSession())
    .addHelpText(
      'after',
      '\nFor tasks that failed, are blocked, wait for review, or wait to be tried again.\n\nExample:\n  baton task retry TASK-2026-11-15-001',
    )
    .action(async (id: string, options) => (await import('./task-change.ts')).retryTask(id, options));

  addOrderOptions(
    command('edit', 'change what a task says', task)
      .argument('<id>', ID)
      .addOption(new Option('--title <title>', 'a new title').argParser(notEmpty))
      .addOption(inSession()),
  )
    .option('--no-review', 'a person need not look at it')
    .addHelpText('after', EDIT_HELP)
    .action(async (id: string, options) => (await import('./task-change.ts')).editTask(id, options));
}

const TASK_HELP = `
A task is a file in the data folder, tasks/<status>/<id>.md, that people and
agents may read and edit.

Examples:
  baton task add --title "Fix the login form" --agent emma
  baton task list --status blocked
  baton why TASK-2026-11-15-001`;

const ADD_HELP = `
A text that holds aop2 TASKs (one, a JSON array, or one a line) becomes those
tasks, all of them or none; any other text is the body of one task. Standard
input is read for -, and where there is neither a FILE nor a --title.

Examples:
  baton task add --title "Fix the login form" --priority high
  baton task add notes.md --depends-on TASK-2026-11-15-001
  baton convert prompt.md --to task | baton task add -`;

const EDIT_HELP = `
A list (--write, --read, --check, --expect, --depends-on) replaces the one that
was there; the word none empties it. A run that is under way keeps its order:
the change holds from the next attempt on.

Examples:
  baton task edit TASK-2026-11-15-001 --priority critical --agent emma
  baton task edit TASK-2026-11-15-001 --budget 5 --check "npm test"
  baton task edit TASK-2026-11-15-001 --depends-on none`;

const MOVE_HELP = `
  backlog      → ready, blocked, cancelled
  ready        → in-progress, blocked, deadletter, cancelled
  in-progress  → review, ready, blocked, deadletter, cancelled
  blocked      → ready, deadletter, cancelled
  review       → done, in-progress, ready, blocked, cancelled
  deadletter   → ready
  done and cancelled are final.

Example:
  baton task move TASK-2026-11-15-001 done --reason "looked at it"`;
