/**
 * Baton's own tools for a run: the program `baton mcp`, which talks over the run's socket. So it works with no server around, and in the
 * sandbox, where of Baton only this program is shown.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Adapter, McpProgram } from '../agents/adapter.ts';
import { type Access, isWithin } from '../core/policy.ts';
import { type Bind, MARK } from '../process/types.ts';

/** The command line: this file is a part or a chunk of its bundle; or lies beside its folder in the library; or is a source, with a build beside. */
const MAINS = ['./main.js', '../main.js', '../cli/main.js', '../../dist/cli/main.js'];

/** Looked for each time, because a build may come or go; null where there is none. */
export function findMain(): string | null {
  return MAINS.map((path) => fileURLToPath(new URL(path, import.meta.url))).find((path) => existsSync(path)) ?? null;
}

interface OwnTools {
  /** How a program of the run calls Baton; null where there is no build, or the agent is elsewhere. */
  readonly cli: readonly string[] | null;
  readonly mcp: McpProgram | null;
  /** What has to be shown of Baton for it. */
  readonly binds: readonly Bind[];
}

interface OwnToolsOptions {
  readonly adapter: Adapter;
  readonly access: Access;
  readonly socket: string;
  readonly run: string;
  readonly task: string;
  readonly mark: string;
}

/** The tools are for programs that speak MCP. Any program may call the command line; an agent elsewhere can reach neither. */
export function ownTools({ adapter, access, socket, run, task, mark }: OwnToolsOptions): OwnTools {
  const main = adapter.way === 'program' ? findMain() : null;
  if (main === null) return { cli: null, mcp: null, binds: [] };
  const cli = [process.execPath, main];
  const folder = dirname(main);
  // Node asks it whether the files are modules.
  const manifest = join(dirname(dirname(folder)), 'package.json');
  const seen = [...access.readPaths, ...access.writePaths];
  // The mark too: programs start their servers with an environment of their own, and what escapes has to be found by it.
  const env = { BATON_SOCKET: socket, BATON_RUN_ID: run, BATON_TASK_ID: task, [MARK]: mark };
  return {
    cli,
    mcp: adapter.kind === 'command' ? null : { name: 'baton', command: [...cli, 'mcp'], env },
    // What is granted is there already; and one who works on Baton itself has to be able to build it.
    binds: [folder, manifest].filter((path) => !isWithin(path, seen)).map((path) => ({ path, writable: false })),
  };
}
