/** The doors for agents and programs: `serve`, `mcp`, `send`. */
import { Argument, InvalidArgumentError, Option } from 'commander';
import type { Globals } from './globals.ts';
import { type AddCommand, notEmpty, whole } from './options.ts';

export function addDoorCommands(command: AddCommand): void {
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
}

function portNumber(value: string): number {
  const number = Number(value);
  if (!/^\d{1,5}$/.test(value) || number > 65_535) throw new InvalidArgumentError('expected a port, 0 to 65535.');
  return number;
}

const SERVE_HELP = `
It listens for this machine only, unless --host says otherwise, and whoever
calls needs the token: it is in serve.token of the data folder, which only you
can read. Each run gets BATON_URL and a token of its own, good for its own task
until it ends. GET /openapi.json describes the API; /mcp speaks MCP over HTTP.

Ctrl-C stops it in order: its runs go back to be run again, and nothing is lost.
A second Ctrl-C ends it at once.

Examples:
  baton serve
  curl -H "Authorization: Bearer $(cat .baton/serve.token)" http://127.0.0.1:4700/v1/tasks`;

const MCP_HELP = `
Within a run it speaks for that run, over its socket; elsewhere for the agent
"mcp" of the data folder, never for a person. Agents that Baton runs have it
already.

Examples:
  claude mcp add baton -- baton mcp
  codex mcp add baton -- baton mcp`;

const SEND_HELP = `
Messages of any dialect: reports, TASKs, EVENTs, handoffs, nodes. A #COMMAND is
not one of them: baton do. Within a run they go to the run's own socket, and it
is the run that speaks; elsewhere it is you, or with --as the agent you name.
Exits 3 when a message is rejected.

Examples:
  baton send handoff.json --as emma
  echo 'AOF/1 {"protocol":"aof",…}' | baton send --json`;
