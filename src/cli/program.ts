/** The table of commands. Each is a file of its own, loaded when it is called. */
import { Argument, Command, CommanderError, Help, Option } from 'commander';
import { BatonError } from '../core/errors.ts';
import { VERSION } from '../core/version.ts';
import { SUMMARY_CHARS } from '../protocol/aop1/limits.ts';
import { DIALECT_NAMES, DIALECT_TABLE, REPORTS, TARGETS } from '../protocol/dialects.ts';
import { addBeginCommands } from './begin-commands.ts';
import { addDoorCommands } from './door-commands.ts';
import type { Globals } from './globals.ts';
import { addGraphCommands } from './graph-commands.ts';
import { addHooksCommands } from './hooks-commands.ts';
import { fail } from './io.ts';
import { type AddCommand, notEmpty } from './options.ts';
import { addPeopleCommands } from './people-commands.ts';
import { addRunCommands } from './run-commands.ts';
import { addSessionCommands } from './session-commands.ts';
import { addStoreCommands } from './store-commands.ts';
import { addTaskCommands } from './task-commands.ts';

/** Runs a command line to its end; the outcome is the process's exit code. */
export async function run(argv: readonly string[]): Promise<void> {
  const json = argv.includes('--json');
  try {
    await program().parseAsync(argv as string[], { from: 'user' });
  } catch (cause) {
    if (cause instanceof CommanderError) usage(cause, json);
    else fail(cause, json);
  }
}

function usage(cause: CommanderError, json: boolean): void {
  if (cause.exitCode === 0) return; // --help and --version have printed what was asked for
  if (cause.code === 'commander.help') {
    process.exitCode = 2;
    return;
  }
  const [message = '', ...more] = cause.message.replace(/^error: /, '').split('\n');
  fail(new BatonError('E_USAGE', message, more.join(' ') || 'try: baton --help'), json);
}

function program(): Command {
  const baton = new Command('baton')
    .description('Hands work between coding agents and never drops it.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand(...HELP_COMMAND)
    .configureHelp({ optionDescription })
    .addHelpText('after', BATON_HELP)
    .showHelpAfterError(false)
    .exitOverride()
    .configureOutput({ outputError: () => {} })
    .addOption(jsonOption())
    .addOption(dirOption())
    .enablePositionalOptions()
    .hook('preAction', (_, called) => inherit(called));

  const command: AddCommand = (name, description, group = baton) =>
    group.command(name).description(description).addOption(jsonOption().default(false)).addOption(dirOption());

  baton.commandsGroup('Begin here:');
  addBeginCommands(command);
  baton.commandsGroup('Tasks and their runs:');
  addTaskCommands(baton, command);
  addRunCommands(command);
  baton.commandsGroup('What waits for you:');
  addPeopleCommands(command);
  baton.commandsGroup('What happened, and why:');
  addStoreCommands(command);
  baton.commandsGroup('Sessions and what is known:');
  addSessionCommands(baton, command);
  addGraphCommands(baton, command);
  baton.commandsGroup('Doors for agents and programs:');
  addDoorCommands(command);
  addHooksCommands(baton, command);
  baton.commandsGroup('Reading and writing messages:');
  addMessageCommands(command);
  for (const group of baton.commands) if (group.commands.length > 0) takeOptionsToo(group);
  return baton.helpCommand(...HELP_COMMAND); // once more, for its place in the last group
}

const jsonOption = (): Option => new Option('--json', 'print JSON, for programs');
const dirOption = (): Option =>
  new Option('--dir <dir>', 'the data folder (default: BATON_DIR, else the nearest .baton)').argParser(notEmpty);

/** Of a group, such as `task`: its own help stays short. */
function takeOptionsToo(group: Command): void {
  group.enablePositionalOptions();
  for (const option of [jsonOption(), dirOption()]) {
    if (group.options.every(({ long }) => long !== option.long)) group.addOption(option.hideHelp());
  }
}

/** What every command takes may also stand before its name: `baton --dir D task list`. What stands behind it counts first. */
function inherit(called: Command): void {
  for (let above = called.parent; above !== null; above = above.parent) {
    for (const name of ['dir', 'json']) {
      const isGiven = above.getOptionValueSource(name) === 'cli';
      if (isGiven && called.getOptionValueSource(name) !== 'cli') {
        called.setOptionValueWithSource(name, above.getOptionValue(name), 'cli');
      }
    }
  }
}

function addMessageCommands(command: AddCommand): void {
  command('check', 'find every message of any dialect in a text and validate it')
    .addArgument(new Argument('[files...]', 'files to read; - is standard input').default([], '-'))
    .addHelpText('after', CHECK_HELP)
    .action(async (files: string[], options: Globals) => (await import('./check.ts')).check(files, options));

  command('convert', 'say the same in another dialect, and what is lost on the way')
    .addArgument(new Argument('[file]', 'the file to read; - is standard input').default('-'))
    .addOption(new Option('--to <dialect>', 'what to make of it').choices(TARGETS).makeOptionMandatory())
    .addOption(
      new Option('--type <type>', 'the type of task, for the length of an aop1 summary').choices(
        Object.keys(SUMMARY_CHARS),
      ),
    )
    .option('--task <id>', 'the task, where the text does not say', notEmpty)
    .option('--session <id>', 'the session, where the text does not say', notEmpty)
    .option('--agent <name>', 'the agent, where the text does not say', notEmpty)
    .addHelpText('after', CONVERT_HELP)
    .action(async (file: string, options) => (await import('./convert.ts')).convertFile(file, options));

  command('schema', 'print the JSON Schema (2020-12) of a message type, or list the types')
    .argument('[name]', 'a message type')
    .addHelpText('after', '\nExamples:\n  baton schema\n  baton schema TASK > task.schema.json')
    .action(async (name: string | undefined, options: Globals) => (await import('./schema.ts')).schema(name, options));

  command('prompt', 'print the text an agent would get for a TASK')
    .argument('<file>', 'a TASK, or a v1 prompt; - is standard input')
    .addHelpText('after', '\nExample:\n  baton prompt task.json')
    .action(async (file: string, options: Globals) => (await import('./prompt.ts')).prompt(file, options));
}

/** What is not given is no default worth a word. */
function optionDescription(option: Option): string {
  const { defaultValue } = option;
  const isNothing = defaultValue === false || (Array.isArray(defaultValue) && defaultValue.length === 0);
  const shown = isNothing ? Object.assign(new Option(option.flags), option, { defaultValue: undefined }) : option;
  return new Help().optionDescription(shown);
}

const HELP_COMMAND = ['help [command]', 'show help for a command'] as const;

const BATON_HELP = `
baton COMMAND --help says more, with examples.
Exits 0 when it worked, 1 when the work failed or the input is invalid, 2 on
wrong usage, 3 when it is refused or waits for a person, 4 when there is no such
thing.`;

const CHECK_HELP = `
Dialects:
${DIALECT_NAMES.map((name) => `  ${name.padEnd(8)} ${DIALECT_TABLE[name].what}`).join('\n')}
  v1       a prompt with task: and objective: lines

Exits 0 when every message is valid, 1 when one is not or there is none.

Examples:
  baton check answer.txt
  claude -p "…" | baton check --json`;

const CONVERT_HELP = `
task and prompt are made of a TASK or a v1 prompt;
${REPORTS.map(({ to }) => to).join(', ')} of the last report in the text, whatever dialect
it is in. What the target has no words for is listed on standard error.

Examples:
  baton convert prompt.md --to task > task.json
  baton convert response.json --to aop1 --type code`;
