/** The commands that run tasks, and what is left of runs: `run`, `work`, `serve`, `logs`, `report`. */
import { Argument, InvalidArgumentError, Option } from 'commander';
import { CLI_KINDS } from '../core/agent-kinds.ts';
import type { Globals } from './globals.ts';
import { type AddCommand, inSession, notEmpty, repeated, sessionOption } from './options.ts';

export function addRunCommands(command: AddCommand): void {
  command('run', 'run a task to its end; prints only the block for the parent')
    .argument('<task>', 'a FILE with a TASK (or several), - for standard input, or the objective in words')
    .option('--agent <name>', `who does it: an agent of config.yaml, or ${CLI_KINDS.join(', ')}`, notEmpty)
    .option('--model <model>', 'the model, whatever the TASK says', notEmpty)
    .option('--workspace <dir>', 'where it works (default: what the TASK says, else this folder)', notEmpty)
    .addOption(sessionOption('the session it belongs to'))
    .option('--budget <usd>', 'dollars it may cost', positive)
    .option('--timeout <seconds>', 'seconds it may take', positive)
    .addOption(repeated('--write <path>', 'a path it may write; nothing else of the workspace then'))
    .option('--worktree', 'in a git worktree of its own, merged back when it is done')
    .option('--wait', 'where a person has to answer, wait for that')
    .addHelpText('after', RUN_HELP)
    .action(async (task: string, options) => (await import('./run.ts')).runFile(task, options));

  command('work', 'claim ready tasks and run them, until Ctrl-C')
    .option('--until-empty', 'end when nothing is left to do')
    .option('--parallel <n>', 'so many at once (default: defaults.parallel of config.yaml)', whole)
    .addOption(repeated('--agent <name>', 'only tasks for this agent'))
    .addHelpText('after', '\nExamples:\n  baton work --until-empty\n  baton work --parallel 8 --agent emma')
    .action(async (options) => (await import('./work.ts')).work(options));

  command('serve', 'work, with the HTTP API and MCP, until Ctrl-C')
    .addOption(
      new Option('--port <port>', 'where it listens; 0 is any that is free').default(4700).argParser(portNumber),
    )
    .addOption(new Option('--host <host>', 'the address it listens on').default('127.0.0.1').argParser(notEmpty))
    .option('--parallel <n>', 'so many tasks at once (default: defaults.parallel of config.yaml)', whole)
    .addHelpText('after', SERVE_HELP)
    .action(async (options) => (await import('./serve.ts')).serve(options));

  command('mcp', 'serve the tools for agents over MCP, on standard input and output')
    .addHelpText('after', MCP_HELP)
    .action(async (options: Globals) => (await import('./mcp.ts')).mcp(options));

  command('send', 'hand protocol messages to the router, and say what became of them')
    .addArgument(new Argument('[file]', 'the file to read; - is standard input').default('-'))
    .option('--as <agent>', 'speak as this agent; for people only, and written down as "user as …"', notEmpty)
    .option('--token <token>', 'to the baton serve at BATON_URL, as whoever the token stands for', notEmpty)
    .addHelpText('after', SEND_HELP)
    .action(async (file: string, options) => (await import('./send.ts')).send(file, options));

  command('logs', 'print what the agent of a task or a run printed, all of it')
    .argument('<id>', 'a task (all its runs), or a run: TASK-…-r1')
    .option('--follow', 'go on while it runs')
    .addOption(inSession())
    .addHelpText(
      'after',
      '\nIts stdout goes to stdout, its stderr to stderr.\n\nExample:\n  baton logs TASK-2026-11-15-001-r1 --follow',
    )
    .action(async (id: string, options) => (await import('./logs.ts')).logs(id, options));

  command('report', "print a session's final report")
    .argument('[session]', 'the session (default: the one that something happened in last)')
    .addHelpText('after', '\nWith --json, the SESSION_FINAL_REPORT event.')
    .action(async (session: string | undefined, options: Globals) =>
      (await import('./report.ts')).report(session, options),
    );
}

function positive(value: string): number {
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number) || number <= 0)
    throw new InvalidArgumentError('expected a number above 0.');
  return number;
}

function whole(value: string): number {
  const number = positive(value);
  if (!Number.isInteger(number)) throw new InvalidArgumentError('expected a whole number.');
  return number;
}

function portNumber(value: string): number {
  const number = Number(value);
  if (!/^\d{1,5}$/.test(value) || number > 65_535) throw new InvalidArgumentError('expected a port, 0 to 65535.');
  return number;
}

const SERVE_HELP = `
It listens for this machine only, unless --host says otherwise, and whoever calls needs the token: it is in serve.token of the
data folder, which only you can read. Each run gets BATON_URL and a token of its own, good for its own task until it ends.
GET /openapi.json describes the API; /mcp speaks MCP over HTTP.

Ctrl-C stops it in order: its runs go back to be run again, and nothing is lost. A second Ctrl-C ends it at once.

Examples:
  baton serve
  curl -H "Authorization: Bearer $(cat .baton/serve.token)" http://127.0.0.1:4700/v1/tasks`;

const MCP_HELP = `
Within a run it speaks for that run, over its socket; elsewhere for the agent "mcp" of the data folder, never for a person.
Agents that Baton runs have it already.

Examples:
  claude mcp add baton -- baton mcp
  codex mcp add baton -- baton mcp`;

const SEND_HELP = `
Messages of any dialect: aof envelopes, RESPONSEs, TASKs and EVENTs. Within a run they go to the run's own socket, and it is
the run that speaks; elsewhere it is you, or with --as the agent you name. Exits 3 when a message is rejected.

Examples:
  baton send handoff.json --as emma
  echo 'AOF/1 {"protocol":"aof",…}' | baton send --json`;

const RUN_HELP = `
Progress goes to standard error. Standard output gets one aop1 block (or, with --json, events and last the RESPONSE), so that
an agent can call this from its shell and read no more than that.

Exits 0 when the task is done, 1 when it failed, 3 when it waits for a person.
The same TASK in the same session is the same task: run again, it goes on where it was left.

Examples:
  baton run "Fix the failing test in src/login.test.ts" --agent claude --budget 2
  baton run task.json --timeout 600 --write src --write test
  baton run tasks.jsonl --json | tail -1`;
